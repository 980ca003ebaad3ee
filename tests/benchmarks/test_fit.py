"""Tests for the choice of constants with one repository left out."""

from __future__ import annotations

from pathlib import Path

import fit
from fit import Cell, Expected, Move, Setting, changed, chosen, compared, gain

from satchel.answer import weights as answer_weights
from satchel.fitted import constants
from satchel.search import weights as search_weights
from satchel.testing import TinyRepository


def cells(scores: dict[str, float]) -> list[Cell]:
    """One case for each repository, with its score."""
    return [Cell(f"case-{repo}", "issues", repo, score, (score,) * 3) for repo, score in sorted(scores.items())]


def to(value: float) -> Setting:
    """Another range of values."""
    return (Move("answer", "VALUE_RANGE", None, value),)


def table(before: dict[str, float], **settings: dict[str, float]) -> fit.Table:
    """The present scores and those with each value of one number."""
    moved = {to(float(name.removeprefix("to_"))): cells(scores) for name, scores in settings.items()}
    return {(): cells(before), **moved}


def test_numbers_are_changed_and_put_back() -> None:
    before = dict(search_weights.FILE_WEIGHTS)
    with changed((*to(9.0), Move("search", "FILE_WEIGHTS", "history", 0.1))):
        assert answer_weights.VALUE_RANGE == 9.0
        assert {**before, "history": 0.1} == search_weights.FILE_WEIGHTS
    assert answer_weights.VALUE_RANGE == 2.4
    assert before == search_weights.FILE_WEIGHTS


def test_every_number_is_tried_with_other_values_within_its_range() -> None:
    settings = fit.alone()
    assert settings[0] == ()
    moved = {(one.family, one.name, one.key) for setting in settings for one in setting}
    every = {
        (family, name, key): (present, low, high)
        for family, module in fit.FAMILIES.items()
        for name, key, present, low, high in constants(module)
    }
    assert moved == every.keys() - fit.FIXED
    for setting in settings:
        for family, name, key, value in setting:
            present, low, high = every[family, name, key]
            assert value != present
            assert low <= value <= high


def test_one_family_is_tried_alone() -> None:
    assert {one.family for setting in fit.alone(["memory"]) for one in setting} == {"memory"}


def test_a_question_scores_by_the_place_of_the_file_that_is_expected(tmp_path: Path) -> None:
    root = TinyRepository(tmp_path / "shop")
    root.commit("Begin", {"cart/total.py": "def total(items):\n    return sum(items)\n", "mail.py": "TOTAL = 'x'\n"})
    ask = [Expected("a", "shop", tmp_path / "shop", "total of items", path) for path in ("cart/", "no.py")]
    (cart,), (missing,) = (fit.ask_here(tmp_path / "home", [()], one)[0] for one in ask)
    assert (cart, missing) == (1.0, 0.0)


def test_a_value_is_chosen_by_the_repositories_that_are_not_left_out() -> None:
    before = {"a": 0.5, "b": 0.5, "c": 0.5}
    rows = table(before, to_3={"a": 1.0, "b": 0.5, "c": 0.5}, to_4={"a": 0.0, "b": 0.6, "c": 0.6})
    assert chosen(rows, without="a") == to(4.0)
    assert chosen(rows, without="b") == to(3.0)


def test_a_gain_within_its_standard_error_moves_nothing() -> None:
    rows = table({"a": 0.5, "b": 0.5}, to_3={"a": 1.0, "b": 0.2})
    mean, error = gain(rows, to(3.0), without="")
    assert 0 < mean < error
    assert chosen(rows) == ()


def test_the_difference_of_two_settings_is_paired() -> None:
    result = compared(cells({"a": 0.2, "b": 0.4}), cells({"a": 0.3, "b": 0.5}))
    assert result["score"] == 0.4
    assert result["over_present"]["score"] == [0.1, 0.1, 0.1]
