"""The version of what is taken from a text, apart from the code that takes it: an unchanged index counts nothing."""

from __future__ import annotations

from satchel import text as words

EXTRACTION_VERSION = f"2.{words.ANALYSIS_VERSION}"
"""Part of every cache key: change it when the same text gives another extraction."""
