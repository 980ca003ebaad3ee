"""How options and commands are written on the command line, for hints that every edge gives."""

from __future__ import annotations

from satchel.calls.empty import Spelling

SPELLING = Spelling("--min-score 0", "`satchel expand HANDLE`")
