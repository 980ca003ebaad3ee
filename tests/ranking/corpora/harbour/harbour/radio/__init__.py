"""Talking to ships."""
