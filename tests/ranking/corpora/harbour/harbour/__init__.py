"""A small port."""
