"""What an answer is worth: every shown token as much as the best candidate that shows it, and once."""

from __future__ import annotations

import math

import pytest

from satchel.assemble.candidates import CHARACTERS_PER_TOKEN, Candidate, Step
from satchel.assemble.read import Lines
from satchel.assemble.section import Section, density
from satchel.assemble.shown import Group
from satchel.assemble.worth import PLACE_TOKENS, most_valuable, total_value
from satchel.types import Detail, Document, Hit, Kind, Location, Span

LINES = Lines("a.py", tuple(f"line_{number:02} = read()" for number in range(1, 41)))


def _candidate(name: str, value: float, *steps: Step, size: float = 100.0, path: str = "a.py") -> Candidate:
    location = Location(path, 1, 40, "") if path else None
    document = Document(f"code:{path}::{name}", Kind.CODE, name, "", location=location)
    first = steps[0].ranges[0][0] if steps[0].ranges else 0
    return Candidate(Hit(document, 0.5, value, (Span(1, 40, value),)), value, size, first, lambda: steps)


def _lines(*ranges: tuple[int, int], detail: Detail = Detail.WINDOW) -> Step:
    return Step(detail, ranges)


def _section(*candidates: Candidate, shown: int) -> Section:
    """A section that shows the first step of its first `shown` candidates."""
    section = Section(Kind.CODE, 1.0, list(candidates), {"a.py": LINES}, 20)
    for index, candidate in enumerate(candidates[:shown]):
        lines = LINES if candidate.document.location is not None else None
        group = section.groups.setdefault(candidate.group, Group(Kind.CODE, candidate.group, lines))
        group.admit(candidate, candidate.steps[0], 1)
        section.taken.add(index)
        section.admit(candidate, candidate.steps[0])
    return section


def _tokens(count: int) -> float:
    return count * (len(LINES.lines[0]) + 1) / CHARACTERS_PER_TOKEN


def _worth(section: Section, *, shows_lines: bool = True) -> float:
    """The value of a section before it is made comparable with others."""
    return total_value([section], shows_lines=shows_lines) / section.scale


def test_a_token_of_the_best_of_a_kind_counts_as_much_as_its_weight() -> None:
    code, prose = (_candidate(name, value, _lines((1, 10))) for name, value in (("code", 3.0), ("prose", -2.0)))
    sections = [_section(code, shown=1), _section(prose, shown=1)]
    sections[1].weight = 2.0
    assert total_value(sections[:1]) == pytest.approx(_tokens(10))
    assert total_value(sections) == pytest.approx(_tokens(10) * 3)


def test_a_shown_line_is_worth_what_its_candidate_is_worth() -> None:
    one = _candidate("one", 1.0, _lines((1, 10)))
    assert _worth(_section(one, shown=1)) == pytest.approx(math.exp(density(one)) * _tokens(10))


def test_what_two_candidates_show_counts_once_and_for_the_better_one() -> None:
    better, other = (
        _candidate("better", 1.0, _lines((1, 1), (5, 10))),
        _candidate("other", 0.0, _lines((1, 1), (20, 22))),
    )
    expected = math.exp(density(better)) * _tokens(7) + math.exp(density(other)) * _tokens(3)
    assert _worth(_section(better, other, shown=2)) == pytest.approx(expected)
    assert _worth(_section(other, better, shown=2)) == pytest.approx(expected)


def test_it_does_not_matter_which_of_two_candidates_was_admitted_for_the_same_lines() -> None:
    better, other = _candidate("better", 1.0, _lines((3, 4))), _candidate("other", 0.0, _lines((3, 4)))
    assert total_value([_section(better, other, shown=1)]) == total_value([_section(other, better, shown=1)])


def test_a_candidate_of_which_a_line_is_missing_is_not_shown_by_others() -> None:
    other, better = _candidate("other", 0.0, _lines((3, 4))), _candidate("better", 1.0, _lines((3, 5)))
    assert _worth(_section(other, better, shown=1)) == pytest.approx(_worth(_section(other, shown=1)))


def test_a_candidate_never_counts_for_more_than_its_size() -> None:
    wide = _candidate("wide", 1.0, _lines((1, 30)), size=5.0)
    assert _worth(_section(wide, shown=1)) == pytest.approx(math.exp(density(wide)) * 5.0)


def test_a_record_counts_by_the_text_of_its_step() -> None:
    record = _candidate("record", 1.0, Step(Detail.FULL, text="x" * 36), path="")
    assert _worth(_section(record, shown=1)) == pytest.approx(math.exp(density(record)) * 10.0)


def test_where_places_are_shown_every_place_counts_the_same_for_any_step() -> None:
    one, other = _candidate("one", 1.0, _lines((1, 30))), _candidate("one", 1.0, _lines((1, 1), detail=Detail.LINE))
    values = [_worth(_section(shown, shown=1), shows_lines=False) for shown in (one, other)]
    assert values == pytest.approx([math.exp(density(one)) * PLACE_TOKENS] * 2)


def test_nothing_of_so_many_tokens_is_worth_more_than_the_best_candidates_whole() -> None:
    best = _candidate("best", 1.0, _lines((1, 5)), size=30.0)
    other = _candidate("other", 0.0, _lines((9, 20)), size=60.0)
    section = _section(best, other, shown=0)
    rate = math.exp(density(other) - density(best))
    assert most_valuable([section], 20) == pytest.approx(20)
    assert most_valuable([section], 1000) == pytest.approx(30 + rate * 60)
    assert most_valuable([_section(best, other, shown=1)], 1000) == pytest.approx(rate * 60)
