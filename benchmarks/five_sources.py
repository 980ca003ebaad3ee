"""How long contexts over five sources take, and premortems, and how much memory a request needs.

    python benchmarks/five_sources.py --out benchmarks/results/five_sources.json

Everything is generated and goes in through the real writers: files and commits through the index of a real git
repository, memories and experiences through the import, values through clustering. `lexical` asks by words alone,
`dense` with the bundled model (extra `embed`). Beside each time stands its ratio to a fixed piece of work on the same
machine in the same minute (`yardstick`), because others use the machine too.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from options import keep
from stopwatch import Lap, fresh_home, lap, quantiles, resident_bytes

import satchel
from satchel import Satchel
from satchel.vocabulary import Domain, MemoryCategory, RootCauseCategory, Strategy

FUNCTIONS_A_FILE = 20
FILES_A_COMMIT = 2
TYPES = ("memories", "code", "experiences", "values", "commits")
QUESTIONS = 60
WARM_UP = 5
MAX_TOKENS = 2000
NOW = 1_760_000_000
VALUES = 5

TARGETS: tuple[tuple[str, str, float], ...] = (
    ("five sources by words, p95 ms", "lexical.assembly.wall_ms.p95", 50),
    ("five sources with vectors, p95 ms", "dense.assembly.wall_ms.p95", 80),
    ("premortem, p95 ms", "lexical.premortem.wall_ms.p95", 50),
    ("memory of a request above idle, MB", "lexical.request_peak_mb", 50),
)

THINGS = """
    ledger invoice crawler stock mail gateway price refund tax audit image cart coupon session report address shipping
    feed backup webhook limiter currency customer parser token buffer socket lease queue worker route basket retry
    schema migration cursor index snapshot cluster replica shard checksum header cookie proxy bridge adapter registry
    scheduler timer clock zone locale encoding fixture sandbox plugin hook trigger pipeline batch stream window
""".split()  # noqa: SIM905
DEEDS = """
    close open retry merge split encode decode parse render validate refresh expire rotate archive restore import
    export lock release queue drain flush count sort filter group compare measure trace patch prune compact rebuild
""".split()  # noqa: SIM905
ENDS = """
    twice; after midnight; under load; without a header; behind the proxy; with an empty column; on the last worker;
    when the clock goes back; after a retry; on a clean checkout; in the second run; once the token has expired;
    for large tenants; while another one writes; on the smallest machine; when the network drops
