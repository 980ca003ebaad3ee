"""One pass over all candidates, best value for its cost first; the rest is said to be left out, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from satchel.answer import weights
from satchel.answer.candidates import Candidate, Step
from satchel.answer.companions import companion_finder
from satchel.answer.file_candidates import file_candidates
from satchel.answer.packing import (
    BUDGET,
    LIMIT,
    SMALLEST_PIECE,
    VALUE,
    Packing,
    TextFrame,
)
from satchel.answer.record_candidates import record_candidate
from satchel.answer.sections import Section
from satchel.answer.source_lines import Lines
from satchel.answer.text_lines import TextLines
from satchel.types import Chunk, Hit, Kind, Location, Role, ScoredSpan
from tests.answer.examples import COUNTER, packed

WORDS = ["order", "retry", "queue", "worker", "socket", "price", "report", "table", "index", "cache"]
WHOLE = 10_000


def body(name: str, lines: int) -> list[str]:
    """A function that says something else in every line."""
    return [f"def {name}():", *(f"    {WORDS[n % 10]}_{name}_{n} = {name}_step({n})" for n in range(1, lines))]


def code(name: str, value: float, *, lines: int = 5, score: float = 1.0) -> tuple[Candidate, Lines]:
    """One function in a file of its own, offered as a whole."""
    text = Lines(f"{name}.py", TextLines("\n".join(body(name, lines))))
    location = Location(text.path, 1, lines)
    chunk = Chunk(f"code:{text.path}", Kind.CODE, name, "", location=location, role=Role.FUNCTION)
    (candidate,) = file_candidates(Hit(chunk, 0.5, score), text, WHOLE)
    return replace(candidate, value=value), text


def unshrinkable(made: tuple[Candidate, Lines]) -> tuple[Candidate, Lines]:
    """The same file, shown as a whole or not at all."""
    return replace(made[0], shrink=None), made[1]


def section(*rows: tuple[Candidate, Lines], kind: Kind = Kind.CODE, **options: Any) -> Section:
    lines = {text.path: text for _, text in rows}
    fields = {"weight": 1.0, "item_limit": 100, **options}
    return Section(kind, candidates=tuple(one for one, _ in rows), lines=lines, **fields)


def record(number: int, text: str, value: float = 0.0, cap: float = WHOLE, terms: Sequence[str] = ()) -> Candidate:
    chunk = Chunk(f"memory:{number}", Kind.MEMORY, f"m{number}", "")
    made = record_candidate(Hit(chunk, 0.5, 1.0), text, cap, frozenset(terms))
    return replace(made, value=value, body=text)


def records(*candidates: Candidate, **options: Any) -> Section:
    fields: dict[str, Any] = {"weight": 1.0, "item_limit": 100, **options}
    return Section(Kind.MEMORY, candidates=candidates, lines={}, **fields)


def spans(text: Lines, *spans: ScoredSpan, whole_item_tokens: int = 20, end: int = 0) -> list[Candidate]:
    location = Location(text.path, 1, end or len(text.lines))
    chunk = Chunk(f"code:{text.path}", Kind.CODE, text.path, "", location=location, role=Role.FUNCTION)
    return file_candidates(Hit(chunk, 0.5, 1.0, spans), text, whole_item_tokens)


def used(packing: Packing) -> int:
    return sum(group.tokens for groups in packing.groups.values() for group in groups.values())


def names(packing: Packing, place: int = 0) -> list[str]:
    """What is shown of a section, in the order in which it was admitted."""
    return [group.key.removesuffix(".py") for group in packing.groups[packing.inputs.sections[place]].values()]


def left(packing: Packing, place: int = 0) -> dict[str, str]:
    rejected = packing.rejected[packing.inputs.sections[place]]
    return {candidate.group.removesuffix(".py"): reason for candidate, reason in rejected.items()}


def test_the_best_value_for_its_cost_comes_first() -> None:
    dear, cheap, poor = code("dear", 1.0, lines=30), code("cheap", 0.9), code("poor", -2.0)
    packing = packed(10_000, section(poor, dear, cheap))
    assert names(packing) == ["cheap", "dear", "poor"]
    assert left(packing) == {}
    later = packed(0, section(poor, dear, cheap))
    assert used(later) == 0
    assert later.refill(10_000) == used(later) == used(packing)
    assert names(later) == names(packing)


def test_candidates_of_all_sections_are_on_one_scale() -> None:
    first, second = section(code("one", 1.0)), section(code("two", 2.0), kind=Kind.DOC, level=3.0)
    packing = packed(70, first, second)
    assert (names(packing), names(packing, 1)) == ([], ["two"])
    assert left(packing) == {"one": BUDGET}


def test_what_does_not_fit_is_shrunk() -> None:
    made = section(code("long", 1.0, lines=60))
    packing = packed(200, made)
    ((_, step),) = packing.groups[made]["long.py"].picks
    assert SMALLEST_PIECE <= used(packing) <= 200
    assert step.ranges[0][1] < 60


def test_lines_of_a_file_are_not_cut_into_a_scrap_unless_nothing_else_is_shown() -> None:
    room = weights.MIN_CUT + TextFrame().item
    rows = code("first", 1.0), code("long", 0.5, lines=60)
    assert 0 < used(packed(room, section(rows[1]))) <= room
    first = used(packed(WHOLE, section(rows[0])))
    beside = packed(first + room, section(*rows))
    assert names(beside) == ["first"]
    assert left(beside) == {"long": BUDGET}


def test_what_cannot_be_shrunk_into_the_room_is_left_out_and_something_nearly_as_good_is_shown() -> None:
    large = unshrinkable(code("large", 1.0, lines=30))
    packing = packed(150, section(large, code("small", 1.0 - weights.CLEARLY_LESS + 0.1)))
    assert (names(packing), left(packing)) == (["small"], {"large": BUDGET})


def test_nothing_clearly_weaker_is_shown_once_something_better_had_no_room() -> None:
    def filled(**options: Any) -> tuple[list[str], dict[str, str]]:
        large = unshrinkable(code("large", 3.0, lines=30))
        packing = packed(150, section(large, code("weak", 1.0)), **options)
        return names(packing), left(packing)

    assert filled() == ([], {"large": BUDGET, "weak": BUDGET})
    assert filled(is_strict=False) == (["weak"], {"large": BUDGET})


def test_what_is_worth_far_less_than_the_best_is_not_shown_even_if_there_is_room() -> None:
    packing = packed(10_000, section(code("best", 3.0), code("near", 1.5), code("far", 0.5)), value_range=2.0)
    assert (names(packing), left(packing)) == (["best", "near"], {"far": VALUE})
    assert not packing.is_full


def test_the_range_counts_from_the_best_that_was_found_also_if_the_session_has_it() -> None:
    assert left(packed(10_000, section(code("near", 1.0), best=4.0), value_range=2.0)) == {"near": VALUE}


def test_a_pin_is_shown_first_whatever_its_value() -> None:
    (pin, text), best = code("pin", -9.0), code("best", 3.0)
    made = section(best, (replace(pin, pinned=True), text))
    assert names(packed(10_000, made, value_range=1.0)) == ["pin", "best"]


@pytest.mark.parametrize("is_known", [True, False])
def test_pins_are_tried_as_they_were_given_whether_their_size_is_known_or_not(*, is_known: bool) -> None:
    (first, text), (second, other) = (code(name, 0.0, lines=30) for name in ("first", "second"))
    first, second = replace(first, pinned=True), replace(second, pinned=True)
    later = first.altered(lambda candidate: candidate)
    sections = section((first if is_known else later, text)), section((second, other))
    packing = packed(500, *sections)
    assert [sum(group.tokens for group in packing.groups[each].values()) > 250 for each in sections] == [True, False]


def test_the_limits_count_items_and_not_pieces() -> None:
    made = section(*(code(f"f{number}", 3.0 - number) for number in range(4)))
    packing = packed(10_000, made, max_items=2)
    assert (names(packing), left(packing)) == (["f0", "f1"], {"f2": LIMIT, "f3": LIMIT})
    limited = section(*(code(f"f{number}", 3.0 - number) for number in range(3)), item_limit=1)
    assert left(packed(10_000, limited)) == {"f1": LIMIT, "f2": LIMIT}


def test_with_shares_every_section_gets_its_part_and_the_rest_goes_to_the_best() -> None:
    def filled(room: int, **options: Any) -> tuple[int, int]:
        strong = section(*(code(f"s{n}", 9.0 - n / 10, lines=8) for n in range(6)), weight=3.0)
        weak = section(*(code(f"w{n}", 1.0 - n / 10, lines=8) for n in range(6)), kind=Kind.DOC)
        packing = packed(room, strong, weak, is_strict=False, **options)
        return len(packing.groups[strong]), len(packing.groups[weak])

    assert filled(600)[1] == 0
    assert filled(600, shares=True)[1] == 1
    assert filled(10_000, shares=True) == (6, 6)


def test_within_a_share_the_range_is_that_of_the_section() -> None:
    strong, weak = section(code("s", 9.0)), section(code("w0", 1.0), code("w1", -3.0), kind=Kind.DOC)
    packing = packed(10_000, strong, weak, shares=True, value_range=2.0)
    assert (names(packing, 1), left(packing, 1)) == (["w0"], {"w1": VALUE})


def test_of_a_share_one_chunk_takes_only_its_part_so_that_others_are_seen() -> None:
    def filled(**options: Any) -> list[str]:
        text = Lines("big.py", TextLines("\n".join(body("big", 100))))
        big = spans(text, *(ScoredSpan(start, start + 4, 3.0 - start / 1000) for start in range(2, 98, 8)))
        small = code("small", 1.0)
        made = Section(Kind.CODE, 1.0, (*big, small[0]), {"big.py": text, "small.py": small[1]}, 100)
        other = section(*(code(f"o{number}", 3.0) for number in range(20)), kind=Kind.DOC)
        return names(packed(1_000, made, other, shares=True, **options))

    assert filled() == ["big"]
    assert filled(chunk_share=0.5) == ["big", "small"]
    assert filled(chunk_share=0.5, chunk_tokens=1_000) == ["big"]


def test_a_reserve_comes_before_everything_and_goes_back_where_it_is_not_needed() -> None:
    def filled(reserve: int, room: int = 350) -> tuple[list[str], list[str]]:
        strong = section(code("s0", 9.0, lines=12), code("s1", 8.9, lines=12))
        weak = section(code("w", 0.0), kind=Kind.DOC, reserve=reserve)
        packing = packed(room, strong, weak)
        return names(packing), names(packing, 1)

    needed = used(packed(10_000, section(code("s0", 9.0, lines=12), code("s1", 8.9, lines=12))))
    assert filled(0, needed) == (["s0", "s1"], [])
    assert filled(100, needed)[1] == ["w"]
    assert filled(1_000, needed + 100) == (["s0", "s1"], ["w"])


def test_the_last_admissions_are_taken_back_and_tried_again_when_there_is_room() -> None:
    packing = packed(10_000, section(*(code(f"f{number}", 3.0 - number / 10) for number in range(3))))
    most = used(packing)
    assert packing.take_back(1)
    assert (names(packing), left(packing)) == (["f0", "f1"], {"f2": BUDGET})
    assert used(packing) < most
    assert packing.take_back(10_000)
    assert (names(packing), used(packing)) == ([], 0)
    assert not packing.take_back(1)
    assert packing.is_full
    assert packing.refill(10_000) == most
    assert names(packing) == ["f0", "f1", "f2"]


def test_a_refill_tries_only_what_had_no_room() -> None:
    made = section(code("best", 3.0), code("next", 2.9, lines=30), code("far", -3.0))
    packing = packed(100, made, value_range=2.0)
    packing.refill(5_000)
    assert set(names(packing)) == {"best", "next"}
    assert left(packing) == {"far": VALUE}


def test_a_twin_is_an_origin_of_what_is_shown_and_waits_again_when_that_is_taken_back() -> None:
    one, two = record(1, "The pool has nine connections."), record(2, "The pool has  nine connections.", -0.5)
    made = records(one, two)
    packing = packed(1_000, made)
    assert packing.groups[made]["memory:1"].twins_of(one) == [two]
    assert left(packing) == {}
    packing.take_back(1)
    assert left(packing) == {"memory:1": BUDGET, "memory:2": BUDGET}
    assert packing.groups[made] == {}
    apart = records(record(1, "The pool has nine connections."), record(2, "the pool has NINE connections"))
    assert set(names(packed(1_000, apart, merges_twins=False))) == {"memory:1", "memory:2"}


def test_what_has_no_room_is_not_made() -> None:
    best, lines = code("best", 3.0)
    made: list[str] = []

    def noted(candidate: Candidate) -> Candidate:
        def make() -> Sequence[Step]:
            made.append(candidate.chunk.title)
            return candidate.make()

        return replace(candidate, make=make)

    others = [code(f"other{number}", 2.0) for number in range(5)]
    chosen = section((noted(best), lines), *((noted(other), text) for other, text in others))
    packing = packed(used(packed(1_000, section((best, lines)))), chosen)
    assert (names(packing), made) == (["best"], ["best"])
    assert left(packing) == {f"other{number}": BUDGET for number in range(5)}


def test_without_lines_a_file_costs_only_its_places() -> None:
    packing = packed(80, section(unshrinkable(code("large", 1.0, lines=30))), shows_lines=False)
    assert used(packing) <= 80
    assert names(packing) == ["large"]


def test_a_huge_record_is_never_counted_whole() -> None:
    text = "\n".join(f"line {number} of a log about {WORDS[number % 10]}" for number in range(40_000))
    made = records(record(1, text, cap=10_000_000, terms=["price"]))
    assert 100 < used(packed(300, made)) <= 300


def test_a_record_whose_tokens_are_dearer_than_its_characters_is_shrunk_by_what_they_cost() -> None:
    made = records(record(1, "ᚠᛇᚻ᛫ᛒᛦᚦ᛫ᚠᚱᚩᚠᚢᚱ᛫ᚠᛁᚱᚪ\n" * 40))
    assert 60 < used(packed(200, made)) <= 200


def test_a_passage_of_a_record_grows_into_the_room_that_is_left() -> None:
    text = " ".join(f"Sentence {number} tells of {WORDS[number % 10]} {number}." for number in range(400))
    made = records(
        record(1, text, cap=300.0, terms=["price"]), find_companions=companion_finder(None, frozenset({"price"}))
    )
    packing = packed(2_500, made)
    assert 900 < used(packing) <= 2_500
    group = packing.groups[made]["memory:1"]
    assert len(group.picks) > 1
    assert len(group.picks[-1][1].text) > len(group.picks[0][1].text)


def test_the_rest_of_a_function_is_shown_before_weaker_pieces() -> None:
    text = Lines("a.py", TextLines("\n".join(body("alpha", 30))))
    (span,) = spans(text, ScoredSpan(10, 14, 2.0))
    weak = code("weak", 0.2)
    lines = {"a.py": text, "weak.py": weak[1]}
    made = Section(Kind.CODE, 1.0, (span, weak[0]), lines, 100, find_companions=companion_finder(None, frozenset()))
    packing = packed(COUNTER.count(text.text(1, 30)) + 60, made)
    assert packing.groups[made]["a.py"].ranges == ((1, 30),)
    assert left(packing) == {"weak": BUDGET}


def test_of_a_long_function_only_the_gaps_between_shown_spans_are_closed() -> None:
    text = Lines("a.py", TextLines("\n".join(body("alpha", 150))))
    pieces = spans(text, ScoredSpan(20, 24, 2.0), ScoredSpan(40, 44, 1.9), ScoredSpan(130, 134, 1.8))
    made = Section(
        Kind.CODE, 1.0, tuple(pieces), {"a.py": text}, 100, find_companions=companion_finder(None, frozenset())
    )
    assert packed(20_000, made).groups[made]["a.py"].ranges == ((20, 44), (130, 134))


def test_a_follower_is_never_shown_without_its_leader() -> None:
    text = Lines("a.py", TextLines("\n".join(body("alpha", 30))))
    (span,) = spans(text, ScoredSpan(10, 14, 2.0))
    made = Section(Kind.CODE, 1.0, (span,), {"a.py": text}, 100, find_companions=companion_finder(None, frozenset()))
    packing = packed(20_000, made)
    packing.take_back(1)
    assert packing.groups[made]["a.py"].ranges == ((10, 14),)
    packing.take_back(20_000)
    assert (packing.groups[made], set(packing.rejected[made].values())) == ({}, {BUDGET})


def test_what_follows_a_piece_that_does_not_come_back_does_not_come_back_either() -> None:
    text = Lines("a.py", TextLines("\n".join(body("alpha", 30))))
    (whole,) = spans(text, ScoredSpan(4, 28, 2.0))
    span, _ = unshrinkable((whole, text))
    made = Section(Kind.CODE, 1.0, (span,), {"a.py": text}, 100, find_companions=companion_finder(None, frozenset()))
    packing = packed(20_000, made)
    packing.take_back(20_000)
    assert packing.refill(120) == 0
    assert packing.rejected[made][span] == BUDGET
    assert {reason for one, reason in packing.rejected[made].items() if one.companion_of is span} == {VALUE}


@pytest.mark.parametrize("room", [0, SMALLEST_PIECE - 1])
def test_no_room_shows_nothing(room: int) -> None:
    packing = packed(room, section(code("a", 1.0)))
    assert used(packing) == 0
    assert left(packing) == {"a": BUDGET}


def test_nothing_to_pack_is_no_error() -> None:
    assert used(packed(1_000)) == 0
    assert used(packed(1_000, section(), section())) == 0
    assert packed(1_000, value_range=math.inf).is_full is False


def test_without_room_for_a_new_item_no_shortened_form_is_made() -> None:
    candidate, text = code("late", 1.0)
    tried: list[float] = []

    def shrink(room: float) -> Sequence[Step]:
        tried.append(room)
        return ()

    packing = packed(SMALLEST_PIECE + 4, section((replace(candidate, shrink=shrink), text)))
    assert used(packing) == 0
    assert (tried, left(packing)) == ([], {"late": BUDGET})
