"""Text without structure that we can read, cut into chunks."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.types import Part, Role

MAX_LINES = 40
"""Longest chunk: about 400 tokens, what a packer still shows whole."""

MIN_LINES = 12
"""Shortest chunk, the last one apart: below it a chunk says too little to be found by."""

_BLANK_BONUS = 6
"""Columns of indentation that a blank line before a cut is worth."""


def line_count(lines: Sequence[str]) -> int:
    """How many lines a text split at line feeds has: one at the very end starts none."""
    return len(lines) - 1 if lines and not lines[-1] else len(lines)


def chunks(lines: Sequence[str], role: Role, first: int = 0, last: int | None = None) -> tuple[Part, ...]:
    """Parts of at most `MAX_LINES` lines that tile the rows `first` to `last` (from 0, `last` exclusive).

    A cut goes where the next line is indented least, a blank line before it helps, and later wins. Blank lines stay
    with the chunk before, so a long run of them makes that chunk longer.
    """
    end = line_count(lines) if last is None else last
    parts = []
    start = first
    while start < end:
        cut = end if end - start <= MAX_LINES else _cut(lines, start, end)
        while cut < end and not lines[cut].strip():
            cut += 1
        parts.append(Part(role, "", start + 1, cut))
        start = cut
    return tuple(parts)


def _cut(lines: Sequence[str], start: int, end: int) -> int:
    """The best row to start the next chunk at; a blank row stands for the text after it."""
    best, best_cost = start + MAX_LINES, float("inf")
    below = start
    for row in range(start + MIN_LINES, min(start + MAX_LINES + 1, end)):
        below = max(below, row)
        while below < end and not lines[below].strip():
            below += 1
        if below == end:
            return row
        indentation = len(lines[below]) - len(lines[below].lstrip())
        after_blank = below > row or not lines[row - 1].strip()
        cost = indentation - (_BLANK_BONUS if after_blank else 0)
        if cost <= best_cost:
            best, best_cost = row, cost
    return best
