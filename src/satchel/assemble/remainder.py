"""The last tokens: what still fits is shown, checked on the rendered text, until nothing does.

Always what costs least comes next. That order does not depend on how much is left, so with more budget the same is
shown and more; and when the cheapest does not fit, nothing does. What something costs is worked out lazily: a bound
below which it never costs is known from a table, and only what is first by its bound is rendered and counted.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from satchel.assemble.candidates import Candidate, Step
from satchel.assemble.draft import Draft
from satchel.assemble.price import SMALLEST_PIECE_TOKENS, Prices
from satchel.assemble.section import Section
from satchel.assemble.shown import Group

JITTER_TOKENS = 2
"""Neighbours with the same label share it, and a list of ranges has one comma less than ranges."""

Measure = Callable[[Sequence[Section]], int]
"""Renders what the sections show and counts its tokens, everything included."""

Weigh = Callable[[Group], int]
"""Tokens of one item with its frame."""

Place = tuple[int, int, int]
"""Section, candidate and step by their numbers: what is tried first among equals."""

_State = tuple[int, frozenset[int]]
"""A step by its identity, and those that are shown of its item."""

_Entry = tuple[int, bool, Place, int, Candidate, Step]
"""What it costs, whether that was counted, its place, the state of its item that this is about, and what it is."""


@dataclass(slots=True)
class Gauge:
    """How costs are found out: by a table, by rendering one item, by counting the whole text.

    `drift` is how far the quick count was off when the text was last counted as a whole: in JSON every item that
    follows another one saves a token where they meet.
    """

    prices: Prices
    quick: Measure
    exact: Measure
    weigh: Weigh
    drift: int = 0
    _growths: dict[_State, int] = field(default_factory=dict)
    _apart: dict[int, int] = field(default_factory=dict)
    """What a step made its item grow by where it stood apart from all that was shown of its file."""

    def total(self, sections: Sequence[Section], limit: int) -> int:
        """Tokens of the text: exact where they come near the limit, else at most a few too many or too few."""
        quick = self.quick(sections)
        if quick + self.drift + 2 * self.prices.slack <= limit:
            return quick + self.drift
        used = self.exact(sections)
        self.drift = used - quick
        return used

    def least(self, section: Section, candidate: Candidate, step: Step, room: int) -> int | None:
        """Lower bound of what a step costs, None where it is more than there is room for or adds nothing.

        What stands apart costs about the same whatever else is shown of its file.
        """
        least = self.prices.least(section, candidate, step, room)
        known = self._apart.get(id(step))
        if least is None or known is None:
            return least
        group = section.groups.get(candidate.group)
        if group is None or not _stands_apart(candidate, step, group):
            return least
        least = max(least, known - self.prices.slack - JITTER_TOKENS)
        return least if least <= room else None

    def growth(self, section: Section, candidate: Candidate, step: Step) -> int | None:
        """What a step is known to make its item, as it is now, grow by; None if it was not tried yet."""
        return self._growths.get(_state(section, candidate, step))

    def is_too_large(self, section: Section, candidate: Candidate, step: Step, room: int) -> bool:
        """Whether a step is known to make its item grow by more than there is room for."""
        known = self.growth(section, candidate, step)
        return known is not None and known > room + 2 * self.prices.slack

    def grown(
        self, draft: Draft, section: Section, index: int, candidate: Candidate, step: Step, least: int
    ) -> int | None:
        """Show a step; returns what its item grew by, None where it says what is shown already and is only named."""
        group = section.groups.get(candidate.group)
        state = _state(section, candidate, step)
        before = self.weigh(group) if group is not None else 0
        stands_apart = group is not None and _stands_apart(candidate, step, group)
        if not draft.admit(section, index, candidate, step, least):
            return None
        grown = self.weigh(section.groups[candidate.group]) - before
        self._growths[state] = grown
        if stands_apart:
            self._apart[id(step)] = grown
        return grown


def _stands_apart(candidate: Candidate, step: Step, group: Group) -> bool:
    return bool(step.ranges) and group.is_apart(step.ranges) and not group.shows(candidate.document.id)


def _state(section: Section, candidate: Candidate, step: Step) -> _State:
    """A step and the item that it would be shown in."""
    group = section.groups.get(candidate.group)
    return id(step), group.steps() if group is not None else frozenset()


def named(draft: Draft, gauge: Gauge, candidate: Candidate, used: int, limit: int) -> int:
    """The tokens of the text that now names a candidate beside its twin; where that is too much it does not."""
    after = gauge.total(draft.sections, limit)
    if after <= limit:
        return after
    draft.twins.forget(candidate)
    return used


def fill_up(draft: Draft, gauge: Gauge, used: int, limit: int) -> int:
    """Show what costs least, again and again, until nothing fits; returns the exact tokens of the text."""
    return _Remainder(draft, gauge, min(used, gauge.exact(draft.sections)), limit).filled()


class _Remainder:
    """One filling up. `_states` counts how often an item changed: what was found out about it before is void then."""

    def __init__(self, draft: Draft, gauge: Gauge, used: int, limit: int) -> None:
        self._draft, self._gauge, self._used, self._limit = draft, gauge, used, limit
        self._states: dict[tuple[int, str], int] = {}
        self._heap: list[_Entry] = []

    def filled(self) -> int:
        """Fill up, and once more if the whole text turns out to be smaller than it seemed."""
        while True:
            if self._limit - self._used < SMALLEST_PIECE_TOKENS:
                return self._used
            self._run()
            used = self._gauge.exact(self._draft.sections)
            if used >= self._used:
                return used
            self._used = used

    def _run(self) -> None:
        self._heap.clear()
        for number in range(len(self._draft.sections)):
            self._heap += self._entries(number)
        heapq.heapify(self._heap)
        while self._heap and self._limit - self._used >= SMALLEST_PIECE_TOKENS:
            cost, is_counted, place, state, candidate, step = heapq.heappop(self._heap)
            section = self._draft.sections[place[0]]
            if not self._is_open(section, place, state, candidate):
                continue
            if self._used + cost > self._limit + 2 * self._gauge.prices.slack:
                break
            if not is_counted:
                self._try(section, place, state, candidate, step, cost)
            elif self._admitted(section, place[1], candidate, step, cost):
                self._changed(place[0], candidate)

    def _is_open(self, section: Section, place: Place, state: int, candidate: Candidate) -> bool:
        if place[1] in section.taken or self._states.get((place[0], candidate.group), 0) != state:
            return False
        return candidate.group in section.groups or len(section.groups) < section.item_limit

    def _admitted(self, section: Section, index: int, candidate: Candidate, step: Step, cost: int) -> bool:
        """Show what is first by what its item grows; the whole text has the last word."""
        if self._gauge.grown(self._draft, section, index, candidate, step, cost) is None:
            self._used = named(self._draft, self._gauge, candidate, self._used, self._limit)
            return False
        after = self._gauge.total(self._draft.sections, self._limit)
        if after > self._limit:
            self._draft.take_back()
            return False
        self._used = after
        return True

    def _try(self, section: Section, place: Place, state: int, candidate: Candidate, step: Step, least: int) -> None:
        """Find out what the text grows by, and put it back in its turn if it fits; a new item may need a heading."""
        draft, gauge = self._draft, self._gauge
        is_new = candidate.group not in section.groups
        grown = gauge.grown(draft, section, place[1], candidate, step, least)
        if grown is None:
            self._used = named(draft, gauge, candidate, self._used, self._limit)
            return
        cost = gauge.quick(draft.sections) + gauge.drift - self._used if is_new else grown
        draft.take_back()
        if self._used + cost <= self._limit + 2 * gauge.prices.slack:
            heapq.heappush(self._heap, (cost, True, place, state, candidate, step))

    def _changed(self, number: int, candidate: Candidate) -> None:
        """Everything in the same item costs something else now; what was counted elsewhere still holds."""
        key = (number, candidate.group)
        self._states[key] = self._states.get(key, 0) + 1
        for entry in self._entries(number, candidate.group):
            heapq.heappush(self._heap, entry)

    def _entries(self, number: int, group: str | None = None) -> Iterator[_Entry]:
        """What may fit of a section, or of one item of it, each with the bound of its cost."""
        section = self._draft.sections[number]
        prices, room = self._gauge.prices, self._limit - self._used
        full = len(section.groups) >= section.item_limit
        for index, candidate in section.remaining():
            if group is not None and candidate.group != group:
                continue
            if candidate.group not in section.groups and (full or prices.least_item(candidate) > room):
                continue
            state = self._states.get((number, candidate.group), 0)
            for position, step in enumerate(candidate.steps_within(room)):
                place = (number, index, position)
                known = self._gauge.growth(section, candidate, step)
                if known is not None:
                    if known <= room + 2 * prices.slack:
                        yield known, candidate.group in section.groups, place, state, candidate, step
                    continue
                least = self._gauge.least(section, candidate, step, room)
                if least is not None:
                    yield least, False, place, state, candidate, step
