"""What 64 and 200 questions at once do to `satchel serve`: is any lost or mixed up, how long, how much memory.

    python benchmarks/http_load.py TREE --workers 2 --against OLD/src --out benchmarks/results/http_load.json

The tree is cloned, so nothing is written into it. Every question is another one, made of names of its definitions.
Each answer is compared with what the same question gets alone; meanwhile somebody looks at /healthz, which says how
long the event loop keeps others waiting. `--workers` is compared with one process, and with the source of another
version, by turns in the same run.
"""

from __future__ import annotations

import argparse
import gc
import http.client
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from stopwatch import base_home, fresh_home, milliseconds, processor_of
from two_versions import provider_of

import satchel
from satchel.cli.session import collect_seldom
from satchel.engine import Satchel

CELLS = (
    ("code", 2_000, 64),
    ("code", 4_000, 64),
    ("all", 2_000, 64),
    ("all", 4_000, 64),
    ("code", 4_000, 200),
    ("all", 4_000, 200),
)
"""Context types, budget and questions in flight of each measurement."""

ROUNDS = 2
"""Measurements of each cell in each server; the better one is kept, because others use the machine too."""

WARM = 64
"""Questions before the first measurement."""

ALONE = 12
"""Questions of each cell that are asked one after the other as well, to compare with."""

QUESTIONS = 200
COLLECTOR_ROUNDS = 4
REFUSED = 503
NOW = "2026-01-01"
TOKEN = "of-the-benchmark-" * 2
LOOK_SECONDS = 0.02
PATIENCE_SECONDS = 600

NAME = re.compile(r"^\s*(?:async )?def ([a-z]\w{3,})", re.MULTILINE)


