"""The texts of an experience: one for each of its four axes, and those for a reader.

A reader sees first how it ended: outcome, cause and lesson come before goal, hypothesis and action, and in little space
it is one line that has both. An attempt without its end would be repeated.

The argument of each function is the stored fields of an experience. A line with missing parts is left out, so an
imported experience without a surprise, a root cause or a lesson has the other lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

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

    It has at most so many characters (a hundred or more), beside the day: each part is cut, the lesson least, and in
    little space the attempt and the takeaway are left out, never the end. What worked begins with the lesson.
    """
    parts = _line_parts(fields, is_short=characters < SHORT_LINE)
    lengths = _allotted(
        [(len(text), weight) for _, text, weight in parts], characters - sum(len(one[0]) for one in parts)
    )
    line = "".join(words + clipped(text, length) for (words, text, _), length in zip(parts, lengths, strict=True))
    return f"{line} ({day})" if day else line


def _line_parts(fields: Fields, *, is_short: bool) -> list[tuple[str, str, int]]:
    """Return the parts of the line: the words before each, its text, and its weight for room."""
    status, result = _text(fields, "outcome_status"), _text(fields, "outcome_result")
    goal, action, lesson = (_text(fields, name) for name in ("goal", "action", "lesson.what_worked"))
    takeaway = "" if is_short else _text(fields, "lesson.takeaway")
    more = [("; ", takeaway, 1)] if takeaway else []
    todo = [("; do: ", lesson, 4), *more] if lesson else []
    if status == OutcomeStatus.FALSIFIED:
        cause = _text(fields, "root_cause.description")
        ending = todo or ([(": ", result, 3)] if cause else [])
        if is_short:
            return [("Failed because ", cause or result, 3), *ending]
        return [("Tried ", action or goal, 1), (": failed because ", cause or result, 3), *ending]
    if status == OutcomeStatus.CONFIRMED and lesson:
        return [("", lesson, 4), *more, ("; worked for: ", goal, 1)]
    if status == OutcomeStatus.CONFIRMED:
        return [("", action, 2), (": worked, ", result, 2)]
    if status == OutcomeStatus.ABANDONED:
        return [("Given up: ", goal, 1), (", ", result, 2), *todo]
    return [("Not ended yet: ", goal, 1), *todo]


def _allotted(parts: Sequence[tuple[int, int]], room: int) -> list[int]:
    """Return the length of each part (length, weight): what short ones leave is shared by weight among the others."""
    allotted = [0] * len(parts)
    waiting = sorted(range(len(parts)), key=lambda place: parts[place][0] / parts[place][1])
    while waiting:
        place = waiting.pop(0)
        length, weight = parts[place]
        share = room * weight // (weight + sum(parts[other][1] for other in waiting))
        allotted[place] = min(length, share)
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


SHORT_LINE = 150
"""Characters of a line below which a failure is told without the attempt: the pieces would be too short to read."""

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
