"""How index time, size, memory and question time grow with the number of chunks.

    python benchmarks/scaling.py --out benchmarks/results/scaling.json
    python benchmarks/scaling.py --plot benchmarks/results/scaling.json

The chunks are real: parts of the Python files of installed packages, cut and counted by `extract`, written by the
store's own writer. More of them are copies in which every identifier that few files have gets another name, so common
words stay as common and rare words as rare as they are in real code. Questions are first sentences of doc strings, and
whole issues from the evaluation data.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from localization.dataset import load_instances
from stopwatch import PeakMemory, fresh_home, lap, quantiles, run

from satchel import Satchel
from satchel import text as words
from satchel.config import Folders
from satchel.safety.trust import load_key
from satchel.search.query import analyse
from satchel.search.searcher import search_kind
from satchel.sources.outline import outline_file
from satchel.store.extract import extract
from satchel.store.records import NewDocument
from satchel.system import files
from satchel.types import Kind, Outline

SIZES = (1_000, 10_000, 100_000, 1_000_000)
TARGET_CHUNKS, TARGET_P95_MS = 100_000, 60.0
POOL_FILES = 1_200
POOL_BYTES = (2_000, 60_000)
BATCH_FILES = 1_000
"""Files written in one transaction; a real run publishes up to 5,000."""
LARGEST_TREE = 100_000
"""Chunks whose files also lie on disk, so that whole answers can be measured; beyond it only the search is."""
RARE_FILES = 2
"""An identifier in at most so many files of the pool is renamed in every copy."""
MAX_TOKENS = 4000
SENTENCES, ISSUES = 60, 20
SEED = 20
IDENTIFIER = re.compile(r"[A-Za-z_]\w{3,}")


@dataclass(frozen=True, slots=True)
class Source:
    """One file of the pool, the outline of its text, and the identifiers in it that are renamed."""

    path: str
    text: str
    outline: Outline
    rare: frozenset[str]


def load_pool(folder: Path) -> list[Source]:
    """A sample of the Python files below a folder, in an order that is random but always the same."""
    found = [path for path in sorted(folder.rglob("*.py")) if POOL_BYTES[0] <= path.stat().st_size <= POOL_BYTES[1]]
    random.Random(SEED).shuffle(found)
    texts = {}
    for path in found[:POOL_FILES]:
        texts[path.relative_to(folder).as_posix()] = path.read_text(encoding="utf-8", errors="replace")
    identifiers = {name: set(IDENTIFIER.findall(text)) for name, text in texts.items()}
    holders = Counter(word for found_words in identifiers.values() for word in found_words)
    pool = []
    for name, text in texts.items():
        _, outline = outline_file(name, text)
        rare = frozenset(word for word in identifiers[name] if holders[word] <= RARE_FILES)
        if outline.parts:
            pool.append(Source(name, text, outline, rare))
    return pool


def syllables(number: int) -> str:
    """A made-up ending for copy `number`: letters only, so that the word stays one word."""
    letters = ""
    while number:
        number, digit = divmod(number, 100)
        letters += "bcdfghjklmnpqrstvwxz"[digit // 5] + "aeiou"[digit % 5]
    return letters


def renamed(source: Source, copy: int) -> tuple[str, str, Outline]:
    """Path, text and outline of a copy; copy 0 is the file itself. Lines keep their numbers."""
    if not copy:
        return f"copy0/{source.path}", source.text, source.outline
    ending, rare = syllables(copy), source.rare

    def change(text: str) -> str:
        return IDENTIFIER.sub(lambda match: match[0] + ending if match[0] in rare else match[0], text)

    parts = tuple(
        part._replace(
            name=change(part.name),
            signature=change(part.signature),
            definitions=tuple(found._replace(name=change(found.name)) for found in part.definitions),
            references=tuple(found._replace(target=change(found.target)) for found in part.references),
        )
        for part in source.outline.parts
    )
    return f"copy{copy}/{source.path}", change(source.text), source.outline._replace(parts=parts)


def documents(
    pool: Sequence[Source], chunks: int, root: Path, key: bytes, *, largest_tree: int = LARGEST_TREE
) -> Iterator[NewDocument]:
    """Files until there are so many chunks, each as the index makes it; up to `largest_tree` on disk too."""
    count = copy = 0
    on_disk = chunks <= largest_tree
    while True:
        for source in pool:
            path, text, outline = renamed(source, copy)
            raw = text.encode()
            if on_disk:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_bytes(raw)
            yield NewDocument(
                kind=Kind.CODE,
                key=path,
                text=text,
                extraction=extract(text, outline),
                path_terms=words.count_terms(words.words(path)),
                content_hash=files.content_hash(raw, key),
                size=len(raw),
                title=path,
                origin="file",
            )
            count += len(outline.parts)
            if count >= chunks:
                return
        copy += 1


def write(opened: Satchel, made: Iterator[NewDocument], seconds: float) -> tuple[dict[str, Any], bool]:
    """Write everything in transactions, or what is reached in time. Returns the figures and whether it is all."""
    clock = {"make_s": 0.0, "write_s": 0.0, "merge_s": 0.0}
    characters = 0
    started, processor = time.monotonic(), time.process_time()
    batch: list[NewDocument] = []
    complete = False
    while not complete and time.monotonic() - started < seconds:
        begun = time.monotonic()
        batch = [document for document, _ in zip(made, range(BATCH_FILES), strict=False)]
        complete = len(batch) < BATCH_FILES
        characters += sum(len(document.text) for document in batch)
        clock["make_s"] += time.monotonic() - begun
        begun = time.monotonic()
        with opened.store.write() as writer:
            writer.put(batch)
        clock["write_s"] += time.monotonic() - begun
    begun = time.monotonic()
    with opened.store.write() as writer:
        writer.merge(lambda: False)
    clock["merge_s"] = time.monotonic() - begun
    total = time.monotonic() - started
    figures = {"text_mb": round(characters / 1e6, 1), "index_s": round(total, 2)}
    figures["index_cpu_s"] = round(
        time.process_time() - processor, 2
    )  # beside others, the wall clock says what they did
    return figures | {name: round(value, 2) for name, value in clock.items()}, complete


def questions(pool: Sequence[Source]) -> dict[str, list[str]]:
    """First sentences of doc strings, and issues if the evaluation data is there."""
    summaries = sorted(
        {part.summary for source in pool for part in source.outline.parts if part.summary.count(" ") > 3}
    )
    chosen = random.Random(SEED).sample(summaries, SENTENCES)
    try:
        rows = load_instances()
    except FileNotFoundError:
        return {"sentences": chosen}
    return {"sentences": chosen, "issues": [row["query"] for row in rows[:: len(rows) // ISSUES]][:ISSUES]}


def ask(root: Path, asked: dict[str, list[str]], *, answers: bool) -> dict[str, Any]:
    """Question times of this process, which must be a new one: the first question, then all after one another."""
    with Satchel.open(root, root=root) as opened:

        def search(question: str) -> None:
            search_kind(opened.store, Kind.CODE, analyse(question))

        result: dict[str, Any] = {"first_search_ms": round(lap(partial(search, asked["sentences"][0])).wall * 1000, 1)}
        answer = partial(opened.assemble, max_tokens=MAX_TOKENS, refresh=False)
        search("warm up the process")
        if answers:
            answer("warm up the process")
        actions: dict[str, Callable[[str], Any]] = {"search": search, "answer": answer}
        for name, action in actions.items():
            if name == "search" or answers:
                measured = {group: [lap(partial(action, row)) for row in rows] for group, rows in asked.items()}
                result[name] = {group: quantiles(rows) for group, rows in measured.items()}
                result[name]["together"] = quantiles([row for rows in measured.values() for row in rows])
        status = Path("/proc/self/status").read_text(encoding="ascii")
        found = dict(re.findall(r"^(Vm\w+):\s+(\d+) kB$", status, re.M))
        return result | {"resident_mb": round(int(found["VmRSS"]) * 1024 / 1e6, 1)}


def measure(pool: Sequence[Source], chunks: int, seconds: float) -> dict[str, Any]:
    """All figures of one size."""
    with tempfile.TemporaryDirectory(prefix="satchel-scaling-") as name:
        root, home = Path(name) / "tree", fresh_home(Path(name) / "home")
        root.mkdir()
        key = load_key(Folders.from_environment(home).state)
        load = os.getloadavg()[0]
        with Satchel.open(root, root=root, environ=home) as opened, PeakMemory(os.getpid()) as peak:
            figures, complete = write(opened, documents(pool, chunks, root, key), seconds)
            counted = opened.store.statistics()
            places = opened.places
        asked = Path(name) / "questions.json"
        asked.write_text(json.dumps(questions(pool)), encoding="utf-8")
        answers = ["--answers"] if chunks <= LARGEST_TREE else []
        command = [sys.executable, __file__, "--ask", str(root), "--questions", str(asked), *answers]
        cold = lap(lambda: figures.update(json.loads(run(command, root, home))))
        return {
            "asked_for": chunks,
            "complete": complete,
            "documents": counted.chunks[Kind.CODE],
            "files": counted.documents[Kind.CODE],
            "windows": counted.spans[Kind.CODE],
            "disk_mb": round(sum(file.stat().st_size for file in places.index.iterdir()) / 1e6, 1),
            "build_peak_mb": round(peak.total / 1e6, 1),
            "load_before": round(load, 1),
            "asking_process_s": round(cold.wall, 2),
            **figures,
        }


def p95(row: dict[str, Any]) -> float:
    """The figure that the target is about: of whole answers where they were measured, else of searches."""
    return float(row.get("answer", row["search"])["together"]["wall_ms"]["p95"])


def plot(result: dict[str, Any], target: Path) -> None:
    """Draw question time, index time, and size beside the number of chunks."""
    import matplotlib  # type: ignore[import-not-found,unused-ignore]  # here: only the picture needs it

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "satchel"
    from matplotlib import pyplot

    rows = result["sizes"]
    chunks = [row["documents"] for row in rows]
    figure, (times, indexing, sizes) = pyplot.subplots(1, 3, figsize=(13, 4))
    for name, style in (("p50", "o-"), ("p95", "o--")):
        times.plot(chunks, [row["search"]["together"]["wall_ms"][name] for row in rows], style, label=f"search {name}")
        whole = [row for row in rows if "answer" in row]
        values = [row["answer"]["together"]["wall_ms"][name] for row in whole]
        times.plot([row["documents"] for row in whole], values, style, label=f"answer {name}")
    times.plot([TARGET_CHUNKS], [TARGET_P95_MS], "r_", markersize=24, label="target p95")
    indexing.plot(chunks, [row["index_s"] for row in rows], "o-", label="cut, count and write")
    indexing.plot(chunks, [row["write_s"] + row["merge_s"] for row in rows], "o--", label="write and merge")
    for key, label in (("text_mb", "text"), ("disk_mb", "index on disk"), ("resident_mb", "process after questions")):
        sizes.plot(chunks, [row[key] for row in rows], "o-", label=label)
    titles = (times, "warm question, ms"), (indexing, "index time, s, one core"), (sizes, "size, MB")
    for axes, title in titles:
        axes.set(title=title, xlabel="documents", xscale="log", yscale="log")
        axes.grid(visible=True, which="major", alpha=0.3)
        axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(target, metadata={"Date": None})


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES), help="numbers of documents")
    parser.add_argument(
        "--seconds", type=float, default=480, help="longest time to write one size; the rest is left out"
    )
    parser.add_argument("--pool", type=Path, default=Path(sysconfig.get_paths()["purelib"]), help="where the texts are")
    parser.add_argument("--out", type=Path, help="where to store the result; sizes that it holds already are kept")
    parser.add_argument("--plot", type=Path, help="draw a stored result beside it, and do nothing else")
    parser.add_argument("--ask", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--questions", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--answers", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """Measure the sizes from small to large and store the result after each."""
    options = parse()
    if options.ask:
        print(json.dumps(ask(options.ask, json.loads(options.questions.read_text()), answers=options.answers)))
        return 0
    if options.plot:
        plot(json.loads(options.plot.read_text(encoding="utf-8")), options.plot.with_suffix(".svg"))
        return 0
    pool = load_pool(options.pool)
    sizes = [len(source.text) for source in pool]
    result: dict[str, Any] = {
        "pool": {"files": len(pool), "median_characters": statistics.median(sizes)},
        "cores": os.cpu_count(),
        "target": {"documents": TARGET_CHUNKS, "p95_ms": TARGET_P95_MS},
        "sizes": [],
    }
    if options.out and options.out.exists():
        kept = json.loads(options.out.read_text(encoding="utf-8"))["sizes"]
        result["sizes"] = [row for row in kept if row["asked_for"] not in options.sizes]
    for size in sorted(options.sizes):
        row = measure(pool, size, options.seconds)
        result["sizes"] = sorted([*result["sizes"], row], key=lambda row: int(row["asked_for"]))
        met = [p95(row) <= TARGET_P95_MS for row in result["sizes"] if row["asked_for"] == TARGET_CHUNKS]
        result["target"]["met"] = met[0] if met else None
        print(f"{size:>9,}: {json.dumps(row)}", file=sys.stderr, flush=True)
        if options.out:
            options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as failed:
        sys.exit(str(failed))
