"""The laws of every answer, on generated repositories through the real index, search and packer."""

from __future__ import annotations

import os

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


def test_nothing_clearly_weaker_is_shown_while_something_better_has_no_room(tally: fuzz.Tally) -> None:
    assert tally.weaker == []


def test_the_same_question_gives_the_same_bytes(tally: fuzz.Tally) -> None:
    assert tally.repeated > 10
    assert tally.unequal == []


def test_a_larger_budget_never_loses_the_best_item(tally: fuzz.Tally) -> None:
    assert tally.pairs > 10
    assert tally.lost == []


def test_every_format_was_asked_for(tally: fuzz.Tally) -> None:
    assert sorted(tally.formats) == ["json", "markdown", "plain", "xml"]


def test_answers_end_for_every_reason(tally: fuzz.Tally) -> None:
    assert {"budget", "value", "limit"} <= set(tally.stopped)
