"""Berths and who lies there."""
