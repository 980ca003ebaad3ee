"""What an answer is worth: the number that more budget never lowers.

Every token that is shown counts as much as the best candidate that shows it: its value over a power of its size. What
several candidates show (the signature that the windows of a function share, an import that two functions need) counts
once, and it does not matter which of them was admitted for it. Frames, headings and names count nothing. Where an
answer names places and shows no lines, it is the place that counts, and no step of a candidate shows more of it than
another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from satchel.assemble.candidates import CHARACTERS_PER_TOKEN, Candidate, Step
from satchel.assemble.read import Lines, around
from satchel.assemble.section import Section, density
from satchel.assemble.shown import Group, subtract

PLACE_TOKENS = 8
"""What the place of a candidate takes: its line numbers and its name."""


def total_value(sections: Sequence[Section], *, shows_lines: bool = True) -> float:
    """The sum over everything that is shown."""
    return sum(section.scale * _section_worth(section, shows_lines=shows_lines) for section in sections)


def _section_worth(section: Section, *, shows_lines: bool) -> float:
    waiting: dict[str, list[Candidate]] = {}
    for _, candidate in section.remaining():
        if candidate.group in section.groups:
            waiting.setdefault(candidate.group, []).append(candidate)
    return sum(_worth(group, waiting.get(key, ()), shows_lines=shows_lines) for key, group in section.groups.items())


def most_valuable(sections: Sequence[Section], tokens: int) -> float:
    """A bound: nothing more that has so many tokens is worth more than the best that is not shown, all whole."""
    rows = sorted(
        [(-math.exp(density(one)) * section.scale, one.size) for section in sections for _, one in section.remaining()]
    )
    worth, left = 0.0, float(tokens)
    for dense, size in rows:
        worth += -dense * min(size, left)
        left -= size
        if left <= 0:
            break
    return worth


def _worth(group: Group, waiting: Sequence[Candidate], *, shows_lines: bool) -> float:
    """The worth of one item; of those that wait, some are shown all the same, because others show their lines."""
    if group.worth is None:
        covered = ((one, step) for one in waiting if (step := _covered(one, group)) is not None)
        rows = sorted([*group.picks, *covered], key=lambda pick: -density(pick[0]))
        if group.lines is None:
            group.worth = sum(
                math.exp(density(one)) * min(len(step.text) / CHARACTERS_PER_TOKEN, one.size) for one, step in rows
            )
        elif not shows_lines:
            group.worth = sum(math.exp(density(one)) * PLACE_TOKENS for one, _ in rows)
        else:
            group.worth = _worth_of_lines(rows, group.lines)
    return group.worth


def _covered(candidate: Candidate, group: Group) -> Step | None:
    """The fullest step of a candidate whose lines are all shown."""
    if not any(start <= candidate.place <= end for start, end in group.ranges):
        return None
    return next((step for step in candidate.steps if step.ranges and not subtract(step.ranges, group.ranges)), None)


def _worth_of_lines(rows: Sequence[tuple[Candidate, Step]], lines: Lines) -> float:
    """Rows by falling density: lines that one of them shows are nothing new in the next."""
    total = 0.0
    shown: list[tuple[int, int]] = []
    for candidate, step in rows:
        new = subtract(around(step.ranges, 0, len(lines.lines)), shown)
        characters = sum([lines.characters(start, end) for start, end in new])
        total += math.exp(density(candidate)) * min(characters / CHARACTERS_PER_TOKEN, candidate.size)
        shown = sorted([*shown, *new])
    return total
