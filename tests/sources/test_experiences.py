from __future__ import annotations

from typing import Any

from satchel.sources.experiences import axis_texts, heading, shown_record, shown_text
from satchel.types import Kind
from satchel.vocabulary import Axis

FIELDS: dict[str, Any] = {
    "domain": "debugging",
    "strategy": "read-the-error",
    "goal": "Stop the\ndouble close",
    "hypothesis": "The pool closes too",
    "action": "Trace close",
    "prediction": "Two calls",
    "iteration_count": 2,
    "outcome_status": "falsified",
    "outcome_result": "One call",
    "surprise": "A finaliser closed it",
    "root_cause": {"category": "oversight", "description": "Nobody read the finaliser"},
    "lesson": {"what_worked": "Tracing", "takeaway": "Never close in a finaliser"},
}
BARE: dict[str, Any] = {"goal": "G", "hypothesis": "H", "action": "A", "prediction": "P", "strategy": "ask-user"}


def test_each_axis_tells_its_side() -> None:
    assert axis_texts(FIELDS) == {
        Axis.FULL: "Goal: Stop the double close\nHypothesis: The pool closes too\nAction: Trace close\n"
        "Prediction: Two calls\nOutcome: falsified - One call\nSurprise: A finaliser closed it\nLesson: Tracing\n"
        "Takeaway: Never close in a finaliser",
        Axis.STRATEGY: "Strategy: read-the-error\nApplied to: Stop the double close\n"
        "Outcome: falsified after 2 iterations\nWhat worked: Tracing",
        Axis.SURPRISE: "Expected: Two calls\nActual: One call\nSurprise: A finaliser closed it\n"
        "Root cause: oversight - Nobody read the finaliser",
        Axis.ROOT_CAUSE: "Root cause: oversight\nDescription: Nobody read the finaliser\n"
        "Context: debugging | read-the-error\nOriginal hypothesis: The pool closes too",
    }


def test_parts_that_are_missing_drop_out() -> None:
    falsified = BARE | {"outcome_status": "falsified", "outcome_result": ""}
    assert list(axis_texts(falsified)) == [Axis.FULL, Axis.STRATEGY]
    assert axis_texts(falsified)[Axis.STRATEGY].endswith("Outcome: falsified after 1 iteration")
    assert list(axis_texts(falsified | {"surprise": "S"})) == [Axis.FULL, Axis.STRATEGY, Axis.SURPRISE]
    caused = axis_texts(falsified | {"root_cause": {"category": "oversight", "description": ""}})
    assert caused[Axis.ROOT_CAUSE] == "Root cause: oversight\nContext: ask-user\nOriginal hypothesis: H"


def test_only_a_falsified_experience_has_a_surprise_to_learn_from() -> None:
    assert list(axis_texts(FIELDS | {"outcome_status": "confirmed"})) == [Axis.FULL, Axis.STRATEGY]


def test_a_reader_sees_all_sides_one_statement_a_line() -> None:
    text = shown_text(FIELDS)
    assert text.splitlines() == [
        "- **Goal**: Stop the double close",
        "- **Hypothesis**: The pool closes too",
        "- **Action**: Trace close",
        "- **Prediction**: Two calls",
        "- **Outcome**: falsified - One call",
        "- **Surprise**: A finaliser closed it",
        "- **Root cause**: oversight - Nobody read the finaliser",
        "- **Lesson**: Tracing",
        "- **Takeaway**: Never close in a finaliser",
    ]
    assert len(shown_text(BARE).splitlines()) == 4
    assert heading({"domain": "testing"}) == "testing"


def test_any_other_record_shows_its_text() -> None:
    assert shown_record(Kind.MEMORY, {}, "text") == "text"
    assert shown_record(Kind.EXPERIENCE, BARE, "all axes").startswith("- **Goal**: G")
