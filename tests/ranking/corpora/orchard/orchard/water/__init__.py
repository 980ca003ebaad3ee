"""Water for the rows."""
