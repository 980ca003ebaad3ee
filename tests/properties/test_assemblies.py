"""The laws of every answer, on generated repositories through the real index, search and packer."""

from __future__ import annotations

import os
import statistics

import pytest

from tests.properties import fuzz

REPOSITORIES = int(os.environ.get("SATCHEL_FUZZ_EXAMPLES", "200")) // 100
"""A hundred questions each: two in an ordinary run, twenty in `make fuzz`."""


@pytest.fixture(scope="module")
def tally() -> fuzz.Tally:
    made = fuzz.Tally()
    for seed in range(1000, 1000 + REPOSITORIES):
        fuzz.corpus(seed, fuzz.QUESTIONS_A_CORPUS, made)
    return made


def test_no_answer_is_over_its_budget_miscounted_unreadable_or_not_what_stands_in_the_file(tally: fuzz.Tally) -> None:
    assert tally.faults == []


def test_nothing_that_is_left_out_would_fit(tally: fuzz.Tally) -> None:
    assert tally.unfilled == []


def test_where_there_is_enough_the_budget_is_filled(tally: fuzz.Tally) -> None:
    assert len(tally.fills) > 10
    assert statistics.median(tally.fills) >= 0.97


def test_every_format_was_asked_for(tally: fuzz.Tally) -> None:
    assert sorted(tally.formats) == ["json", "markdown", "plain", "xml"]


def test_more_budget_never_lowers_the_value_of_an_answer(tally: fuzz.Tally) -> None:
    assert tally.pairs + tally.doubled > 10
    assert tally.lowered == tally.lowered_doubled == []
