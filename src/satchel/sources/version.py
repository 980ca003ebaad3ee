"""The version of all outlines, apart from the code that makes them: comparing it imports no grammar."""

from __future__ import annotations

OUTLINE_VERSION = "2"
"""Part of every cache key: change it when the same text gives another outline."""
