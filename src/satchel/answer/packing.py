"""Packing: which candidates are shown, and in which detail, in one pass over all of them.

Candidates of all sections are tried in one order: value over a power of the cost, both on the log scale, on one scale
for the whole request. A candidate that does not fit is shrunk or skipped. The pass never backtracks, and its time is
linear in the tried lines: a line is counted once while its file is cached.

A candidate whose value is far below the best one is not shown even if there is room. Once a candidate was left out for
lack of room, nothing of clearly less value is admitted.

Costs are exact counts of the shown lines plus the usual cost of their frame. The writer counts the text; the remaining
room is filled again (`refill`), or the last admissions are withdrawn (`take_back`).
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cache
from itertools import count
from typing import NamedTuple

from msgspec import Struct

from satchel.answer import weights
from satchel.answer.bearing import LESSON_FRAME
from satchel.answer.candidates import Candidate, Step
from satchel.answer.sections import Group, Pick, Section, ends_of, in_turn, key_of, may_be_twins, priority_limit
from satchel.tokens import TokenCounter
from satchel.types import Format

SMALLEST_PIECE = 8
"""Tokens of the smallest useful piece."""


BUDGET, LIMIT, VALUE = "budget", "limit", "value"
"""Reasons for not showing a candidate: no room, its kind has all its items, or it is not worth its tokens."""

TWIN = "duplicate"
"""Reason for not trying a candidate: a shown one has the same text, and lists it as another origin."""

REFILLS = 2
"""Times that the room left by the exact count is filled again; estimates are mostly too high by 2 to 5 %."""

MAX_CHARACTERS_PER_TOKEN = 12
"""Only rulers and white space have more characters for each token: longer texts are not counted, they do not fit."""


class TextFrame(Struct, frozen=True):
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


class Inputs(Struct, frozen=True):
    """The candidates of an answer, and how they may fill it.

    Candidates worth less than the best one by more than `value_range` (log scale), records by more than `record_range`
    and prose by more than `prose_range` if these are given, are not shown; `max_items` is the number of items over all
    sections. With `shares` every section first gets its share of the room by weight, for what is within the range of
    its own best candidate. No chunk gets more than `chunk_share` of that share or `chunk_tokens`, whichever is more.
    Without `shows_lines` a file costs only its places. `is_strict` leaves out candidates worth less by `clearly_less`
    once a better one was left out for lack of room. Without `merges_twins` equal texts are shown twice. Each line of a
    file costs `line_tokens` beside its text, and is not cut into less than `min_cut` tokens. `unsure` is as in
    `FillPolicy`. Without `min_cut` and `clearly_less` the usual numbers count (`weights.py`).
    """

    sections: Sequence[Section]
    counter: TokenCounter
    frame: TextFrame
    value_range: float = math.inf
    record_range: float | None = None
    prose_range: float | None = None
    max_items: int = 1_000_000
    shares: bool = False
    chunk_share: float = 1.0
    chunk_tokens: int = 0
    shows_lines: bool = True
    is_strict: bool = True
    merges_twins: bool = True
    line_tokens: int = 0
    unsure: bool = False
    min_cut: int | None = None
    clearly_less: float | None = None

    def range_of(self, section: Section) -> float:
        """Return the range of values of a section."""
        narrower = (
            self.record_range if not section.lines else self.prose_range if section.kind.traits.is_prose else None
        )
        return self.value_range if narrower is None else narrower


_Entry = tuple[bool, float, str, int, int, Section, Candidate]
"""One candidate in the order in which it is tried: pins first and as they were given, then by priority. The last item
before the section is a number that no other entry has, so sections and candidates are never compared."""


class _Admission(NamedTuple):
    section: Section
    candidate: Candidate
    tokens: int


class Packing:
    """An answer while it is filled; the only object of an answer that changes. One for each trial.

    `room` is what the items may take by estimate (tokens).
    """

    def __init__(self, inputs: Inputs, room: int) -> None:
        self.inputs, self._room = inputs, room
        self._least_cut = weights.MIN_CUT if inputs.min_cut is None else inputs.min_cut
        self._clearly_less = weights.CLEARLY_LESS if inputs.clearly_less is None else inputs.clearly_less
        self.groups: dict[Section, dict[str, Group]] = {section: {} for section in inputs.sections}
        self.shown: set[Candidate] = set()
        self.added_late: set[str] = set()
        self.rejected: dict[Section, dict[Candidate, str]] = {section: {} for section in inputs.sections}
        bests = {section: section.highest_value for section in inputs.sections}
        ranges = {section: inputs.range_of(section) for section in inputs.sections}
        # A memory that answers well does not make the lines that it is about less worth showing.
        of_records = inputs.value_range if inputs.record_range is None else inputs.record_range
        counted = {
            True: [section for section in bests if section.lines or of_records <= inputs.value_range],
            False: [section for section in bests if not section.lines or inputs.value_range <= of_records],
        }
        best = {
            is_file: max(map(bests.__getitem__, sections), default=-math.inf) for is_file, sections in counted.items()
        }
        self._least = {section: best[bool(section.lines)] - value_range for section, value_range in ranges.items()}
        self._least_of = {section: bests[section] - value_range for section, value_range in ranges.items()}
        self._numbers = count()
        self._log: list[_Admission] = []
        self._chunk_tokens: defaultdict[str, int] = defaultdict(int)
        self._twins: dict[Candidate, Section] = {}
        self._texts: dict[tuple[str, ...], list[tuple[Section, Candidate]]] = {}
        self._ends, self._key, self._name_tokens = cache(ends_of), cache(key_of), cache(inputs.counter.count)
        self._items, self._waiting = 0, list[_Entry]()

    @property
    def used(self) -> int:
        """The tokens of what is shown, by estimate."""
        return sum(admission.tokens for admission in self._log)

    @property
    def is_full(self) -> bool:
        """Whether a candidate was left out for lack of room."""
        return any(BUDGET in reasons.values() for reasons in self.rejected.values())

    @property
    def why_stopped(self) -> str:
        """Why nothing more is shown: no room, not worth its tokens, or nothing more matched (empty)."""
        reasons = {reason for section in self.rejected.values() for reason in section.values()}
        return next((reason for reason in (BUDGET, VALUE, LIMIT) if reason in reasons), "")

    @property
    def picks(self) -> Iterator[Pick]:
        """What is shown, item by item."""
        return (pick for groups in self.groups.values() for group in groups.values() for pick in group.picks)

    def remaining(self, section: Section) -> list[Candidate]:
        """Return the rejected candidates of a section, best first; twins of shown ones are not among them."""
        return in_turn(self.unshown(section))

    def unshown(self, section: Section) -> list[Candidate]:
        """Return the rejected candidates of a section, in no order."""
        rejected = self.rejected[section]
        return [candidate for candidate in section.candidates if candidate in rejected]

    def fit(self) -> Packing:
        """Admit candidates into the room; return this packing."""
        room = self._room
        self._waiting = [
            self._entry(section, candidate) for section in self.inputs.sections for candidate in section.candidates
        ]
        reserves = {section: section.reserve for section in self.inputs.sections}
        if any(reserves.values()):
            room -= self._pass(room, reserves)
        if self.inputs.shares and len(self.inputs.sections) > 1:
            total = sum(section.weight for section in self.inputs.sections if section.candidates) or 1.0
            allotments = {
                section: int(self._room * section.weight / total) - self._used_by(section)
                for section in self.inputs.sections
            }
            room -= self._pass(room, allotments)
        self._pass(room, None)
        return self

    def refill(self, room: int) -> int:
        """Try again the candidates that were left out for lack of room; return the tokens used."""
        for section, reasons in self.rejected.items():
            for candidate in [other for other, reason in reasons.items() if reason == BUDGET]:
                del reasons[candidate]
                self._waiting.append(self._entry(section, candidate))
        return self._pass(room, None)

    def refill_elsewhere(self, room: int) -> int:
        """Try again what was left out for lack of room in files of which nothing is shown; return the tokens used.

        Their items come last.
        """
        begun = {key for groups in self.groups.values() for key in groups}
        for section, reasons in self.rejected.items():
            for candidate in [other for other, why in reasons.items() if why == BUDGET and other.group not in begun]:
                del reasons[candidate]
                self._waiting.append(self._entry(section, candidate))
        used = self._pass(room, None)
        self.added_late |= {key for groups in self.groups.values() for key in groups} - begun
        return used

    def offer(self, section: Section, candidate: Candidate, room: int) -> bool:
        """Try a candidate that is not among the inputs, with all that wait for room. Return whether any is admitted."""
        self.rejected[section][candidate] = BUDGET
        used = self.refill(room)
        self.rejected[section].pop(candidate, None)
        return used > 0

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
        for groups in self.groups.values():
            for key, group in groups.items():
                groups[key] = group.rejoined()
        self._forget(undone)
        return True

    def _used_by(self, section: Section) -> int:
        return sum(admission.tokens for admission in self._log if admission.section is section)

    def _entry(self, section: Section, candidate: Candidate) -> _Entry:
        number = next(self._numbers)
        if candidate.pinned:
            return False, float(number), "", 0, number, section, candidate
        return True, -priority_limit(candidate), candidate.chunk.id, candidate.first_line, number, section, candidate

    def _pass(self, room: int, allotments: Mapping[Section, int] | None) -> int:
        """Try all waiting candidates, with `allotments` only those that fit them; return the tokens used."""
        heap, self._waiting = self._waiting, []
        heapq.heapify(heap)
        remaining = dict(allotments) if allotments is not None else None
        caps = {
            section: max(int(self.inputs.chunk_share * share), self.inputs.chunk_tokens, section.reserve)
            for section, share in (allotments or {}).items()
        }
        used, barrier = 0, -math.inf
        while heap:
            entry = heapq.heappop(heap)
            *_, section, candidate = entry
            minimum = (self._least if remaining is None else self._least_of)[section]
            reason = self._refusal(section, candidate, minimum, barrier)
            left = room - used if remaining is None else min(room - used, remaining[section])
            if reason is None and left >= SMALLEST_PIECE and not (candidate.pinned or candidate.is_measured):
                candidate.measure()  # others may come before it then, but not before a pin
                heapq.heappush(heap, self._entry(section, candidate))
                continue
            is_tried = reason is None and self._has_room(section, candidate, left)
            if is_tried and self._has_twin(section, candidate):
                self._twins[candidate] = section
                continue
            taken = self._admit(section, candidate, left, caps.get(section)) if is_tried else None
            if taken is not None:
                used += taken
                if remaining is not None:
                    remaining[section] -= taken
                for follower in self._companions(section, candidate):
                    heapq.heappush(heap, self._entry(section, follower))
            elif remaining is not None and reason in (None, BUDGET):
                self._waiting.append(entry)
            else:
                self.rejected[section][candidate] = reason or BUDGET
                if self.inputs.is_strict and not reason and not candidate.pinned and candidate.companion_of is None:
                    barrier = max(barrier, candidate.value - self._clearly_less)
        return used

    def _companions(self, section: Section, candidate: Candidate) -> Sequence[Candidate]:
        """Return the companions of a candidate that was just shown."""
        if section.find_companions is None:
            return ()
        group = self.groups[section][candidate.group]
        return section.find_companions(candidate, group.picks[-1][1], group)

    def _refusal(self, section: Section, candidate: Candidate, minimum: float, barrier: float) -> str | None:
        """Return why a candidate is not even tried, None where it is tried."""
        groups = self.groups[section]
        if candidate.companion_of is not None and candidate.companion_of not in self.shown:
            return VALUE
        is_full = len(groups) >= section.item_limit or self._items >= self.inputs.max_items
        if is_full and candidate.group not in groups:
            return LIMIT
        if candidate.pinned:
            return None
        if candidate.value < minimum:
            return VALUE
        return BUDGET if candidate.value < barrier else None

    def _has_room(self, section: Section, candidate: Candidate, room: int) -> bool:
        """Return whether anything fits: most of those that do not are refused before their lines are read."""
        is_begun = candidate.group in self.groups[section]
        return room >= SMALLEST_PIECE and (is_begun or room >= self._frame_tokens(section, candidate))

    def _has_twin(self, section: Section, candidate: Candidate) -> bool:
        """Return whether a shown candidate has the same full text; it then lists this one as another origin."""
        if candidate.pinned or candidate.companion_of is not None or not self.inputs.merges_twins:
            return False
        ends = self._ends(section, candidate)
        if not ends:
            return False
        alike = self._texts.setdefault(ends, [])
        shown = (
            (section_of_twin, other)
            for section_of_twin, other in alike
            if other in self.shown and may_be_twins(other, candidate)
        )
        twin = next((pair for pair in shown if self._key(*pair) == self._key(section, candidate)), None)
        if twin is not None:
            section_of_twin, other = twin
            group = self.groups[section_of_twin][other.group]
            self.groups[section_of_twin][other.group] = replace(group, twins=(*group.twins, (other, candidate)))
            return True
        alike.append((section, candidate))
        return False

    def _forget(self, candidates: AbstractSet[Candidate]) -> None:
        """Forget the texts of candidates that were withdrawn."""
        for pairs in self._texts.values():
            pairs[:] = [pair for pair in pairs if pair[1] not in candidates]

    def _admit(self, section: Section, candidate: Candidate, room: int, cap: int | None) -> int | None:
        """Show a candidate in the fullest way that fits; returns its tokens, None where nothing fits."""
        if cap is not None:
            room = min(room, cap - self._chunk_tokens[candidate.chunk.id])
        if not self._has_room(section, candidate, room):  # less than without the cap
            return None
        frame = self._frame_tokens(section, candidate)
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
        if candidate.shrink is None or (is_file and self._log and room - frame < self._least_cut):
            return None
        for step in candidate.shrink(estimated):
            tokens = self._cost(section, candidate, step, room)
            if tokens is not None and tokens <= room:
                return self._show(section, candidate, step, tokens)
        return None

    def _frame_tokens(self, section: Section, candidate: Candidate) -> int:
        """Return tokens around one more piece of the candidate's item."""
        frame = self.inputs.frame
        if candidate.group in self.groups[section]:
            return frame.range
        if candidate.is_lesson:
            return LESSON_FRAME
        range_tokens = frame.range if candidate.group in section.lines else 0
        return frame.item + range_tokens + self._name_tokens(candidate.group)

    def _cost(self, section: Section, candidate: Candidate, step: Step, room: int) -> int | None:
        """Return the tokens that a step adds to the text; None if it is too large, or the session has all of it."""
        group, lines = self.groups[section].get(candidate.group), section.lines.get(candidate.group)
        counter = self.inputs.counter
        frame = self.inputs.frame.item + self._name_tokens(candidate.group) if group is None else 0
        frame = min(frame, LESSON_FRAME) if candidate.is_lesson else frame
        if lines is None or not (step.ranges or step.remarks):
            if len(step.text) > room * MAX_CHARACTERS_PER_TOKEN:
                return None
            before = counter.count(group.picks[-1][1].text) if group is not None else 0
            return frame + counter.count(step.text) - before
        ranges, new_markers = (group or Group(candidate.kind, candidate.group, lines)).added(step)
        if group is None and not (ranges or step.remarks):
            return None
        shown = ranges if self.inputs.shows_lines else ()
        if sum(lines.characters(*span) for span in shown) > room * MAX_CHARACTERS_PER_TOKEN:
            return None
        tokens = sum(lines.tokens(counter, *span) + (span[1] - span[0] + 1) * self.inputs.line_tokens for span in shown)
        tokens += sum(counter.count(remark.text) for remark in step.remarks)
        markers = max(new_markers, 0) + len(step.remarks)
        return frame + tokens + markers * self.inputs.frame.range

    def _show(self, section: Section, candidate: Candidate, step: Step, tokens: int) -> int:
        group = self.groups[section].get(candidate.group)
        if group is None:
            group = Group(candidate.kind, candidate.group, section.lines.get(candidate.group), section.title)
            self._items += 1
        self.groups[section][candidate.group] = group.admitted(candidate, step, tokens)
        self.shown.add(candidate)
        self._chunk_tokens[candidate.chunk.id] += tokens
        self._log.append(_Admission(section, candidate, tokens))
        return tokens

    def _undo(self, section: Section, candidate: Candidate, tokens: int) -> None:
        """Withdraw the last admission of a candidate's item; its twins wait again."""
        groups = self.groups[section]
        group = groups[candidate.group].withdrawn(tokens)
        self._chunk_tokens[candidate.chunk.id] -= tokens
        is_shown = any(other is candidate for other, _ in group.picks)  # in a shorter form
        if not is_shown:
            self.shown.discard(candidate)
            self.rejected[section][candidate] = BUDGET
            for twin in group.twins_of(candidate):
                self.rejected[self._twins.pop(twin)][twin] = BUDGET
            group = replace(group, twins=tuple(pair for pair in group.twins if pair[0] is not candidate))
        if group.picks:
            groups[candidate.group] = group
        else:
            del groups[candidate.group]
            self._items -= 1
