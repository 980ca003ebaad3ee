from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from agents.cases import TASKS, UNKNOWN, Case, Target, load_cases, load_names, read_rows, sample

from tests.eval_data import data_file

CASE = Case("a-1", "issues", "python", "acme/shop", "c0ffee", "why?", (Target("a.py", ((1, 2),)),))


def test_tasks_and_unknown_questions_are_well_formed() -> None:
    cases = load_cases(["tasks", "unknown"], {})
    assert len({case.id for case in cases}) == len(cases) >= 60
    for case in cases:
        assert 3 <= len(case.names) <= 10
        assert bool(case.targets) == (case.group != "absent")
        assert all(1 <= first <= last for target in case.targets for first, last in target.ranges)


def test_no_report_names_a_file() -> None:
    assert [row["id"] for row in [*read_rows(TASKS), *read_rows(UNKNOWN)] if ".py" in row.get("query", "")] == []


def test_issues_have_a_target_for_each_changed_range() -> None:
    data_file("code_localization_dev.jsonl")
    issues = load_cases(["issues"], load_names(None))
    assert all(issue.targets for issue in issues)
    assert sum(bool(issue.names) for issue in issues) == sum("data" in row for row in read_rows(TASKS)) == 12


def test_questions_have_the_names_of_their_id() -> None:
    case = next(case for case in load_cases(["questions"], {"flask-how-01": ("JSONTag",)}) if case.names)
    assert (case.id, case.names) == ("flask-how-01", ("JSONTag",))


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(ValueError, match="choose from issues, questions"):
        load_cases(["essays"], {})


def test_a_smaller_sample_is_part_of_a_larger_one() -> None:
    cases = [replace(CASE, id=f"{repo}-{n}", repo=f"acme/{repo}") for repo in ("shop", "till") for n in range(9)]
    small, large = sample(cases, 2), sample(cases, 5)
    assert (len(small), len(large), len(sample(cases, 0))) == (4, 10, 18)
    assert set(small) < set(large)


@pytest.mark.parametrize("only", ["acme/till", "till"])
def test_a_repository_is_chosen_by_its_name(only: str) -> None:
    cases = [CASE, replace(CASE, id="b-1", repo="acme/till")]
    assert [case.id for case in sample(cases, 1, [only])] == ["b-1"]


def test_names_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "names.jsonl"
    file.write_text('{"id": "x-1", "names": ["close", "Pool"]}\n')
    assert load_names(file)["x-1"] == ("close", "Pool")
