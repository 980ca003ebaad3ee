"""Filling the budget: which candidates are shown, and in which detail.

Candidates are taken greedily by value over a power of their cost. The value is on the log scale and calibrated across
files, so no reserve a file, no outline and no discount for repeats is needed; all three were measured and lose
(docs/decisions/0002). What does not fit is skipped or shrunk, never a stop. Costs are estimated from characters while
filling; after each round the rendered text is counted exactly, the estimate is corrected by what came out, and what is
left over is filled again. The last tokens are filled by exact counts (`satchel.assemble.remainder`).

**More budget never lowers the value of an answer** (`satchel.assemble.worth`). Such a choice alone does not keep that
law: a file pays its heading once, kinds have shares, and what fits into the last tokens changes with every token. So
choices are made at the budgets of a fixed scale only (`satchel.assemble.scale`): at each the answer is the better one
of the choice made for it and of the answer to the budget before, filled up. A budget between two of them gets the
answer of the lower one, filled up. Filling up takes, again and again, what costs least: an order that does not depend
on the budget, so a larger one shows all that a smaller one shows. Hence by induction: from one budget to the next an
answer keeps what it has, or is replaced by one that is worth at least as much. In practice the induction begins a few
steps of the scale below the budget, and leaves out the choices that cannot be worth as much
(`satchel.assemble.ceiling`); a long run over generated answers says whether that is enough
(benchmarks/results/fuzz.json).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from satchel.assemble.candidates import Candidate, Step
from satchel.assemble.ceiling import Ceiling, measured
from satchel.assemble.draft import Draft, Saved, Twins
from satchel.assemble.price import (
    FILE_FRAME_TOKENS,
    LEAST_REMARK_TOKENS,
    RANGE_TOKENS,
    SAFE_ESTIMATE,
    SMALLEST_PIECE_TOKENS,
    Frame,
    Prices,
)
from satchel.assemble.remainder import Gauge, Measure, Weigh, fill_up, named
from satchel.assemble.scale import floor_of, looked_back
from satchel.assemble.section import Section, density
from satchel.assemble.worth import most_valuable, total_value
from satchel.tokens import TokenCounter

__all__ = [
    "FILE_FRAME_TOKENS", "ITEM_SHARE", "LEAST_REMARK_TOKENS", "RANGE_TOKENS", "SMALLEST_PIECE_TOKENS", "Fitter",
]  # fmt: skip

ITEM_SHARE = 0.25
"""Of the budget of a kind, one document takes at most this much while kinds compete. A document, not a file: a
question is often answered by several functions of one file. A cap on files cost 8 points of file@4k beside commits
and docs."""

FIRST_SHARE = 0.85
"""Of the budget goes to the first round; the next one begins again with the best that did not fit. Without it what is
last in the order fills the gaps that the best left: .771 of the files at 4,000 tokens against .782 on 296 issues."""

MANY_CANDIDATES = 1_000
"""Of a larger pool the refill takes what fits whole; what is shrunk comes last, one by one. Half the time for 2,500
candidates, among which enough fits whole."""

ENOUGH_TO_JUDGE = 200
"""Estimated tokens from which the exact count corrects the characters a token."""

FAR_LESS = 0.5
"""What is worth less than this share, by token, of something that did not fit waits until that was shrunk: a
declaration of the best function says more than the whole of one that hardly answers."""

FEW_TOKENS = 500
"""Below it all answers to smaller budgets are filled up and compared: one item is a large part of them."""

MOST_GAINED = 0.5
"""Of what the best candidates would bring without frames, what filling up brings at most: 99 of 100 times less."""

ROUNDING = 1e-9
"""Two sums of the same values in another order differ by less than this share."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What is shown, its exact tokens and its worth."""

    saved: Saved
    used: int
    worth: float


