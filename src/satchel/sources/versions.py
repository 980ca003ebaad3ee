"""Versions of what is read from files, apart from the readers: an unchanged index imports no parser."""

from __future__ import annotations

OUTLINE_VERSION = "2"
"""Part of every cache key: change it when the same text gives another outline."""


NOTES_VERSION = 1
"""Grows when the same export or vault would give other notes."""
