"""The learned value of spans: the evaluation of the trees, the table of the package, and its part in a search."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ranker import train

from satchel import Satchel
from satchel.search import ranker
from satchel.search.rank_files import FILE_WEIGHTS
from satchel.search.ranker import LEAVES, Trees, package_trees, read_trees, write_trees
from satchel.testing import TinyRepository

LARGEST_TABLE = 300_000


def grown(draw: st.DataObject, features: int) -> tuple[dict[str, object], int]:
    """Return a tree in the form that LightGBM dumps, with at most eight leaves, and the number of its leaves."""
    threshold = st.integers(-3, 3).map(lambda whole: whole + 0.5)

    def grow(room: int) -> tuple[dict[str, object], int]:
        if room < 2 or draw.draw(st.integers(0, 3)) == 0:
            return {"leaf_value": draw.draw(st.integers(-4_000, 4_000)) / 8_000}, 1
        share = draw.draw(st.integers(1, room - 1))
        left, on_left = grow(share)
        right, on_right = grow(room - share)
        split = {"split_feature": draw.draw(st.integers(0, features - 1)), "threshold": draw.draw(threshold)}
        return {**split, "left_child": left, "right_child": right}, on_left + on_right

    return grow(LEAVES)


def walked(tree: dict[str, object], row: list[float]) -> float:
    """Return the leaf that a row reaches, node by node."""
    while "leaf_value" not in tree:
        goes_left = row[int(str(tree["split_feature"]))] <= float(str(tree["threshold"]))
        branch = tree["left_child" if goes_left else "right_child"]
        assert isinstance(branch, dict)
        tree = branch
    return float(str(tree["leaf_value"]))


@given(st.data())
def test_the_trees_give_what_a_walk_through_each_of_them_gives(data: st.DataObject) -> None:
    dumped = [grown(data, 3)[0] for _ in range(data.draw(st.integers(1, 5)))]
    trees = read_trees(write_trees(train.trees_of_dumped(dumped, ("a", "b", "c"), 1.0)))
    rows = data.draw(st.lists(st.lists(st.integers(-4, 4).map(float), min_size=3, max_size=3), min_size=1, max_size=9))
    values = trees.values(list(np.array(rows).T))
    assert values == pytest.approx([sum(walked(tree, row) for tree in dumped) for row in rows])


def test_the_table_is_small_and_was_made_by_the_script_as_it_is() -> None:
    blob = Path(ranker.__file__).with_name(ranker.TABLE).read_bytes()
    assert len(blob) <= LARGEST_TABLE
    trees = read_trees(blob)
    assert trees.recipe == train.recipe()
    assert trees.features == train.FEATURES
    assert trees.leaves.shape == (train.SEEDS * train.ROUNDS, LEAVES)
    assert len(trees.features) <= 40


def test_a_row_has_the_same_value_alone_and_among_others() -> None:
    trees = package_trees()
    rows = np.random.default_rng(7).normal(size=(len(trees.features), 50)).round(ranker.DIGITS)
    together = trees.values(list(rows))
    assert together.tolist() == [trees.values(list(rows[:, [at]]))[0] for at in range(50)]
    assert len(set(together.tolist())) > 10


def test_a_table_is_read_as_it_was_written() -> None:
    trees = package_trees()
    again = read_trees(write_trees(trees))
    assert (again.features, again.unit, again.recipe) == (trees.features, trees.unit, trees.recipe)
    for name in ("feature", "threshold", "cleared", "leaves"):
        assert np.array_equal(getattr(again, name), getattr(trees, name))


def test_places_count_earlier_members_of_the_same_owner() -> None:
    assert ranker._places(np.array([2, 0, 2, 2, 0])).tolist() == [0, 0, 1, 2, 1]


@given(
    st.lists(st.floats(-9, 9), min_size=1, max_size=30),
    st.lists(st.floats(-9, 9), min_size=30, max_size=30),
    st.sampled_from([0.5, 0.7, 1.0]),
)
def test_reordering_gives_the_largest_value_to_the_best_mean(
    formula: list[float], learned: list[float], share: float
) -> None:
    values, trees = np.array(sorted(formula, reverse=True)), np.array(learned[: len(formula)])
    changed = ranker.reordered(values, trees, share)
    mixed = (share * trees + (1 - share) * values).round(ranker.DIGITS)
    assert sorted(changed.tolist()) == sorted(formula)
    by_change = sorted(range(len(values)), key=lambda at: (-changed[at], -mixed[at]))
    assert [mixed[at] for at in by_change] == sorted(mixed.tolist(), reverse=True)


WORDS = ("parcel", "weight", "send", "order", "stamp", "label", "queue", "truck")


def repository(folder: Path) -> Path:
    """Return a repository of many functions that share the words of a question."""
    files = {}
    for number in range(12):
        own = [WORDS[(number + step) % len(WORDS)] for step in range(4)]
        lines = [
            f"def {own[0]}_{own[1]}_{at}({own[2]}):\n    # {own[3]} the {own[at % 4]}\n    return {own[2]}\n\n\n"
            for at in range(8)
        ]
        files[f"shop/{own[0]}_{number}.py"] = "".join(lines)
    TinyRepository(folder).commit("Begin", files)
    return folder


def scores(root: Path, question: str, home: Path) -> dict[str, tuple[float, float]]:
    """Return the score of each hit, and what the learned order added to it."""
    with Satchel.open(root, environ={"SATCHEL_HOME": str(home)}) as satchel:
        hits = satchel.search(question, types=["code"], limit=200)
    added = [{signal.name: signal.value for signal in hit.signals}.get("learned", 0.0) for hit in hits]
    return {hit.chunk.id: (hit.score, one) for hit, one in zip(hits, added, strict=True)}


def test_the_trees_order_code_by_the_values_of_the_formula(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = repository(tmp_path / "shop")
    question = "the weight of a parcel is wrong when an order is sent"
    learned = scores(root, question, tmp_path / "home")
    monkeypatch.setitem(FILE_WEIGHTS, "learned", 0.0)
    formula = scores(root, question, tmp_path / "home")
    assert all(added == 0.0 for _, added in formula.values())
    assert any(added != 0.0 for _, added in learned.values())
    for chunk, (score, added) in learned.items():
        if chunk in formula:
            assert score - added == pytest.approx(formula[chunk][0], abs=1e-3)


def test_types_of_trees_are_the_ones_of_the_file() -> None:
    assert isinstance(package_trees(), Trees)
