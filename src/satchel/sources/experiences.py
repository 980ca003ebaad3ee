"""What an experience says: a text for each of its four axes, and how it is shown.

All functions take the stored fields of an experience. A line whose parts are missing drops out, so that an imported
experience without a surprise, a root cause or a lesson says what it has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from satchel.types import Kind
from satchel.vocabulary import Axis, OutcomeStatus

Fields = Mapping[str, Any]


def axis_texts(fields: Fields) -> dict[Axis, str]:
    """The text of each axis that the experience has, in the order of the axes; one line a statement.

    Every experience has the axes full and strategy. Surprise and root cause are told apart only where the hypothesis
    was falsified, each if it was written down: one may be missing in what was imported or captured.
    """
    texts = {Axis.FULL: _full(fields), Axis.STRATEGY: _strategy(fields)}
    if fields.get("outcome_status") == OutcomeStatus.FALSIFIED:
        if fields.get("surprise"):
            texts[Axis.SURPRISE] = _surprise(fields)
        if _part(fields, "root_cause", "category"):
            texts[Axis.ROOT_CAUSE] = _root_cause(fields)
    return texts


def shown_text(fields: Fields) -> str:
    """The whole experience for a reader, whichever axis was found: one list entry a statement."""
    return _lines(
        ("- **Goal**: ", _text(fields, "goal")),
        ("- **Hypothesis**: ", _text(fields, "hypothesis")),
        ("- **Action**: ", _text(fields, "action")),
        ("- **Prediction**: ", _text(fields, "prediction")),
        ("- **Outcome**: ", _outcome(fields)),
        ("- **Surprise**: ", _text(fields, "surprise")),
        ("- **Root cause**: ", _cause(fields)),
        ("- **Lesson**: ", _part(fields, "lesson", "what_worked")),
        ("- **Takeaway**: ", _part(fields, "lesson", "takeaway")),
    )


def side_text(axis: Axis, fields: Fields) -> str:
    """What an experience shows where only one side of it is asked for; why it failed and what to do are on every side.

    The other sides stay out, because a premortem shows many experiences in little space.
    """
    if axis is Axis.FULL:
        return shown_text(fields)
    cause, takeaway = ("- **Root cause**: ", _cause(fields)), ("- **Takeaway**: ", _part(fields, "lesson", "takeaway"))
    goal = ("- **Goal**: ", _text(fields, "goal"))
    lesson = ("- **Lesson**: ", _part(fields, "lesson", "what_worked"))
    if axis is Axis.STRATEGY:
        return _lines(goal, ("- **Outcome**: ", _outcome(fields)), cause, lesson, takeaway)
    if axis is Axis.SURPRISE:
        expected = ("- **Prediction**: ", _text(fields, "prediction"))
        return _lines(expected, ("- **Surprise**: ", _text(fields, "surprise")), cause, takeaway)
    return _lines(cause, ("- **Hypothesis**: ", _text(fields, "hypothesis")), lesson, takeaway)


def heading(metadata: Fields) -> str:
    """The experience in two words: `debugging | root-cause-analysis`."""
    return " | ".join(filter(None, (_text(metadata, "domain"), _text(metadata, "strategy"))))


def shown_record(kind: Kind, fields: Fields, text: str, side: Axis = Axis.FULL) -> str:
    """What a record shows of itself: an experience all of its sides, or the one named, a note its text and fields.

    Any other kind shows its text.
    """
    if kind is Kind.NOTE:
        from satchel.sources.notes.note import field_lines  # here, because few roots hold notes

        return "\n".join([text, *field_lines(fields.get("fields", {}))])
    return side_text(side, fields) if kind is Kind.EXPERIENCE else text


def _full(fields: Fields) -> str:
    return _lines(
        ("Goal: ", _text(fields, "goal")),
        ("Hypothesis: ", _text(fields, "hypothesis")),
        ("Action: ", _text(fields, "action")),
        ("Prediction: ", _text(fields, "prediction")),
        ("Outcome: ", _outcome(fields)),
        ("Surprise: ", _text(fields, "surprise")),
        ("Lesson: ", _part(fields, "lesson", "what_worked")),
        ("Takeaway: ", _part(fields, "lesson", "takeaway")),
    )


def _strategy(fields: Fields) -> str:
    count = fields.get("iteration_count", 1)
    iterations = f" after {count} iteration{'s' if count != 1 else ''}"
    status = _text(fields, "outcome_status")
    return _lines(
        ("Strategy: ", _text(fields, "strategy")),
        ("Applied to: ", _text(fields, "goal")),
        ("Outcome: ", status and status + iterations),
        ("What worked: ", _part(fields, "lesson", "what_worked")),
    )


def _surprise(fields: Fields) -> str:
    return _lines(
        ("Expected: ", _text(fields, "prediction")),
        ("Actual: ", _text(fields, "outcome_result")),
        ("Surprise: ", _text(fields, "surprise")),
        ("Root cause: ", _cause(fields)),
    )


def _root_cause(fields: Fields) -> str:
    return _lines(
        ("Root cause: ", _part(fields, "root_cause", "category")),
        ("Description: ", _part(fields, "root_cause", "description")),
        ("Context: ", heading(fields)),
        ("Original hypothesis: ", _text(fields, "hypothesis")),
    )


def _outcome(fields: Fields) -> str:
    return " - ".join(filter(None, (_text(fields, "outcome_status"), _text(fields, "outcome_result"))))


def _cause(fields: Fields) -> str:
    return " - ".join(
        filter(None, (_part(fields, "root_cause", "category"), _part(fields, "root_cause", "description")))
    )


def _text(fields: Fields, name: str) -> str:
    """A field on one line, empty if it is missing: a line break inside would end its entry."""
    return " ".join(str(fields.get(name) or "").split())


def _part(fields: Fields, name: str, part: str) -> str:
    inner = fields.get(name)
    return _text(inner, part) if isinstance(inner, Mapping) else ""


def _lines(*labelled: Sequence[str]) -> str:
    return "\n".join(label + text for label, text in labelled if text)
