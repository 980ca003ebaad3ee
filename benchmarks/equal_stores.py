"""Ask files and a PostgreSQL server questions of every kind: are the answers the same, byte for byte.

    python -m benchmarks.equal_stores TREE --questions 200 --out benchmarks/results/equal_stores.json

A clone of the tree with context files, an export of notes and a memory with something of every kind are kept in files
and on a server, both with vectors. The questions are made of names of functions and of subjects of commits, about
which something was remembered. Formats, budgets, files, strategies and days change from question to question.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

from satchel import Satchel
from satchel.sources.conversations import Exchange
from satchel.testing import HashEmbedder
from satchel.types import CONTEXT_TYPES, Context, Format, Kind
from satchel.vocabulary import Domain, Strategy
from tests.contracts.five import remember
from tests.graph.workspaces import Export
from tests.memory.lessons import STORIES

MOMENT, DAY = 1_790_000_000.0, 86_400.0
SUBJECTS = 60
BUDGETS = 500, 1_500, 4_000

Answer = tuple[str, int]
"""What was answered, and how many items it has."""


def opened(root: Path, home: Path, url: str) -> Satchel:
    """An engine with an index that is up to date, in files where there is no address."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "SATCHEL_HOME": str(home), "SATCHEL_KEY": "7" * 64}
    environment["SATCHEL_GRAPH_DEADLINE_S"] = "60"  # on a busy machine a walk would end early, in either store
    server = {"SATCHEL_STORE": url, "SATCHEL_STORE_NAME": str(home)} if url else {}
    engine = Satchel.open(root=root, environ=environment | server, embedder=HashEmbedder())
    engine.index()
    return engine


def prepared(tree: Path, folder: Path) -> tuple[Path, Path, list[str]]:
    """Clone the tree, write contexts and notes, and return both roots and the subjects of commits."""
    root = folder / "tree"
    subprocess.run(["git", "clone", "-q", str(tree), str(root)], check=True)
    log = subprocess.run(["git", "log", "--format=%s"], cwd=root, check=True, capture_output=True, text=True).stdout
    subjects = list(dict.fromkeys(filter(None, log.splitlines())))[:SUBJECTS]
    for place in (root, *(path for path in sorted(root.iterdir()) if path.is_dir() and path.name != ".git")):
        story = {"metadata": {"name": f"About {place.name}"}, "story": subjects[len(place.name) :][:9]}
        (place / "context.yaml").write_text(json.dumps(story), encoding="utf-8")
    export = Export().node("home", "Home")
    for number, subject in enumerate(subjects):
        links = [f"note{number // 2}"] if number > 1 else []
        tags = [subject.split()[0].lower()]
        export.node(f"note{number}", subject, owner="home", tags=tags, references=links, days_old=number + 1.0)
    export.open(folder, "notes.json", environ={"SATCHEL_HOME": str(folder / "unused"), "HOME": str(folder)}).close()
    return root, folder / "notes.json", subjects


def named(root: Path, count: int) -> list[str]:
    """So many questions from the names of functions."""
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in sorted(root.rglob("*.py")))
    names = list(dict.fromkeys(name.replace("_", " ") for text in texts for name in re.findall(r"def (\w{6,})", text)))
    return [f"{names[number * 7 % len(names)]} and {names[number * 11 % len(names)]}" for number in range(count)]


