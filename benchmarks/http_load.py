"""What 200 questions at once do to `satchel serve`: is any lost or mixed up, what does it cost in time and memory.

    python benchmarks/http_load.py TREE --out benchmarks/results/http_load.json

The tree is cloned, so nothing is written into it. Every question is another one, made of names of its definitions.
Each answer is compared with what the same question gets alone; meanwhile somebody looks at /healthz, which says how
long the event loop keeps others waiting.
"""

from __future__ import annotations

import argparse
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
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from stopwatch import PeakMemory, fresh_home, resident_bytes

import satchel

PARALLEL = 200
ROUNDS = 2
ALONE = 40
"""Questions that are asked one after the other as well, to compare with."""

MAX_TOKENS = 4_000
NOW = "2026-01-01"
TOKEN = "of-the-benchmark-" * 2
LOOK_SECONDS = 0.02
PATIENCE_SECONDS = 600

NAME = re.compile(r"^\s*(?:async )?def ([a-z]\w{3,})", re.MULTILINE)


class Server:
    """A running `satchel serve`."""

    def __init__(self, tree: Path, home: Path) -> None:
        environment = fresh_home(home) | {"SATCHEL_HTTP_TOKEN": TOKEN, "SATCHEL_EMBED_PROVIDER": "off"}
        command = [sys.executable, "-m", "satchel", "serve"]
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

    def ask(self, question: str) -> tuple[int, bytes, float]:
        """One question."""
        given = {"question": question, "max_tokens": MAX_TOKENS, "now": NOW}
        return self.request("POST", "/api/context_query", json.dumps(given).encode())


def questions_of(tree: Path, count: int) -> list[str]:
    """As many different questions, from the names of functions."""
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in sorted(tree.rglob("*.py")))
    names = list(dict.fromkeys(name.replace("_", " ") for text in texts for name in NAME.findall(text)))
    return [f"{names[n % len(names)]} and {names[(n * 7 + 1 + n // len(names)) % len(names)]}" for n in range(count)]


def processor_seconds(process: int) -> float:
    """What a running process has used so far: on a machine that others use too, this is what it did."""
    user, system = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def timeless(body: bytes) -> dict[str, Any]:
    """An answer without its durations."""
    found: dict[str, Any] = json.loads(body)
    found["meta"].pop("timings", None)
    return found


def milliseconds(seconds: Sequence[float]) -> dict[str, float]:
    """Median, 95th percentile and longest."""
    ordered = sorted(value * 1000 for value in seconds)
    return {
        "p50": round(ordered[len(ordered) // 2], 1),
        "p95": round(ordered[int(len(ordered) * 0.95)], 1),
        "max": round(ordered[-1], 1),
    }


def rounds(server: Server, questions: Sequence[str]) -> dict[str, Any]:
    """Ask all questions, `PARALLEL` at once, and look at the server meanwhile."""
    looks: list[float] = []
    done = threading.Event()

    def look() -> None:
        while not done.wait(LOOK_SECONDS):
            looks.append(server.request("GET", "/healthz")[2])

    watcher = threading.Thread(target=look)
    watcher.start()
    answers: list[tuple[int, bytes, float]] = []
    after: list[int] = []
    begun, worked = time.perf_counter(), processor_seconds(server.process.pid)
    with PeakMemory(server.process.pid) as memory, ThreadPoolExecutor(PARALLEL) as pool:
        for start in range(0, len(questions), PARALLEL):
            answers += pool.map(server.ask, questions[start : start + PARALLEL])
            after.append(resident_bytes(server.process.pid))
    seconds, worked = time.perf_counter() - begun, processor_seconds(server.process.pid) - worked
    done.set()
    watcher.join()
    alone = [(question, timeless(server.ask(question)[1])) for question in questions[:: len(questions) // ALONE]]
    told = {question: body for question, (_, body, _) in zip(questions, answers, strict=True)}
    return {
        "parallel": PARALLEL,
        "questions": len(questions),
        "answered": sum(status == 200 for status, _, _ in answers),
        "with_another_question": sum(
            timeless(body)["query"] != question for question, (_, body, _) in zip(questions, answers, strict=True)
        ),
        "compared_with_alone": len(alone),
        "different_from_alone": sum(timeless(told[question]) != answer for question, answer in alone),
        "ms": milliseconds([took for _, _, took in answers]),
        "a_second": round(len(questions) / seconds, 1),
        "processor_ms_a_question": round(worked * 1000 / len(questions), 1),
        "health_ms": milliseconds(looks),
        "memory_mb": {"peak": memory.total // 1_000_000, "after_each_round": [size // 1_000_000 for size in after]},
    }


def measured(tree: Path, folder: Path) -> dict[str, Any]:
    """Everything, on a clone of the tree."""
    clone = folder / "tree"
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(tree), str(clone)], check=True)
    questions = questions_of(clone, PARALLEL * ROUNDS)
    assert len(set(questions)) == len(questions), "every question is another one"
    server = Server(clone, folder / "home")
    try:
        server.ask(questions[0])  # waits for the first index
        idle = resident_bytes(server.process.pid)
        alone = milliseconds([server.ask(question)[2] for question in questions[-ALONE:]])
        found = rounds(server, questions)
        server.process.terminate()
        begun = time.perf_counter()
        server.process.wait(PATIENCE_SECONDS)
        ended = time.perf_counter() - begun
    finally:
        server.process.kill()
    found["memory_mb"] = {"idle": idle // 1_000_000} | found["memory_mb"]
    return {"alone_ms": alone, **found, "end_s": round(ended, 2)}


def main() -> None:
    """Measure and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tree", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measured(given.tree.resolve(), Path(folder))
    machine = {"processors": len(os.sched_getaffinity(0)), "load": round(os.getloadavg()[0], 1)}
    head = {
        "tree": given.tree.resolve().name,
        "satchel": satchel.__version__,
        "python": platform.python_version(),
        "when": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": machine,
    }
    given.out.write_text(json.dumps(head | found, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
