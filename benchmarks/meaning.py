"""What vectors bring to conversations, lessons, groups and prose: words, the static table, MiniLM.

    python benchmarks/meaning.py [--repositories DIR] --out benchmarks/results/meaning.json

`conversations`: LoCoMo, asked as in benchmarks/memory.py. `lessons`: two projects with 300 records each and 32 tasks:
how many deciding records are among the first five of their kind, and how many neutral prompts get records. `groups`:
the five sets of benchmarks/values.py. `prose`: those of benchmarks/prose.py, if DIR has `flask` and `pytest`.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import memory
import prose
import values

from satchel import Satchel, __version__

PROVIDERS = {"words": "off", "static table": "static", "MiniLM": "minilm"}

FIRST = 5
"""An agent reads a handful of records."""


def conversations(data: Path, provider: str) -> Mapping[str, Any]:
    """Recall of the evidence turns of each question in its own conversation."""
    turns = memory.load(data / "memory_locomo_dev_turns.jsonl")
    questions = memory.load(data / "memory_locomo_dev_questions.jsonl")
    asked: list[memory.Asked] = []
    for name in dict.fromkeys(row["conv"] for row in turns):
        mine = [row for row in turns if row["conv"] == name]
        with tempfile.TemporaryDirectory() as folder, opened(Path(folder), name, provider) as satchel:
            satchel.memory.remember_exchanges(memory.turns_of(mine), origin="locomo")
            satchel.embed()
            asked += memory.ask(satchel, mine, [row for row in questions if row["conv"] == name])
    return memory.figures(asked)


def lessons(data: Path, provider: str) -> Mapping[str, Any]:
    """Where the deciding record of each task is, and what neutral prompts get."""
    tasks = memory.load(data / "memory_help_dev_tasks.jsonl")
    records = memory.load(data / "memory_help_dev_records.jsonl")
    ranks: list[int | None] = []
    answered = 0
    for project in dict.fromkeys(row["project"] for row in tasks):
        own = [row for row in records if row["project"] == project and not row["noise"]]
        lines = [{"format": "satchel-memory", "version": 1}]
        lines += [{key: value for key, value in row.items() if key not in ("project", "noise")} for row in own]
        with tempfile.TemporaryDirectory() as folder, opened(Path(folder), project, provider) as satchel:
            satchel.import_memory([json.dumps(line).encode() for line in lines], here=True)
            satchel.embed()
            for task in (row for row in tasks if row["project"] == project):
                if task["lesson"]:
                    kind = "experiences" if task["kind"] == "failed attempt" else "memories"
                    ranks.append(rank(satchel, task["prompt"], kind, task["lesson"]))
                else:
                    answered += bool(satchel.search(task["prompt"], types=["memories", "experiences"], refresh=False))
    first = sum(place is not None and place <= FIRST for place in ranks)
    return {"tasks": len(ranks), f"first {FIRST}": first, "neutral prompts answered": answered}


def rank(satchel: Satchel, prompt: str, kind: str, lesson: str) -> int | None:
    """The place of a record among those of its kind, from 1."""
    hits = satchel.search(prompt, types=[kind], limit=50, min_score=0.0, refresh=False)
    return next((place for place, hit in enumerate(hits, 1) if lesson in hit.chunk.id), None)


def groups(provider: str) -> Mapping[str, Any]:
    """Purity and coverage over the sets."""
    measured = []
    for rows in values.sets().values():
        with tempfile.TemporaryDirectory() as folder:
            measured.append(values.measured_set(rows, provider, Path(folder)))
    return {key: round(sum(row[key] for row in measured) / len(measured), 3) for key in ("purity", "coverage")}


def documentation(data: Path, repositories: Path, provider: str) -> Mapping[str, Any]:
    """Recall of the sections and pages that answer, by set of questions."""
    foreign = [row["question"] for row in memory.load(data / "memory_locomo_dev_questions.jsonl")][
        :: prose.FOREIGN_STEP
    ]
    return {one.name: asked(one, foreign, provider) for one in prose.collections(data, repositories)}


def asked(collection: prose.Collection, foreign: Sequence[str], provider: str) -> Mapping[str, Any]:
    """One set of questions about prose, and the share of foreign ones that are answered with nothing."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in collection.files.items():
            target = Path(folder) / "root" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        with opened(Path(folder), "root", provider) as satchel:
            satchel.index()
            satchel.embed()
            figures = prose.figures([prose.ranks(satchel, row) for row in collection.questions])
            return {**figures, "foreign answered with nothing": round(prose.silence(satchel, foreign), 3)}


def opened(folder: Path, name: str, provider: str) -> Satchel:
    """An engine with a root and a home of its own."""
    root = folder / name
    root.mkdir(exist_ok=True)
    environ = {**os.environ, "SATCHEL_HOME": str(folder / "home")}
    return Satchel.open(root=root, settings={"embed.provider": provider}, environ=environ)


def main() -> None:
    """Measure, print and store the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=memory.data_folder())
    parser.add_argument("--repositories", type=Path, help="folder with `flask` and `pytest`")
    parser.add_argument("--providers", default=",".join(PROVIDERS), help="some of them")
    parser.add_argument("--out", type=Path, help="file for the result")
    options = parser.parse_args()
    result: dict[str, Any] = {"satchel": __version__}
    for name in options.providers.split(","):
        provider = PROVIDERS[name]
        result[name] = measured = {
            "conversations": conversations(options.data, provider),
            "lessons": lessons(options.data, provider),
            "groups": groups(provider),
        }
        if options.repositories is not None:
            measured["prose"] = documentation(options.data, options.repositories, provider)
        print(name, json.dumps(measured), flush=True)
    if options.out is not None:
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
