from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from satchel.answer import weights
from satchel.answer.candidates import Candidate, Step
from satchel.answer.sections import Group, subtract
from satchel.answer.source_lines import Lines
from satchel.answer.source_lines import joined as union
from satchel.answer.text_lines import TextLines
from satchel.types import Chunk, Detail, Hit, Kind, Location

joined = partial(union, gap=weights.JOIN_LINES)

ranges = st.lists(
    st.tuples(st.integers(1, 60), st.integers(0, 12)).map(lambda pair: (pair[0], pair[0] + pair[1])), max_size=8
)


def lines(spans: Sequence[tuple[int, int]]) -> set[int]:
    return {number for start, end in spans for number in range(start, end + 1)}


@given(ranges)
def test_joined_ranges_cover_what_went_in_and_stay_apart(spans: list[tuple[int, int]]) -> None:
    merged = joined(spans)
    assert lines(spans) <= lines(merged)
    assert all(second[0] - first[1] > weights.JOIN_LINES + 1 for first, second in pairwise(merged))
    assert all(any(start in lines([span]) for span in spans) for start, _ in merged)


@given(ranges, ranges)
def test_what_is_subtracted_is_gone_and_the_rest_stays(
    first: list[tuple[int, int]], second: list[tuple[int, int]]
) -> None:
    rest = subtract(joined(first), joined(second))
    assert lines(rest) == lines(joined(first)) - lines(joined(second))


@given(ranges, ranges)
def test_the_union_does_not_depend_on_the_order(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> None:
    assert joined([*first, *second]) == joined([*second, *first])


@given(st.lists(st.tuples(ranges, st.booleans()), max_size=6), ranges)
def test_steps_that_are_admitted_one_by_one_are_joined_as_all_at_once(
    steps: list[tuple[list[tuple[int, int]], bool]], sent: list[tuple[int, int]]
) -> None:
    text = Lines("a", TextLines("\n" * 79), sent=tuple(joined(sent)))
    group = Group(Kind.CODE, "a", text)
    hit = Hit(Chunk("code:a#1", Kind.CODE, "a", "", location=Location("a", 1, 80, "")), 0.5, 1.0)
    candidate = Candidate(hit, 0.5, 10, 1, list)
    for spans, is_kept in steps:
        step = Step(Detail.SPAN, tuple(spans))
        before = len(group.ranges), lines(group.ranges)
        added, markers = group.added(step)
        group = group.admitted(candidate, step, 10)
        assert (before[0] + markers, before[1] | lines(added)) == (len(group.ranges), lines(group.ranges))
        if not is_kept:
            group = group.withdrawn(10).rejoined()
    every = [span for _, step in group.picks for span in step.ranges]
    assert list(group.ranges) == subtract(joined(every), text.sent)
