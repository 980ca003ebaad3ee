from __future__ import annotations

import math
from typing import Any

from agents.cases import Target
from agents.reading import Named, Reading, Shown
from agents.report import bootstrap, differences, groups, judge, summary, tables

TARGETS = (Target("a.py", ((10, 12),)), Target("b.py", ((3, 3), (7, 7))))


def test_shares_are_of_the_targets_reached_within_so_many_tokens() -> None:
    reading = Reading(900, [Shown("a.py", 9, 100), Shown("a.py", 12, 600)], [Named("b.py", 5, 8, 450)], ["b.py"])
    row = judge(reading, TARGETS, 1_000)
    assert (row["shown@500"], row["shown@1000"], row["reached@500"], row["reached@1000"]) == (0, 0.5, 0.5, 1)
    assert (row["first"], row["first_reached"], row["cost"], row["cost_reached"]) == (600, 450, 600, 450)
    assert (row["file1"], row["tokens"]) == (1, 900)


def test_a_long_range_names_nothing() -> None:
    row = judge(Reading(10, named=[Named("a.py", 1, 900, 5)], paths=["c.py", "a.py"]), TARGETS, 1_000)
    assert (row["reached@4000"], row["first_reached"], row["cost_reached"], row["file1"]) == (0, None, 1_000, 0)


def test_of_a_question_about_something_absent_it_counts_whether_the_text_says_so() -> None:
    assert judge(Reading(80), (), 1_000, "Weak match: nothing") == {"tokens": 80, "told": 1}
    assert judge(Reading(80), (), 1_000, "code")["told"] == 0


def test_a_pattern_is_a_line_of_the_file() -> None:
    assert Target("a.py", pattern="^def ").located(["import x", "def f():", "def g():"]).ranges == ((2, 2), (3, 3))


def row(arm: str, case: str, repo: str, cost: float, **more: Any) -> dict[str, Any]:
    first = None if cost >= 1_000 else cost
    head = {"arm": arm, "id": case, "kind": "issues", "group": "python", "repo": repo, "has_names": False}
    return {**head, "failure": "", "tokens": 500, "first": first, "cost": cost, "file1": 1.0, **more}


ROWS = [
    *(row("old", f"{repo}-{number}", repo, 800) for repo in "abc" for number in range(4)),
    *(row("new", f"{repo}-{number}", repo, 700 - number) for repo in "abc" for number in range(4)),
]


def test_differences_are_paired_and_their_interval_is_always_the_same() -> None:
    found = differences(ROWS, "old", "new")
    mean, low, high = found["cost"]
    assert found["n"] == 12
    assert low < mean == -101.5 < high
    assert high < -99
    assert differences(ROWS, "old", "new") == found


def test_what_one_of_the_arms_failed_to_answer_is_not_compared() -> None:
    failed = [row("old", "a-9", "a", 10), row("new", "a-9", "a", 1_000, failure="exit 1")]
    assert differences([*ROWS, *failed], "old", "new")["n"] == 12


def test_repositories_are_drawn_before_their_cases() -> None:
    table = [[0.0]] * 50 + [[1.0]] * 50
    (one_repository,), (two_repositories,) = bootstrap(table, ["a"] * 100), bootstrap(table, ["a"] * 50 + ["b"] * 50)
    assert one_repository[0] == two_repositories[0] == 0.5
    assert one_repository[1] > 0.3
    assert two_repositories[1:] == [0, 1]


def test_a_measure_that_some_cases_lack_is_compared_for_the_others() -> None:
    found = bootstrap([[1.0, math.nan], [1.0, 2.0]], ["a", "a"])
    assert found == [[1, 1, 1], [2, 2, 2]]
    assert bootstrap([], []) == []


def test_a_failed_answer_is_counted_and_reaches_nothing() -> None:
    found = summary([row("old", "a-1", "a", 400), row("old", "a-2", "a", 1_000, failure="exit 1", file1=0.0)])
    assert (found["n"], found["failed"], found["cost"], found["file1"], found["first_p50"]) == (2, 1, 700, 0.5, 400)


def test_the_median_is_never_where_most_answers_show_nothing() -> None:
    found = summary([row("old", case, "a", cost) for case, cost in (("a", 300), ("b", 1_000), ("c", 1_000))])
    assert found["first_p50"] is None
    assert "| never |" in tables({"groups": {"issues": {"old": found}}})


def test_rows_are_grouped_by_kind_and_by_names() -> None:
    named = {**ROWS[0], "kind": "questions", "group": "how", "has_names": True}
    assert set(groups([*ROWS, named])) == {
        "issues",
        "issues: python",
        "questions",
        "questions: how",
        "questions, those with names",
    }


def test_the_table_has_the_differences_and_on_demand_every_group() -> None:
    compared = {"new - old": differences(ROWS, "old", "new")}
    result = {"groups": {}, "differences": {"issues": compared, "issues: python": compared}}
    assert tables(result, every=False).count("-102 [") == 1
    assert tables(result).count("-102 [") == 2
