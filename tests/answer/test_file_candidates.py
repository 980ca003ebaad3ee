"""What is offered of a file: whole lines that say something."""

from __future__ import annotations

import pytest

from satchel.answer.file_candidates import file_candidates
from satchel.answer.source_lines import Lines, without_blank_ends
from satchel.answer.text_lines import TextLines
from satchel.types import Chunk, Hit, Kind, Location, Role, ScoredSpan

ASKED = frozenset({"steal"})


def _hit(lines: Lines, role: Role = Role.GAP) -> Hit:
    end = len(lines.lines)
    chunk = Chunk("code:a#1", Kind.CODE, "a", "", location=Location("a", 1, end, ""), role=role)
    return Hit(chunk, 0.5, 1.0, spans=(ScoredSpan(1, end, 1.0),))


def _lines(text: str) -> Lines:
    return Lines("a", TextLines(text))


def test_blank_lines_at_both_ends_are_not_shown() -> None:
    lines = _lines("\n\nsteal(queue)\n\nrun()\n\n\n")
    (candidate,) = file_candidates(_hit(lines), lines, 400, ASKED)
    assert candidate.steps[0].ranges == ((3, 5),)
    assert candidate.first_line == 3


def test_a_range_of_blank_lines_keeps_its_first_line() -> None:
    assert without_blank_ends([""] * 3, 1, 3) == (1, 1)


@pytest.mark.parametrize(
    ("text", "role", "offered"),
    [
        pytest.param('T = TypeVar("T")', Role.GAP, False, id="a sliver about something else"),
        pytest.param("STEAL_ATTEMPTS = 4", Role.GAP, True, id="a sliver about the question"),
        pytest.param("impl Steal {", Role.CLASS, False, id="a header that opens what is not shown"),
        pytest.param("struct Steal;", Role.CLASS, True, id="a declaration that is complete"),
        pytest.param("\n".join(["run_one_more_task(queue, worker)"] * 9), Role.GAP, True, id="more than a sliver"),
    ],
)
def test_slivers_are_offered_only_if_they_say_a_word_of_the_question(text: str, role: Role, offered: bool) -> None:
    lines = _lines(text)
    assert bool(file_candidates(_hit(lines, role), lines, 400, ASKED)) is offered


def test_without_a_question_every_sliver_is_offered() -> None:
    lines = _lines("}")
    assert len(file_candidates(_hit(lines), lines, 400)) == 1
