"""The version of what is read from notes, apart from the code that reads: an unchanged index imports no parser."""

NOTES_VERSION = 1
"""Grows when the same export or vault would give other notes."""
