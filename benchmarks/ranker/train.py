"""Train the ranker of code from extracted instances, and measure it on repositories that it has not seen.

    python -m ranker.train --data FOLDER --table src/satchel/search/ranker.bin
    python -m ranker.train --data FOLDER --folds 8 --result benchmarks/results/ranker.json

FOLDER is the output of `ranker.extract`. The second command leaves whole repositories out, an eighth at a
time, and compares with the formula in the same simulated packing. LightGBM is needed here only.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ranker.packing import Floats, Instance, load, measured, paired
from satchel.search.rank_files import FILE_WEIGHTS
from satchel.search.ranker import CANDIDATES, LEAVES, Trees, reordered, write_trees
from satchel.search.strength import SHARE_EXPONENT, relevance_of

if TYPE_CHECKING:
    import lightgbm

FEATURES: tuple[str, ...] = (
    "file", "file over second", "file over sixth", "file rank", "file best part", "file whole", "file length",
    "file spans", "file candidates", "file first spans", "folder mean", "commit best", "commit first", "chunk",
    "chunk title", "chunk rank", "named", "chunk length", "chunk spans", "value", "value over later", "lead", "rank",
    "rank in file", "span", "span rank", "span terms", "span lines", "line length", "comments", "place", "files",
    "span one", "span prose", "span early", "span rare", "covered", "covered title", "chunk early", "chunk rare",
)  # fmt: skip
"""The features of the trees: those with most gain of the 47 that were trained on."""

ROWS = 200
"""Candidates of an instance that are trained on."""

ALL_OF_FIRST, SHARE_OF_OTHERS = 60, 0.35
"""All of the first candidates, and this share of the others, with the weight of those that were left out."""

MINED_WEIGHT = 0.1
"""Weight of a mined fix against that of an issue: the message is written by somebody who knows the answer. There are
eighteen times as many: with .5 the trees gain .014 on mined fixes and lose .02 on issues of repositories that they have
not seen, with .05 they gain .01 and .006."""

SEEDS, ROUNDS = 4, 120
PARAMETERS: dict[str, Any] = {
    "objective": "binary", "num_leaves": LEAVES, "learning_rate": 0.05, "min_data_in_leaf": 50,
    "feature_fraction": 0.35, "bagging_fraction": 0.7, "bagging_freq": 1, "lambda_l2": 30.0, "max_bin": 63,
    "verbose": -1, "num_threads": 1, "deterministic": True, "force_row_wise": True,
}  # fmt: skip

UNIT = 1 / 8_000
"""What one unit of a leaf is worth: a leaf has 16 bits."""

SCALE = 0.6
"""Factor on the sum of the trees, for a mean with the values of the formula."""

BUDGETS = (2_000, 4_000, 8_000)

SHOWN = 60
"""Best spans of a question whose relevance is judged: those that an answer may show."""


def recipe() -> str:
    """Return a digest of all that decides the table besides its data."""
    decided = (FEATURES, ROWS, ALL_OF_FIRST, SHARE_OF_OTHERS, MINED_WEIGHT, SEEDS, ROUNDS, PARAMETERS, UNIT, SCALE)
    return hashlib.sha256(repr(decided).encode()).hexdigest()[:16]


def rows_of(instances: Sequence[Instance], columns: Sequence[int]) -> tuple[Any, Any, Any]:
    """Return the training rows: features, labels and weights."""
    chance = np.random.default_rng(0)
    features, labels, weights = [], [], []
    for one in instances:
        gold = one.is_gold[:ROWS]
        if not gold.any():
            continue
        count = len(gold)
        weight = np.full(count, MINED_WEIGHT if one.is_mined else 1.0)
        for document in np.unique(one.document[:count][gold]):
            of_file = gold & (one.document[:count] == document)
            weight[of_file] /= np.sqrt(of_file.sum())
        later = ~gold & (np.arange(count) >= ALL_OF_FIRST)
        weight[later] /= SHARE_OF_OTHERS
        kept = ~later | (chance.random(count) < SHARE_OF_OTHERS)
        features.append(one.features[:count][kept][:, columns])
        labels.append(gold[kept])
        weights.append(weight[kept])
    return np.vstack(features), np.concatenate(labels).astype(np.float32), np.concatenate(weights)


def fit(instances: Sequence[Instance], columns: Sequence[int]) -> list[lightgbm.Booster]:
    """Return the boosters of all seeds; the value is the mean of their sums."""
    import lightgbm

    features, labels, weights = rows_of(instances, columns)
    data = lightgbm.Dataset(features, labels, weight=weights, params={"max_bin": PARAMETERS["max_bin"]})
    data.construct()
    return [lightgbm.train(PARAMETERS | {"seed": seed}, data, ROUNDS) for seed in range(SEEDS)]


def trees_of(boosters: Sequence[lightgbm.Booster], names: Sequence[str]) -> Trees:
    """Return boosters as one ensemble of the package."""
    dumped = [tree["tree_structure"] for booster in boosters for tree in booster.dump_model()["tree_info"]]
    return trees_of_dumped(dumped, names, SCALE / len(boosters))


def trees_of_dumped(dumped: Sequence[dict[str, Any]], names: Sequence[str], factor: float) -> Trees:
    """Return trees, as LightGBM dumps them, as one ensemble; their leaves are multiplied by the factor."""
    edges: list[set[float]] = [set() for _ in names]
    parsed = [list(_nodes(tree, edges)) for tree in dumped]
    sorted_edges = tuple(np.array(sorted(row)) for row in edges)
    shape = (LEAVES - 1, len(parsed))
    feature, threshold, cleared = np.zeros(shape, np.uint8), np.full(shape, 255, np.uint8), np.zeros(shape, np.uint8)
    leaves = np.zeros((len(parsed), LEAVES), np.int16)
    for tree, nodes in enumerate(parsed):
        inner = [node for node in nodes if node.leaf is None]
        outer = [node.leaf for node in nodes if node.leaf is not None]
        leaves[tree, : len(outer)] = np.round(np.array(outer) * factor / UNIT)
        for place, node in enumerate(inner):
            feature[place, tree] = node.feature
            threshold[place, tree] = np.searchsorted(sorted_edges[node.feature], node.threshold)
            cleared[place, tree] = node.left
    return Trees(tuple(names), sorted_edges, feature, threshold, cleared, leaves, UNIT, recipe())


@dataclass(frozen=True, slots=True)
class _Node:
    """A leaf, or a node with the bits of the leaves on its left."""

    feature: int = 0
    threshold: float = 0.0
    left: int = 0
    leaf: float | None = None


def _nodes(tree: dict[str, Any], edges: list[set[float]]) -> Iterator[_Node]:
    """Yield the nodes and the leaves of a tree, the leaves from left to right."""
    count = 0

    def walk(node: dict[str, Any]) -> tuple[list[_Node], int]:
        nonlocal count
        if "leaf_value" in node:
            count += 1
            return [_Node(leaf=node["leaf_value"])], 1 << (count - 1)
        left, left_bits = walk(node["left_child"])
        right, right_bits = walk(node["right_child"])
        edges[node["split_feature"]].add(node["threshold"])
        own = _Node(node["split_feature"], node["threshold"], left_bits)
        return [own, *left, *right], left_bits | right_bits

    yield from walk(tree)[0]


def folds_of(instances: Sequence[Instance], count: int) -> list[set[str]]:
    """Return groups of repositories with about as many instances each."""
    sizes = Counter(one.repo for one in instances)
    groups: list[set[str]] = [set() for _ in range(count)]
    filled = [0] * count
    for repo, size in sorted(sizes.items(), key=lambda row: (-row[1], row[0])):
        smallest = filled.index(min(filled))
        groups[smallest].add(repo)
        filled[smallest] += size
    return groups


def held_out(instances: Sequence[Instance], columns: Sequence[int], count: int) -> dict[str, Floats]:
    """Return the values of the spans of each instance by trees that have seen no instance of its repository."""
    names = [instances[0].names[column] for column in columns]
    values: dict[str, Floats] = {}
    for repos in folds_of(instances, count):
        trees = trees_of(fit([one for one in instances if one.repo not in repos], columns), names)
        for one in instances:
            if one.repo in repos:
                values[one.id] = trees.values(list(one.features[:, columns].T.astype(np.float64)))
        print(f"without {', '.join(sorted(repos))}", file=sys.stderr, flush=True)
    return values


def report(instances: Sequence[Instance], values: dict[str, Floats]) -> dict[str, Any]:
    """Return the comparison with the formula, for issues and for mined fixes, at each budget."""
    made: dict[str, Any] = {}
    for name, group in (
        ("issues", [one for one in instances if not one.is_mined]),
        ("mined", [one for one in instances if one.is_mined]),
    ):
        for budget in BUDGETS:
            before = measured(group, [one.value for one in group], budget)
            after = measured(group, [learned_order(one.value, values[one.id]) for one in group], budget)
            made[f"{name} at {budget:,}"] = {"instances": len(group), **paired(after, before)}
        made[f"{name}, reliability"] = reliability(group, values)
    return made


def learned_order(formula: Floats, learned: Floats) -> Floats:
    """Return the values of the formula with the best candidates in the order of the trees, as answers use them."""
    best = formula[:CANDIDATES]
    return np.concatenate([reordered(best, learned[: len(best)], FILE_WEIGHTS["learned"]), formula[len(best) :]])


def relevances(instance: Instance, learned: Floats) -> tuple[Floats, Floats, Any]:
    """Return the relevance that an answer gives to its best spans, the probability by the trees, and which changed."""
    values = learned_order(instance.value, learned)
    best = np.argsort(-values, kind="stable")[:SHOWN]
    shares = np.exp(SHARE_EXPONENT * (values[best] - values.max())).tolist()
    relevance = np.array([relevance_of(instance.strength, share, place) for place, share in enumerate(shares, 1)])
    return relevance, 1 / (1 + np.exp(-learned[best] / SCALE)), instance.is_gold[best]


def area(scores: Floats, labels: Any) -> float:
    """Return the area under the curve: how often a changed span has the higher score of two."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(scores, kind="stable")] = np.arange(len(scores))
    changed = int(labels.sum())
    return float((ranks[labels].sum() - changed * (changed - 1) / 2) / (changed * (len(scores) - changed)))