class Fitter:
    """Fills sections up to a limit. One object a request."""

    def __init__(
        self,
        counter: TokenCounter,
        limit: int,
        measure: Measure,
        exact: Measure,
        weigh: Weigh,
        twins: Twins,
        *,
        shows_lines: bool = True,
        frame: Frame | None = None,
        again: Callable[[], bool] | None = None,
        looks_back: bool = False,
    ) -> None:
        """`exact` counts what the limit is about: the whole text, or with a soft budget what the items show.

        `measure` is a quick count that is hardly ever below it, `weigh` the same for one item. Without `shows_lines` a
        file costs its places only. `frame` is what the layout puts around lines. `again` is asked when all is
        filled and says whether it found more to choose from. With `looks_back` more budget never lowers the value.
        """
        self._limit = limit
        self._quick = measure
        self._twins = twins
        self._shows_lines = shows_lines
        self._prices = Prices(counter, frame or Frame(), shows_lines)
        self._gauge = Gauge(self._prices, measure, exact, weigh)
        self._again = again
        self._looks_back = looks_back
        self._correction = 1.0
        self._draft = Draft((), twins)
        self._frame = 0
        self._barren: dict[int, dict[tuple[object, ...], int]] = {}
        """The budget at which each section had nothing more to show, in the state that it was in then."""

    def fit(self, sections: Sequence[Section]) -> int:
        """Admit candidates; returns the exact tokens of the rendered text, never more than the limit."""
        self._draft = Draft(sections, self._twins)
        return self._best(self._limit) if self._looks_back else self._chosen(self._limit)

    def take_back(self) -> bool:
        """Undo the latest admission. Returns whether there was one."""
        return self._draft.take_back()

    def _best(self, limit: int) -> int:
        """The answer to a budget: at least as much worth as that to any smaller one."""
        draft, floor = self._draft, floor_of(limit)
        empty = draft.save()
        used = self._chosen(floor)
        if not self._waits():
            return used
        chosen = _Answer(draft.save(), used, self._worth())
        costs = measured(draft.sections, self._prices.counter, self._gauge.weigh)
        draft.restore(empty)
        ceiling = Ceiling(draft.sections, costs, self._frame, shows_lines=self._shows_lines)
        kept: _Answer | None = None
        for budget in looked_back(floor):
            if floor <= FEW_TOKENS or ceiling.at(budget) > chosen.worth:
                draft.restore(empty)
                used = self._chosen(budget)
                kept = self._better(_Answer(draft.save(), used, self._worth()), kept, budget)
        if kept is not None:
            chosen = self._better(chosen, kept, floor)
        draft.restore(chosen.saved)
        return fill_up(draft, self._gauge, chosen.used, limit)

    def _waits(self) -> bool:
        """Whether anything is left that more tokens could show."""
        return any(True for section in self._draft.sections for _ in section.remaining())

    def _better(self, own: _Answer, kept: _Answer | None, budget: int) -> _Answer:
        """The choice made for a budget, or that kept from smaller ones filled up to it."""
        if kept is None:
            return own
        self._draft.restore(kept.saved)
        gained = most_valuable(self._draft.sections, budget - kept.used) * MOST_GAINED
        if budget > FEW_TOKENS and kept.worth + gained <= own.worth:
            return own
        used = fill_up(self._draft, self._gauge, kept.used, budget)
        worth = self._worth()
        return own if own.worth >= worth * (1 - ROUNDING) else _Answer(self._draft.save(), used, worth)

    def _worth(self) -> float:
        return total_value(self._draft.sections, shows_lines=self._shows_lines)

    def _chosen(self, limit: int) -> int:
        """Choose for a budget from the present state; returns the exact tokens."""
        self._correction = 1.0
        self._barren.clear()
        used = self._filled(limit)
        if used <= limit and self._again is not None and self._again():
            used = self._filled(limit)
        return fill_up(self._draft, self._gauge, used, limit)

    def _filled(self, limit: int) -> int:
        """Fill by estimates, refill once, and try one by one what fits then; returns the exact tokens.

        Six refills take a quarter longer and show the same files.
        """
        draft = self._draft
        sections = draft.sections
        used = self._quick(sections)
        if used > limit:
            return used
        self._frame = used
        used = self._pin(used, limit)
        for section in sections:
            if section.reserve and section.candidates:
                self._admit_within(section, min(section.reserve - section.tokens, limit - used), capped=False)
                used = self._within(limit, self._quick)
        self._share_out(int((limit - used) * FIRST_SHARE), capped=len(sections) > 1)
        used = self._within(limit, self._quick)
        shrinks = sum(len(section.candidates) for section in sections) <= MANY_CANDIDATES
        before = len(draft.log)
        self._share_out(limit - used, capped=False, shrinks=shrinks)
        if len(draft.log) > before:
            self._within(limit, self._quick)
        return self._top_up(self._within(limit, self._gauge.exact), limit)

    def _pin(self, used: int, limit: int) -> int:
        """Show what is pinned, each at the fullest step that fits; returns the exact tokens."""
        for section in self._draft.sections:
            for index, candidate in list(section.remaining()):
                if candidate.pinned:
                    used = self._admit_fullest(section, index, candidate, used, limit)
        return used

    def _top_up(self, used: int, limit: int) -> int:
        """Show what still fits at any step, best first, checked on the rendered text; returns its tokens."""
        for section in self._draft.sections:
            for index, candidate in list(section.remaining()):
                if limit - used < SMALLEST_PIECE_TOKENS:
                    return used
                used = self._admit_fullest(section, index, candidate, used, limit)
        return used

    def _admit_fullest(self, section: Section, index: int, candidate: Candidate, used: int, limit: int) -> int:
        """Show a candidate at the fullest step that fits; returns the tokens of the text, `used` if none does."""
        if candidate.group not in section.groups and len(section.groups) >= section.item_limit:
            return used
        for step in candidate.steps_within(limit - used):
            least = self._gauge.least(section, candidate, step, limit - used)
            if least is None or self._gauge.is_too_large(section, candidate, step, limit - used):
                continue
            grown = self._gauge.grown(self._draft, section, index, candidate, step, least)
            if grown is None:
                return named(self._draft, self._gauge, candidate, used, limit)
            if used + grown <= limit + 2 * self._prices.slack:
                after = self._gauge.total(self._draft.sections, limit)
                if after <= limit:
                    return after
            self._draft.take_back()
        return used

    def _within(self, limit: int, measure: Measure) -> int:
        """Count, taking back the latest admissions while the text is over the limit."""
        draft = self._draft
        used = measure(draft.sections)
        while used > limit and draft.take_back():
            used = measure(draft.sections)
        estimated = sum(entry.tokens for entry in draft.log)
        if estimated > ENOUGH_TO_JUDGE:
            correction = min(max((used - self._frame) / estimated, 0.5), 2.0)
            self._correction *= correction
        return used

    def _share_out(self, available: int, *, capped: bool, shrinks: bool = False) -> None:
        """Give every section its share, then hand what was not used to those that still have candidates."""
        sections = self._draft.sections
        active = [section for section in sections if len(section.taken) < len(section.candidates)]
        while active and available >= SMALLEST_PIECE_TOKENS:
            total = sum(section.weight for section in active)
            progress = 0
            for section in active:
                share = int(available * section.weight / total)
                progress += self._admit_within(section, share, capped=capped, shrinks=shrinks)
            if not progress:
                break
            available -= progress
            capped = False
            active = [section for section in active if len(section.taken) < len(section.candidates)]

    def _admit_within(self, section: Section, budget: int, *, capped: bool, shrinks: bool = False) -> int:
        """Admit candidates of one section in order; returns the tokens they cost.

        What does not fit is skipped, and what is worth far less waits until that was shrunk: with `shrinks` each
        candidate is shown at the fullest step that fits, else in full only.
        """
        scan = (len(section.taken), len(section.candidates), shrinks, capped, self._correction)
        if budget <= self._barren.get(id(section), {}).get(scan, 0):
            return 0
        cap = max(budget * ITEM_SHARE, section.candidates[0].size) if capped else math.inf
        spent, least_dense = 0, -math.inf
        for index, candidate in section.in_order():
            left = budget - spent
            if left < SMALLEST_PIECE_TOKENS or (least_dense > -math.inf and density(candidate) < least_dense):
                break
            if not _has_place(section, candidate):
                continue
            shown = section.document_tokens.get(candidate.document.id, 0)
            fits = False
            for step in _tried(candidate, left, shrinks=shrinks):
                cost = self._prices.usual(section, candidate, step, self._correction, left)
                if cost is None or cost > left or (shown and shown + cost > cap):
                    continue
                spent += cost if self._draft.admit(section, index, candidate, step, cost) else 0
                fits = True
                break
            if not fits and not shrinks:
                least_dense = max(least_dense, density(candidate) + math.log(FAR_LESS))
        if not spent:
            self._barren[id(section)] = {scan: budget}
        return spent


def _tried(candidate: Candidate, left: int, *, shrinks: bool) -> Iterable[Step]:
    """The steps at which a candidate may be shown in a share."""
    if shrinks:
        return candidate.steps_within(left)
    return (candidate.steps[0],) if candidate.size * SAFE_ESTIMATE <= left else ()


def _has_place(section: Section, candidate: Candidate) -> bool:
    """Whether a section may show one more item, if this is one."""
    return candidate.group in section.groups or len(section.groups) < section.item_limit
