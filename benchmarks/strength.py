"""Whether answers to real questions are told from those to foreign ones, and right items from wrong ones.

    python benchmarks/strength.py --repos DIR --work DIR --questions DIR --out benchmarks/results/strength.json

Each issue of the localisation data is asked at its base commit, and beside it two issues of other projects, one of a
project in the same language. The short questions (`questions-*.jsonl`, `foreign.jsonl`) are asked at their commits, the
foreign ones in every repository. `strength` is the better of code and docs; `file` and `part` say whether the relevance
of what is shown tells the files and lines that a fix changed from others.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from localization.dataset import Instance, data_digest, load_instances, load_scorer

from satchel import Satchel
from satchel.search import weights
from satchel.search.query import analyse
from satchel.search.searcher import SearchResult, search_kind
from satchel.search.strength import answer_strength
from satchel.store.protocol import Store
from satchel.types import Kind

SHOWN = 20
"""Parts of an answer that are looked at: about what 4,000 tokens show."""

Items = dict[str, list[tuple[float, bool]]]


def area(rows: Sequence[tuple[float, bool]]) -> float:
    """The area under the curve: how often a right one is above a wrong one; equal ones count half."""
    values = np.array([value for value, _ in rows])
    right = np.array([is_right for _, is_right in rows])
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    wins = ranks[right].sum() - right.sum() * (right.sum() + 1) / 2
    return round(float(wins / (right.sum() * (~right).sum())), 4)


def ask(store: Store, question: str) -> tuple[float, SearchResult]:
    """How strong the answer is, and the code that was found."""
    query = analyse(question)
    results = {kind: search_kind(store, kind, query) for kind in (Kind.CODE, Kind.DOC)}
    return answer_strength({kind: result.strength for kind, result in results.items()}), results[Kind.CODE]


def judge(result: SearchResult, instance: Instance, items: Items) -> None:
    """Note for what is shown whether its file and its lines were changed by the fix."""
    files: dict[str, float] = {}
    for hit in result.hits[:SHOWN]:
        place = hit.chunk.location
        assert place is not None
        changed = instance["gold_lines"].get(place.path, [])
        touched = any(start <= place.end_line and end >= place.start_line for start, end in changed)
        items["part"].append((hit.relevance, touched))
        files[place.path] = max(files.get(place.path, 0.0), hit.relevance)
    items["file"] += [(value, path in instance["gold_files"]) for path, value in files.items()]


def foreign(instance: Instance, instances: Sequence[Instance], chance: random.Random) -> Iterator[Instance]:
    """An issue of another project in the same language, where there is one, and one in another language."""
    others = [row for row in instances if row["repo"] != instance["repo"]]
    same = [row for row in others if row["lang"] == instance["lang"]]
    yield chance.choice(same or others)
    yield chance.choice([row for row in others if row["lang"] != instance["lang"]])


def issues(options: argparse.Namespace, groups: dict[str, list[float]], items: Items) -> None:
    """Ask the issues."""
    instances = load_instances()
    chance = random.Random(1)
    for instance in instances:
        with opened(options, instance["repo"], instance["base_commit"]) as satchel, satchel.store.snapshot() as store:
            strength, result = ask(store, instance["query"])
            groups["issue"].append(strength)
            judge(result, instance, items)
            for name, other in zip(
                ("same language", "other language"), foreign(instance, instances, chance), strict=True
            ):
                groups[name].append(ask(store, other["query"])[0])


def short_questions(options: argparse.Namespace, groups: dict[str, list[float]]) -> None:
    """Ask the short questions."""
    rows = [json.loads(line) for path in sorted(options.questions.glob("*.jsonl")) for line in path.open()]
    strangers = [row for row in rows if row["id"].startswith("foreign")]
    by_repository: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if row not in strangers:
            by_repository[row["repo"], row["commit"]].append(row)
    for (repo, commit), own in sorted(by_repository.items()):
        with opened(options, repo, commit) as satchel, satchel.store.snapshot() as store:
            for row in own:
                name = "short, absent" if row["kind"] == "absent" else "short"
                groups[name].append(ask(store, row["question"])[0])
            groups["short, foreign"] += [ask(store, row["question"])[0] for row in strangers]


def opened(options: argparse.Namespace, repo: str, commit: str) -> Satchel:
    """The repository at a commit, indexed."""
    scorer = load_scorer()
    origin = scorer.git_directory(options.repos, repo)
    assert origin is not None, f"{repo} is not below {options.repos}"
    tree = options.work / repo.replace("/", "+")
    scorer.check_out(origin, tree, commit)
    satchel = Satchel.open(tree, root=tree)
    satchel.index()
    return satchel


def share_below(values: Iterable[float]) -> float:
    """The share of answers that are called weak."""
    return round(float(np.mean([value < weights.WEAK_FLOOR for value in values])), 4)


def main() -> None:
    """Ask everything and store the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    groups: dict[str, list[float]] = defaultdict(list)
    items: Items = defaultdict(list)
    with tempfile.TemporaryDirectory() as home:
        os.environ["SATCHEL_HOME"] = home
        issues(options, groups, items)
        short_questions(options, groups)
    real = [(value, True) for name in ("issue", "short") for value in groups[name]]
    strange = {name: [(value, False) for value in groups[name]] for name in groups if name not in ("issue", "short")}
    result = {
        "data_sha256": data_digest(),
        "floor": weights.WEAK_FLOOR,
        "strength_auc": {
            **{name: area([*real, *rows]) for name, rows in strange.items()},
            "all": area([*real, *(row for rows in strange.values() for row in rows)]),
        },
        "called_weak": {name: share_below(values) for name, values in sorted(groups.items())},
        "lowest_percent_of_real": round(float(np.quantile([value for value, _ in real], 0.01)), 4),
        "answers": {name: len(values) for name, values in sorted(groups.items())},
        "relevance_auc": {name: area(rows) for name, rows in sorted(items.items())},
    }
    options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
