from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from satchel.sources.experiences import axis_texts, heading, lesson_line, shown_record, shown_text
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


def test_a_reader_sees_how_it_ended_before_what_was_tried_one_statement_a_line() -> None:
    text = shown_text(FIELDS)
    assert text.splitlines() == [
        "- **Outcome**: falsified - One call",
        "- **Root cause**: oversight - Nobody read the finaliser",
        "- **Lesson**: Tracing",
        "- **Takeaway**: Never close in a finaliser",
        "- **Goal**: Stop the double close",
        "- **Hypothesis**: The pool closes too",
        "- **Action**: Trace close",
        "- **Prediction**: Two calls",
        "- **Surprise**: A finaliser closed it",
    ]
    assert len(shown_text(BARE).splitlines()) == 4
    assert heading({"domain": "testing"}) == "testing"


def test_any_other_record_shows_its_text() -> None:
    assert shown_record(Kind.MEMORY, {}, "text") == "text"
    assert shown_record(Kind.EXPERIENCE, BARE, "all axes").startswith("- **Goal**: G")


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        (
            {},
            "Tried Trace close: failed because Nobody read the finaliser; do: Tracing; Never close in a finaliser",
        ),
        ({"root_cause": None}, "Tried Trace close: failed because One call; do: Tracing; Never close in a finaliser"),
        ({"lesson": None}, "Tried Trace close: failed because Nobody read the finaliser: One call"),
        ({"outcome_status": "confirmed"}, "Tracing; Never close in a finaliser; worked for: Stop the double close"),
        ({"outcome_status": "confirmed", "lesson": None}, "Trace close: worked, One call"),
        (
            {"outcome_status": "abandoned"},
            "Given up: Stop the double close, One call; do: Tracing; Never close in a finaliser",
        ),
        ({"outcome_status": "", "lesson": None}, "Not ended yet: Stop the double close"),
    ],
)
def test_an_experience_is_one_line_with_its_end_and_its_day(changed: dict[str, Any], line: str) -> None:
    assert lesson_line(FIELDS | changed) == line
    assert lesson_line(FIELDS | changed, day="2026-03-02") == f"{line} (2026-03-02)"


def test_in_little_space_the_lesson_stays_and_the_attempt_goes() -> None:
    fields = FIELDS | {
        "action": "Trace every close of the pool with a breakpoint in the driver and count them by hand " * 2,
        "root_cause": {"category": "oversight", "description": "Nobody had read the finaliser of the old pool"},
    }
    line = lesson_line(fields, 200)
    assert line.startswith("Tried Trace every close")
    assert "…: failed because Nobody had read the finaliser of the old pool; do: Tracing; Never close" in line
    assert lesson_line(fields, 100) == "Failed because Nobody had read the finaliser of the old pool; do: Tracing"


@given(some.text(max_size=300), some.text(max_size=300), some.text(max_size=300), some.integers(100, 400))
def test_a_failure_on_one_line_always_has_its_end_and_never_more_characters(
    action: str, cause: str, lesson: str, most: int
) -> None:
    changed = {"action": action, "root_cause": {"description": cause}, "lesson": {"what_worked": lesson}}
    line = lesson_line(FIELDS | changed, most)
    assert len(line) <= most
    assert "ailed because " in line
    assert "\n" not in line
