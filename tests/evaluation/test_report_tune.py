"""Weights are proposed where they help on fixes that they were not fitted on, and the report says how sure that is."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from satchel.evaluation.fixes import Estimate, Mined, estimate
from satchel.evaluation.report import learned_verdict, proposal_data, report_page, settings_lines, verdict
from satchel.evaluation.run import FEWEST_FIXES, SIGNALS, EvaluationResult, FixAnswer, Proposal, RankedFile, propose
from satchel.search.rank_files import FILE_WEIGHTS
from satchel.settings import SETTINGS

CURRENT = {name: FILE_WEIGHTS[name] for name in SIGNALS}


def answer(files: list[tuple[bool, dict[str, float]]], *, demoted: bool = False) -> FixAnswer:
    ranked = tuple(RankedFile(is_gold, demoted, signals) for is_gold, signals in files)
    return FixAnswer(sha="0" * 40, rank=1, file_share=1.0, span_share=1.0, used=1.0, gold_files=1, files=ranked)


def helped_by_names(count: int) -> list[FixAnswer]:
    """The changed file has the best name and the others more words, so the usual weights rank it second or third."""
    chance = random.Random(7)
    return [
        answer([
            (False, {"best part": 1.0, "whole file": chance.random()}),
            (False, {"best part": 0.9, "whole file": 0.5}),
            (True, {"best part": 0.5, "name": 1.0, "whole file": 0.2 * chance.random()}),
        ])
        for _ in range(count)
    ]  # fmt: skip


def test_a_weight_that_helps_is_found_and_its_gain_is_sure() -> None:
    proposal = propose(helped_by_names(40), CURRENT)
    assert proposal is not None
    assert proposal.is_offered
    assert proposal.is_sure
    assert proposal.after > proposal.before
    assert settings_lines(proposal)[0] == "[search.weights]"
    assert all(f"search.weights.{line.partition(' = ')[0]}" in SETTINGS for line in settings_lines(proposal)[1:])
    assert "The gain is more than chance." in verdict(proposal)


def test_where_the_usual_weights_are_right_none_is_offered() -> None:
    rows = [answer([(True, {"best part": 1.0}), (False, {"best part": 0.4})]) for _ in range(30)]
    proposal = propose(rows, CURRENT)
    assert proposal is not None
    assert proposal.weights == {}
    assert not proposal.is_offered
    assert "keep them" in verdict(proposal)
    assert proposal_data(proposal)["gain"] == {"mean": 0.0, "low": 0.0, "high": 0.0}


@pytest.mark.parametrize(
    ("place", "formula_place", "says"), [(2, 1, "set `search.weights.learned` to 0"), (1, 2, "helps"), (1, 1, "chance")]
)
def test_the_learned_order_is_judged_by_the_first_changed_place(place: int, formula_place: int, says: str) -> None:
    rows = [replace(one, place=place, formula_place=formula_place) for one in helped_by_names(30)]
    proposal = propose(rows, CURRENT)
    assert proposal is not None
    assert says in learned_verdict(proposal)
    assert proposal_data(proposal)["is_learned_worse"] == (place > formula_place)


def test_too_few_fixes_give_no_proposal() -> None:
    assert propose(helped_by_names(FEWEST_FIXES - 1), CURRENT) is None
    assert proposal_data(None)["reason"] == f"fewer than {FEWEST_FIXES} fixes"


def test_a_fix_whose_files_were_not_found_gains_nothing() -> None:
    rows = [answer([(False, {"name": 1.0})]) for _ in range(25)]
    proposal = propose(rows, CURRENT)
    assert proposal is not None
    assert (proposal.before, proposal.after) == (0.0, 0.0)


def test_a_gain_that_may_be_chance_is_called_so() -> None:
    proposal = Proposal({"name": 1.0}, 0.5, 0.52, Estimate(0.02, -0.01, 0.05), 30, Estimate(0.0, 0.0, 0.0))
    assert "The interval includes 0" in verdict(proposal)
    assert not proposal.is_sure


@pytest.mark.parametrize("proposal", [None, propose(helped_by_names(30), CURRENT)], ids=["none", "found"])
def test_the_page_shows_what_tuning_found(proposal: Proposal | None) -> None:
    from satchel.evaluation.fixes import Fix

    outcome = EvaluationResult(Mined(), 4000, is_stopped=True)
    outcome.answers = helped_by_names(1)
    outcome.fixes = [Fix("1" * 40, "2" * 40, 1.7e9, "a lamp", "a lamp burns in lamp.py", {"lamp.py": ((1, 1),)})]
    text = report_page("shop & co", outcome, proposal, is_tuned=True)
    assert "shop &amp; co" in text
    assert "stopped before the end" in text
    assert "100% name a changed file" in text
    assert ("[search.weights]" in text) is (proposal is not None)


def test_estimates_are_the_same_every_time_and_hold_the_mean() -> None:
    values = [0.0, 1.0, 1.0, 0.5] * 10
    result = estimate(values)
    assert result == estimate(values)
    assert result.low < result.mean == 0.625 < result.high
    assert estimate([]) == Estimate(0.0, 0.0, 0.0)
    assert estimate([1.0]) == Estimate(1.0, 1.0, 1.0)
