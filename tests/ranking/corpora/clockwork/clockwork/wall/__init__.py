"""The wall clocks."""
