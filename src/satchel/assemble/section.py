"""The candidates of one kind, in the order in which they are tried."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from satchel.assemble.candidates import Candidate, Step
from satchel.assemble.read import Lines
from satchel.assemble.shown import Group
from satchel.types import Kind

COST_EXPONENT = 0.42
"""Measured flat from 0.35 to 0.5 at 4,000 tokens. Small budgets want 0.2 to 0.35, large ones 0.5 to 0.65."""

COST_OFFSET = 60.0
"""Tokens added to every cost before the power, so that tiny windows do not win by being tiny. Anything from 8 to 60
measures the same on 296 issues; with 60 fewer one-line pieces stand between the ranges that answer."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What a section shows at one time, to come back to."""

    candidates: tuple[Candidate, ...]
    shown: frozenset[Candidate]
    led: frozenset[Candidate]
    groups: Mapping[str, Group]
    tokens: int
    taken: frozenset[int]
    document_tokens: Mapping[str, int]


@dataclass(slots=True)
class Section:
    """The candidates of one kind, best first, and its share of the budget.

    `reserve` is what the kind gets in any case, in tokens, if it can fill it. `companions` gives what should stand
    beside a candidate that was admitted; they join the candidates then. `title` stands above it, empty for the one of
    the kind.
    """

    kind: Kind
    weight: float
    candidates: list[Candidate]
    lines: Mapping[str, Lines]
    item_limit: int
    reserve: int = 0
    companions: Callable[[Candidate, Step], Sequence[Candidate]] | None = None
    title: str = ""
    shown: set[Candidate] = field(default_factory=set)
    _led: set[Candidate] = field(default_factory=set)
    groups: dict[str, Group] = field(default_factory=dict)
    tokens: int = 0
    taken: set[int] = field(default_factory=set)
    document_tokens: dict[str, int] = field(default_factory=dict)
    """What is shown of each document so far, by id."""
    _scale: float | None = None
    _orders: dict[Candidate, tuple[bool, float, str, int]] = field(default_factory=dict)
    _companions: dict[tuple[Candidate, int], Sequence[Candidate]] = field(default_factory=dict)
    """What stands beside a step of a candidate, by the identity of the step."""

    @property
    def scale(self) -> float:
        """What makes the worth of kinds comparable: a token of the best of each counts as much as its weight.

        The values of kinds are not on one scale: a commit of a few words has another one than a function.
        """
        if self._scale is None:
            best = max(self.candidates, key=lambda one: (one.leader is None, one.value), default=None)
            self._scale = self.weight * math.exp(-density(best)) if best is not None else 1.0
        return self._scale

    def choice(self) -> Choice:
        """What is shown now."""
        return Choice(
            tuple(self.candidates),
            frozenset(self.shown),
            frozenset(self._led),
            {key: group.copy() for key, group in self.groups.items()},
            self.tokens,
            frozenset(self.taken),
            dict(self.document_tokens),
        )

    def choose(self, choice: Choice) -> None:
        """Show what was shown then."""
        self.candidates[:] = choice.candidates
        self.shown, self._led, self.taken = set(choice.shown), set(choice.led), set(choice.taken)
        self.groups = {key: group.copy() for key, group in choice.groups.items()}
        self.tokens, self.document_tokens = choice.tokens, dict(choice.document_tokens)

    def add(self, candidate: Candidate, tokens: int) -> None:
        """Count the tokens of an admission, or with a negative number of its withdrawal."""
        self.tokens += tokens
        identity = candidate.document.id
        self.document_tokens[identity] = self.document_tokens.get(identity, 0) + tokens

    def admit(self, candidate: Candidate, step: Step) -> None:
        """Note that a candidate is shown, and take up what should stand beside it."""
        self.shown.add(candidate)
        if self.companions is None or candidate.leader is not None or candidate in self._led:
            return
        self._led.add(candidate)
        known = self._companions.get((candidate, id(step)))
        if known is None:
            known = self._companions[candidate, id(step)] = self.companions(candidate, step)
        self.candidates += known

    def remaining(self) -> Iterator[tuple[int, Candidate]]:
        """Candidates that are not shown yet and could be, best first; companions last."""
        return (
            (index, c)
            for index, c in enumerate(self.candidates)
            if index not in self.taken and (c.leader is None or c.leader in self.shown)
        )

    def in_order(self) -> Iterator[tuple[int, Candidate]]:
        """`remaining` by density, with companions where they belong, also those that join on the way."""
        rows = list(self.remaining())
        companions = [(*self._order(candidate), index) for index, candidate in rows if candidate.leader is not None]
        heapq.heapify(companions)
        known = len(self.candidates)
        for index, candidate in rows:
            if candidate.leader is not None:
                continue
            while companions and companions[0] < self._order(candidate):
                *_, joined = heapq.heappop(companions)
                yield joined, self.candidates[joined]
            yield index, candidate
            for joined in range(known, len(self.candidates)):
                heapq.heappush(companions, (*self._order(self.candidates[joined]), joined))
            known = len(self.candidates)
        while companions:
            *_, joined = heapq.heappop(companions)
            yield joined, self.candidates[joined]

    def _order(self, candidate: Candidate) -> tuple[bool, float, str, int]:
        known = self._orders.get(candidate)
        if known is None:
            known = self._orders[candidate] = order(candidate)
        return known


def density(candidate: Candidate) -> float:
    """What a token of a candidate is worth: its value over a power of its size, on the log scale."""
    return candidate.density(COST_EXPONENT, COST_OFFSET)


def order(candidate: Candidate) -> tuple[bool, float, str, int]:
    """What is tried first: pins, then value over a power of the cost, ties by id and place."""
    return not candidate.pinned, -density(candidate), candidate.document.id, candidate.place


def by_density(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Candidates in the order in which they are tried."""
    return sorted(candidates, key=order)
