"""Questions whose answer is two to four links away: what a graph context finds that a search does not.

    python benchmarks/multihop.py --data ../shared/eval --out benchmarks/results/multihop.json

Every passage is a note of an export, its title the name, its text the description; links between passages are
references, which add no words to any text. The export goes through the importer and the index. `r5` is the share of
the passages that a question needs among the first five nodes, `all10` the share of the questions with all of them
among the first ten. With `--words-only` no vectors are made (extra `embed`).
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from options import keep

from satchel import Satchel, __version__

BASELINES = {"BM25": {"r5": 0.601, "all10": 0.521}, "BM25 with link expansion": {"r5": 0.674, "all10": 0.596}}
"""As measured with the data (its README)."""

TARGETS = {"r5": 0.72, "all10": 0.70}
LENS = "coding"
"""References and fields: the passages have no tree but the one that holds them all."""

BUDGET = 8_000
"""Tokens: more than ten passages take, so that the order of the nodes is measured and not the budget."""

Rank = Callable[[str], list[str]]


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_export(path: Path, passages: list[dict[str, Any]]) -> None:
    """The passages as an export. What belongs elsewhere and is shown below a node is a reference of it."""
    docs = [{"id": "home", "props": {"name": "home"}, "children": [row["id"] for row in passages]}]
    docs += [
        {
            "id": row["id"],
            "props": {"name": row["title"], "description": row["text"], "_ownerId": "home"},
            "children": row["links"],
        }
        for row in passages
    ]
    path.write_text(json.dumps({"formatVersion": 1, "docs": docs}), encoding="utf-8")


def measured(rank: Rank, questions: list[dict[str, Any]]) -> dict[str, float]:
    """Both measures over all questions, and milliseconds a question."""
    started = time.perf_counter()
    share, complete = 0.0, 0
    for row in questions:
        found, gold = rank(row["question"]), set(row["gold"])
        share += len(gold & set(found[:5])) / len(gold)
        complete += gold <= set(found[:10])
    seconds = time.perf_counter() - started
    return {
        "r5": round(share / len(questions), 4),
        "all10": round(complete / len(questions), 4),
        "ms": round(seconds / len(questions) * 1000, 1),
    }


def methods(satchel: Satchel) -> dict[str, Rank]:
    """How a question is answered: by search alone, and by walks."""

    def search(question: str) -> list[str]:
        hits = satchel.search(question, types=["notes"], limit=10, refresh=False)
        return [hit.chunk.id.partition(":")[2] for hit in hits]

    def walk(depth: int) -> Rank:
        def rank(question: str) -> list[str]:
            context = satchel.graph(question, lens=LENS, depth=depth, max_tokens=BUDGET, refresh=False)
            return [item.metadata["node"]["id"] for item in context.items]

        return rank

    return {"search": search, "graph, depth 1": walk(1), "graph, depth 2": walk(2)}


def run(data: Path, folder: Path, *, words_only: bool) -> dict[str, Any]:
    """Measure everything on one export."""
    os.environ["SATCHEL_HOME"] = str(folder / "home")
    passages, questions = read(data / "multihop_dev_passages.jsonl"), read(data / "multihop_dev_questions.jsonl")
    export = folder / "passages.json"
    write_export(export, passages)
    result: dict[str, Any] = {
        "version": __version__,
        "passages": len(passages),
        "questions": len(questions),
        "baselines": BASELINES,
        "targets": TARGETS,
    }
    for provider in ("off",) if words_only else ("off", "minilm"):
        with Satchel.open(root=export, settings={"embed.provider": provider}) as satchel:
            satchel.index()
            satchel.embed()
            result["edges"] = {str(kind): count for kind, count in satchel.store.statistics().edges.items()}
            name = "words" if provider == "off" else "words and vectors"
            result[name] = {key: measured(rank, questions) for key, rank in methods(satchel).items()}
    return result


def main() -> None:
    """Parse the command line, measure, and keep the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with multihop_dev_*.jsonl")
    parser.add_argument("--words-only", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = run(given.data, Path(folder), words_only=given.words_only)
    keep(result, given.out)


if __name__ == "__main__":
    main()
