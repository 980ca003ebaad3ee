"""The pipeline from ranked hits to a packed context."""
