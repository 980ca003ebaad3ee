"""Measure whether a learned order helps for kinds other than code.

    python -m ranker.measure_kinds --data FOLDER --out benchmarks/results/ranker_kinds.json

FOLDER is the output of `ranker.kinds`. Trees and a logistic model are measured on groups that they have not seen,
`pooled` ones on a kind that they have not seen, and `by` says which other set trained one. `table of code` is the table
of the package on spans of documentation. `linked` adds a constant share of the match of the best note that a note links
to or that links to it; the other orders are means with the formula, as for code. Each figure is the mean by the
formula, the difference, and half of its 95 % interval; `packed` is the recall of an answer of 2,000 tokens.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ranker.packing import Floats
from ranker.train import PARAMETERS, ROUNDS
from satchel.answer.candidates import CHARACTERS_PER_TOKEN
from satchel.search import ranker
from satchel.search.rank_files import FILE_WEIGHTS

BUDGET, FRAME_TOKENS = 2_000, 20
"""Tokens of an answer, and of the frame of an item in it."""

SEEDS, RIDGE = 2, 30.0
LINKED = 0.3
POOLED = ("turns", "passages", "sections")
KIND_OF = {"headings": "sections", "pages": "sections", "vaults": "passages"}
"""Sets of the same kind as one of those that are trained on for others."""


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """One question with its candidates in the order of the formula: signals by name, and which of them are needed."""

    kind: str
    group: str
    signals: dict[str, Floats]
    value: Floats
    gold: npt.NDArray[np.bool_]
    total: int
    tokens: Floats
    spans: dict[str, Any]

    def rows(self, names: Sequence[str]) -> Floats:
        """The signals of these names, one column each; 0 for a signal that the kind has not."""
        nothing = np.zeros(len(self.value))
        return np.stack([self.signals.get(name, nothing) for name in names], 1)

    def recall(self, values: Floats) -> tuple[float, float, float]:
        """The share of what is needed among the first 5 and 10, and in an answer, for these values."""
        order = np.argsort(-values.round(ranker.DIGITS), kind="stable")
        left, packed = float(BUDGET), 0
        for tokens, is_needed in zip(self.tokens[order].tolist(), self.gold[order].tolist(), strict=True):
            if tokens <= left:
                left, packed = left - tokens, packed + is_needed
        gold = self.gold[order]
        return gold[:5].sum() / self.total, gold[:10].sum() / self.total, packed / self.total


def load(folder: Path) -> list[Asked]:
    """The questions of a set for which anything is needed."""
    rows = []
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as row:
            names = [*row["names"].tolist(), *row["more_names"].tolist(), ""]
            signals = dict(zip(names, np.hstack([row["features"], row["more"]]).T.astype(np.float64), strict=True))
            spans = {name: row[name] for name in row.files if name.startswith("span_")}
            tokens = row["characters"] / CHARACTERS_PER_TOKEN + FRAME_TOKENS
            about = (folder.name, str(row["about"][1]))
            rows.append(Asked(*about, signals, row["value"], row["gold"], int(row["total"][0]), tokens, spans))
    return [row for row in rows if row.total]


Model = Callable[[Asked], Floats]


def trees(questions: Sequence[Asked], names: Sequence[str]) -> Model:
    """Trees with the settings of those of code."""
    import lightgbm

    data = lightgbm.Dataset(
        np.vstack([one.rows(names) for one in questions]),
        np.concatenate([one.gold for one in questions]).astype(np.float32), weight=weights(questions),
        params={"max_bin": PARAMETERS["max_bin"]},
    )  # fmt: skip
    data.construct()
    boosters = [lightgbm.train(PARAMETERS | {"seed": seed}, data, ROUNDS) for seed in range(SEEDS)]
    return lambda one: np.mean([booster.predict(one.rows(names), raw_score=True) for booster in boosters], 0)


def logistic(questions: Sequence[Asked], names: Sequence[str]) -> Model:
    """Ridge regression of the log-odds on the standardised signals, by Newton's method."""
    rows = np.vstack([one.rows(names) for one in questions])
    needed, weight = np.concatenate([one.gold for one in questions]), weights(questions)
    mean, deviation = rows.mean(0), rows.std(0)
    scale = np.where(deviation > 1e-9, 1 / np.maximum(deviation, 1e-9), 0.0)
    rows = np.hstack([np.ones((len(rows), 1)), (rows - mean) * scale])
    found, penalty = np.zeros(rows.shape[1]), np.full(rows.shape[1], RIDGE)
    penalty[0] = 1e-6
    for _ in range(15):
        chance = 1 / (1 + np.exp(-rows @ found))
        curvature = (rows * (weight * chance * (1 - chance))[:, None]).T @ rows + np.diag(penalty)
        found -= np.linalg.solve(curvature, rows.T @ (weight * (chance - needed)) + penalty * found)
    return lambda one: found[0] + ((one.rows(names) - mean) * scale) @ found[1:]


