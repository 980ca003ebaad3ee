"""What starting a process costs: processor time and modules of whole commands, an old version against a new one.

    python benchmarks/start.py TREE --old OLD/src --new src --out benchmarks/results/start.json [--runs 15]

Both versions run in turns on a clone of TREE, each with an index and a memory of its own that are up to date. Processor
time is that of the process and of all children it waited for; the wall clock on a busy machine says little. The modules
are those of a run of its own; what the child process of a hook loads is not seen.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from speed import cloned
from stopwatch import adopt_orphans, fresh_home, lap, run, summary, wait_for_orphans

QUESTION = "how does the packer fill the budget"
HANDSHAKE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
LIST: dict[str, Any] = {"method": "tools/list", "params": {}}
CALL = {"method": "tools/call", "params": {"name": "context_query", "arguments": {"question": QUESTION}}}


class Version:
    """One source tree with a home of its own. Each `remember` is told something new."""

    def __init__(self, source: Path, tree: Path, home: Path) -> None:
        self._tree = tree
        self._environment = fresh_home(home) | {"PYTHONPATH": str(source), "SATCHEL_EMBED_PROVIDER": "off"}
        self._remembered = 0

    def command(self, *arguments: str) -> bytes:
        """Run a command to its end."""
        return run([sys.executable, "-m", "satchel", *arguments], self._tree, self._environment)

    def remember(self) -> None:
        """Keep one more memory."""
        self._remembered += 1
        subprocess.run(
            [sys.executable, "-m", "satchel", "remember", f"Release {self._remembered} has another table"],
            cwd=self._tree, env=dict(self._environment), capture_output=True, check=True,
        )  # fmt: skip

    def hook(self, prompt: str) -> None:
        """Answer the event of a prompt."""
        event = {"hook_event_name": "UserPromptSubmit", "session_id": "", "cwd": str(self._tree), "prompt": prompt}
        subprocess.run(
            [sys.executable, "-m", "satchel", "hook", "prompt"], cwd=self._tree, env=dict(self._environment),
            input=json.dumps(event).encode(), stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        wait_for_orphans()

    def mcp(self, request: Mapping[str, Any]) -> None:
        """Start a server, ask it once, and end it."""
        messages = ({"id": 1, "method": "initialize", "params": HANDSHAKE}, {"id": 2, **request})
        with subprocess.Popen(
            [sys.executable, "-m", "satchel", "mcp"], cwd=self._tree, env=dict(self._environment),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(b"".join(json.dumps({"jsonrpc": "2.0", **one}).encode() + b"\n" for one in messages))
            process.stdin.flush()
            answers = [json.loads(process.stdout.readline()) for _ in messages]
            process.stdin.close()
        if process.returncode or "result" not in answers[-1]:
            raise RuntimeError(f"the server ended with {process.returncode} and said {answers[-1]}")

    def modules(self, *arguments: str, asked: bytes = b"") -> int:
        """How many modules a command imports."""
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "satchel", *arguments], cwd=self._tree,
            env=dict(self._environment), input=asked, capture_output=True, check=True,
        )  # fmt: skip
        return len(re.findall(rb"^import time: +\d+", done.stderr, re.MULTILINE))

    def actions(self) -> dict[str, Callable[[], Any]]:
        """What is measured."""
        return {
            "version": partial(self.command, "--version"),
            "remember": self.remember,
            "context, code": partial(self.command, "context", QUESTION, "--types", "code"),
            "context, all kinds": partial(self.command, "context", QUESTION),
            "search": partial(self.command, "search", QUESTION),
            "hook prompt, answered": partial(self.hook, QUESTION),
            "hook prompt, silent": partial(self.hook, "thanks"),
            "mcp, list of tools": partial(self.mcp, LIST),
            "mcp, first answer": partial(self.mcp, CALL),
        }

    def loaded(self) -> dict[str, int]:
        """The modules of each command whose process is its own."""
        first = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode() + b"\n"
        return {
            "version": self.modules("--version"),
            "remember": self.modules("remember", "Modules are counted"),
            "context, code": self.modules("context", QUESTION, "--types", "code"),
            "search": self.modules("search", QUESTION),
            "mcp, before a question": self.modules("mcp", asked=first),
        }


def measure(tree: Path, sources: Mapping[str, Path], runs: int) -> dict[str, Any]:
    """All figures of all versions."""
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="satchel-start-") as name:
        folder = Path(name)
        work = cloned(tree, folder / "trees")
        versions = {label: Version(source, work, folder / label) for label, source in sources.items()}
        actions = {label: version.actions() for label, version in versions.items()}
        for version in versions.values():
            version.command("index", "--quiet")
        for of_version in actions.values():
            for action in of_version.values():
                action()
        figures = {action: measured(actions, action, runs) for action in next(iter(actions.values()))}
        modules = {label: version.loaded() for label, version in versions.items()}
    machine = {
        "cores": os.cpu_count(), "python": platform.python_version(),
        "load_before": round(before, 1), "load_after": round(os.getloadavg()[0], 1),
    }  # fmt: skip
    return {"tree": tree.name, "question": QUESTION, "machine": machine, "commands": figures, "modules": modules}


def measured(actions: Mapping[str, Mapping[str, Callable[[], Any]]], action: str, runs: int) -> dict[str, Any]:
    """One command of all versions in turns."""
    laps = [{label: lap(of_version[action]) for label, of_version in actions.items()} for _ in range(runs)]
    return {label: summary([one[label] for one in laps]) for label in actions}


def table(result: Mapping[str, Any]) -> Sequence[str]:
    """The medians of processor time as lines."""
    labels = [*next(iter(result["commands"].values()))]
    rows = [f"{'median processor ms':28}" + "".join(f"{label:>8}" for label in labels)]
    for name, figures in result["commands"].items():
        rows.append(f"{name:28}" + "".join(f"{figures[label]['cpu_s']['median'] * 1000:8.0f}" for label in labels))
    return rows


def main() -> int:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, help="a git work tree")
    parser.add_argument("--old", type=Path, required=True, help="the folder with the package of the old version")
    parser.add_argument("--new", type=Path, required=True, help="that of the new one")
    parser.add_argument("--runs", type=int, default=15, help="processes of each command and version")
    parser.add_argument("--out", type=Path, help="where to store the JSON")
    options = parser.parse_args()
    adopt_orphans()
    sources = {"old": options.old.resolve(), "new": options.new.resolve()}
    result = measure(options.tree.resolve(), sources, options.runs)
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print("\n".join(table(result)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
