"""Candidates with the same text: one is shown, the others are its origins."""

from __future__ import annotations

from dataclasses import replace

import pytest

from satchel.answer.candidates import Candidate
from satchel.answer.packing import BUDGET
from satchel.answer.source_lines import Lines
from satchel.types import Kind
from tests.answer.examples import of_file, packed, record, section

PARAGRAPH = (
    "A connection of the pool is given back when the work is done, also after an error, because an exhausted pool "
    "waits for ever; whoever takes two of them at once may wait for themselves, and a test would never see it."
)


def are_twins(one: Candidate, other: Candidate, kind: Kind, *lines: Lines) -> bool:
    """Whether the second is an origin of the first once that is shown."""
    first = replace(one, value=other.value + 1)
    made = section(kind, other, first, lines={text.path: text for text in lines})
    packing = packed(10_000, made)
    assert first in packing.shown
    twins = packing.groups[made][first.group].twins_of(first)
    assert twins in ([], [other])
    assert (other in packing.shown) is not bool(twins)
    return bool(twins)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The pool has nine connections.", "the POOL has nine connections.", False),
        ("The pool has nine connections.", "The pool has eight connections.", False),
        ("The pool has nine connections.", "The pool  has\nnine connections.", True),
        ("...", "---", False),
    ],
)
def test_records_are_the_same_when_their_words_are(one: str, other: str, same: bool) -> None:
    assert are_twins(record("memory:1", one), record("memory:2", other), Kind.MEMORY) is same


def test_a_record_is_not_the_twin_of_itself() -> None:
    assert not are_twins(record("memory:1", "The same."), record("memory:1", "The same."), Kind.MEMORY)


def test_a_record_without_a_body_is_compared_by_what_it_shows() -> None:
    one, other = record("memory:1", "The pool waits."), record("memory:2", "The pool waits.")
    assert are_twins(replace(one, body=""), replace(other, body=""), Kind.MEMORY)


def test_prose_that_differs_in_a_word_is_two() -> None:
    again = PARAGRAPH.replace("never see", "not see")
    (one, lines), (other, more) = of_file("a.md", PARAGRAPH), of_file("b.md", again)
    assert not are_twins(one, other, Kind.DOC, lines, more)
    same, equal = of_file("d.md", PARAGRAPH.replace(" ", "\n", 3))
    assert are_twins(one, same, Kind.DOC, lines, equal)
    apart, others = of_file("c.md", "Times of the report are converted from UTC before the day is taken. " * 3)
    assert not are_twins(one, apart, Kind.DOC, lines, others)
    assert not are_twins(record("memory:1", PARAGRAPH), record("memory:2", again), Kind.MEMORY)


def test_short_lines_of_prose_that_differ_in_a_number_are_two() -> None:
    (one, lines), (other, more) = of_file("a.md", "Version 1.2.3 is out."), of_file("b.md", "Version 1.2.4 is out.")
    assert not are_twins(one, other, Kind.DOC, lines, more)


def test_of_code_only_white_space_is_folded_and_two_places_of_one_file_are_two() -> None:
    (one, lines), (other, more) = (
        of_file("a.py", "def f():\n    return 1", Kind.CODE),
        of_file("b.py", "def f():\n\treturn 1", Kind.CODE),
    )
    assert are_twins(one, other, Kind.CODE, lines, more)
    assert not are_twins(one, of_file("c.py", "def F():\n    return 1", Kind.CODE)[0], Kind.CODE, lines)
    place, text = of_file("a.py", "def f():\n    return 1", Kind.CODE, "::f")
    assert not are_twins(one, place, Kind.CODE, text)


def test_what_was_taken_back_is_the_twin_of_nothing() -> None:
    one, other = record(f"memory:{'long' * 30}", "The pool waits."), record("memory:2", "The pool waits.")
    one = replace(one, value=other.value + 0.5)
    made = section(Kind.MEMORY, one, other)
    room = 40
    packing = packed(room, made)
    assert packing.shown == {other}  # the first has no room
    packing = packed(1_000, made)
    assert packing.shown == {one}
    packing.take_back(1)
    assert packing.refill(room)
    assert packing.shown == {other}
    assert packing.groups[made][other.group].twins == ()
    assert packing.rejected[made] == {one: BUDGET}
