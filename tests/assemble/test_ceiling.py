"""The most that answers to smaller budgets may be worth."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.assemble.candidates import CHARACTERS_PER_TOKEN, Candidate, Step
from satchel.assemble.ceiling import Ceiling, Cost, measured
from satchel.assemble.section import Section, by_density
from satchel.assemble.shown import Group
from satchel.assemble.worth import most_valuable
from satchel.tokens import counter
from satchel.types import Detail, Document, Hit, Kind

sizes = st.lists(st.tuples(st.floats(-3, 3), st.floats(1, 500)), min_size=1, max_size=30)


def _record(number: int, value: float, size: float) -> Candidate:
    document = Document(f"memory:{number}", Kind.MEMORY, f"{number}", "")
    text = "x " * int(size * CHARACTERS_PER_TOKEN / 2)
    return Candidate(Hit(document, 0.5, value, ()), value, size, 0, lambda: [Step(Detail.FULL, text=text)])


def _section(rows: list[tuple[float, float]], weight: float = 1.0) -> Section:
    candidates = [_record(number, value, size) for number, (value, size) in enumerate(rows)]
    return Section(Kind.MEMORY, weight, by_density(candidates), {}, 20)


@given(sizes, sizes, st.integers(0, 5000), st.integers(0, 500))
def test_more_tokens_have_a_higher_ceiling(
    ones: list[tuple[float, float]], others: list[tuple[float, float]], budget: int, more: int
) -> None:
    ceiling = Ceiling([_section(ones)], [Cost()])
    assert ceiling.at(budget) <= ceiling.at(budget + more) + 1e-9
    beside = Ceiling([_section(ones), _section(others, weight=2.0)], [Cost(), Cost()])
    assert beside.at(budget) >= 0.0


@given(sizes)
def test_where_all_fits_the_ceiling_is_all(rows: list[tuple[float, float]]) -> None:
    section = _section(rows)
    everything = Ceiling([section], [Cost()]).at(1_000_000)
    assert everything == pytest.approx(most_valuable([section], 1_000_000))
    assert Ceiling([section], [Cost(2.0)]).at(1_000_000) == pytest.approx(everything)


def test_what_a_kind_leaves_of_its_share_another_one_gets() -> None:
    small = [(1.0, 50.0)] * 20
    alone = Ceiling([_section(small), _section([(1.0, 100.0)] * 20)], [Cost(), Cost()]).at(800)
    beside_a_large_one = Ceiling([_section(small), _section([(1.0, 5000.0)])], [Cost(), Cost()]).at(800)
    assert beside_a_large_one >= alone * 0.9


def test_what_text_and_frames_cost_is_measured_on_what_is_shown() -> None:
    section = _section([(1.0, 100.0)])
    assert measured([section], counter("chars"), lambda _: 0) == [Cost()], "nothing is shown yet"
    candidate = section.candidates[0]
    section.groups[candidate.group] = Group(Kind.MEMORY, candidate.group, None)
    section.groups[candidate.group].admit(candidate, candidate.steps[0], 100)
    text = candidate.steps[0].text
    (cost,) = measured([section], counter("chars"), lambda _: len(text) + 7)
    assert cost.text == pytest.approx(CHARACTERS_PER_TOKEN)
    assert cost.frame == 7


def test_frames_and_dear_text_lower_the_ceiling() -> None:
    section = _section([(1.0, 50.0)] * 20)
    plain = Ceiling([section], [Cost()]).at(300)
    assert Ceiling([section], [Cost(2.0)]).at(300) < plain
    assert Ceiling([section], [Cost(1.0, 20)]).at(300) < plain
    assert Ceiling([section], [Cost()], 100).at(300) < plain
