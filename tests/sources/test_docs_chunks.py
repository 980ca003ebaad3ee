"""Chunks of text without structure."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from satchel.sources.docs import MAX_LINES, MIN_LINES, chunks, line_count
from satchel.types import Role


def spans(lines: list[str]) -> list[tuple[int, int]]:
    return [(part.start, part.end) for part in chunks(lines, Role.TEXT)]


def test_a_short_text_is_one_chunk() -> None:
    assert spans(["a"] * MAX_LINES) == [(1, MAX_LINES)]


def test_an_empty_text_has_none() -> None:
    assert spans([""]) == []
    assert spans(["a", ""]) == [(1, 1)]


def test_the_cut_goes_where_the_next_line_is_indented_least() -> None:
    lines = ["  a"] * 20 + ["b"] + ["  c"] * 40
    assert spans(lines)[0] == (1, 20)


def test_a_blank_line_before_the_cut_helps_and_stays_before_it() -> None:
    lines = ["a"] * 20 + [""] + ["b"] * 40
    assert spans(lines)[0] == (1, 21)


def test_a_long_run_of_blank_lines_stays_in_one_chunk() -> None:
    lines = ["a"] * 30 + [""] * 100 + ["b"] * 5
    assert spans(lines) == [(1, 130), (131, 135)]


def test_only_some_rows_can_be_cut() -> None:
    assert [(part.start, part.end) for part in chunks(["a"] * 9, Role.GAP, 3, 7)] == [(4, 7)]


@given(st.lists(st.sampled_from(["", "a", "  b", "        c"]), max_size=300))
def test_chunks_tile_and_are_neither_tiny_nor_huge(lines: list[str]) -> None:
    found = spans(lines)
    assert [start for start, _ in found] == [1, *(end + 1 for _, end in found[:-1])][: len(found)]
    assert (found[-1][1] if found else 0) == line_count(lines)
    for start, end in found[:-1]:
        assert end - start + 1 >= MIN_LINES
        last = end
        while last > start and not lines[last - 1]:
            last -= 1
        assert last - start < MAX_LINES
