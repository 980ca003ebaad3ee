"""Measure tantivy as the lexical store: spans of real work trees, one-file updates, long OR questions.

    python benchmarks/tantivy_probe.py TREE... --out benchmarks/results/tantivy.json

The same spans and words go into plain numpy postings beside it, which give span and file scores from one list.
Words are cut in Python for both, so that only the stores differ.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tantivy
from localization.dataset import load_instances
from localization.words import words

SPAN_LINES = 24
SUFFIXES = {".c", ".go", ".h", ".java", ".js", ".py", ".rs", ".ts", ".tsx"}
UPDATED_FILES = 60
TOP = (100, 1500)
K1, B = 1.2, 0.75
HEAP_BYTES = 64_000_000
MEMORY_FOLDER = Path("/dev/shm")


@dataclass(frozen=True, slots=True)
class Span:
    """At most 24 lines of a file and their words."""

    path: str
    terms: list[str]


def spans_of(path: str, text: str) -> Iterator[Span]:
    """The spans of one file, those without a word left out."""
    lines = text.split("\n")
    for start in range(0, len(lines), SPAN_LINES):
        if terms := words("\n".join(lines[start : start + SPAN_LINES])):
            yield Span(path, terms)


def read_trees(trees: list[Path]) -> list[Span]:
    """The spans of all tracked source files, tests included."""
    found: list[Span] = []
    for tree in trees:
        listed = subprocess.run(["git", "-C", str(tree), "ls-files", "-z"], check=True, capture_output=True).stdout
        for name in sorted(listed.decode("utf-8", "replace").split("\0")):
            file = tree / name
            if file.suffix in SUFFIXES and file.is_file() and not file.is_symlink():
                found.extend(spans_of(f"{tree.name}/{name}", file.read_text(encoding="utf-8", errors="replace")))
    return found


def questions(trees: list[Path]) -> list[list[str]]:
    """The distinct words of the dev questions about these trees' repositories."""
    names = {tree.name for tree in trees}
    rows = (row for row in load_instances() if row["repo"].split("/")[1] in names)
    return [sorted(set(words(row["query"]))) for row in rows]


def timed(action: Callable[[], Any]) -> float:
    """Milliseconds of one call."""
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1000


def spread(values: list[float]) -> dict[str, float]:
    """Median and 95th percentile in milliseconds."""
    ordered = sorted(values)
    return {"p50_ms": round(statistics.median(ordered), 2), "p95_ms": round(ordered[int(len(ordered) * 0.95)], 2)}


def schema() -> tantivy.Schema:
    """Path for deletion, a span number to come back by, the words."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("path", tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("window", fast=True)
    builder.add_text_field("body", tokenizer_name="whitespace", index_option="freq")
    return builder.build()


def add(writer: tantivy.IndexWriter, spans: list[tuple[int, Span]]) -> None:
    """Add numbered spans, uncommitted."""
    for number, span in spans:
        writer.add_chunk(tantivy.Chunk(path=span.path, span=number, body=" ".join(span.terms)))


def disk_bytes(folder: Path) -> int:
    """Size of all files of an index."""
    return sum(file.stat().st_size for file in folder.iterdir() if file.is_file())


def ask(index: tantivy.Index, terms: list[str], top: int) -> list[tuple[float, int]]:
    """Score and span number of the best spans for an OR of all terms."""
    searcher = index.searcher()
    asked = [(tantivy.Occur.Should, tantivy.Query.term_query(index.schema, "body", term, "freq")) for term in terms]
    hits = searcher.search(tantivy.Query.boolean_query(asked), limit=top, count=False).hits
    numbers = searcher.fast_field_values("window", [address for _, address in hits])
    return [(score, int(number or 0)) for (score, _), number in zip(hits, numbers, strict=True)]


def ask_times(index: tantivy.Index, asked: list[list[str]]) -> dict[str, dict[str, float]]:
    """Question times for each size of the answer, after one warm-up round."""
    for terms in asked:
        ask(index, terms, TOP[0])
    return {f"top_{top}": spread([timed(partial(ask, index, terms, top)) for terms in asked]) for top in TOP}


def update_times(index: tantivy.Index, spans: list[Span]) -> dict[str, Any]:
    """Replace one file at a time, a commit each: writer held open, then a writer opened for each change."""
    by_path: dict[str, list[tuple[int, Span]]] = defaultdict(list)
    for number, span in enumerate(spans):
        by_path[span.path].append((number, span))
    paths = sorted(by_path)[:: max(len(by_path) // UPDATED_FILES, 1)][:UPDATED_FILES]

    def replace(writer: tantivy.IndexWriter, path: str) -> None:
        writer.delete_chunks_by_term("path", path)
        add(writer, by_path[path])
        writer.commit()
        index.reload()

    def replace_alone(path: str) -> None:
        writer = index.writer(HEAP_BYTES, 1)
        replace(writer, path)
        writer.wait_merging_threads()

    writer = index.writer(HEAP_BYTES, 1)
    held = [timed(partial(replace, writer, path)) for path in paths]
    writer.wait_merging_threads()
    alone = [timed(partial(replace_alone, path)) for path in paths]
    return {"files": len(paths), "writer_held_open": spread(held), "writer_opened_each_time": spread(alone)}


def build(spans: list[Span], folder: Path) -> tuple[tantivy.Index, float]:
    """A new index in `folder` and the seconds that it took."""
    index = tantivy.Index(schema(), path=str(folder))
    started = time.perf_counter()
    writer = index.writer(HEAP_BYTES, 1)
    add(writer, list(enumerate(spans)))
    writer.commit()
    writer.wait_merging_threads()
    seconds = time.perf_counter() - started
    index.reload()
    return index, seconds


def updates_in_memory(spans: list[Span]) -> dict[str, Any] | None:
    """The same updates without a disk below, which shows what synchronising costs; None without such a place."""
    if not MEMORY_FOLDER.is_dir():
        return None
    with tempfile.TemporaryDirectory(dir=MEMORY_FOLDER) as name:
        return update_times(build(spans, Path(name))[0], spans)


def probe_tantivy(spans: list[Span], asked: list[list[str]], folder: Path) -> dict[str, Any]:
    """Build, ask, update, ask again."""
    index, built = build(spans, folder)
    result: dict[str, Any] = {
        "version": version("tantivy"),
        "index_s": round(built, 2),
        "disk_bytes": disk_bytes(folder),
        "segments": index.searcher().num_segments,
        "ask": ask_times(index, asked),
        "open_and_first_question_ms": round(timed(lambda: ask(tantivy.Index.open(str(folder)), asked[0], 100)), 1),
        "update": update_times(index, spans),
        "update_in_memory": updates_in_memory(spans),
    }
    index.reload()
    return result | {
        "segments_after_updates": index.searcher().num_segments,
        "disk_bytes_after_updates": disk_bytes(folder),
        "ask_after_updates": ask_times(index, asked),
    }


Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]


def length_penalty(length: Floats) -> Floats:
    """BM25's share of the denominator that depends on the chunk only."""
    penalty: Floats = (K1 * (1 - B + B * length / length.mean())).astype(np.float32)
    return penalty


