"""The tide table."""
