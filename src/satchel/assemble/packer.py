"""Packing: which candidates are shown, and in which detail, in one pass over all of them.

Candidates of all sections are tried in one order: value over a power of the cost, both on the log scale, on one scale
for the whole request. A candidate that does not fit is shrunk or skipped. The pass never backtracks, and its time is
linear in the tried lines: a line is counted once while its file is cached.

A candidate whose value is far below the best one is not shown even if there is room. Once a candidate was left out for
lack of room, nothing of clearly less value is admitted.

Costs are exact counts of the shown lines plus the usual cost of their frame. The text is then written and counted: the
remaining room is filled again (`refill`), or the last admissions are withdrawn (`take_back`).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

from satchel.assemble.candidates import Candidate, Step
from satchel.assemble.section import Group, Section, Seen, priority
from satchel.tokens import TokenCounter
from satchel.types import ContextItem, Format

BUDGET, LIMIT, VALUE = "budget", "limit", "value"
"""Reasons for not showing a candidate: no room, its kind has all its items, or it is not worth its tokens."""

TWIN = "twin"
"""Reason for not trying a candidate: a shown one has the same text, and lists it as another origin."""

REFILLS = 2
"""Times that the room left by the exact count is filled again; estimates are mostly too high by 2 to 5 %."""

CLEARLY_LESS = 1.0
"""Difference in value (log scale, a factor of 2.7): after a candidate was left out for lack of room, others that are
worth less by this much are left out as well."""

SMALLEST_PIECE = 8
"""Tokens of the smallest useful piece."""

LEAST_CUT = 60
"""Fewest tokens into which lines of a file are cut, unless they are the first: two of a function tell nothing."""

MOST_CHARACTERS_PER_TOKEN = 12
"""Only rulers and white space have more characters for each token: longer texts are not counted, they do not fit."""


@dataclass(frozen=True, slots=True)
class TextFrame:
    """Usual tokens of a layout around an item besides its path or title, and around a range of lines."""

    item: int = 18
    range: int = 9


FRAMES: Mapping[Format, TextFrame] = {
    Format.MARKDOWN: TextFrame(),
    Format.PLAIN: TextFrame(21, 8),
    Format.XML: TextFrame(33, 19),
    Format.JSON: TextFrame(38, 20),
}
"""Medians over the admissions of generated answers."""


_Entry = tuple[bool, float, str, int, int, Section, Candidate]
"""One candidate in the order in which it is tried: pins first and as they were given, then by priority. The last item
before the section is a number that no other entry has, so sections and candidates are never compared."""


class _Admission(NamedTuple):
    section: Section
    candidate: Candidate
    tokens: int


@dataclass(frozen=True, slots=True)
class Fitted:
    """The outcome of fitting: the text, its tokens and its items; all empty when not even the frame fits.

    `stopped` says why nothing more is shown: "budget", "value", "limit", or empty where nothing more was found. Where
    nothing fits, `needed` is a budget (tokens) that shows an item, close to the least one; 0 if that is unknown.
    """

    text: str = ""
    used: int = 0
    items: tuple[ContextItem, ...] = ()
    stopped: str = ""
    needed: int = 0


class Packer:
    """Fills sections. One object per request.

    Candidates worth less than the best one by more than `value_range` (log scale) are not shown; `most_items` is the
    number of items over all sections. With `shares` every section first gets its share of the room by weight, for what
    is within the range of its own best candidate. No chunk gets more than `chunk_share` of that share or
    `chunk_tokens`, whichever is more. Without `shows_lines` a file costs only its places. `is_strict` leaves out
    candidates worth less by `clearly_less` once a better one was left out for lack of room. Without `merges_twins`
    equal texts are shown twice.
    """

    def __init__(
        self,
        sections: Sequence[Section],
        counter: TokenCounter,
        frame: TextFrame,
        *,
        value_range: float = math.inf,
        most_items: int = 1_000_000,
        shares: bool = False,
        chunk_share: float = 1.0,
        chunk_tokens: int = 0,
        shows_lines: bool = True,
        is_strict: bool = True,
        merges_twins: bool = True,
        clearly_less: float = CLEARLY_LESS,
    ) -> None:
        self._sections = sections
        self._counter, self._frame = counter, frame
        bests = {section: section.highest_value() for section in sections}
        self._least = max(bests.values(), default=0.0) - value_range
        self._own_least = {section: best - value_range for section, best in bests.items()}
        self._most_items = most_items
        self._shares = shares and len(sections) > 1
        self._chunk_share, self._chunk_tokens = chunk_share, chunk_tokens
        self._shows_lines, self._is_strict, self._clearly_less = shows_lines, is_strict, clearly_less
        self._seen = Seen() if merges_twins else None
        self._numbers = count()
        self._log: list[_Admission] = []
        self._chunks: dict[str, int] = {}
        self._twins: dict[Candidate, Section] = {}
        self._items = 0
        self._waiting: list[_Entry] = [
            self._entry(section, candidate) for section in sections for candidate in section.candidates
        ]

    @property
    def is_full(self) -> bool:
        """Whether a candidate was left out for lack of room."""
        return any(reason == BUDGET for section in self._sections for reason in section.rejected.values())

    def fit(self, room: int, limit: int, write: Callable[[], Fitted]) -> Fitted:
        """Return the text of at most `limit` tokens that `write` makes; `room` is what its items may take by estimate.

        Candidates are chosen by estimates in one pass. The written text is counted; remaining room is filled again, and
        while the text is over the limit the last admissions are withdrawn.
        """
        self.fill(room)
        fitted = write()
        for _ in range(REFILLS):
            if not self.is_full or limit - fitted.used < SMALLEST_PIECE or not self.refill(limit - fitted.used):
                break
            fitted = write()
        over = fitted.used - limit
        fitted = self._within(limit, fitted, write)
        # Sources and summaries of given results are not in the estimates: what was withdrawn may fit shortened.
        if over > 0 and not self._is_strict and self.refill(limit - fitted.used - over):
            fitted = self._within(limit, write(), write)
        for _ in range(REFILLS):  # larger than estimated: try again in less room
            if fitted.items or room < SMALLEST_PIECE:
                break
            room //= 2
            self.refill(room)
            fitted = self._within(limit, write(), write)
        return fitted

    def _within(self, limit: int, fitted: Fitted, write: Callable[[], Fitted]) -> Fitted:
        while fitted.used > limit and self.take_back(fitted.used - limit):
            fitted = write()
        return fitted

    def fill(self, room: int) -> int:
        """Admit candidates into `room` tokens; return the estimated tokens used."""
        before = room
        reserves = {section: section.reserve for section in self._sections}
        if any(reserves.values()):
            room -= self._pass(room, reserves)
        if self._shares:
            total = sum(section.weight for section in self._sections if section.candidates) or 1.0
            allotments = {one: int(before * one.weight / total) - one.tokens for one in self._sections}
            room -= self._pass(room, allotments)
        return before - room + self._pass(room, None)

    def refill(self, room: int) -> int:
        """Try again the candidates that were left out for lack of room; return the tokens used."""
        for section in self._sections:
            for candidate in [one for one, reason in section.rejected.items() if reason == BUDGET]:
                del section.rejected[candidate]
                self._waiting.append(self._entry(section, candidate))
        return self._pass(room, None)

    def take_back(self, tokens: int) -> bool:
        """Undo the latest admissions until `tokens` are free. Return whether there was one."""
        if not self._log:
            return False
        undone = set()
        while self._log and tokens > 0:
            admission = self._log.pop()
            self._undo(*admission)
            undone.add(admission.candidate)
            tokens -= admission.tokens
        for section in self._sections:
            for group in section.groups.values():
                group.rejoin()
        if self._seen is not None:
            self._seen.forget(undone)
        return True

    def _entry(self, section: Section, candidate: Candidate) -> _Entry:
        number = next(self._numbers)
        if candidate.pinned:
            return False, float(number), "", 0, number, section, candidate
        rank = -priority(candidate, section.level)
        return True, rank, candidate.chunk.id, candidate.place, number, section, candidate

    def _pass(self, room: int, allotments: Mapping[Section, int] | None) -> int:
        """Try all waiting candidates, with `allotments` only those that fit them; return the tokens used."""
        heap, self._waiting = self._waiting, []
        heapq.heapify(heap)
        remaining = dict(allotments) if allotments is not None else None
        least_cap = self._chunk_tokens
        caps = {
            one: max(int(self._chunk_share * own), least_cap, one.reserve) for one, own in (allotments or {}).items()
        }
        used, barrier = 0, -math.inf
        while heap:
            entry = heapq.heappop(heap)
            *_, section, candidate = entry
            least = self._least if remaining is None else self._own_least[section]
            reason = self._refusal(section, candidate, least, barrier)
            if reason == TWIN:
                self._twins[candidate] = section
                continue
            own = room - used if remaining is None else min(room - used, remaining[section])
            taken = None if reason else self._admit(section, candidate, own, caps.get(section))
            if taken is not None:
                used += taken
                if remaining is not None:
                    remaining[section] -= taken
                group = section.groups[candidate.group]
                for follower in section.follow(candidate, group.picks[-1][1], group) if section.follow else ():
                    heapq.heappush(heap, self._entry(section, follower))
            elif remaining is not None and reason in (None, BUDGET):
                self._waiting.append(entry)
            else:
                section.rejected[candidate] = reason or BUDGET
                if self._is_strict and not reason and not candidate.pinned and candidate.leader is None:
                    barrier = max(barrier, section.value(candidate) - self._clearly_less)
        return used

    def _refusal(self, section: Section, candidate: Candidate, least: float, barrier: float) -> str | None:
        """Return why a candidate is not even tried, None where it is tried."""
        if candidate.leader is not None and candidate.leader not in section.shown:
            return VALUE
        if candidate.group not in section.groups and (
            len(section.groups) >= section.item_limit or self._items >= self._most_items
        ):
            return LIMIT
        if candidate.pinned:
            return None
        value = section.value(candidate)
        if value < max(least, barrier):
            return VALUE if value < least else BUDGET
        is_twin = self._seen is not None and candidate.leader is None and self._seen.is_twin(section, candidate)
        return TWIN if is_twin else None

    def _admit(self, section: Section, candidate: Candidate, room: int, cap: int | None) -> int | None:
        """Show a candidate in the fullest way that fits; returns its tokens, None where nothing fits."""
        if cap is not None:
            room = min(room, cap - self._chunks.get(candidate.chunk.id, 0))
        if room < SMALLEST_PIECE:
            return None
        frame = self._frame_tokens(section, candidate)
        if room < frame and candidate.group not in section.groups:
            return None
        scales: list[float] = []
        for step in candidate.steps:
            tokens = self._cost(section, candidate, step, room)
            if tokens is not None and tokens <= room:
                return self._show(section, candidate, step, tokens)
            if tokens is not None and tokens > frame:
                scales.append(candidate.size / (tokens - frame))
        # Scaled by real token counts: some scripts have three times the tokens that characters suggest, and prose three
        # quarters.
        estimated = (room - frame) * min(scales, default=1.0)
        is_file = candidate.group in section.lines
        if candidate.shrink is None or (is_file and self._log and room - frame < LEAST_CUT):
            return None
        for step in candidate.shrink(estimated):
            tokens = self._cost(section, candidate, step, room)
            if tokens is not None and tokens <= room:
                return self._show(section, candidate, step, tokens)
        return None

    def _frame_tokens(self, section: Section, candidate: Candidate) -> int:
        """Return tokens around one more piece of the candidate's item."""
        if candidate.group in section.groups:
            return self._frame.range
        range_tokens = self._frame.range if candidate.group in section.lines else 0
        return self._frame.item + range_tokens + self._counter.count(candidate.group)

    def _cost(self, section: Section, candidate: Candidate, step: Step, room: int) -> int | None:
        """Return the tokens that a step adds to the text; None if it is certainly larger than the room."""
        group, lines = section.groups.get(candidate.group), section.lines.get(candidate.group)
        frame = self._frame.item + self._counter.count(candidate.group) if group is None else 0
        if lines is None or not (step.ranges or step.remarks):
            if len(step.text) > room * MOST_CHARACTERS_PER_TOKEN:
                return None
            before = self._counter.count(group.picks[-1][1].text) if group is not None else 0
            return frame + self._counter.count(step.text) - before
        state = group or Group(candidate.kind, candidate.group, lines)
        ranges, new_markers = state.added(step)
        shown = ranges if self._shows_lines else ()
        if sum(lines.characters(*span) for span in shown) > room * MOST_CHARACTERS_PER_TOKEN:
            return None
        tokens = sum(lines.tokens(self._counter, *span) for span in shown)
        tokens += sum(self._counter.count(remark.text) for remark in step.remarks)
        markers = max(new_markers, 0) + len(step.remarks)
        return frame + tokens + markers * self._frame.range

    def _show(self, section: Section, candidate: Candidate, step: Step, tokens: int) -> int:
        group = section.groups.get(candidate.group)
        if group is None:
            lines = section.lines.get(candidate.group)
            group = Group(candidate.kind, candidate.group, lines, title=section.title)
            section.groups[candidate.group] = group
            self._items += 1
        group.admit(candidate, step, tokens)
        section.shown.add(candidate)
        section.tokens += tokens
        identity = candidate.chunk.id
        self._chunks[identity] = self._chunks.get(identity, 0) + tokens
        self._log.append(_Admission(section, candidate, tokens))
        return tokens

    def _undo(self, section: Section, candidate: Candidate, tokens: int) -> None:
        group = section.groups[candidate.group]
        group.withdraw(tokens)
        if not group.picks:
            del section.groups[candidate.group]
            self._items -= 1
        section.tokens -= tokens
        self._chunks[candidate.chunk.id] -= tokens
        if any(one is candidate for one, _ in group.picks):
            return  # a shorter form of it is still shown
        section.shown.discard(candidate)
        section.rejected[candidate] = BUDGET
        for twin in candidate.twins:
            self._twins.pop(twin).rejected[twin] = BUDGET
        candidate.twins.clear()
