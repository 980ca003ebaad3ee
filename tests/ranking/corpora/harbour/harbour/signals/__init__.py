"""Signals for ships."""
