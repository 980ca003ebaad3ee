"""Clocks of a museum."""
