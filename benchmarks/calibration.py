"""The relevance of an item as the probability that it is needed: fitted, and measured on groups that the fit left out.

    python benchmarks/calibration.py --ask --rows FOLDER --repos DIR --work DIR
    python benchmarks/calibration.py --rows FOLDER --out benchmarks/results/calibration.json

Each question is asked where its answer is and in a place that has no answer to it, whose items are all negatives. Code:
issues and short questions of the repositories (needed: it has a changed or a deciding line). Prose: encyclopedia
passages and hidden headings of documentation. Records: turns of conversations as exchanges and as memories, and the
passages as notes. Whole repositories, conversations or eighths of the questions are left out in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import memory
import multihop
import numpy as np
import prose
from localization.dataset import load_instances, load_scorer
from questions.dataset import load as load_questions
from strength import area, foreign

from satchel import Satchel
from satchel.memory.records import memory_document
from satchel.memory.model import Memory
from satchel.search import ranker
from satchel.search.query import analyse
from satchel.search.searcher import search_kind
from satchel.search.dense import scores
from satchel.types import Hit, Kind

SHOWN = 60
"""Items of a question that are judged: those that an answer may show."""

Needed = Callable[[Hit], bool]


def rows_of(
    satchel: Satchel, kind: Kind, question: str, needed: Needed | None, **about: Any
) -> Iterator[dict[str, Any]]:
    """One row for each of the best items; without `needed` nothing here answers the question."""
    query, learned = analyse(question), {}

    def capture(values: Any, trees: Any, share: float) -> Any:
        changed = reordered(values, trees, share)
        learned.update(zip(changed.tolist(), trees.tolist(), strict=True))
        return changed

    bench = satchel.workbench() if hasattr(satchel, "workbench") else None
    reordered = ranker.reordered
    ranker.reordered = capture
    try:
        store = satchel.store_of(kind)
        embedder = satchel.embedder
        from satchel.search.dense import Meaning

        likeness = scores(store, kind, Meaning(embedder, question)) if embedder is not None else None
        result = search_kind(store, kind, query, likeness=likeness)
    finally:
        ranker.reordered = reordered
    for rank, hit in enumerate(result.hits[:SHOWN]):
        yield about | {
            "kind": kind.value,
            "own": needed is not None,
            "terms": len(query.terms),
            "rank": rank,
            "strength": result.strength,
            "relevance": hit.relevance,
            "value": hit.score - result.hits[0].score,
            "learned": learned.get(hit.score),
            "needed": needed is not None and needed(hit),
            "vectors": likeness is not None,
        }


def touching(lines: dict[str, Sequence[Sequence[int]]]) -> Needed:
    """Whether an item has one of these lines."""

    def needed(hit: Hit) -> bool:
        place = hit.chunk.location
        assert place is not None
        return any(a <= place.end_line and place.start_line <= b for a, b in lines.get(place.path, ()))

    return needed


def code(repos: Path, work: Path, repo: str) -> Iterator[dict[str, Any]]:
    """The issues and the short questions of a repository, each with foreign ones."""
    scorer, chance, everything = load_scorer(), random.Random(repo), load_instances()
    short = [row for row in load_questions() if not row.id.startswith("foreign")]
    strangers = [row.question for row in load_questions() if row.id.startswith("foreign")]
    mine = [row for row in everything if row["repo"] == repo]
    origin, tree = scorer.git_directory(repos, repo), work / repo.replace("/", "+")
    assert origin is not None, f"{repo} is not below {repos}"
    times = {}
    asked = [(row["base_commit"], row) for row in mine] + [(row.commit, row) for row in short if row.repo == repo]
    for commit, _ in asked:
        done = subprocess.run(
            ["git", "-C", str(origin), "show", "-s", "--format=%ct", commit], capture_output=True, check=True
        )
        times[commit] = int(done.stdout)
    at = ""
    for commit, row in sorted(asked, key=lambda row: (times[row[0]], row[0])):
        if commit != at:
            scorer.check_out(origin, tree, commit)
        with Satchel.open(tree, root=tree, settings={"embed.provider": "off"}) as satchel:
            if commit != at:
                satchel.index()
                at = commit
            if isinstance(row, dict):
                about = {"group": repo, "set": "issues", "id": row["id"]}
                yield from rows_of(satchel, Kind.CODE, row["query"], touching(row["gold_lines"]), **about)
                other = next(iter(foreign(row, everything, chance)))
                yield from rows_of(satchel, Kind.CODE, other["query"], None, **about)
                yield from rows_of(satchel, Kind.DOC, other["query"], None, **about)
                continue
            about = {"group": repo, "set": "short questions", "id": row.id}
            if row.kind != "absent":
                lines = defaultdict(list)
                for one in row.deciding:
                    text = (tree / one.path).read_text(encoding="utf-8", errors="replace").split("\n")
                    lines[one.path] += [(number, number) for number in one.numbers(text)]
                yield from rows_of(satchel, Kind.CODE, row.question, touching(lines), **about)
                yield from rows_of(satchel, Kind.DOC, row.question, touching(lines), **about)
            other = chance.choice(strangers)
            yield from rows_of(satchel, Kind.CODE, other, None, **about)
            yield from rows_of(satchel, Kind.DOC, other, None, **about)


def fact(notebook: Any, number: int, row: dict[str, Any]) -> Memory:
    """A turn as a memory."""
    return Memory(
        id=f"mem-{number:06d}",
        content=f"{row['speaker']} ({row['date']}): {row['text']}",
        importance=0.5,
        origin="locomo",
        workspace=notebook.workspace,
        created=1.0,
        updated=1.0,
    )


def conversations(provider: str) -> Iterator[dict[str, Any]]:
    """Turns as exchanges and as memories; each question in its own conversation and in the next one."""
    turns = memory.load(memory.data_folder() / "memory_locomo_dev_turns.jsonl")
    questions = memory.load(memory.data_folder() / "memory_locomo_dev_questions.jsonl")
    names = list(dict.fromkeys(row["conv"] for row in turns))
    for place, name in enumerate(names):
        mine = [row for row in turns if row["conv"] == name]
        with tempfile.TemporaryDirectory() as folder:
            environ = {**os.environ, "SATCHEL_HOME": str(Path(folder) / "home")}
            (Path(folder) / name).mkdir()
            with Satchel.open(
                root=Path(folder) / name, settings={"embed.provider": provider}, environ=environ
            ) as satchel:
                satchel.remember_exchanges(memory.turns_of(mine), origin="locomo")
                with satchel.notebook.store.write() as writer:
                    writer.put([memory_document(fact(satchel.notebook, n, row)) for n, row in enumerate(mine)])
                    writer.merge(lambda: False)
                satchel.embed()
                ids = {f"{n:06d}": row["id"] for n, row in enumerate(mine)}
                for row in questions:
                    if row["conv"] not in (name, names[place - 1]):
                        continue
                    gold = set(row["evidence"])
                    is_own = row["conv"] == name
                    of_turn = (lambda hit: ids[hit.chunk.fields["exchange"]] in gold) if is_own else None
                    of_memory = (lambda hit: ids[hit.chunk.id.rpartition("-")[2]] in gold) if is_own else None
                    about = {"group": name, "id": row["id"]}
                    yield from rows_of(satchel, Kind.CONVERSATION, row["question"], of_turn, set="turns", **about)
                    yield from rows_of(satchel, Kind.MEMORY, row["question"], of_memory, set="memories", **about)


def passages(provider: str) -> Iterator[dict[str, Any]]:
    """The passages as notes; beside their questions those about conversations."""
    data = memory.data_folder()
    questions = memory.load(data / "multihop_dev_questions.jsonl")
    strangers = [row["question"] for row in memory.load(data / "memory_locomo_dev_questions.jsonl")]
    with tempfile.TemporaryDirectory() as folder:
        environ = {**os.environ, "SATCHEL_HOME": str(Path(folder) / "home")}
        export = Path(folder) / "passages.json"
        multihop.write_export(export, memory.load(data / "multihop_dev_passages.jsonl"))
        with Satchel.open(root=export, settings={"embed.provider": provider}, environ=environ) as satchel:
            satchel.index()
            satchel.embed()
            for number, row in enumerate(questions):
                gold = set(row["gold"])
                about = {"group": f"eighth {number % 8}", "set": "passages as notes", "id": row["id"]}
                yield from rows_of(
                    satchel, Kind.NOTE, row["question"], lambda hit: hit.chunk.id.partition(":")[2] in gold, **about
                )
                yield from rows_of(satchel, Kind.NOTE, strangers[number * 4], None, **about)


def pages(provider: str, collection: prose.Collection, strangers: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The documentation of a collection; beside its questions those of another."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        for path, text in collection.files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        environ = {**os.environ, "SATCHEL_HOME": str(Path(folder) / "home")}
        with Satchel.open(root=root, settings={"embed.provider": provider}, environ=environ) as satchel:
            satchel.index()
            satchel.embed()
            for number, row in enumerate(collection.questions):

                def needed(hit: Hit) -> bool:
                    place = hit.chunk.location
                    return (f"{place.path}:{place.start_line}" if row.by_section else place.path) in row.gold

                group = collection.name if row.by_section else f"eighth {number % 8}"
                about = {"group": group, "set": collection.name, "id": f"{collection.name} {number}"}
                yield from rows_of(satchel, Kind.DOC, row.text, needed, **about)
                yield from rows_of(satchel, Kind.DOC, strangers[number % len(strangers)], None, **about)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--repos", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--part")
    o = parser.parse_args()
    o.rows.mkdir(exist_ok=True, parents=True)

    def write(name, rows):
        if (o.rows / name).exists():
            return
        import time

        t = time.time()
        part = o.rows / (name + ".part")
        n = 0
        with part.open("w") as f:
            for row in rows:
                f.write(json.dumps(row) + "\n")
                n += 1
        part.rename(o.rows / name)
        print(name, n, round(time.time() - t), "s", flush=True)

    if o.part == "code":
        os.environ["SATCHEL_HOME"] = str(o.work / "home")
        for repo in sorted({r["repo"] for r in load_instances()}, key=lambda r: -(r < "i")):
            write(repo.replace("/", "+") + ".jsonl", code(o.repos, o.work, repo))
    else:
        for provider in ("off", "minilm"):
            write(f"conversations-{provider}.jsonl", conversations(provider))
            write(f"passages-{provider}.jsonl", passages(provider))
            strangers = [
                row["question"] for row in memory.load(memory.data_folder() / "memory_locomo_dev_questions.jsonl")
            ][::4]
            cols = list(prose.collections(memory.data_folder(), o.work / "docs"))
            for n, c in enumerate(cols):
                if "paraphrases" in c.name:
                    continue
                others = (
                    strangers
                    if c.name == "passages"
                    else [q.text for d in cols if d is not c and "headings" in d.name for q in d.questions]
                )
                write(f"docs-{n}-{provider}.jsonl", pages(provider, c, others))


if __name__ == "__main__":
    main()
