"""The texts of an experience: one for each of its four axes, and those for a reader.

A reader sees first how it ended: outcome, cause and lesson come before goal, hypothesis and action, and in little space
it is one line that has both. An attempt without its end would be repeated.

The argument of each function is the stored fields of an experience. A line with missing parts is left out, so an
imported experience without a surprise, a root cause or a lesson has the other lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from satchel.types import Kind
from satchel.vocabulary import Axis, OutcomeStatus

Fields = Mapping[str, Any]

LINE_CHARACTERS = 320
"""Length limit of an experience on one line: about 80 tokens."""


def axis_texts(fields: Fields) -> dict[Axis, str]:
    """Return the text of each axis that the experience has, in the order of the axes; one line a statement.

    Every experience has the axes full and strategy. Surprise and root cause are axes only where the hypothesis was
    falsified, each if it was written down: one may be missing in an imported or captured experience.
    """
    axes = [Axis.FULL, Axis.STRATEGY]
    if fields.get("outcome_status") == OutcomeStatus.FALSIFIED:
        axes += [Axis.SURPRISE] * bool(fields.get("surprise"))
        axes += [Axis.ROOT_CAUSE] * bool(_text(fields, "root_cause.category"))
    return {axis: _lines(fields, _AXIS_LINES[axis]) for axis in axes}


def shown_text(fields: Fields) -> str:
    """Return the whole experience for a reader, whichever axis was found: one list entry a statement."""
    return side_text(Axis.FULL, fields)


def side_text(axis: Axis, fields: Fields) -> str:
    """Return the list entries of one side of an experience alone, always with its root cause and takeaway."""
    return _lines(fields, [(f"- **{_LABELS[name]}**: ", name) for name in _SIDES[axis].split()])


def heading(metadata: Fields) -> str:
    """Return the experience in two words: `debugging | root-cause-analysis`."""
    return " | ".join(filter(None, (_text(metadata, "domain"), _text(metadata, "strategy"))))


def lesson_line(fields: Fields, characters: int = LINE_CHARACTERS, day: str = "") -> str:
    """Return the experience on one line: `Tried X: failed because Y; do: Z (2026-03-02)`, with `day` at the end.

    It has at most so many characters (a hundred or more), beside the day. In little space the attempt and the takeaway
    are cut and then left out, never the end: `Failed because Y; do: Z`. What worked begins with the lesson.
    """
    parts = _line_parts(fields)
    lengths = _allotted(parts, characters)
    while cut := [part for part, length in zip(parts, lengths, strict=True) if part.is_cut_off(length)]:
        parts.remove(cut[-1])
        lengths = _allotted(parts, characters)
    line = "".join(part.words + clipped(part.text, length) for part, length in zip(parts, lengths, strict=True))
    line = line.replace(": f", "F", 1) if line.startswith(_REASON) else line
    return f"{line} ({day})" if day else line


class _LinePart(Struct, frozen=True):
    """A part of the line: the words before it, its text, and its weight for room. One of weight 1 may be left out."""

    words: str
    text: str
    weight: int

    def is_cut_off(self, length: int) -> bool:
        """Return whether so many characters are too few for it, and it can be left out."""
        return self.weight == 1 and length < min(len(self.text), MIN_PIECE)


def _line_parts(fields: Fields) -> list[_LinePart]:
    status, result = _text(fields, "outcome_status"), _text(fields, "outcome_result")
    goal, action, lesson = (_text(fields, name) for name in ("goal", "action", "lesson.what_worked"))
    takeaway = _text(fields, "lesson.takeaway")
    more = [_LinePart("; ", takeaway, 1)] if takeaway else []
    todo = [_LinePart("; do: ", lesson, 8), *more] if lesson else []
    if status == OutcomeStatus.FALSIFIED:
        cause = _text(fields, "root_cause.description")
        ending = todo or ([_LinePart(": ", result, 3)] if cause else [])
        return [_LinePart("Tried ", action or goal, 1), _LinePart(_REASON, cause or result, 3), *ending]
    if status == OutcomeStatus.CONFIRMED and lesson:
        return [_LinePart("", lesson, 8), *more, _LinePart("; worked for: ", goal, 1)]
    if status == OutcomeStatus.CONFIRMED:
        return [_LinePart("", action, 2), _LinePart(": worked, ", result, 2)]
    if status == OutcomeStatus.ABANDONED:
        return [_LinePart("Given up: ", goal, 2), _LinePart(", ", result, 2), *todo]
    return [_LinePart("Not ended yet: ", goal, 2), *todo]


def _allotted(parts: Sequence[_LinePart], characters: int) -> list[int]:
    """Return the length of each part: what short ones leave is shared by weight among the others."""
    room = characters - sum(len(part.words) for part in parts)
    allotted = [0] * len(parts)
    waiting = sorted(range(len(parts)), key=lambda place: len(parts[place].text) / parts[place].weight)
    while waiting:
        place = waiting.pop(0)
        weight = parts[place].weight
        share = room * weight // (weight + sum(parts[other].weight for other in waiting))
        allotted[place] = min(len(parts[place].text), max(share, 0))
        room -= allotted[place]
    return allotted


def clipped(text: str, length: int) -> str:
    """Return the beginning of a text, cut after a word, with an ellipsis where it is cut."""
    if len(text) <= length:
        return text
    kept = text[: max(length - 1, 0)]
    return f"{(kept.rpartition(' ')[0] or kept).rstrip(' ,;:')}…"


def shown_record(kind: Kind, fields: Fields, text: str, side: Axis = Axis.FULL) -> str:
    """Return the text of a record for a reader: an experience with one side or all, a note with its fields."""
    if kind is Kind.NOTE:
        from satchel.sources.notes import field_lines  # here, because few roots hold notes

        return "\n".join([text, *field_lines(fields.get("fields", {}))])
    return side_text(side, fields) if kind is Kind.EXPERIENCE else text


_REASON = ": failed because "

MIN_PIECE = 24
"""Characters of an attempt or a takeaway on that line below which it is left out instead of cut."""

_LABELS = {
    "goal": "Goal",
    "hypothesis": "Hypothesis",
    "action": "Action",
    "prediction": "Prediction",
    "outcome": "Outcome",
    "surprise": "Surprise",
    "cause": "Root cause",
    "lesson.what_worked": "Lesson",
    "lesson.takeaway": "Takeaway",
}

_SIDES = {
    Axis.FULL: "outcome cause lesson.what_worked lesson.takeaway goal hypothesis action prediction surprise",
    Axis.STRATEGY: "outcome cause lesson.what_worked lesson.takeaway goal",
    Axis.SURPRISE: "outcome surprise cause lesson.takeaway goal",
    Axis.ROOT_CAUSE: "cause outcome lesson.what_worked lesson.takeaway goal",
}
"""Axis -> the entries that a reader sees of it. A hypothesis without its outcome would read as if it were true."""

_AXIS_LINES: Mapping[Axis, Sequence[tuple[str, str]]] = {
    Axis.FULL: [(f"{label}: ", name) for name, label in _LABELS.items() if name != "cause"],
    Axis.STRATEGY: [
        ("Strategy: ", "strategy"),
        ("Applied to: ", "goal"),
        ("Outcome: ", "iterations"),
        ("What worked: ", "lesson.what_worked"),
    ],
    Axis.SURPRISE: [
        ("Expected: ", "prediction"),
        ("Actual: ", "outcome_result"),
        ("Surprise: ", "surprise"),
        ("Root cause: ", "cause"),
    ],
    Axis.ROOT_CAUSE: [
        ("Root cause: ", "root_cause.category"),
        ("Description: ", "root_cause.description"),
        ("Context: ", "heading"),
        ("Original hypothesis: ", "hypothesis"),
    ],
}
"""Axis -> the lines of its searched text."""


def _iterations(fields: Fields) -> str:
    status, count = _text(fields, "outcome_status"), fields.get("iteration_count", 1)
    return status and f"{status} after {count} iteration{'s' if count != 1 else ''}"


def _dashed(*names: str) -> Callable[[Fields], str]:
    return lambda fields: " - ".join(filter(None, (_text(fields, name) for name in names)))


_DERIVED: Mapping[str, Callable[[Fields], str]] = {
    "outcome": _dashed("outcome_status", "outcome_result"),
    "cause": _dashed("root_cause.category", "root_cause.description"),
    "heading": heading,
    "iterations": _iterations,
}


def _text(fields: Fields, name: str) -> str:
    """Return a field, or `part.field` of a part, on one line (a line break would end its entry), empty if missing."""
    part, _, field = name.rpartition(".")
    inner = fields.get(part) if part else fields
    return " ".join(str(inner.get(field) or "").split()) if isinstance(inner, Mapping) else ""


def _lines(fields: Fields, rows: Sequence[tuple[str, str]]) -> str:
    texts = [(label, _DERIVED[name](fields) if name in _DERIVED else _text(fields, name)) for label, name in rows]
    return "\n".join(label + text for label, text in texts if text)