def reliability(instances: Sequence[Instance], values: dict[str, Floats]) -> dict[str, Any]:
    """Return for relevance and probability the area under the curve, and the share of changed spans in each decile."""
    rows = [relevances(one, values[one.id]) for one in instances]
    labels = np.concatenate([row[2] for row in rows])
    made = {}
    for at, name in enumerate(("relevance", "probability")):
        scores = np.concatenate([row[at] for row in rows])
        deciles = np.array_split(np.argsort(scores, kind="stable"), 10)
        bins = [[round(float(scores[part].mean()), 4), round(float(labels[part].mean()), 4)] for part in deciles]
        made[name] = {"auc": round(area(scores, labels), 4), "deciles": bins}
    return made


def plot(result: dict[str, Any], target: Path) -> None:
    """Draw the share of changed spans beside relevance and probability."""
    import matplotlib  # type: ignore[import-not-found,unused-ignore]  # here: only the picture needs it

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "satchel"
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(9, 4))
    for axes, name in zip(panels, ("relevance", "probability"), strict=True):
        for group in ("issues", "mined"):
            row = result[f"{group}, reliability"][name]
            axes.plot(*np.array(row["deciles"]).T, "o-", label=f"{group}, AUC {row['auc']:.2f}")
        axes.set(xlabel=f"{name} (mean of a decile)", ylabel="share of changed spans", ylim=(0, None), xlim=(0, None))
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(target, metadata={"Date": None})


def main() -> int:
    """Train the table, or measure by leaving repositories out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--folds", type=int, default=0)
    parser.add_argument("--result", type=Path)
    options = parser.parse_args()
    instances = load(options.data)
    names = FEATURES or instances[0].names
    columns = [instances[0].names.index(name) for name in names]
    if options.table is not None:
        options.table.write_bytes(write_trees(trees_of(fit(instances, columns), names)))
    if options.folds:
        result = report(instances, held_out(instances, columns, options.folds))
        for name, row in result.items():
            print(name, row)
        if options.result is not None:
            options.result.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
            plot(result, options.result.with_suffix(".svg"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
