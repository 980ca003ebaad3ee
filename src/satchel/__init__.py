"""Everything your agent should know, packed to fit."""

__version__ = "0.1.0"