def learned(count: int) -> list[str]:
    """So many questions from the words of experiences and values."""
    stories = [f"{problem} {lesson}".split() for problem, lesson in STORIES.values()]
    turned = [(stories[number % len(stories)], number // len(stories)) for number in range(count)]
    return [" ".join([*words[by % len(words) :], *words][:9]) for words, by in turned]


def remembered(engine: Satchel, subjects: Sequence[str]) -> list[bytes]:
    """Keep memories, experiences, values and conversations; returns their export."""
    remember(engine)
    for subject in subjects:
        engine.memories.add(f"Decided after a long talk: {subject}", category="decision")
    turns = [
        Exchange("talk", str(number), MOMENT - 900 * number, f"Why did we {subject}?", (f"{subject} was asked for.",))
        for number, subject in enumerate(subjects)
    ]
    engine.memory.remember_exchanges(turns, origin="a talk")
    return [line.encode() for line in engine.export_memory()]


def ways(paths: Sequence[str]) -> dict[str, Callable[[Satchel, str, int], Answer]]:
    """How each kind of question is asked."""

    def asking(ask: Callable[..., Context]) -> Callable[[Satchel, str, int], Answer]:
        def answer(engine: Satchel, question: str, number: int) -> Answer:
            options = {"format": [*Format][number % 4], "max_tokens": BUDGETS[number % 3], "now": MOMENT}
            context = ask(engine, question, number, options)
            return context.text, len(context.items)

        return answer

    def of_types(engine: Satchel, question: str, _: int, options: dict[str, Any], *, types: list[str]) -> Context:
        return engine.assemble(question, types=types, refresh=False, **options)

    def graph(engine: Satchel, question: str, number: int, options: dict[str, Any]) -> Context:
        return engine.graph(question, refresh=False, **options | {"format": ("markdown", "json")[number % 2]})

    def premortem(engine: Satchel, _: str, number: int, options: dict[str, Any]) -> Context:
        strategy = (None, *Strategy)[number // 2 % 3]
        return engine.premortem(Domain.DEBUGGING, strategy, **options | {"now": MOMENT + DAY * number})

    def situation(engine: Satchel, question: str, number: int, options: dict[str, Any]) -> Context:
        moment = {"task": question, "files": [paths[number % len(paths)]]}
        return engine.situation(moment, refresh=False, **options)

    def search(engine: Satchel, question: str, _: int) -> Answer:
        hits = engine.search(question, refresh=False, now=MOMENT)
        # A server has other numbers for private records, and an author, who is the role.
        fields = [{name: value for name, value in hit.chunk.fields.items() if name != "author"} for hit in hits]
        plain = [replace(hit.chunk, fields=own, document=0) for hit, own in zip(hits, fields, strict=True)]
        shown = [f"{chunk} {hit.score}" for chunk, hit in zip(plain, hits, strict=True)]
        return "\n".join(shown), len(hits)

    types = [name for name in CONTEXT_TYPES if name != Kind.CONTEXT.plural]  # they answer a situation
    return {
        **{name: asking(partial(of_types, types=[name])) for name in types},
        "all types": asking(partial(of_types, types=types)),
        "graph": asking(graph), "premortem": asking(premortem), "situation": asking(situation), "search": search,
    }  # fmt: skip


def measure(tree: Path, folder: Path, count: int, url: str) -> dict[str, dict[str, Any]]:
    """Ask both stores so many questions of each kind."""
    root, notes, subjects = prepared(tree, folder)
    told = [f"{one} {subjects[(number * 7 + 3) % len(subjects)]}" for number, one in enumerate(subjects * count)]
    asked = [text for three in zip(named(root, count), told, learned(count), strict=False) for text in three][:count]
    paths = [path.relative_to(root).as_posix() for path in sorted(root.rglob("*.py"))]
    rows: dict[str, dict[str, Any]] = {}
    with opened(root, folder / "writer", "") as writer:  # equal scores are in the order of the rows, so both import
        memory = remembered(writer, subjects)
    for place in (root, notes):
        with opened(place, folder / "home", "") as file, opened(place, folder / "home", url) as server:
            for engine in (file, server):
                engine.import_memory(memory if place == root else [])
                engine.vectors.fill(None, lambda: False)
            for name, ask in ways(paths).items():
                if place == root and name != "notes":
                    rows[name] = compared(ask, file, server, asked)
                elif place == notes and name in ("notes", "graph"):
                    rows["notes" if name == "notes" else "graph of notes"] = compared(ask, file, server, asked)
    return rows


def compared(
    ask: Callable[[Satchel, str, int], Answer], file: Satchel, server: Satchel, asked: Sequence[str]
) -> dict[str, Any]:
    """How many answers have items, and the first different lines of those that are not the same."""
    row: dict[str, Any] = {"asked": len(asked), "with_items": 0, "bytes": 0, "different": []}
    for number, question in enumerate(asked):
        (one, items), (other, _) = (ask(engine, question, number) for engine in (file, server))
        row["with_items"] += items > 0
        row["bytes"] += len(one.encode())
        if one != other:
            lines = next(pair for pair in zip_longest(one.splitlines(), other.splitlines()) if len({*pair}) == 2)
            row["different"].append([question, *(line and line[:200] for line in lines)])
    return row


def main() -> int:
    """Measure and store the result; ends with 1 if any answer differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    from tests.postgres import server_url

    with tempfile.TemporaryDirectory(prefix="satchel-equal-") as name:
        rows = measure(options.tree.resolve(), Path(name), options.questions, server_url())
    text = json.dumps({"tree": options.tree.name, "kinds": rows}, indent=1)
    print(text)
    if options.out is not None:
        options.out.write_text(f"{text}\n", encoding="utf-8")
    return int(any(row["different"] for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
