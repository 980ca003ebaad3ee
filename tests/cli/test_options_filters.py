"""The options that say which records are meant."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Satchel

pytestmark = pytest.mark.usefixtures("shop")


def remember(satchel: Satchel) -> None:
    satchel("remember", "Deploys fail on Fridays", "--category", "error", "--importance", "0.9", "--tag", "deploy")
    satchel("remember", "Deploys happen on Mondays", "--category", "workflow", "--importance", "0.2")


@pytest.mark.parametrize(
    "options",
    [
        ("--category", "error"),
        ("--min-importance", "0.5"),
        ("--tag", "deploy"),
        ("--category", "error", "--since", "2020-01-01", "--until", "2100-01-01"),
    ],
    ids=" ".join,
)
def test_filters_choose_memories_in_both_searches(satchel: Satchel, options: tuple[str, ...]) -> None:
    remember(satchel)
    found = satchel("memory", "search", "when do deploys happen", *options, "--json").json["memories"]
    assert [row["content"] for row in found] == ["Deploys fail on Fridays"]
    _, *lines = satchel("search", "when do deploys happen", "--types", "memories", *options).out.splitlines()
    assert [line.endswith("Deploys fail on Fridays") for line in lines] == [True]


def test_what_is_filtered_away_is_not_found(satchel: Satchel) -> None:
    remember(satchel)
    assert "nothing that is remembered here" in satchel("memory", "search", "deploys", "--until", "2020-01-01").err


def test_experiences_and_commits_have_filters_of_their_own(satchel: Satchel) -> None:
    satchel(
        "experience", "start", "--domain", "debugging", "--strategy", "read-the-error", "--goal", "Close once",
        "--hypothesis", "The pool closes the session twice", "--action", "Trace close", "--prediction", "Two calls",
    )  # fmt: skip
    satchel("experience", "resolve", "--status", "confirmed", "--result", "Two calls from the pool")
    asked = ("search", "pool closes the session", "--types", "experiences")
    assert satchel(*asked, "--domain", "debugging", "--strategy", "read-the-error", "--outcome", "confirmed").out
    assert satchel(*asked, "--axis", "strategy").out.splitlines()[1].startswith("experience:")
    assert satchel(*asked, "--outcome", "falsified").out == ""
    by_author = ("search", "wait exponentially", "--types", "commits", "--author")
    assert satchel(*by_author, "ada").out.splitlines()[1].startswith("commit:")
    assert satchel(*by_author, "grace").out == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--category", "eror"), "unknown category 'eror' (did you mean error?): choose from preference, fact, event"),
        (("--domain", "x"), "choose from debugging, refactoring"),
        (("--strategy", "x"), "choose from systematic-elimination"),
        (("--outcome", "x"), "choose from confirmed, falsified, abandoned, active"),
        (("--axis", "x"), "choose from full, strategy, surprise, root_cause"),
        (("--min-importance", "7"), "--min-importance is 7.0: give 0 to 1"),
        (("--since", "yesterday"), "--since is 'yesterday': give a date"),
        (("--since", "2024-01-02", "--until", "2024-01-01"), "nothing lies between them"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_an_impossible_value_is_named_with_the_valid_ones(
    satchel: Satchel, options: tuple[str, ...], message: str
) -> None:
    ran = satchel("search", "deploys", *options)
    assert ran.code == 2
    assert message in ran.err


@pytest.mark.parametrize(
    ("types", "options", "message"),
    [
        ("commits,docs", ("--category", "error"), "--category does not apply to commits, docs, only to memories"),
        ("docs", ("--author", "ada"), "--author does not apply to docs, only to "),
        ("code", ("--tag", "deploy"), "--tag does not apply to code, only to memories, experiences"),
        ("docs", ("--min-importance", "1"), "--min-importance does not apply to docs, only to memories"),
    ],
)
def test_a_filter_that_says_nothing_of_what_is_asked_is_an_error(
    satchel: Satchel, types: str, options: tuple[str, ...], message: str
) -> None:
    ran = satchel("search", "deploys", "--types", types, *options)
    assert ran.code == 2
    assert message in ran.err


def test_beside_other_types_a_filter_is_fine(satchel: Satchel) -> None:
    remember(satchel)
    found = satchel("search", "deploys backoff", "--types", "memories,code", "--category", "error").out
    assert "Deploys fail" in found
    assert "Mondays" not in found
    assert "shop/client.py" in found
