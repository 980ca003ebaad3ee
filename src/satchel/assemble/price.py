"""What showing something costs: an estimate that steers, and a bound below which it never costs.

The lines of a file are counted once and remembered with the file; what a step adds to what is shown of its file is
worked out once for each state of that file. So asking again, at another budget, costs a look into a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from satchel.assemble.candidates import CHARACTERS_PER_TOKEN, Candidate, Range, Step
from satchel.assemble.section import Section
from satchel.assemble.shown import Group
from satchel.tokens import TokenCounter
from satchel.types import Detail, Format

FILE_FRAME_TOKENS = 14
"""Heading, fences and nonce of one file besides its path, as measured on rendered contexts; an upper estimate."""

RANGE_TOKENS = 8
"""One more range in a file: its numbers, its name and the line between ranges; an upper estimate."""

SMALLEST_PIECE_TOKENS = 6
"""Nothing useful is cheaper than this: below it the search for something that fits ends."""

LEAST_REMARK_TOKENS = 6
"""`# 2 lines left out (3-4)` in any language."""

MERGED_TOKENS = 2
"""A text may cost this much less inside another one than alone: tokens merge at both of its ends."""

MERGED_ESTIMATE = 6
"""The same where tokens are estimated: the factor, and rounding up for every text that is counted alone."""

LABEL = ', "detail": "signature" of SomeReader.next_value'
"""What is shown loses a label of about this size when what stands around it is shown as well."""

SAFE_ESTIMATE = 0.3
"""The real cost of lines is never below this share of their estimated size: blanks pack 12 a token."""

MOST_CHARACTERS_A_TOKEN = 40
"""More characters a token, over some lines, have only rulers and white space; what is longer need not be counted."""

CLOSED_GAP = 2
"""So many labels may fall away where two ranges become one: the range itself, its name, a line between."""

DETAIL_TOKENS = 2
"""`signature of` and `line of` in the plainest layout."""

_DECLARING = frozenset({Detail.SIGNATURE, Detail.LINE})


@dataclass(frozen=True, slots=True)
class Frame:
    """Tokens of what a layout puts around lines: at least, and usually.

    `file` is another file besides its path, `record` another record, `range` a further range. By `merged` a text may
    cost less inside another one than alone; where line ends are escaped that is more.
    """

    file: int = 4
    record: int = 8
    range: int = 2
    merged: int = MERGED_TOKENS
    usual_file: int = FILE_FRAME_TOKENS
    usual_range: int = RANGE_TOKENS


FRAMES: Mapping[Format, Frame] = {
    Format.MARKDOWN: Frame(file=10, range=3),
    Format.PLAIN: Frame(file=16, range=7, usual_file=20),
    Format.XML: Frame(file=20, range=12, usual_file=30, usual_range=18),
    Format.JSON: Frame(file=22, range=9, merged=5, usual_file=36, usual_range=19),
}
"""7,000 admissions of generated answers cost 11, 17, 23 and 25 tokens a file besides its path at least, and 4, 8, 13
and 10 a range; half of them 16, 21, 33 and 38, and 7, 8, 19 and 20."""


@dataclass(slots=True)
class _Change:
    """What a step adds to a state of its file: line ranges with their characters, and range markers.

    There are less markers than before where a gap closes. `tokens` of the ranges are counted when first asked for.
    """

    added: tuple[Range, ...]
    markers: int
    characters: tuple[int, ...]
    tokens: int | None = None


@dataclass(slots=True)
class Prices:
    """The costs of one request. Without `shows_lines` a file costs its places only."""

    counter: TokenCounter
    frame: Frame = field(default_factory=Frame)
    shows_lines: bool = True
    _changes: dict[tuple[int, tuple[Range, ...]], _Change | None] = field(default_factory=dict)
    _apart: dict[int, _Change | None] = field(default_factory=dict)
    _alone: dict[int, int] = field(default_factory=dict)
    _over: dict[int, int] = field(default_factory=dict)
    """What a step costs at least where nothing is shown of its file, or more than which it costs."""

    _texts: dict[str, int] = field(default_factory=dict)

    slack: int = field(init=False)
    """So much less may a text cost inside another one than alone."""
    label: int = field(init=False)

    def __post_init__(self) -> None:
        self.slack = self.frame.merged if self.counter.exact else MERGED_ESTIMATE
        self.label = self.counter.count(LABEL)

    def usual(self, section: Section, candidate: Candidate, step: Step, correction: float, most: float) -> int | None:
        """What the step usually adds to the text; None when it adds nothing, or surely more than `most`.

        `correction` is for its lines alone.
        """
        group = section.groups.get(candidate.group)
        frame = 0 if group is not None else self.frame.usual_file + self._count(candidate.group)
        if not step.ranges:
            return frame + self._count(step.text)
        change = self._change(section, candidate, step, group)
        if change is None:
            return None
        cost = frame + max(change.markers, 0) * self.frame.usual_range
        if not self.shows_lines:
            return cost
        if change.tokens is None and cost + sum(change.characters) / CHARACTERS_PER_TOKEN * SAFE_ESTIMATE > most:
            return None
        return cost + int(self._tokens(section, candidate, change) * correction)

    def least(self, section: Section, candidate: Candidate, step: Step, most: int) -> int | None:
        """Lower bound of what the step adds to the text; None where it is over `most` or adds nothing."""
        group = section.groups.get(candidate.group)
        if group is not None:
            return self._least(section, candidate, step, group, most)
        identity = id(step)
        known = self._alone.get(identity)
        if known is None:
            if most <= self._over.get(identity, -1):
                return None
            known = self._least(section, candidate, step, None, most)
            if known is None:
                self._over[identity] = most
                return None
            self._alone[identity] = known
        return known if known <= most else None

    def _least(self, section: Section, candidate: Candidate, step: Step, group: Group | None, most: int) -> int | None:
        if not step.ranges:
            least = self.frame.record + len(step.text) // MOST_CHARACTERS_A_TOKEN
            if least > most:
                return None
            least = self.frame.record + self._count(step.text) - self.slack
            return max(least, 1) if least <= most else None
        change = self._change(section, candidate, step, group)
        if change is None:
            return None
        least = self._least_frame(candidate, step, change, group)
        if self.shows_lines:
            if least + sum(change.characters) / MOST_CHARACTERS_A_TOKEN - self.slack > most:
                return None
            least += self._tokens(section, candidate, change) - len(change.added) * self.slack
            least += len(step.remarks) * LEAST_REMARK_TOKENS
        return max(least, 1) if least <= most else None

    def least_item(self, candidate: Candidate) -> int:
        """Tokens below which no item is shown, whatever it shows of the candidate."""
        return self.frame.record if candidate.document.location is None else self.frame.file

    def _least_frame(self, candidate: Candidate, step: Step, change: _Change, group: Group | None) -> int:
        if group is not None:
            if change.markers <= 0 or not group.is_apart(step.ranges):
                return (min(change.markers, 0) * CLOSED_GAP - 1) * self.label
            return change.markers * self.frame.range + self._least_label(candidate, step, change, group)
        label = self._least_label(candidate, step, change, None)
        further = max(change.markers - 1, 0) * self.frame.range
        return self.frame.file + max(self._count(candidate.group) - self.slack, 1) + further + label

    def _least_label(self, candidate: Candidate, step: Step, change: _Change, group: Group | None) -> int:
        """`signature of NAME` beside a declaration that stands alone, unless more of the same is shown."""
        document = candidate.document
        if group is not None and group.shows(document.id):
            return -self.label
        if candidate.leader is not None or step.detail not in _DECLARING or change.markers != len(change.added):
            return 0
        return max(self._count(document.title) + DETAIL_TOKENS - self.slack, 0)

    def _change(self, section: Section, candidate: Candidate, step: Step, group: Group | None) -> _Change | None:
        """What a step adds. Where it stands apart that does not depend on what else is shown of its file."""
        identity = id(step)
        if group is None or group.is_apart(step.ranges):
            if identity not in self._apart:
                alone = Group(candidate.kind, candidate.group, section.lines[candidate.group])
                self._apart[identity] = _changed(alone, step)
            return self._apart[identity]
        key = (identity, tuple(group.ranges))
        if key not in self._changes:
            self._changes[key] = _changed(group, step)
        return self._changes[key]

    def _tokens(self, section: Section, candidate: Candidate, change: _Change) -> int:
        if change.tokens is None:
            lines = section.lines[candidate.group]
            change.tokens = sum([lines.tokens(self.counter, *shown) for shown in change.added])
        return change.tokens

    def _count(self, text: str) -> int:
        known = self._texts.get(text)
        if known is None:
            known = self._texts[text] = self.counter.count(text)
        return known


def _changed(group: Group, step: Step) -> _Change | None:
    assert group.lines is not None
    added = tuple(group.added(step))
    characters = tuple([group.lines.characters(start, end) for start, end in added])
    return _Change(added, group.new_markers(step), characters) if added else None