def weights(questions: Sequence[Asked]) -> Floats:
    """Weights of all candidates that make the kinds count the same."""
    counts = Counter(one.kind for one in questions)
    each = len(questions) / len(counts)
    return np.concatenate([np.full(len(one.value), each / counts[one.kind]) for one in questions])


def mixed(model: Model, trained: Sequence[Asked]) -> Model:
    """The mean of a model, brought to the spread that the formula has in its training data, and the formula."""
    spread = np.mean([one.value.std() for one in trained]) / np.mean([model(one).std() for one in trained])
    part = FILE_WEIGHTS["learned"]
    return lambda one: part * model(one) * spread + (1 - part) * one.value


def by_code(one: Asked) -> Floats:
    """The values of sections where the table of code orders their spans."""
    table, names = ranker.package_trees(), one.spans["span_names"].tolist()
    rows = one.spans["span_features"].astype(np.float64)
    learned = table.values([rows[:, names.index(name)] for name in table.features])
    values = np.full(len(one.value) + 1, -np.inf)
    np.maximum.at(
        values, one.spans["span_owner"], ranker.reordered(one.spans["span_value"], learned, FILE_WEIGHTS["learned"])
    )
    return values[:-1]


def compared(pairs: Sequence[tuple[Asked, Floats]]) -> dict[str, list[float]]:
    """The means by the formula, the differences, and half of their 95 % intervals."""
    before = np.array([one.recall(one.value) for one, _ in pairs])
    change = np.array([one.recall(values) for one, values in pairs]) - before
    half = 1.96 * change.std(axis=0, ddof=1) / math.sqrt(len(pairs))
    rows = np.round([before.mean(axis=0), change.mean(axis=0), half], 4).T.tolist()
    return dict(zip(("r@5", "r@10", "packed"), rows, strict=True))


def measure(options: argparse.Namespace) -> None:
    """Compare all orders with that of the formula."""
    sets = {folder.name: load(folder) for folder in sorted(options.data.iterdir()) if folder.is_dir()}
    made: dict[str, dict[str, Any]] = {}
    common = [name for name in sets["turns"][0].signals if name in sets["sections"][0].signals and name]
    for name, questions in sets.items():
        own = [signal for signal in questions[0].signals if signal]
        groups = Counter(one.group for one in questions)
        row = made[name] = {"questions": len(questions), "groups": len(groups)}
        for fit in (trees, logistic):
            pairs = []
            for group in groups:
                others = [one for one in questions if one.group != group]
                values = mixed(fit(others, own), others)
                pairs += [(one, values(one)) for one in questions if one.group == group]
            row[fit.__name__] = compared(pairs)
            kind, pooled = KIND_OF.get(name, name), {}
            if "vectors" not in name:
                pooled["pooled"] = [one for other in POOLED if other != kind for one in sets[other]]
            if kind != name:
                pooled[f"by {kind}"] = sets[kind]
            for label, others in pooled.items():
                values = mixed(fit(others, common), others)
                row[f"{fit.__name__}, {label}"] = compared([(one, values(one)) for one in questions])
        if questions[0].spans:
            row["table of code"] = compared([(one, by_code(one)) for one in questions])
        if KIND_OF.get(name.partition(",")[0], name) == "passages":
            row["linked"] = compared([(one, np.exp(one.value) + LINKED * one.signals["linked"]) for one in questions])
        print(name, json.dumps(row), flush=True)
    options.out.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Measure all sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    measure(parser.parse_args())


if __name__ == "__main__":
    main()