class Server:
    """A running `satchel serve` of the source and with the home that the environment names."""

    def __init__(self, tree: Path, environment: Mapping[str, str], workers: int) -> None:
        environment = {**environment, "SATCHEL_HTTP_TOKEN": TOKEN}
        more = ["--workers", str(workers)] if workers > 1 else []
        command = [sys.executable, "-P", "-m", "satchel", "serve", *more]
        self.process = subprocess.Popen(command, cwd=tree, env=environment, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = urlsplit(self.process.stdout.readline()).port

    def request(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes, float]:
        """Status, body and seconds of one request on a connection of its own."""
        begun = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, data, time.perf_counter() - begun

    def ask(self, question: str, types: str, tokens: int) -> tuple[int, bytes, float]:
        """One question."""
        arguments = {"question": question, "max_tokens": tokens, "now": NOW}
        if types != "all":
            arguments["types"] = [types]
        return self.request("POST", "/api/context_query", json.dumps(arguments).encode())

    def processes(self) -> list[int]:
        """The server and its workers."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="ascii")
        return [self.process.pid, *map(int, children.split())]

    def memory_mb(self) -> int:
        """What all processes use, with shared pages counted once."""
        rolled = (Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii") for pid in self.processes())
        return sum(int(re.findall(r"^Pss: +(\d+)", text, re.MULTILINE)[0]) for text in rolled) // 1_000


def questions_of(tree: Path, count: int) -> list[str]:
    """As many different questions, from the names of functions."""
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in sorted(tree.rglob("*.py")))
    names = list(dict.fromkeys(name.replace("_", " ") for text in texts for name in NAME.findall(text)))
    return [f"{names[n % len(names)]} and {names[(n * 7 + 1 + n // len(names)) % len(names)]}" for n in range(count)]


def timeless(body: bytes) -> dict[str, Any]:
    """An answer without its durations."""
    answer: dict[str, Any] = json.loads(body)
    answer["meta"].pop("timings", None)
    return answer


def cell(server: Server, questions: Sequence[str], types: str, tokens: int, parallel: int) -> dict[str, Any]:
    """Ask all questions, `parallel` at once, and look at the server meanwhile."""
    looks: list[float] = []
    done = threading.Event()

    def look() -> None:
        while not done.wait(LOOK_SECONDS):
            looks.append(server.request("GET", "/healthz")[2])

    watcher = threading.Thread(target=look)
    watcher.start()
    begun, worked = time.perf_counter(), sum(map(processor_of, server.processes()))
    with ThreadPoolExecutor(parallel) as pool:
        answers = list(pool.map(lambda question: server.ask(question, types, tokens), questions))
    seconds, worked = time.perf_counter() - begun, sum(map(processor_of, server.processes())) - worked
    done.set()
    watcher.join()
    bodies = {question: body for question, (status, body, _) in zip(questions, answers, strict=True) if status == 200}
    alone = [question for question in questions[:: max(len(questions) // ALONE, 1)] if question in bodies]
    return {
        "types": types,
        "max_tokens": tokens,
        "parallel": parallel,
        "questions": len(questions),
        "answered": len(bodies),
        "refused": sum(status == REFUSED for status, _, _ in answers),
        "with_another_question": sum(timeless(body)["query"] != question for question, body in bodies.items()),
        "compared_with_alone": len(alone),
        "different_from_alone": sum(
            timeless(bodies[question]) != timeless(server.ask(question, types, tokens)[1]) for question in alone
        ),
        "ms": milliseconds([took for _, _, took in answers]),
        "a_second": round(len(bodies) / seconds, 1),
        "a_processor_second": round(len(questions) / worked, 1),
        "processor_ms_a_question": round(worked * 1000 / len(questions), 1),
        "health_ms": milliseconds(looks),
        "memory_mb": server.memory_mb(),
        "load": round(os.getloadavg()[0], 1),
    }


def measured(server: Server, questions: Sequence[str]) -> dict[str, Any]:
    """Every cell of one server, and how long its end takes."""
    for question in questions[:WARM]:
        server.ask(question, "all", 4_000)
    idle = server.memory_mb()
    cells = [cell(server, questions, *row) for row in CELLS]
    begun = time.perf_counter()
    server.process.terminate()
    code = server.process.wait(PATIENCE_SECONDS)
    return {
        "idle_mb": idle,
        "cells": cells,
        "end_s": round(time.perf_counter() - begun, 2),
        "code": code,
    }


def better(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The faster measurement of each cell; what was lost or wrong in any of them is kept."""
    best = dict(rows[0])
    best["cells"] = [
        max(cells, key=lambda row: row["a_second"]) for cells in zip(*(row["cells"] for row in rows), strict=True)
    ]
    best["lost_in_all_rounds"] = sum(
        row["questions"] - row["answered"] - row["refused"] for one in rows for row in one["cells"]
    )
    best["wrong_in_all_rounds"] = sum(
        row["with_another_question"] + row["different_from_alone"] for one in rows for row in one["cells"]
    )
    return best


def collector(tree: Path, home: Path, questions: Sequence[str]) -> dict[str, float]:
    """Processor time of a warm question with the garbage collector of Python, and with that of the servers.

    The least of some rounds by turns, in milliseconds.
    """
    spent: dict[str, list[float]] = {"default": [], "seldom": []}
    thresholds = gc.get_threshold()
    with Satchel.open(root=tree, environ=base_home(home)) as engine:
        for question in questions:
            engine.assemble(question)
        for _ in range(COLLECTOR_ROUNDS):
            for name, values in spent.items():
                if name == "seldom":
                    collect_seldom()
                begun = time.process_time()
                for question in questions:
                    engine.assemble(question, refresh=False)
                values.append((time.process_time() - begun) * 1000 / len(questions))
                gc.unfreeze()
                gc.set_threshold(*thresholds)
    return {name: round(min(values), 1) for name, values in spent.items()}


def main() -> None:
    """Measure and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tree", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--against", type=Path, help="the src of another version, measured by turns with this one")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="of each cell")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    own = Path(satchel.__file__).parents[1]
    variants = {"one process": (own, 1), f"{options.workers} workers": (own, options.workers)}
    if options.against is not None:
        variants = {"before": (options.against.resolve(), 1), **variants}
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in variants}
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "tree"
        subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(options.tree.resolve()), str(clone)], check=True)
        questions = questions_of(clone, options.questions)
        assert len(set(questions)) == len(questions), "every question is another one"
        for number in range(options.rounds):
            for name, (source, workers) in variants.items():
                variables = {"PYTHONPATH": str(source), "SATCHEL_EMBED_PROVIDER": provider_of(source)}
                server = Server(clone, fresh_home(Path(folder) / f"{name}-{number}") | variables, workers)
                try:
                    rows[name].append(measured(server, questions))
                finally:
                    server.process.kill()
                print(name, json.dumps(rows[name][-1]), flush=True)
        collected = collector(clone, Path(folder) / "collector", questions[:WARM])
    asked = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=own, check=True, stdout=subprocess.PIPE)
    commit = asked.stdout.decode().strip()
    head = {
        "tree": options.tree.resolve().name,
        "satchel": satchel.__version__,
        "commit": commit,
        "python": platform.python_version(),
        "when": datetime.now(UTC).strftime("%Y-%m-%d"),
        "processors": len(os.sched_getaffinity(0)),
        "rounds": options.rounds,
    }
    best = {name: better(one) for name, one in rows.items()}
    options.out.write_text(
        json.dumps(head | {"servers": best, "collector_ms": collected}, indent=2) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
