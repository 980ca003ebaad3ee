"""Cutting a part into windows: the unit that is posted, ranked and packed."""

from __future__ import annotations

from collections.abc import Sequence

WINDOW_LINES = 24
"""Longest window. Measured with 14, 24 and 40 lines: 24 keeps whole functions readable (docs/decisions/0002)."""

SHORTEST_CUT = 10
"""A cut is never made before this many lines, so that windows stay worth their header."""

BLANK_LINE_COLUMNS = 6
"""A blank line before the cut counts as this many columns of indentation less."""

_TAB_COLUMNS = 4
_NEVER = 10_000


def cut_windows(lines: Sequence[str], start: int, end: int) -> list[tuple[int, int]]:
    """Windows of lines `start`..`end` (1-based, inclusive) of a file, in order and without a gap.

    A stretch longer than `WINDOW_LINES` is cut where the next line is indented least, as late as possible.
    """
    windows: list[tuple[int, int]] = []
    while end - start + 1 > WINDOW_LINES:
        cut = _best_cut(lines, start, end)
        windows.append((start, cut))
        start = cut + 1
    windows.append((start, end))
    return windows


def _best_cut(lines: Sequence[str], start: int, end: int) -> int:
    best, best_columns = start + WINDOW_LINES - 1, _NEVER
    for last in range(start + SHORTEST_CUT - 1, min(start + WINDOW_LINES, end)):
        columns = _indentation(lines[last])
        if not lines[last - 1].strip():
            columns -= BLANK_LINE_COLUMNS
        if columns <= best_columns:
            best, best_columns = last, columns
    return best


def _indentation(line: str) -> int:
    text = line.lstrip(" \t")
    if not text:
        return _NEVER
    margin = line[: len(line) - len(text)]
    return len(margin) + margin.count("\t") * (_TAB_COLUMNS - 1)
