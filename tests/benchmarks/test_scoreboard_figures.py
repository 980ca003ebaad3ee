"""Tests for the arithmetic of the scoreboard: pairs, intervals, and what is marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from scoreboard.figures import by_repository, compared, is_cost, moved, table

Row = dict[str, Any]


def case(number: int, repo: str = "", **figures: Any) -> Row:
    return {"part": "issues", "repo": repo, "case": f"{repo}-{number}", "figures": figures}


def cases(base: Mapping[str, Sequence[float]], now: Mapping[str, Sequence[float]]) -> dict[str, list[Row]]:
    """The values of one figure in the cases of each repository, for both versions."""
    return {
        name: [case(n, repo, files=value) for repo, values in rows.items() for n, value in enumerate(values)]
        for name, rows in (("base", base), ("now", now))
    }


def figure(rows: Mapping[str, Sequence[Row]], name: str = "files") -> Row:
    return compared(rows)["issues"][name]


def test_a_version_compared_with_itself_differs_by_exactly_nothing() -> None:
    values = {"a": [0.1, 0.2, 0.3], "b": [0.7]}
    row = figure(cases(values, values))
    assert (row["difference"], row["interval"], row["better"], row["worse"], row["mark"]) == (0, [0, 0], 0, 0, "")


def test_a_difference_is_the_mean_over_the_cases_that_both_versions_answered() -> None:
    rows = cases({"a": [0.0, 0.5, 1.0]}, {"a": [0.5, 0.5]})
    row = figure(rows)
    assert (row["n"], row["base"], row["now"], row["difference"]) == (2, 0.25, 0.5, 0.25)
    assert (row["better"], row["worse"]) == (1, 0)


def test_a_figure_counts_only_the_cases_that_have_it() -> None:
    rows = {
        "base": [case(1, tokens=10.0), case(2, arrived=0.0), case(3, arrived=None)],
        "now": [case(1, tokens=30.0), case(2, arrived=1.0), case(3, arrived=1.0)],
    }
    assert figure(rows, "tokens")["difference"] == 20
    assert (figure(rows, "arrived")["n"], figure(rows, "arrived")["difference"]) == (1, 1)


def test_an_equal_gain_in_every_case_has_an_interval_without_width_and_is_marked() -> None:
    row = figure(cases({"a": [0.25] * 4}, {"a": [0.5] * 4}))
    assert (row["interval"], row["mark"], row["better"]) == ([0.25, 0.25], "better", 4)


def test_gains_and_losses_that_cancel_are_not_marked() -> None:
    row = figure(cases({"a": [0.0, 1.0] * 4}, {"a": [1.0, 0.0] * 4}))
    low, high = row["interval"]
    assert low < 0 < high
    assert (row["mark"], row["better"], row["worse"]) == ("", 4, 4)


def test_more_of_a_cost_is_worse() -> None:
    rows = {
        "base": [case(n, tokens=100.0, neutral=0.0) for n in range(5)],
        "now": [case(n, tokens=110.0, neutral=1.0) for n in range(5)],
    }
    assert all(figure(rows, name)["mark"] == "worse" for name in ("tokens", "neutral"))
    assert figure(rows, "tokens")["worse"] == 5


@pytest.mark.parametrize(
    ("name", "cost"),
    [
        ("packed: files", False),
        ("lines, 1,000 tokens", False),
        ("tokens until shown", True),
        ("foreign: says so", False),
        ("answered: own title", False),
        ("answered: title of another repository", True),
        ("answered: question about what is not there", True),
        ("different texts shown as one", True),
    ],
)
def test_what_is_a_cost_is_told_by_its_name(name: str, cost: bool) -> None:
    assert is_cost(name) is cost


def test_with_many_repositories_they_are_drawn_and_with_few_only_cases() -> None:
    gains = {name: [float(name in "ab")] * 40 for name in "abcdefgh"}
    many = figure(cases({name: [0.0] * 40 for name in gains}, gains))["interval"]
    few = figure(cases({"a": [0.0] * 80, "b": [0.0] * 240}, {"a": [1.0] * 80, "b": [0.0] * 240}))["interval"]
    assert many[1] - many[0] > 2 * (few[1] - few[0])


def test_the_same_cases_give_the_same_interval() -> None:
    rows = cases({"a": [0.0, 0.2, 0.9, 0.4]}, {"a": [0.3, 0.1, 1.0, 0.4]})
    assert figure(rows) == figure(rows)


def test_f1_is_that_of_all_pairs_and_not_a_mean_of_cases() -> None:
    hit, false_alarm, missed, right = [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]
    rows = {
        "base": [case(n, f1=value) for n, value in enumerate([hit, false_alarm, missed, right])],
        "now": [case(n, f1=value) for n, value in enumerate([hit, right, missed, right])],
    }
    row = figure(rows, "f1")
    assert (row["base"], row["now"]) == (0.5, round(2 / 3, 4))
    assert (row["better"], row["worse"]) == (1, 0)


def test_repositories_are_compared_apart() -> None:
    found = by_repository(cases({"a": [0.0], "b": [1.0]}, {"a": [1.0], "b": [1.0]}))
    assert {repo: parts["issues"]["files"]["difference"] for repo, parts in found.items()} == {"a": 1, "b": 0}


def test_the_table_has_a_line_for_each_figure_and_marks_those_that_moved() -> None:
    rows = {
        "base": [case(n, files=0.25, tokens=1000.0) for n in range(3)],
        "now": [case(n, files=0.5, tokens=1000.0) for n in range(3)],
    }
    parts = compared(rows)
    assert table(parts).splitlines()[2:] == [
        "| issues | files | 3 | .250 | .500 | +.250 | +.250 to +.250 | 3 | 0 | **better** |",
        "| issues | tokens | 3 | 1,000 | 1,000 | 0 | 0 to 0 | 0 | 0 |  |",
    ]
    assert [*moved(parts)] == ["issues: files"]
