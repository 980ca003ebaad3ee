"""Choosing the best passage of a text that is too long to be shown whole.

A text is a run of units: its lines, or the sentences of a line that is too long to be one unit. The passage starts at
the unit that contains most of the question's words and grows to both sides while there is room.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from satchel import text as words

LONGEST_UNIT = 240
"""Characters of a line that is kept in one piece: three written lines. A longer one is split at its sentences."""

ELLIPSIS = "…"
"""Stands where a passage leaves text out."""

_SENTENCE_END = re.compile(r"(?<=[.!?;。！？])\s+|(?<=[。！？])")  # noqa: RUF001 - full-width marks end sentences too


def units_of(text: str) -> list[str]:
    """The consecutive units of a text; joined they are the text again."""
    units: list[str] = []
    for line in text.splitlines(keepends=True):
        units += [line] if len(line) <= LONGEST_UNIT else _sentences(line)
    return units


def _sentences(line: str) -> list[str]:
    """A long line cut behind its sentences, and at words where a sentence is longer than a unit may be."""
    pieces, start = [], 0
    for end in [*(match.end() for match in _SENTENCE_END.finditer(line)), len(line)]:
        while end - start > LONGEST_UNIT:
            space = line.rfind(" ", start + LONGEST_UNIT // 2, start + LONGEST_UNIT)
            cut = space + 1 if space > 0 else start + LONGEST_UNIT
            pieces.append(line[start:cut])
            start = cut
        if end > start:
            pieces.append(line[start:end])
            start = end
    return pieces


def matches(units: Sequence[str], asked: AbstractSet[str]) -> list[int]:
    """How many different words of the question each unit contains; `asked` are stemmed terms."""
    return [len(asked & words.count_terms(words.words(unit)).keys()) if asked else 0 for unit in units]


def best_run(gains: Sequence[int], costs: Sequence[float], room: float) -> tuple[int, int] | None:
    """First and last index of the run that starts at the best unit and grows while it costs at most `room`.

    The neighbour with the higher gain is taken first, the later one where they are equal. None where not even the best
    unit fits.
    """
    best = max(range(len(gains)), key=lambda index: (gains[index], -index), default=None)
    if best is None or costs[best] > room:
        return None
    first = last = best
    room -= costs[best]
    while True:
        sides = []
        if last + 1 < len(gains) and costs[last + 1] <= room:
            sides.append((gains[last + 1], 1, last + 1))
        if first > 0 and costs[first - 1] <= room:
            sides.append((gains[first - 1], 0, first - 1))
        if not sides:
            return first, last
        _, _, taken = max(sides)
        room -= costs[taken]
        first, last = min(first, taken), max(last, taken)


def excerpt(text: str, asked: AbstractSet[str], characters: float) -> str:
    """The best passage of a text in at most about so many characters, with an ellipsis at each cut end.

    The whole text where it is short enough; empty where not even one unit fits.
    """
    if len(text) <= characters:
        return text
    units = units_of(text)
    run = best_run(matches(units, asked), [len(unit) for unit in units], characters)
    if run is None:
        return ""
    first, last = run
    passage = "".join(units[first : last + 1]).strip("\n").rstrip()
    return f"{ELLIPSIS} " * (first > 0) + passage + f" {ELLIPSIS}" * (last < len(units) - 1)
