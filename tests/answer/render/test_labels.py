"""Labels: which pieces share one, and what it says."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from msgspec.structs import replace

from satchel.answer.render.labels import joined_pieces, labelled, touches
from satchel.types import ContextItem, Cut, Detail, Freshness, Piece
from tests.rendered import read_labelled

from .examples import piece
from .test_render_parse import files

HEADER = piece(10, "class Reader:\n    size = 1\n", "Reader")
READ = piece(13, "    def read(self):\n        ...", "Reader.read")
CLOSE = piece(15, "    def close(self):\n        ...", "Reader.close")
MAIN = piece(17, "def main():\n    ...", "main")
GAP = piece(8, "import os\n", detail=Detail.SPAN)


def _labels(*pieces: Piece) -> list[str]:
    return [line for line in labelled(pieces, shown=True).split("\n") if line.startswith("@@")]


def test_a_whole_unit_has_its_name_and_lines_of_one_say_so() -> None:
    assert _labels(READ) == ["@@13-14 Reader.read"]
    assert _labels(replace(READ, detail=Detail.SPAN)) == ["@@13-14 of Reader.read"]
    assert _labels(piece(3, "def f():", "f", Detail.SIGNATURE)) == ["@@3 signature of f"]
    assert _labels(piece(3, "does it", "f", Detail.LINE)) == ["@@3 line of f"]


def test_units_that_touch_have_one_label_that_names_what_contains_them() -> None:
    assert _labels(READ, CLOSE) == ["@@13-16 of Reader: read, close"]
    assert _labels(HEADER, READ, CLOSE) == ["@@10-16 of Reader: read, close"]
    assert _labels(READ, CLOSE, MAIN) == ["@@13-18 Reader.read … main"]


def test_of_many_units_that_touch_the_first_and_the_last_are_named() -> None:
    many = [piece(10 + number, "    x = 1", f"Reader.part_{number}") for number in range(5)]
    assert _labels(*many[:3]) == ["@@10-12 of Reader: part_0, part_1, part_2"]
    assert _labels(*many) == ["@@10-14 of Reader: part_0 … part_4"]


def test_runs_of_one_class_are_labelled_each_by_its_parts() -> None:
    far = [piece(40 + number, "    x = 1", f"Reader.part_{number}") for number in range(2)]
    text = labelled([HEADER, READ, *far], shown=True, numbered=True, cuts=[Cut("a2b3c4d5", 10, 60, "Reader")])
    assert [line for line in text.split("\n") if line[0] in "@…"] == [
        "@@10-14 of Reader: read", "@@40-41 of Reader: part_0, part_1", "… 42-60 a2b3c4d5",
    ]  # fmt: skip


def test_sections_that_touch_are_named_by_the_section_around_them() -> None:
    one, two = piece(3, "One", "Guide > Use > One"), piece(4, "Two", "Guide > Use > Two")
    assert _labels(one, two) == ["@@3-4 of Guide > Use"]


def test_lines_without_a_name_belong_to_the_unit_that_they_touch() -> None:
    assert _labels(GAP, HEADER) == ["@@8-12 Reader"]
    assert _labels(GAP) == ["@@8-9"]


def test_a_gap_is_followed_by_a_label() -> None:
    span = piece(40, "x = 1", "Reader.read", Detail.SPAN)
    later = piece(50, "x = 2", "Reader.read", Detail.SPAN)
    assert _labels(span, later) == ["@@40 of Reader.read", "@@50 of Reader.read"]


def test_the_end_of_a_definition_is_named_with_the_handle_of_what_is_left() -> None:
    span, later = (piece(line, "x = 1", "Reader.read", Detail.SPAN) for line in (40, 50))
    cuts = (Cut("a2b3c4d5", 30, 120, "Reader.read", ((51, 120), (30, 39))), Cut("e2f3g4h5", 40, 120, ""))
    text = labelled([span, later], shown=True, numbered=True, cuts=cuts)
    assert text.split("\n") == ["@@40 of Reader.read", "40\tx = 1", "… 41-49", "50\tx = 1", "… 51-120 a2b3c4d5"]
    assert "a2b3" not in labelled([span, later], shown=True, cuts=cuts)
    assert labelled([span, later], shown=False, numbered=True, cuts=cuts) == labelled([span, later], shown=False)
    inner = piece(60, "x = 1", "Reader.read.step")
    assert "a2b3" not in labelled([span, inner], shown=True, numbered=True, cuts=cuts)


def test_a_declaration_that_stands_for_more_keeps_its_own_label() -> None:
    declared = piece(15, "    def close(self):", "Reader.close", Detail.SIGNATURE)
    assert _labels(READ, declared) == ["@@13-14 Reader.read", "@@15 signature of Reader.close"]


def test_no_label_has_an_empty_name() -> None:
    assert _labels(piece(3, "def read(): ...")) == ["@@3"]
    assert _labels(piece(3, "x", detail=Detail.LINE)) == ["@@3 line"]


@pytest.mark.parametrize("name", ["signature of f", "of", "moved", "line", "stale f"])
def test_a_name_that_looks_like_a_word_of_ours_is_quoted(name: str) -> None:
    shown = piece(3, "x", name)
    assert _labels(shown) == [f'@@3 "{name}"']
    assert list(read_labelled(labelled([shown], shown=True).split("\n"), shown=True)) == [shown]


def test_a_text_of_another_number_of_lines_says_so_and_stays_alone() -> None:
    assert _labels(Piece(13, 14, "", "one"), piece(15, "two")) == ["@@13-14=1", "@@15"]


def test_without_lines_every_piece_keeps_its_name() -> None:
    assert labelled([HEADER, READ, MAIN], shown=False) == "@@10-12 Reader\n@@13-14 Reader.read\n@@17-18 main"


def test_lines_that_look_like_labels_are_content() -> None:
    pieces = [piece(3, "@@90-99 main\nx = 1", "f"), piece(9, "@@9 f", "g")]
    assert list(read_labelled(labelled(pieces, shown=True).split("\n"), shown=True)) == pieces


@given(files())
def test_joining_keeps_every_line_in_its_place(item: ContextItem) -> None:
    joined = joined_pieces(item.pieces)
    assert "\n".join(piece.text for piece in joined) == "\n".join(piece.text for piece in item.pieces)
    covered = {line for piece in item.pieces for line in range(piece.start, piece.end + 1)}
    assert {line for piece in joined for line in range(piece.start, piece.end + 1)} == covered
    gaps = sum(not touches(earlier, later) for earlier, later in pairwise(item.pieces))
    assert sum(not touches(earlier, later) for earlier, later in pairwise(joined)) == gaps


def test_a_piece_that_is_not_as_it_was_indexed_says_so_before_its_name() -> None:
    moved = replace(piece(10, "    def read(self):", "Reader.read"), freshness=Freshness.MOVED)
    stale = replace(piece(30, "x = 1", "Reader", Detail.SPAN), freshness=Freshness.STALE)
    assert _labels(moved, stale) == ["@@10 moved Reader.read", "@@30 stale of Reader"]


def test_pieces_that_touch_stay_apart_where_only_one_has_changed() -> None:
    changed = replace(piece(11, "b = 1"), freshness=Freshness.CHANGED)
    assert _labels(piece(10, "a = 1"), changed) == ["@@10", "@@11 changed"]
