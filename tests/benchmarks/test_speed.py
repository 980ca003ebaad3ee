"""The table of speed: what is asked, who takes turns, and when a goal is met."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
import speed
from speed_questions import SHORT, fixes, questions, thinned
from stopwatch import Lap
from two_versions import Turns, provider_of

from tests.repositories import commit, new_repository


def test_two_sides_take_turns_at_being_first() -> None:
    order: list[str] = []

    def step(side: str) -> Lap:
        order.append(side)
        return Lap(1.0, 0.5, 0.0)

    turns = Turns(("old", "new"))
    for key in range(3):
        turns.take("index", key, [partial(step, side) for side in turns.sides])
    assert order == ["old", "new", "new", "old", "old", "new"]
    assert turns.least("index", "new") == [0.5, 0.5, 0.5]
    assert turns.least("index", "new", "wall") == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(("count", "kept"), [(0, "abcdefg"), (3, "ace"), (9, "abcdefg")])
def test_few_questions_are_taken_evenly(count: int, kept: str) -> None:
    assert "".join(thinned("abcdefg", count)) == kept


def test_a_repository_that_nothing_is_known_about_is_asked_for_its_fixes(tmp_path: Path) -> None:
    tree = new_repository(tmp_path / "shop")
    for subject in (
        "Fix the rounding of totals in the cart (#12)",
        "Fix it",
        "Add a page about the rounding of totals",
    ):
        commit(tree, subject, {"cart.py": f"# {subject}\n"})
    assert fixes(tree) == questions(tree) == ["Fix the rounding of totals in the cart"]


def test_a_repository_without_questions_is_refused(tmp_path: Path) -> None:
    tree = new_repository(tmp_path / "shop")
    commit(tree, "Begin", {"cart.py": "x = 1\n"})
    with pytest.raises(ValueError, match="is none of pytest, mypy, sympy"):
        questions(tree)


def test_each_known_repository_has_twenty_short_questions() -> None:
    assert {name: len({*asked}) for name, asked in SHORT.items()} == {"pytest": 20, "mypy": 20, "sympy": 20}


def test_a_version_without_the_table_of_words_is_asked_by_words_alone(tmp_path: Path) -> None:
    settings = tmp_path / "satchel" / "settings.py"
    settings.parent.mkdir()
    settings.write_text('choices=("auto", "off")', encoding="utf-8")
    assert provider_of(tmp_path) == "off"
    settings.write_text('choices=("auto", "static", "off")', encoding="utf-8")
    assert provider_of(tmp_path) == "static"


def told(cpu: float, wall: float) -> dict[str, object]:
    return {clock: {"p50": ms, "p95": ms, "max": ms} for clock, ms in (("cpu", cpu), ("wall", wall))}


def table(figure: str, **sides: object) -> dict[str, dict[str, object]]:
    rows = speed.table({"pytest": {"figures": {figure: sides}}})
    return {row["measure"]: row for row in rows}


def test_a_goal_of_time_is_met_by_the_processor_whatever_the_wall_clock_says() -> None:
    rows = table("find code, first", before=told(70, 70), after=told(29, 400))
    assert [rows[measure]["met"] for measure in ("p50", "p95", "max")] == [True, True, None]
    assert table("find code, first", before=told(70, 70), after=told(31, 31))["p50"]["met"] is False


def test_a_goal_of_requests_is_met_by_more_and_one_of_memory_by_less() -> None:
    rate = {"requests a second, wall": 101.0, "requests a second, cpu": 40.0}
    assert table("HTTP, 2 workers", before=rate, after=rate)["requests a second"]["met"] is True
    assert table("HTTP, 1 worker", before=rate, after=rate)["requests a second"]["met"] is False
    assert table("HTTP, 2 workers, memory", before={"MB": 400.0}, after={"MB": 299.0})["MB"]["met"] is True


def test_the_page_has_both_clocks_of_every_side_in_one_line() -> None:
    rows = speed.table(
        {"pytest": {"figures": {"process: context": {"before": told(430, 450), "after": told(290, 310)}}}}
    )
    machine = {"cores": 2, "python": "3.11", "load_before": 0.1, "load_after": 0.2}
    page = speed.page({"before": "a" * 40, "after": "b", "machine": machine, "table": json.loads(json.dumps(rows))})
    assert "| pytest | process: context | p50 | 450.0 / 430.0 | 310.0 / 290.0 | 300 | yes |  |  |" in page
