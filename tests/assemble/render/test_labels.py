"""Range lines: which pieces share a range, and what stands behind it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from hypothesis import given

from satchel.assemble.render.labels import joined_pieces, range_lines, touches
from satchel.types import ContextItem, Detail, Freshness, Piece

from .examples import piece
from .test_parse import files

HEADER = piece(10, "class Reader:\n    size = 1\n", "Reader")
READ = piece(13, "    def read(self):\n        ...", "Reader.read")
CLOSE = piece(15, "    def close(self):\n        ...", "Reader.close")
MAIN = piece(17, "def main():\n    ...", "main")
GAP = piece(8, "import os\n")


def _lines(*pieces: Piece) -> list[str]:
    return list(range_lines(joined_pieces(pieces), shown=True))


def test_methods_of_one_class_that_touch_are_one_range() -> None:
    assert _lines(READ, CLOSE) == ["13-16 in Reader"]
    assert _lines(READ, CLOSE, MAIN) == ["13-16 in Reader", "17-18"]


def test_a_method_after_the_header_of_its_class_needs_no_range_of_its_own() -> None:
    assert _lines(HEADER, READ, CLOSE) == ["10-16"]
    assert _lines(GAP, HEADER, READ) == ["8-14"]


def test_pieces_with_lines_between_them_share_a_line_if_they_share_a_label() -> None:
    window = piece(40, "x = 1", "Reader.read", Detail.WINDOW)
    later = piece(50, "x = 2", "Reader.read", Detail.WINDOW)
    other = piece(60, "x = 3", "Reader.close", Detail.WINDOW)
    assert _lines(HEADER, CLOSE) == ["10-12", "15-16 in Reader"]
    assert _lines(window, later, other) == ["40,50 of Reader.read", "60 of Reader.close"]


def test_a_name_that_the_lines_do_not_show_is_written() -> None:
    assert _lines(piece(3, "x = 1", "Reader.size")) == ["3 Reader.size"]
    assert _lines(piece(3, "def read(): ...", "Reader.close, Reader.read")) == ["3 Reader.close, Reader.read"]
    assert _lines(piece(3, "def read(): ...")) == ['3 ""']


def test_a_text_of_another_number_of_lines_says_so_and_stays_alone() -> None:
    assert _lines(Piece(13, 14, "", "one"), piece(15, "two")) == ["13-14=1,15"]


def test_without_lines_every_piece_keeps_its_name() -> None:
    assert list(range_lines((HEADER, READ, MAIN), shown=False)) == ["10-12 Reader", "13-14 Reader.read", "17-18 main"]


@given(files())
def test_joining_keeps_every_line_in_its_place(item: ContextItem) -> None:
    joined = joined_pieces(item.pieces)
    assert "\n".join(piece.text for piece in joined) == "\n".join(piece.text for piece in item.pieces)
    covered = {line for piece in item.pieces for line in range(piece.start, piece.end + 1)}
    assert {line for piece in joined for line in range(piece.start, piece.end + 1)} == covered
    gaps = sum(not touches(earlier, later) for earlier, later in pairwise(item.pieces))
    assert sum(not touches(earlier, later) for earlier, later in pairwise(joined)) == gaps


def test_a_piece_that_is_not_as_it_was_indexed_says_so_before_its_label() -> None:
    moved = replace(piece(10, "    def read(self):", "Reader.read"), freshness=Freshness.MOVED)
    stale = replace(piece(30, "x = 1", "Reader", Detail.WINDOW), freshness=Freshness.STALE)
    assert _lines(moved, stale) == ["10 moved in Reader", "30 stale of Reader"]
    assert _lines(replace(moved, name="moved", text="x = 1")) == ['10 moved "moved"']


def test_pieces_that_touch_stay_apart_where_only_one_has_changed() -> None:
    changed = replace(piece(11, "b = 1"), freshness=Freshness.CHANGED)
    assert _lines(piece(10, "a = 1"), changed) == ["10", "11 changed"]
