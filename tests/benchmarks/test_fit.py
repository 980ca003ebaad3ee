"""Tests for the choice of constants with one repository left out."""

from __future__ import annotations

import fit
from fit import Cell, Setting, changed, chosen, compared, gain

from satchel.answer import weights as answer_weights
from satchel.search import weights

RANGE = ("answer.weights", "VALUE_RANGE", "")
LONG = ("answer.weights", "LONG_FUNCTION", "")


def cells(scores: dict[str, float]) -> list[Cell]:
    """One case for each repository, with its score."""
    return [Cell(f"case-{repo}", "issues", repo, score, (score,) * 3) for repo, score in sorted(scores.items())]


def table(before: dict[str, float], **settings: dict[str, float]) -> fit.Table:
    """The present scores and those with each value of one constant."""
    moved: dict[Setting, list[Cell]] = {
        ((RANGE, float(name.removeprefix("to_"))),): cells(scores) for name, scores in settings.items()
    }
    return {(): cells(before), **moved}


def test_constants_are_changed_and_put_back() -> None:
    with changed(((RANGE, 9.0), (LONG, 7.0))):
        assert (answer_weights.VALUE_RANGE, answer_weights.LONG_FUNCTION) == (9.0, 7.0)
    assert (answer_weights.VALUE_RANGE, answer_weights.LONG_FUNCTION) == (2.4, 60)


def test_one_weight_of_a_mapping_is_changed_and_put_back() -> None:
    before = dict(weights.FILE_WEIGHTS)
    with changed(((("search.weights", "FILE_WEIGHTS", "history"), 0.1),)):
        assert {**before, "history": 0.1} == weights.FILE_WEIGHTS
    assert before == weights.FILE_WEIGHTS


def test_every_constant_exists_and_is_tried_with_another_value() -> None:
    settings = fit.alone()
    assert settings[0] == ()
    assert all(fit.present(constant) != value for setting in settings for constant, value in setting)


def test_a_value_is_chosen_by_the_repositories_that_are_not_left_out() -> None:
    before = {"a": 0.5, "b": 0.5, "c": 0.5}
    rows = table(before, to_3={"a": 1.0, "b": 0.5, "c": 0.5}, to_4={"a": 0.0, "b": 0.6, "c": 0.6})
    assert chosen(rows, without="a") == ((RANGE, 4.0),)
    assert chosen(rows, without="b") == ((RANGE, 3.0),)


def test_a_gain_within_its_standard_error_moves_nothing() -> None:
    rows = table({"a": 0.5, "b": 0.5}, to_3={"a": 1.0, "b": 0.2})
    mean, error = gain(rows, ((RANGE, 3.0),), without="")
    assert 0 < mean < error
    assert chosen(rows) == ()


def test_the_difference_of_two_settings_is_paired() -> None:
    result = compared(cells({"a": 0.2, "b": 0.4}), cells({"a": 0.3, "b": 0.5}))
    assert result["score"] == 0.4
    assert result["over_present"]["score"] == [0.1, 0.1, 0.1]
