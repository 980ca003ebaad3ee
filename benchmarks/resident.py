"""Processor time of a hook and of commands that only read: answered by a resident process and by themselves, in turns.

    python benchmarks/resident.py --out benchmarks/results/resident.json [--root FOLDER] [--runs 20]

Both ways alternate, process by process. The client is measured with all processes that it starts, also the worker of a
hook, which ends after it, and the resident process before and after. `interpreter` is `python -c pass`.
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
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from stopwatch import fresh_home, lap_of_all, milliseconds, processor_of, run

from satchel import Satchel
from satchel.system import resident

PROMPTS = (
    "where is the deadline of a hook set?",
    "how is a stale socket of a dead process replaced?",
    "which settings may a repository set?",
    "how does `SqliteStore` read a snapshot?",
    "where are secrets redacted before they are stored?",
)
ALONE = "import satchel.system.resident as r; r.address = lambda _: ''; "
"""Statements that make a command work by itself."""


def main() -> None:
    """Measure and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="satchel-") as folder:
        result = measured(options.root.resolve(), fresh_home(Path(folder)), options.runs)
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


def measured(root: Path, home: Mapping[str, str], runs: int) -> dict[str, Any]:
    """Index the root, start the resident process, and measure both ways."""
    environ = {**home, "SATCHEL_EMBED_PROVIDER": "off"}
    with Satchel.open(root, root=root, environ=environ) as satchel:
        satchel.index()
    load = os.getloadavg()[0]
    server = subprocess.Popen(
        command("", "mcp"), cwd=root, env=environ, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    try:
        sockets = Path(resident.socket_folder(environ))
        while not sockets.exists() or not any(sockets.iterdir()):
            time.sleep(0.05)
        rows: dict[str, list[dict[str, float]]] = {}
        for number in range(runs):
            prompt = PROMPTS[number % len(PROMPTS)]
            for kind, words in {
                "hook": ("hook", "prompt"),
                "hook that says nothing": ("hook", "prompt"),
                "context": ("context", prompt, "--types", "code"),
                "search": ("search", prompt),
                "graph": ("graph", prompt),
                "why": ("why", "src/satchel/engine.py", prompt),
                "expand": ("expand", "src/satchel/engine.py:1-40"),
                "situation": ("situation", "--task", prompt),
                "brief": ("brief",),
                "premortem": ("premortem", "--domain", "debugging"),
                "status": ("status",),
                "history": ("history",),
                "memory list": ("memory", "list"),
                "values list": ("values", "list"),
            }.items():
                asked = "yes, go on" if kind.endswith("nothing") else prompt
                for way, before in (("resident", ""), ("itself", ALONE)):
                    event = {"prompt": asked, "session_id": f"{way}-{kind}-{number}", "cwd": str(root)}
                    row = one(command(before, *words), event, root, environ, server.pid)
                    if number >= len(PROMPTS):  # each question once before, which fills caches and compiles bytecode
                        rows.setdefault(f"{kind}, {way}", []).append(row)
        bare = [one([sys.executable, "-c", "pass"], {}, root, environ, server.pid) for _ in range(runs)]
    finally:
        server.communicate()
    return {
        "commit": subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
        ).stdout.strip(),
        "root": root.name, "runs": runs - len(PROMPTS), "cores": os.cpu_count(), "load": round(load, 1),
        "interpreter": summary(bare), **{name: summary(listed) for name, listed in rows.items()},
    }  # fmt: skip


def command(before: str, *words: str) -> list[str]:
    """Return a command line of satchel, after these statements."""
    return [sys.executable, "-c", f"import sys; {before}from satchel.cli.main import main; sys.exit(main())", *words]


def one(
    words: Sequence[str], event: Mapping[str, Any], root: Path, environ: Mapping[str, str], server: int
) -> dict[str, float]:
    """Run one process; returns milliseconds of the client's and the server's processor time, and of the clock."""
    busy = processor_of(server)
    client = lap_of_all(partial(run, words, root, environ, json.dumps(event).encode()))
    return {
        "client": client.cpu * 1000, "server": (processor_of(server) - busy) * 1000, "wall": client.wall * 1000,
    }  # fmt: skip


def summary(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return medians, and of the clock and of the sum of client and server also the spread."""
    found = {name: round(statistics.median(row[name] for row in rows), 1) for name in ("client", "server", "wall")}
    spreads = {
        "processor": milliseconds([(row["client"] + row["server"]) / 1000 for row in rows]),
        "wall": milliseconds([row["wall"] / 1000 for row in rows]),
    }
    found["processor"] = spreads["processor"]["p50"]
    more = {f"{name}_{part}": spread[part] for name, spread in spreads.items() for part in ("min", "p95", "max")}
    return found | more


if __name__ == "__main__":
    main()
