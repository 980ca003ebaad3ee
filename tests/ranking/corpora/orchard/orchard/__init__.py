"""Machines of a fruit farm."""
