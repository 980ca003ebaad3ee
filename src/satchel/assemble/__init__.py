"""The value stream: from ranked hits to a packed context."""
