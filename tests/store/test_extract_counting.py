"""Counting many pieces at once says the same as counting the words of each."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel import text
from satchel.store import extract
from satchel.store.extract import LARGEST_COUNT, TermCounts, count

pieces = st.lists(st.text(st.sampled_from("ab_B3$ .\né\0\x85ÿ使"), max_size=40), max_size=5)


def counts_of(counted: TermCounts, number: int) -> dict[str, int]:
    """How often each term occurs in one piece."""
    columns = zip(counted.pieces.tolist(), counted.terms.tolist(), counted.counts.tolist(), strict=True)
    return {counted.vocabulary[term]: times for piece, term, times in columns if piece == number}


def expected(piece: str) -> Counter[str]:
    return Counter(term for word in text.words(piece) for term in text.terms_of(word))


@given(pieces, pieces)
def test_every_piece_has_the_terms_of_its_words(wanted: list[str], measured: list[str]) -> None:
    counted = count(wanted, measured)
    assert [counts_of(counted, number) for number in range(len(wanted))] == [expected(piece) for piece in wanted]
    assert counted.word_totals.tolist() == [len(text.words(piece)) for piece in (*wanted, *measured)]
    lengths = [sum(len(text.written_terms(word)) for word in text.words(piece)) for piece in (*wanted, *measured)]
    assert counted.term_totals.tolist() == lengths


def test_a_text_is_no_longer_for_its_accents() -> None:
    accented, plain = "refusé à l'élève", "refuse a l'eleve"
    assert len(counts_of(count([accented]), 0)) > len(counts_of(count([plain]), 0))
    assert count([accented]).term_totals.tolist() == count([plain]).term_totals.tolist()


@given(pieces)
def test_the_vocabulary_holds_each_term_once_in_the_order_of_the_text(wanted: list[str]) -> None:
    found = [term for piece in wanted for word in text.words(piece) for term in text.terms_of(word)]
    assert count(wanted).vocabulary == list(dict.fromkeys(found))


def test_a_count_stops_at_what_one_byte_holds() -> None:
    assert counts_of(count(["word " * 300]), 0) == {"word": LARGEST_COUNT}


def test_a_full_table_is_left_for_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extract, "MAX_RUNS", 3)
    for number in range(20):
        piece = f"alpha beta{number} gamma{number}"
        assert counts_of(count([piece]), 0) == expected(piece)


def test_threads_that_count_at_the_same_time_do_not_disturb_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extract, "MAX_RUNS", 50)
    texts = [" ".join(f"name{(start * 7 + step) % 90}_of" for step in range(60)) for start in range(24)]
    with ThreadPoolExecutor(4) as pool:
        counted = list(pool.map(lambda piece: counts_of(count([piece]), 0), texts))
    assert counted == [expected(piece) for piece in texts]