"""
MOMENTS = [" ".join(end.split()) for end in ENDS.split(";")]


def sentence(draw: Random) -> str:
    """A sentence about some things and deeds."""
    first, second, third = draw.sample(THINGS, 3)
    return f"{draw.choice(DEEDS)} the {first} {second} of the {third} {draw.choice(MOMENTS)}"


def code_file(number: int) -> str:
    """A Python file of twenty functions."""
    draw = Random(number)
    parts = [f'"""How to {sentence(draw)}."""\n']
    for inner in range(FUNCTIONS_A_FILE):
        deed, thing, other = draw.choice(DEEDS), *draw.sample(THINGS, 2)
        parts.append(
            f"\n\ndef {deed}_{thing}_{number}_{inner}({other}, limit={draw.randint(1, 99)}):\n"
            f'    """{sentence(draw).capitalize()}."""\n'
            f"    for {thing} in {other}.{draw.choice(DEEDS)}(limit):\n"
            f"        {thing}.{draw.choice(DEEDS)}({other})\n"
            f"    return {other}\n"
        )
    return "".join(parts)


def write_repository(root: Path, chunks: int, commits: int) -> None:
    """A git repository with so many functions in its tree and so many commits behind it, by one fast import."""
    files = chunks // FUNCTIONS_A_FILE
    draw = Random(7)
    blobs = [code_file(number).encode() for number in range(files)]
    root.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    with subprocess.Popen(["git", "-C", str(root), "fast-import", "--quiet"], stdin=subprocess.PIPE) as process:
        out = process.stdin
        assert out is not None
        for number in range(commits):
            message = f"{sentence(draw).capitalize()}\n\n{sentence(draw).capitalize()}.\n".encode()
            when = NOW - (commits - number) * 7200
            out.write(f"commit refs/heads/main\ncommitter Ada <ada@example.org> {when} +0000\n".encode())
            out.write(b"data %d\n%s" % (len(message), message))
            chosen = range(files) if number == 0 else draw.sample(range(files), min(FILES_A_COMMIT, files))
            for file in chosen:
                blob = blobs[file] if number == 0 else b"%s# %d\n" % (blobs[file], number)
                path = f"src/{THINGS[file % len(THINGS)]}/{DEEDS[file % len(DEEDS)]}_{file}.py"
                out.write(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(blob), blob))
        out.close()
        if process.wait():
            raise RuntimeError("git fast-import failed")
    subprocess.run(["git", "-C", str(root), "reset", "-q", "--hard", "main"], check=True)


def remembered(memories: int, experiences: int) -> Iterator[bytes]:
    """Lines of an export: memories, then experiences, none like another."""
    draw = Random(11)
    for number in range(memories):
        moment = _written(NOW - draw.randrange(200 * 86_400))
        yield json.dumps({
            "type": "memory", "id": f"mem_20250601_000000_{number:06x}", "content": f"{sentence(draw).capitalize()}. "
            f"{sentence(draw).capitalize()}.", "category": draw.choice([*MemoryCategory]).value,
            "importance": round(draw.random(), 2), "tags": draw.sample(THINGS, 2), "provenance": "user",
            "created_at": moment, "updated_at": moment,
        }).encode()  # fmt: skip
    for number in range(experiences):
        moment = _written(NOW - draw.randrange(200 * 86_400))
        status = draw.choice(("confirmed", "falsified", "falsified", "abandoned"))
        line: dict[str, Any] = {
            "type": "experience", "id": f"ghap_20250601_000000_{number:06x}", "session_id": f"session {number // 5}",
            "created_at": moment, "updated_at": moment, "domain": draw.choice([*Domain]).value,
            "strategy": draw.choice([*Strategy]).value, "goal": sentence(draw).capitalize(),
            "hypothesis": f"It fails to {sentence(draw)}", "action": f"Try to {sentence(draw)}",
            "prediction": f"Then one can {sentence(draw)}", "history": [], "iteration_count": 1, "notes": [],
            "outcome": {
                "status": status, "result": f"It could {sentence(draw)}", "captured_at": moment,
                "auto_captured": draw.random() < 0.2,
            },
        }  # fmt: skip
        if status == "falsified":
            line |= {
                "surprise": f"It had to {sentence(draw)}",
                "root_cause": {"category": draw.choice([*RootCauseCategory]).value, "description": sentence(draw)},
                "lesson": {"what_worked": sentence(draw), "takeaway": f"First {sentence(draw)}"},
            }
        yield json.dumps(line).encode()


def _written(moment: int) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H:%M:%SZ}"


def write_values(opened: Satchel) -> int:
    """Accept the proposals of the largest groups of experiences; returns how many values there are."""
    accepted = 0
    opened.values.cluster("full")
    for proposal in opened.values.propose():
        if accepted < VALUES and proposal.validation is not None and proposal.validation.is_inside:
            opened.values.accept(proposal.text, proposal.cluster.id)
            accepted += 1
    return accepted


def asked() -> list[str]:
    """Questions that no other has the words of."""
    draw = Random(23)
    return [f"how do we {sentence(draw)}" for _ in range(QUESTIONS)]


def yardstick() -> None:
    """Some work of the kinds that a question does: arrays, sorting, strings."""
    values = np.arange(400_000, dtype=np.float64)
    np.argsort(-np.sin(values), kind="stable")
    sorted(str(number) for number in range(20_000))


def measured(action: Callable[[Any], Any], arguments: Sequence[Any]) -> dict[str, Any]:
    """Laps of an action in one warm process, and their ratio to the yardstick beside them."""
    for argument in arguments[:WARM_UP]:
        action(argument)
    rows: list[Lap] = []
    sticks: list[Lap] = []
    for argument in arguments:
        sticks.append(lap(yardstick))
        rows.append(lap(partial(action, argument)))
    result = quantiles(rows)
    sticks.sort(key=lambda row: row.wall)
    result["yardstick_ms"] = round(sticks[len(sticks) // 2].wall * 1000, 2)
    result["p50_in_yardsticks"] = round(result["wall_ms"]["p50"] / result["yardstick_ms"], 2)
    return result


def peak_above_idle(action: Callable[[], Any]) -> float:
    """Megabytes by which the memory of this process grows while the action runs, at most."""
    gc.collect()
    process, highest, done = os.getpid(), 0, threading.Event()
    before = resident_bytes(process)

    def watch() -> None:
        nonlocal highest
        while not done.is_set():
            highest = max(highest, resident_bytes(process))
            time.sleep(0.001)

    watcher = threading.Thread(target=watch)
    watcher.start()
    action()
    done.set()
    watcher.join()
    return round((max(highest, before) - before) / 1e6, 1)


def asked_with(opened: Satchel, domains: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Everything that is measured with one engine."""
    questions = asked()

    def assemble(question: str) -> Any:
        return opened.assemble(question, types=TYPES, max_tokens=MAX_TOKENS, now=NOW, refresh=False)

    def premortem(pair: tuple[str, str]) -> Any:
        return opened.premortem(*pair, now=NOW)

    found: dict[str, Any] = {"assembly": measured(assemble, questions), "premortem": measured(premortem, domains)}
    shown = [assemble(question) for question in questions]
    found["shown"] = {
        "tokens": round(sum(context.usage.used for context in shown) / len(shown)),
        **{type_: round(sum(one.sources_used.get(type_, 0) for one in shown) / len(shown), 1) for type_ in TYPES},
    }
    fresh = Random(31)
    found["request_peak_mb"] = peak_above_idle(lambda: [assemble(f"why {sentence(fresh)}") for _ in range(20)])
    return found


