"""Askers, indexers, writers, hooks and an editor at once, some killed: every answer is one of a sequential order.

    python -m tests.faults.mixed FOLDER RUNS SEED

prints one JSON object after each run, with what all so far have found. What every sequential order answers is asked
first, one process after the other. In each run two to sixteen processes start at once over a copy of one tree, index
and memory; at most one edits, adds each memory, or forgets. Then the stores are checked, and what was acknowledged has
to be there.
"""

from __future__ import annotations

import json
import os
import random
import re
import secrets
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import apsw

from satchel.store.sqlite.connection import damage
from satchel.system import telemetry
from tests.faults.bench import QUESTION, Bench, Fork, Ran, environment, inside, load_modules, set_up
from tests.soundness import faults

MEMORIES = (
    "The backoff between attempts is exponential because a linear wait hammered the server.",
    "Attempts are limited to three, so the exponential backoff stays below a second.",
)
OLD = "The backoff was linear before the spring release."
OPTIONS = ("--now", "2026-01-01", "--max-tokens", "900")

ASKED: Mapping[str, Sequence[str]] = {
    "context": ("context", QUESTION, *OPTIONS),
    "prices": ("context", "how is a discount taken from the price", *OPTIONS),
    "search": ("search", QUESTION, "--now", "2026-01-01"),
    "hook": ("event", "prompt", "prompt"),
}
WRITTEN: Mapping[str, Sequence[str]] = {
    "first": ("memory", "add", MEMORIES[0], "--json"),
    "second": ("memory", "add", MEMORIES[1], "--json"),
    "forget": ("memory", "forget", "--origin", "old", "--yes", "--json"),
    "edit": (),
}
ADDED = ((), ("first",), ("second",), ("first", "second"), ("second", "first"))

REASONS = {
    "says that another process brings the index up to date": "another process is bringing the index up to date",
    "says that a file changed since it was indexed": "changed since it was indexed",
    "marks the lines that changed since they were indexed": r"(?:@@\S+|lines? \S+|\n  \d+-\d+ ) changed\b",
}
"""Pattern of what an answer says where it is not that of a sequential order."""

KILLED_SHARE, KILL_SECONDS = 0.3, 0.6
FRESH_SHARE = 0.2
"""Share of the runs that begin without an index."""


@dataclass
class Found:
    """What all runs found."""

    runs: int = 0
    processes: Counter[str] = field(default_factory=Counter)
    killed: Counter[str] = field(default_factory=Counter)
    answers: int = 0
    with_a_reason: Counter[str] = field(default_factory=Counter)
    differing: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def _do(bench: Bench, name: str) -> Ran:
    """Do one thing."""
    if name == "edit":
        path = bench.root / "shop" / "client.py"
        new = path.with_name("new")
        new.write_text(path.read_text().replace("0.1, 0.2, 0.4.", "0.1, 0.2, 0.4, doubled each time."))
        new.replace(path)
        return Ran(0, "", "")
    if name == "index":
        return bench(("index", "--quiet"))
    if name == "hook":
        return bench((*ASKED[name], f"{os.getpid()}-{time.monotonic()}"))  # a session of its own
    return bench(ASKED.get(name) or WRITTEN[name])


def _without_index(bench: Bench) -> None:
    for path in bench.home.glob("cache/index/*/*"):
        path.unlink()


def _plain(text: str) -> str:
    """Return an answer without what is drawn at random: ids of memories, and handles made of them."""
    text = re.sub(r"mem(?:ory)?[:_][0-9a-z_]+|\bm[:-][0-9a-f]+", "MEMORY", text)
    return re.sub(r"[0-9a-f]{8,}", "HASH", text)


def _answers(bench: Bench, order: Sequence[str]) -> list[tuple[str, str]]:
    """Do these things and ask everything; hooks twice, because they do not wait for an update of the index."""
    for name in order:
        _do(bench, name)
    return [(name, _do(bench, name).out) for name in ("hook", *ASKED)]


def sequential(bench: Bench) -> dict[str, dict[str, str]]:
    """Return the answers of all sequential orders: question -> answer -> a state that gives it."""
    answers: dict[str, dict[str, str]] = {name: {} for name in ASKED}
    # The order of an edit, a removal and an addition does not show.
    for is_fresh, edit, forget, added in product((False, True), ("", "edit"), ("", "forget"), ADDED):
        order = [name for name in (edit, forget, *added) if name]
        bench.reset()
        if is_fresh:
            _without_index(bench)
        for name, text in inside(partial(_answers, bench, order)):
            answers[name].setdefault(_plain(text), " ".join(order))
    return answers


