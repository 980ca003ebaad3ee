"""What every adapter shares: the command line, the list of source files, and the JSON of an answer.

Only the standard library is used, because each rival runs in an environment of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the baselines use the scorer's counter and grammars

ScoredSpan = tuple[int, int]
Shown = list[tuple[str, list[ScoredSpan]]]
"""Paths in the order in which the answer names them, each with the 1-based, inclusive lines that it shows."""

SOURCE_SUFFIXES = {
    ".c", ".cc", ".cpp", ".cs", ".go", ".h", ".hpp", ".java", ".jq", ".js", ".jsx", ".l", ".mjs", ".py", ".rb", ".rs",
    ".ts", ".tsx", ".y",
}  # fmt: skip
NOT_SOURCE = re.compile(
    r"(^|/)(tests?|testing|__tests__|spec|e2e|bench\w*|examples?|docs?|fixtures)/"
    r"|(^|/)(test_[^/]*|conftest\.py|[^/]*_test\.\w+|[^/]*\.(test|spec)\.\w+)$"
)
MAXIMUM_BYTES = 1_000_000


def parse() -> argparse.Namespace:
    """`index`, `ask` or `time`, the budget, and the corpus; all run in the repository's work tree."""
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=["index", "ask", "time"])
    parser.add_argument("--max-tokens", type=int, default=4000)
    parser.add_argument("--tests", action="store_true", help="keep tests, docs and examples in the corpus")
    return parser.parse_args()


def source_files(*, tests: bool) -> dict[str, str]:
    """Tracked source files below the current folder and their text, in path order."""
    listed = subprocess.run(["git", "ls-files", "-z"], check=True, capture_output=True).stdout
    files = {}
    for path in sorted(listed.decode("utf-8", "replace").split("\0")):
        here = Path(path)
        if here.suffix not in SOURCE_SUFFIXES or (not tests and NOT_SOURCE.search(path)):
            continue
        if here.is_file() and not here.is_symlink() and here.stat().st_size <= MAXIMUM_BYTES:
            files[path] = here.read_text(encoding="utf-8", errors="replace")
    return files


def visible_spans(path: str, numbers: Iterable[int], text: str) -> list[ScoredSpan]:
    """The lines among `numbers` whose text really occurs in `text`, as spans; blank lines join their neighbours."""
    lines = Path(path).read_text(encoding="utf-8", errors="replace").split("\n")
    kept = [n for n in sorted(set(numbers)) if 0 < n <= len(lines) and lines[n - 1].strip() in text]
    spans: list[ScoredSpan] = []
    for number in kept:
        if spans and number == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], number)
        elif lines[number - 1].strip():
            spans.append((number, number))
    return spans


def print_answer(text: str, shown: Shown, *, limit: int, used: int) -> None:
    """One item a path; `used` is what the rival itself counted."""
    items = [{"source": "code", "location": {"path": path, "spans": spans or [[0, 0]]}} for path, spans in shown]
    json.dump({"items": items, "usage": {"limit": limit, "used": used}, "text": text}, sys.stdout)


Ask = Callable[[str, argparse.Namespace], None]


def main(
    ask: Ask, index: Callable[[], None] | None = None, warm: Callable[[argparse.Namespace], Ask] | None = None
) -> None:
    """Run one of the actions; the question comes on standard input, those to be timed as a line of JSON each.

    `warm` gives what asks in a process that keeps its index in memory.
    """
    options = parse()
    if options.action == "index":
        if index is not None:
            index()
    elif options.action == "ask":
        ask(sys.stdin.buffer.read().decode("utf-8", "replace"), options)
    elif warm is not None:
        time_questions(warm(options), options)


def time_questions(ask: Ask, options: argparse.Namespace) -> None:
    """Answer each question, and print its seconds of wall clock and of processor in the place of the answer."""
    for line in sys.stdin:
        begun, worked = time.perf_counter(), time.process_time()
        with contextlib.redirect_stdout(io.StringIO()):
            ask(json.loads(line), options)
        print(json.dumps([time.perf_counter() - begun, time.process_time() - worked]), flush=True)
