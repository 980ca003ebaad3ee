"""Filling the budget: which candidates are shown, and in which detail.

Candidates are taken greedily by value over a power of their cost. The value is on the log scale and calibrated across
files, so no reserve a file, no outline and no discount for repeats is needed; all three were measured and lose
(docs/decisions/0002). What does not fit is skipped or shrunk, never a stop. Costs are estimated
from characters while filling; after each round the rendered text is counted exactly, the estimate is corrected by what
came out, and what is left over is filled again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from satchel.assemble.candidates import CHARACTERS_PER_TOKEN, Candidate, Step
from satchel.assemble.read import Lines
from satchel.assemble.section import Section
from satchel.assemble.shown import Group
from satchel.tokens import TokenCounter

FILE_FRAME_TOKENS = 14
"""Heading, fences and nonce of one file besides its path, as measured on rendered contexts; an upper estimate."""

RANGE_TOKENS = 8
"""One more range in a file: its numbers, its name and the line between ranges; an upper estimate."""

ITEM_SHARE = 0.25
"""Of the budget of a kind, one document takes at most this much while kinds compete. A document, not a file: a
question is often answered by several functions of one file. A cap on files cost 8 points of file@4k beside commits
and docs."""

SAFE_ESTIMATE = 0.3
"""The real cost of a candidate is never below this share of its estimated size: blanks pack 12 a token."""

MOST_REFILLS = 6
"""Rounds of counting the rendered text and filling what is left; the rest is under one item then."""

ENOUGH_TO_JUDGE = 200
"""Estimated tokens from which the exact count corrects the characters a token."""

LEAST_FRAME_TOKENS = 8
"""No format shows another file or record for less, whatever it is called."""

LEAST_PLACE_TOKENS = 4
"""The same where only the places of a file are shown: its path and a number."""

LEAST_RANGE_TOKENS = 2
"""A further range has at least a number and a mark."""

LEAST_REMARK_TOKENS = 6
"""`# 2 lines left out (3-4)` in any language."""

MERGED_TOKENS = 2
"""A text may cost this much less inside another one than alone: tokens merge at both of its ends."""

MERGED_ESTIMATE = 6
"""The same where tokens are estimated: the factor, and rounding up for every text that is counted alone."""

MOST_CHARACTERS_A_TOKEN = 40
"""More characters a token, over some lines, have only rulers and white space; what is longer need not be counted."""

CLOSED_GAP_TOKENS = 24
"""At most so much falls away where two ranges become one: a range, a name of the usual length, a line between."""

SMALLEST_PIECE_TOKENS = 6
"""Nothing useful is cheaper than this: below it the search for something that fits ends."""


@dataclass(slots=True)
class Admission:
    """One decision that can be taken back."""

    section: Section
    index: int
    group: Group
    tokens: int


Measure = Callable[[Sequence[Section]], int]
"""Renders what the sections show and counts its tokens, everything included."""


class Twins(Protocol):
    """Knows what says the same as something shown."""

    def is_duplicate(self, section: Section, candidate: Candidate) -> bool:
        """Whether something shown says the same, which is then named as another origin of it."""
        ...

    def forget(self, candidate: Candidate) -> None:
        """Name it no more."""
        ...


class Fitter:
    """Fills sections up to a limit. One object a request."""

    def __init__(
        self,
        counter: TokenCounter,
        limit: int,
        measure: Measure,
        exact: Measure,
        weigh: Callable[[Group], int],
        twins: Twins,
        *,
        shows_lines: bool = True,
    ) -> None:
        """`exact` counts what the limit is about: the whole text, or with a soft budget what the items show.

        `measure` is a quick count that is hardly ever below it, `weigh` the same for one item. Without `shows_lines` a
        file costs its places only.
        """
        self._shows_lines = shows_lines
        self._merged = MERGED_TOKENS if counter.exact else MERGED_ESTIMATE
        self._counter = counter
        self._limit = limit
        self._quick = measure
        self._exact = exact
        self._weigh = weigh
        self._twins = twins
        self._characters_per_token = CHARACTERS_PER_TOKEN
        self._text_tokens: dict[str, int] = {}
        self._log: list[Admission] = []
        self._frame = 0

    def fit(self, sections: Sequence[Section]) -> int:
        """Admit candidates; returns the exact tokens of the rendered text, never more than the limit."""
        used = self._quick(sections)
        if used > self._limit:
            return used
        self._frame = used
        used = self._pin(sections, used)
        for section in sections:
            if section.reserve and section.candidates:
                self._admit_within(section, min(section.reserve - section.tokens, self._limit - used), capped=False)
                used = self._within_limit(sections)
        self._share_out(sections, self._limit - used, capped=len(sections) > 1)
        used = self._within_limit(sections)
        for _ in range(MOST_REFILLS):
            before = len(self._log)
            self._share_out(sections, self._limit - used, capped=False)
            if len(self._log) == before:
                break
            used = self._within_limit(sections)
        return self._top_up(sections, self._within_limit(sections, self._exact))

    def _pin(self, sections: Sequence[Section], used: int) -> int:
        """Show what is pinned, each at the fullest step that fits; returns the exact tokens."""
        for section in sections:
            for index, candidate in list(section.remaining()):
                if candidate.pinned:
                    used = self._admit_fullest(sections, section, index, candidate, used)
        return used

    def _admit_fullest(
        self, sections: Sequence[Section], section: Section, index: int, candidate: Candidate, used: int
    ) -> int:
        """Show a candidate at the fullest step that fits; returns the tokens of the text, `used` if none does."""
        for step in candidate.steps_within(self._limit - used):
            least = self._least(section, candidate, step, self._limit - used)
            if least is None:
                continue
            group = section.groups.get(candidate.group)
            before = self._weigh(group) if group is not None else 0
            if not self._admit(section, index, candidate, step, least):
                return self._named(sections, candidate, used)
            grown = self._weigh(section.groups[candidate.group]) - before
            if used + grown <= self._limit + 2 * self._merged:
                after = self._exact(sections)
                if after <= self._limit:
                    return after
            self.take_back()
        return used

    def _named(self, sections: Sequence[Section], candidate: Candidate, used: int) -> int:
        """The tokens of the text that now names a candidate beside its twin; where that is too much it does not."""
        after = self._exact(sections)
        if after <= self._limit:
            return after
        self._twins.forget(candidate)
        return used

    def _within_limit(self, sections: Sequence[Section], measure: Measure | None = None) -> int:
        """Count, taking back the latest admissions while the text is over the limit; quickly by default."""
        measure = measure or self._quick
        used = measure(sections)
        while used > self._limit and self.take_back():
            used = measure(sections)
        estimated = sum(entry.tokens for entry in self._log)
        if estimated > ENOUGH_TO_JUDGE:
            correction = min(max((used - self._frame) / estimated, 0.5), 2.0)
            self._characters_per_token = CHARACTERS_PER_TOKEN / correction
        return used

    def _share_out(self, sections: Sequence[Section], available: int, *, capped: bool) -> None:
        """Give every section its share, then hand what was not used to those that still have candidates."""
        active = [section for section in sections if len(section.taken) < len(section.candidates)]
        while active and available >= SMALLEST_PIECE_TOKENS:
            total = sum(section.weight for section in active)
            progress = 0
            for section in active:
                share = int(available * section.weight / total)
                progress += self._admit_within(section, share, capped=capped)
            if not progress:
                break
            available -= progress
            capped = False
            active = [section for section in active if len(section.taken) < len(section.candidates)]

    def _admit_within(self, section: Section, budget: int, *, capped: bool) -> int:
        """Admit candidates of one section in order, the fullest step only; returns the tokens they cost."""
        cap = max(budget * ITEM_SHARE, section.candidates[0].size) if capped else math.inf
        spent = 0
        for index, candidate in section.in_order():
            if budget - spent < SMALLEST_PIECE_TOKENS:
                break
            if candidate.size * SAFE_ESTIMATE > budget - spent:
                continue
            step = candidate.steps[0]
            cost = self._cost(section, candidate, step, budget - spent)
            shown = section.document_tokens.get(candidate.document.id, 0)
            if cost is None or (shown and shown + cost > cap):
                continue
            if self._admit(section, index, candidate, step, cost):
                spent += cost
        return spent

    def _top_up(self, sections: Sequence[Section], used: int) -> int:
        """Fill the last tokens: any candidate at any step that still fits, checked on the rendered text.

        What is admitted may close a gap and make another candidate cheaper, so it goes on until nothing is admitted.
        """
        changed: set[str] | None = None
        while changed is None or changed:
            known = len(self._log)
            for section in sections:
                for index, candidate in list(section.remaining()):
                    if self._limit - used < SMALLEST_PIECE_TOKENS:
                        return used
                    if changed is None or candidate.group in changed:
                        used = self._admit_fullest(sections, section, index, candidate, used)
            changed = {entry.group.key for entry in self._log[known:]}
        return used

    def _admit(self, section: Section, index: int, candidate: Candidate, step: Step, cost: int) -> bool:
        if not candidate.pinned and candidate.leader is None and self._twins.is_duplicate(section, candidate):
            section.taken.add(index)
            return False
        group = section.groups.get(candidate.group)
        if group is None:
            group = Group(candidate.kind, candidate.group, section.lines.get(candidate.group), title=section.title)
            section.groups[candidate.group] = group
        group.admit(candidate, step, cost)
        section.taken.add(index)
        section.add(candidate, cost)
        section.admit(candidate, step)
        self._log.append(Admission(section, index, group, cost))
        return True

    def take_back(self) -> bool:
        """Undo the latest admission. Returns whether there was one."""
        if not self._log:
            return False
        last = self._log.pop()
        last.group.withdraw(last.tokens)
        last.section.taken.discard(last.index)
        candidate = last.section.candidates[last.index]
        last.section.shown.discard(candidate)
        last.section.add(candidate, -last.tokens)
        if not last.group.picks:
            del last.section.groups[last.group.key]
        return True

    def _cost(self, section: Section, candidate: Candidate, step: Step, most: float) -> int | None:
        """Upper estimate of what the step adds to the text; None when it is over `most` or adds nothing."""
        group = section.groups.get(candidate.group)
        if group is None and len(section.groups) >= section.item_limit:
            return None
        frame = 0 if group is not None else FILE_FRAME_TOKENS + self._count_text(candidate.group)
        if not step.ranges:
            cost = frame + self._count_text(step.text)
            return cost if cost <= most else None
        target = group or Group(candidate.kind, candidate.group, section.lines[candidate.group])
        added = target.added(step)
        if not added:
            return None
        cost = frame + max(target.new_markers(step), 0) * RANGE_TOKENS
        lines = section.lines[candidate.group]
        for start, end in added:
            if cost > most:
                return None
            cost += self._count_lines(lines, start, end)
        return cost if cost <= most else None

    def _least(self, section: Section, candidate: Candidate, step: Step, most: int) -> int | None:
        """Lower estimate of what the step adds to the text; None where it is over `most` or nothing may be added."""
        group = section.groups.get(candidate.group)
        if group is None and len(section.groups) >= section.item_limit:
            return None
        frame = 0 if group is not None else LEAST_FRAME_TOKENS if self._shows_lines else LEAST_PLACE_TOKENS
        if frame > most:
            return None
        if not step.ranges:
            least = frame + self._count_text(step.text) - self._merged
            return max(least, 1) if least <= most else None
        target = group or Group(candidate.kind, candidate.group, section.lines[candidate.group])
        added = target.added(step)
        if not added:
            return None
        markers = target.new_markers(step)
        frame += markers * (LEAST_RANGE_TOKENS if markers > 0 else CLOSED_GAP_TOKENS)
        if self._shows_lines:
            lines = section.lines[candidate.group]
            characters = sum(len(line) for start, end in added for line in lines.lines[start - 1 : end])
            if frame + characters / MOST_CHARACTERS_A_TOKEN > most:
                return None
            frame += sum(self._count_text(lines.text(start, end)) - self._merged for start, end in added)
            frame += len(step.remarks) * LEAST_REMARK_TOKENS
        return max(frame, 1) if frame <= most else None

    def _count_lines(self, lines: Lines, start: int, end: int) -> int:
        """Estimated tokens of these lines: the page is counted exactly after each round, and corrects the estimate."""
        if not self._shows_lines:
            return 0
        characters = sum(map(len, lines.lines[start - 1 : end])) + end - start + 1
        return int(characters / self._characters_per_token) + 1

    def _count_text(self, text: str) -> int:
        known = self._text_tokens.get(text)
        if known is None:
            known = self._text_tokens[text] = self._counter.count(text)
        return known
