from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from satchel.assemble.shown import JOIN_LINES, joined, subtract

ranges = st.lists(
    st.tuples(st.integers(1, 60), st.integers(0, 12)).map(lambda pair: (pair[0], pair[0] + pair[1])), max_size=8
)


def lines(spans: list[tuple[int, int]]) -> set[int]:
    return {number for start, end in spans for number in range(start, end + 1)}


@given(ranges)
def test_joined_ranges_cover_what_went_in_and_stay_apart(spans: list[tuple[int, int]]) -> None:
    merged = joined(spans)
    assert lines(spans) <= lines(merged)
    assert all(second[0] - first[1] > JOIN_LINES + 1 for first, second in pairwise(merged))
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