def run(bench: Bench, number: int, seed: int, answers: Mapping[str, Mapping[str, str]], found: Found) -> None:
    """Do one run and note what it found."""
    chance = random.Random(f"{seed}/{number}")
    bench.reset()
    if is_fresh := chance.random() < FRESH_SHARE:
        _without_index(bench)
    count = chance.randrange(2, 17)
    names = [name for name in WRITTEN if chance.random() < 0.6][:count]
    names += chance.choices(["context", "prices", "search", "hook", "index"], [4, 2, 2, 2, 3], k=count - len(names))
    chance.shuffle(names)
    forks = [Fork(partial(_do, bench, name)) for name in names]
    kills = sorted((chance.uniform(0, KILL_SECONDS), at) for at in range(count) if chance.random() < KILLED_SHARE)
    started = time.monotonic()
    for seconds, at in kills:
        forks[at].kill(after=max(started + seconds - time.monotonic(), 0))
    results = [fork.result() for fork in forks]
    place = f"run {number} ({' '.join(names)}{', no index' if is_fresh else ''})"
    found.runs += 1
    done = set()
    for name, result in zip(names, results, strict=True):
        found.processes[name] += 1
        if result is None:
            found.killed[name] += 1
        elif isinstance(result, dict):
            found.failed.append(f"{place}: {name}: {result['raised']}")
        else:
            done.add(name)
            _judge(f"{place}: {name}", name, Ran(*result), answers, found)
    _look(bench, place, names, done, answers, found)


def _judge(place: str, name: str, ran: Ran, answers: Mapping[str, Mapping[str, str]], found: Found) -> None:
    """Compare one answer with the sequential ones."""
    if ran.code or "Traceback" in ran.err:
        found.failed.append(f"{place}: exit {ran.code}: {ran.err}")
    if name not in ASKED:
        return
    found.answers += 1
    if _plain(ran.out) in answers[name]:
        return
    reason = next((reason for reason, pattern in REASONS.items() if re.search(pattern, ran.out)), "")
    if name == "hook" and not ran.out:
        reason = hook_log_reason()
    if reason:
        found.with_a_reason[reason] += 1
    else:
        found.differing.append(f"{place}: {ran.out}{ran.err}")


def hook_log_reason() -> str:
    """Return why the newest hook said nothing."""
    entries = telemetry.hook_entries(Path(os.environ["SATCHEL_HOME"]) / "state")
    reasons = [str(entry.get("reason", "")) for entry in entries if not entry.get("tokens")]
    return next((f"hook: {reason}" for reason in reversed(reasons) if reason), "")


def _look(
    bench: Bench,
    place: str,
    names: Sequence[str],
    done: set[str],
    answers: Mapping[str, Mapping[str, str]],
    found: Found,
) -> None:
    """Check the stores, what was acknowledged, and the answers afterwards."""

    def after() -> dict[str, Any]:
        listed = json.loads(bench(("memory", "list", "--json")).out)["memories"]
        return {"listed": [row["content"] for row in listed], **{name: _do(bench, name) for name in ASKED}}

    for path in (bench.memory, *bench.home.glob("cache/index/*/index.db")):
        found.damaged += [f"{place}: {path.name}: {fault}" for fault in damage(path)]
    result = Fork(after).result()
    if "raised" in result:
        found.failed.append(f"{place}: afterwards: {result['raised']}")
        return
    for path in bench.home.glob("cache/index/*/index.db"):
        connection = apsw.Connection(str(path))
        found.damaged += [f"{place}: {path.name}: {fault}" for fault in faults(connection)]
        connection.close()
    found.damaged += [f"{place}: put aside: {path.name}" for path in bench.home.rglob("*.damaged")]
    listed = result.pop("listed")
    for name, text in zip(("first", "second"), MEMORIES, strict=True):
        if (name in done and text not in listed) or (name not in names and text in listed):
            found.lost.append(f"{place}: {name}")
    if ("forget" in done and OLD in listed) or ("forget" not in names and OLD not in listed):
        found.lost.append(f"{place}: forget")
    for name, ran in result.items():
        _judge(f"{place}: afterwards: {name}", name, Ran(*ran), answers, found)


def _prepared(bench: Bench) -> None:
    for command in (("index",), ("memory", "add", OLD, "--origin", "old", "--json")):
        ran = bench(command)
        assert ran.code == 0, ran


def main() -> int:
    """Do as many runs as the arguments say."""
    folder, runs, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    set_up()
    # Memories of one second are ordered by their ids: by the time in this test, and not by chance.
    secrets.token_hex = lambda nbytes=None: f"{time.time_ns() // 1000 % 1_000_000:06x}"  # noqa: ARG005
    bench, found = Bench(folder), Found()
    bench.prepare(_prepared)
    load_modules(lambda: [_do(bench, name) for name in ("edit", "index", "first", "second", *ASKED, "forget")])
    answers = sequential(bench)
    started = time.monotonic()
    states = {name: len(texts) for name, texts in answers.items()}
    for number in range(runs):
        run(bench, number, seed, answers, found)
        seconds = round(time.monotonic() - started, 1)
        print(json.dumps({**vars(found), "sequential_answers": states, "seed": seed, "seconds": seconds}), flush=True)
    return 0


def results(folder: Path, runs: int, seed: int) -> dict[str, Any]:
    """Do so many runs in a process of their own and return what was found."""
    command = [sys.executable, "-P", "-m", "tests.faults.mixed", str(folder), str(runs), str(seed)]
    done = subprocess.run(command, env=environment(folder), stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    sys.exit(main())