class Postings:
    """Span numbers and counts by word in two arrays; any coarser level is a sum over the same list."""

    def __init__(self, spans: list[Span]) -> None:
        paths = {path: n for n, path in enumerate(dict.fromkeys(span.path for span in spans))}
        lists: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for number, span in enumerate(spans):
            for term, count in Counter(span.terms).items():
                lists[term][0].append(number)
                lists[term][1].append(count)
        self.lists = {
            term: (np.array(numbers, np.int32), np.array(counts, np.float32))
            for term, (numbers, counts) in lists.items()
        }
        self.file_of: Ints = np.array([paths[span.path] for span in spans], np.int32)
        length: Floats = np.array([len(span.terms) for span in spans], np.float32)
        self.penalties = [length_penalty(length), length_penalty(np.bincount(self.file_of, length).astype(np.float32))]
        self.bytes = sum(numbers.nbytes + counts.nbytes for numbers, counts in self.lists.values())

    def ask(self, terms: list[str], top: int) -> tuple[npt.NDArray[np.intp], Floats, Floats]:
        """The best spans, their scores, and the score of every file."""
        scores = [np.zeros(len(penalty), np.float32) for penalty in self.penalties]
        for term in terms:
            if term not in self.lists:
                continue
            spans, counts = self.lists[term]
            of_file = self.file_of[spans]  # sorted, because the spans of a file follow each other
            starts = np.concatenate(([0], np.flatnonzero(np.diff(of_file)) + 1))
            levels = (spans, counts), (of_file[starts], np.add.reduceat(counts, starts))
            for score, penalty, (numbers, found) in zip(scores, self.penalties, levels, strict=True):
                weight = np.float32(np.log(1 + (len(score) - len(numbers) + 0.5) / (len(numbers) + 0.5)) * (K1 + 1))
                score[numbers] += weight * found / (found + penalty[numbers])
        by_span = scores[0]
        best = np.argpartition(-by_span, min(top, len(by_span) - 1))[:top]
        best = best[np.argsort(-by_span[best], kind="stable")]
        return best, by_span[best], scores[1]


def probe_postings(spans: list[Span], asked: list[list[str]]) -> dict[str, Any]:
    """Build in memory and ask for both levels."""
    started = time.perf_counter()
    postings = Postings(spans)
    built = time.perf_counter() - started
    for terms in asked:
        postings.ask(terms, TOP[0])
    times = {f"top_{top}": spread([timed(partial(postings.ask, terms, top)) for terms in asked]) for top in TOP}
    return {"index_s": round(built, 2), "raw_bytes": postings.bytes, "ask_window_and_file_level": times}


def agreement(spans: list[Span], asked: list[list[str]], folder: Path) -> float:
    """Share of tantivy's ten best spans among the postings' ten best: both must compute the same thing."""
    index, postings = tantivy.Index.open(str(folder)), Postings(spans)
    shares = []
    for terms in asked:
        ours = {int(number) for number in postings.ask(terms, 10)[0]}
        shares.append(len(ours & {number for _, number in ask(index, terms, 10)}) / 10)
    return round(statistics.fmean(shares), 3)


def main() -> int:
    """Run both stores on the given trees and print or store the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    started = time.perf_counter()
    spans = read_trees(options.trees)
    cut = time.perf_counter() - started
    asked = questions(options.trees)
    with tempfile.TemporaryDirectory() as name:
        figures = probe_tantivy(spans, asked, Path(name))
        same = agreement(spans, asked, Path(name))
    result = {
        "trees": [tree.name for tree in options.trees],
        "files": len({span.path for span in spans}),
        "windows": len(spans),
        "words": sum(len(span.terms) for span in spans),
        "read_and_cut_s": round(cut, 2),
        "questions": len(asked),
        "terms_mean": round(statistics.fmean(map(len, asked)), 1),
        "cores": os.cpu_count(),
        "tantivy": figures,
        "numpy_postings": probe_postings(spans, asked),
        "same_top_ten": same,
    }
    text = json.dumps(result, indent=1) + "\n"
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
