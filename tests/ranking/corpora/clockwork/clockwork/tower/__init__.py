"""The tower clocks."""
