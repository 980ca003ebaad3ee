from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from satchel.store.extract import SHORTEST_CUT, SPAN_LINES, cut_spans

lines_strategy = st.lists(st.sampled_from(["", "a = 1", "    b", "        c", "\td", "}"]), min_size=1, max_size=200)


@given(lines_strategy)
def test_spans_tile_the_stretch_and_none_is_too_long(lines: list[str]) -> None:
    spans = cut_spans(lines, 1, len(lines))
    covered = [number for start, end in spans for number in range(start, end + 1)]
    assert covered == list(range(1, len(lines) + 1))
    assert all(end - start + 1 <= SPAN_LINES for start, end in spans)
    assert all(end - start + 1 >= SHORTEST_CUT for start, end in spans[:-1])


def test_a_short_stretch_is_one_span() -> None:
    assert cut_spans(["x"] * 30, 3, 20) == [(3, 20)]


def test_the_cut_is_made_before_the_least_indented_line() -> None:
    lines = ["def f():"] + ["        deep"] * 14 + ["    shallow"] + ["        deep"] * 20
    assert cut_spans(lines, 1, len(lines))[0] == (1, 15)


def test_a_blank_line_before_the_cut_outweighs_six_columns() -> None:
    lines = ["def f():"] + ["    body"] * 11 + ["", "    after"] + ["    body"] * 20
    assert cut_spans(lines, 1, len(lines))[0] == (1, 13)
