from __future__ import annotations

from pathlib import Path

import budgets
import pytest
from stopwatch import fresh_home

from tests.repositories import commit, new_repository


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = new_repository(tmp_path / "shop")
    commit(
        folder, "Sessions", {"session.py": 'def sign(cookie):\n    """Sign the session cookie."""\n    return cookie\n'}
    )
    return folder


@pytest.mark.parametrize(("power", "slope"), [(1, 1.0), (2, 2.0), (0, 0.0)])
def test_the_exponent_tells_how_time_grows(power: int, slope: float) -> None:
    times = [(budget, 0.001 * budget**power) for budget in budgets.BUDGETS]
    assert budgets.exponent(times) == slope


def test_one_budget_has_no_exponent() -> None:
    assert budgets.exponent([(1_000, 0.1)]) is None


def test_a_question_is_measured_in_a_process_of_its_own(tree: Path, tmp_path: Path) -> None:
    options = {"max_tokens": 1_000, "fill": True}
    asked = budgets.asked_apart(tree, "how is the session cookie signed", options, 2, fresh_home(tmp_path / "home"))
    assert asked is not None
    assert 0 < asked.tokens <= 1_000
    assert asked.cpu_s > 0
    assert asked.wall_s > 0
    assert asked.peak_mb > 1


def test_budgets_behind_one_that_takes_too_long_are_not_tried(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*values: object) -> budgets.Asked | None:
        options = values[2]
        assert isinstance(options, dict)
        return budgets.Asked(0.1, 0.1, 50.0, 900) if options["max_tokens"] < 4_000 else None

    monkeypatch.setattr(budgets, "asked_apart", asked)
    result = budgets.grown(tree, budgets.BUDGETS, {}, 1, {})
    assert [row["budget"] for row in result["rows"]] == [1_000, 2_000]
    assert result["too_long_from"] == 4_000


def test_the_table_has_a_line_per_budget_and_the_exponents() -> None:
    rows = [budgets.row(budget, [budgets.Asked(0.1, 0.2, 80.0, 900)]) for budget in (1_000, 2_000)]
    fill = {"rows": rows, "exponent": 0.0}
    lines = budgets.table({"shop": {"fill": fill, "default": fill, "explain": {"ratio": 1.2}}}).splitlines()
    assert [line.split()[1] for line in lines[1:3]] == ["1,000", "2,000"]
    assert "'fill': 0.0" in lines[3]
    assert lines[3].endswith("explain / plain 1.2")
