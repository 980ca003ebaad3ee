"""From apples to juice."""
