"""How long the context of a situation takes: 50 injection rules, 100 contexts, instruction files, and a history.

    python benchmarks/situation.py [--save] [--runs N]

A repository of its own is written and indexed; then one process asks for situations that differ, without a language
model. The first answer reads every context; the figures are of the ones after it, and the first is told apart. A stub
model that takes 300 ms shows what a judge adds, once and when the verdicts are remembered.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import Any

from satchel import Satchel, __version__
from satchel.testing import TinyRepository

ROOT = Path(__file__).resolve().parents[1]

RULES, CONTEXTS, COMMITS = 50, 100, 200
MODEL_SECONDS = 0.3


def tree() -> dict[str, str]:
    """A root with 50 rules (20 decided, 20 in words, 10 always) over 99 contexts that extend each other in fours."""
    words = ("database migrations", "the user interface", "payments and refunds", "logging", "deploying to production")
    rules = []
    for number in range(RULES):
        condition = (
            f"when: {{paths: 'src/part{number}/**', tool: edit_*}}",
            f"condition: the task is about {words[number % len(words)]} of part {number}",
            f"when: {{task_matches: 'part{number}\\b|everything'}}",
            f"condition: work on {words[number % len(words)]} number {number}",
            "when: {language: python}",
        )[number % 5]
        rules.append(f"  - {{name: rule{number}, inject: part{number * 2 % (CONTEXTS - 1)}, {condition}}}")
    files = {"context.yaml": "metadata: {name: Root, type: workspace}\ninjection_rules:\n" + "\n".join(rules) + "\n"}
    for number in range(CONTEXTS - 1):
        extends = f"  extends: ../part{number - 1}\n" if number % 4 else ""
        behavior = "".join(f"  - {{trigger: event {n}, action: do {number} of {n}}}\n" for n in range(5))
        files[f"part{number}/context.yaml"] = (
            f"metadata: {{name: Part {number}, type: project, updated: 2026-01-0{number % 9 + 1}}}\n"
            f"intent_context:\n  business_goal: Make part {number} work\n{extends}behavior_rules:\n{behavior}"
            f"status: {{current: active, progress: 0.5}}\n"
        )
    files |= {f"src/part{number}/AGENTS.md": f"# Part {number}\nKeep part {number} small.\n" for number in range(20)}
    files |= {f"src/part{number}/a.py": f"def part{number}():\n    return {number}\n" for number in range(60)}
    return files | {"AGENTS.md": "# Everything\nBe brief.\n"}


def prepared(folder: Path) -> Path:
    """A repository with the tree and a history."""
    repository = TinyRepository(folder / "repository")
    repository.commit("Everything", tree())
    for number in range(COMMITS):
        repository.commit(f"Change how part{number % 60} retries", {f"src/part{number % 60}/a.py": f"x = {number}\n"})
    return repository.root


def situations(count: int) -> list[dict[str, Any]]:
    """Situations that differ in their file and task."""
    return [
        {
            "tool": "edit_file",
            "task": f"part{n % 50}: write database migrations, run {n}",
            "files": [f"src/part{n % 60}/a.py"],
        }
        for n in range(count)
    ]


@contextmanager
def slow_model() -> Iterator[tuple[str, list[int]]]:
    """A model that says true to everything, after 300 ms; and the requests that it got."""
    requests: list[int] = []
    waiting = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            count = body["messages"][1]["content"].split("Conditions:")[1].strip().count("\n") + 1
            requests.append(count)
            waiting.wait(MODEL_SECONDS)
            answer = "\n".join(f"{number}: false" for number in range(1, count + 1))
            raw = json.dumps({"choices": [{"message": {"content": answer}}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1", requests
    server.shutdown()


def timed(satchel: Satchel, situation: dict[str, Any], *, refresh: bool = False) -> float:
    """Milliseconds of one answer."""
    started = time.perf_counter()
    context = satchel.situation(situation, refresh=refresh)
    assert context.items
    return (time.perf_counter() - started) * 1000


def main() -> None:
    """Measure; print, or save with `--save`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--runs", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = prepared(Path(folder))
        environ = {"SATCHEL_HOME": f"{folder}/home", "SATCHEL_EMBED_PROVIDER": "off"}
        with Satchel.open(root=root, environ=environ) as satchel:
            satchel.index()
            for number in range(50):
                satchel.memories.add(f"Part {number} failed because its migrations ran twice", category="error")
            asked = situations(options.runs + 1)
            first = timed(satchel, asked[0])
            times = sorted(timed(satchel, one) for one in asked[1:])
        with slow_model() as (url, requests):
            settings = {"judge.endpoint": url, "judge.model": "stub"}
            with Satchel.open(root=root, environ=environ, settings=settings) as satchel:
                timed_first, again = timed(satchel, asked[0]), timed(satchel, asked[0])
    result = {
        "version": __version__, "rules": RULES, "contexts": CONTEXTS, "runs": options.runs,
        "p50_ms": round(median(times), 1), "p95_ms": round(times[int(len(times) * 0.95) - 1], 1),
        "first_ms": round(first, 1),
        "model_of_300_ms": {"first_ms": round(timed_first, 1), "again_ms": round(again, 1), "requests": len(requests),
                            "conditions_in_it": requests[0]},
    }  # fmt: skip
    print(json.dumps(result, indent=2))
    if options.save:
        (ROOT / "benchmarks/results/situation.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
