"""How long a graph context takes on a large workspace: 300,000 notes with 1,000,000 relations, made here.

    python benchmarks/graph_scale.py --out benchmarks/results/graph_scale.json

The notes go straight into a store, by the records that every source writes. They are a tree (each note below another
one, one of them with 5,000 children) with references across it; among these are circles, notes that refer to
themselves, and references to nothing. Asked are topics at depth 2 and the large note at depth 5, each several times
with other words, in a process that has answered before. Nothing is kept of former answers.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from options import keep

from satchel import Satchel, __version__
from satchel import text as words
from satchel.store.extract import extract_records
from satchel.store.records import NewDocument
from satchel.types import EdgeType, Kind, Reference

NODES, EDGES, HUB_CHILDREN = 300_000, 1_000_000, 5_000
HUB = "n7"
VOCABULARY = 20_000
WORDS_A_NOTE = 12
DANGLING, TO_ITSELF = 0.01, 0.001
LOT = 5_000
SEED = 20
LIMITS = {"depth_2_p95_ms": 100.0, "hub_depth_5_p95_ms": 500.0}


def links(number: int, chance: random.Random, references: int) -> Iterator[tuple[int, EdgeType, str]]:
    """The parent of a note, and its references; the child relation is that of the parent."""
    parent = 7 if number > NODES - HUB_CHILDREN else (number - 1) // 6
    yield number, EdgeType.PARENT, f"n{parent}"
    yield parent, EdgeType.CHILD, f"n{number}"
    for _ in range(references):
        kind = chance.random()
        target = (
            f"gone{number}"
            if kind < DANGLING
            else f"n{number if kind < DANGLING + TO_ITSELF else chance.randrange(NODES)}"
        )
        yield number, EdgeType.REFERENCE, target


def documents(nodes: int, edges: int) -> Iterator[list[NewDocument]]:
    """All notes, in lots."""
    chance = random.Random(SEED)
    left = edges - 2 * (nodes - 1)
    by_source: list[list[Reference]] = [[] for _ in range(nodes)]
    for number in range(1, nodes):
        count = left // nodes + (chance.random() < left % nodes / nodes)
        for source, kind, target in links(number, chance, count):
            by_source[source].append(Reference(kind, target))
    for begin in range(0, nodes, LOT):
        numbers = range(begin, min(begin + LOT, nodes))
        texts = [_text(chance) for _ in numbers]
        extractions = extract_records(texts, "note")
        yield [
            NewDocument(
                kind=Kind.NOTE, key=f"n{number}", text=text, extraction=extraction,
                path_terms=words.count_terms([]), title=text[:40], tags=("task",) if number % 3 == 0 else (),
                fields={"fields": {"Status": ["open"]}}, references=tuple(by_source[number]),
                created=1.7e9 + number, updated=1.7e9 + number,
            )
            for number, text, extraction in zip(numbers, texts, extractions, strict=True)
        ]  # fmt: skip


def _text(chance: random.Random) -> str:
    """Common words more often than rare ones, as in any text."""
    return " ".join(f"w{int(VOCABULARY ** chance.random())}x" for _ in range(WORDS_A_NOTE))


def timed(satchel: Satchel, queries: Sequence[str], **options: Any) -> tuple[list[float], list[float]]:
    """Milliseconds of each answer by the clock, and of processor time, which a busy machine does not change as much.

    The first one, which reads the lexicon, is asked before.
    """
    satchel.graph("w5x w70x", refresh=False, **options)
    wall, busy = [], []
    for query in queries:
        started, worked = time.perf_counter(), time.process_time()
        context = satchel.graph(query, refresh=False, **options)
        wall.append((time.perf_counter() - started) * 1000)
        busy.append((time.process_time() - worked) * 1000)
        assert context.items, query
    return wall, busy


def percentiles(name: str, values: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile."""
    return {
        f"{name}_p50_ms": round(statistics.median(values), 1),
        f"{name}_p95_ms": round(statistics.quantiles(values, n=20)[-1], 1),
    }


def measure(folder: Path, questions: int, nodes: int, edges: int) -> dict[str, Any]:
    """Make the store and ask it."""
    os.environ["SATCHEL_HOME"] = str(folder / "home")
    root = folder / "workspace"
    root.mkdir()
    chance = random.Random(SEED + 1)
    topics = [" ".join(f"w{int(VOCABULARY ** chance.uniform(0.3, 1))}x" for _ in range(3)) for _ in range(questions)]
    with Satchel.open(root=root, settings={"embed.provider": "off", "graph.cache_s": 0.0}) as satchel:
        started = time.perf_counter()
        for lot in documents(nodes, edges):
            with satchel.store.write() as writer:
                writer.put(lot)
        with satchel.store.write() as writer:
            writer.merge(lambda: False)
        made = time.perf_counter() - started
        counted = satchel.store.statistics()
        depth_2 = timed(satchel, topics, depth=2)
        hub = timed(satchel, [HUB] * 20, depth=5)
        hub_topic = [satchel.graph(HUB, blend=[topic], depth=5, refresh=False).meta["reached"] for topic in topics[:3]]
    return {
        "version": __version__,
        "nodes": sum(counted.chunks.values()),
        "edges": {str(kind): count for kind, count in counted.edges.items()},
        "made_s": round(made, 1),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "questions": len(topics),
        **percentiles("depth_2", depth_2[0]),
        **percentiles("depth_2_processor", depth_2[1]),
        "hub_children": HUB_CHILDREN,
        **percentiles("hub_depth_5", hub[0]),
        **percentiles("hub_depth_5_processor", hub[1]),
        "load_average": os.getloadavg()[0],
        "hub_blended_nodes": hub_topic,
        "limits": LIMITS,
    }


def main() -> None:
    """Parse the command line, measure, and keep the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--edges", type=int, default=EDGES)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = measure(Path(folder), given.questions, given.nodes, given.edges)
    keep(result, given.out)


if __name__ == "__main__":
    main()
