"""Versions of the readers, separate from them: an unchanged index imports no parser."""

from __future__ import annotations

OUTLINE_VERSION = "2"
"""Part of every cache key: change it when the same text has another outline."""

NOTES_VERSION = 1
"""Increase it when the same export or vault has other notes."""