def measure(chunks: int, commits: int, memories: int, experiences: int, *, dense: bool) -> dict[str, Any]:
    """All figures."""
    pairs = [(str(domain), str(strategy)) for domain in Domain for strategy in Strategy][:QUESTIONS]
    with tempfile.TemporaryDirectory(prefix="satchel-five-") as name:
        root = Path(name) / "tree"
        write_repository(root, chunks, commits)
        environment = fresh_home(Path(name) / "home") | {"SATCHEL_EMBED_PROVIDER": "off"}
        with Satchel.open(root, environ=environment, settings={"index.commits": commits}) as opened:
            indexed = lap(opened.index)
            report = opened.import_memory(remembered(memories, experiences), here=True)
            if report.problems:
                raise RuntimeError(report.problems[0].message)
            values = write_values(opened)
            kinds = {kind.plural: count for kind, count in (opened.store.kinds() | opened.memory_store.kinds()).items()}
            result: dict[str, Any] = {
                "date": datetime.now(UTC).strftime("%Y-%m-%d"),
                "satchel": satchel.__version__,
                "machine": {"python": platform.python_version(), "cores": os.cpu_count()},
                "documents": kinds,
                "values": values,
                "index_s": round(indexed.wall, 1),
                "lexical": asked_with(opened, pairs),
            }
        if dense:
            with Satchel.open(root, environ=environment | {"SATCHEL_EMBED_PROVIDER": "auto"}) as opened:
                embedded = lap(opened.embed)
                result["embed_s"] = round(embedded.wall, 1)
                result["dense"] = asked_with(opened, pairs) | {
                    "model": opened.vectors.embedder.id if opened.vectors.embedder else None
                }
    result["targets"] = [judged(result, *row) for row in TARGETS]
    return result


def judged(result: dict[str, Any], name: str, place: str, limit: float) -> dict[str, Any]:
    """A target with what was measured."""
    value: Any = result
    for part in place.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return {"name": name, "target": limit, "measured": value, "met": None if value is None else value <= limit}


def main() -> None:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--documents", type=int, default=50_000)
    parser.add_argument("--commits", type=int, default=5_000)
    parser.add_argument("--memories", type=int, default=2_000)
    parser.add_argument("--experiences", type=int, default=2_000)
    parser.add_argument("--words-only", action="store_true")
    chosen = parser.parse_args()
    result = measure(chosen.chunks, chosen.commits, chosen.memories, chosen.experiences, dense=not chosen.words_only)
    keep(result, chosen.out)


if __name__ == "__main__":
    main()
