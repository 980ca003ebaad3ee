"""Two versions of the package that do the same steps in turns, so that other work on the machine slows both.

Each has a clone of the tree, homes of its own and one process that stays warm. A step is done by one version and at
once by the other; they take turns at being first. Each step tells its wall clock and its processor time.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from stopwatch import Lap, PeakMemory, fresh_home, lap, lap_of_all, processor_of, resident_bytes, run

HERE = Path(__file__).resolve().parents[1]
MAX_TOKENS = 4000
PROTOCOL = "2025-06-18"

WORKER = """
import gc, json, resource, sys, time
from satchel import Satchel
tree, = sys.argv[1:]
def spent():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
def timed(action):
    gc.collect()
    began, started = spent(), time.perf_counter()
    action()
    wall = time.perf_counter() - started
    return [wall, spent() - began]
def ask(question, types, purpose, tokens):
    return timed(
        lambda: engine.assemble(question, types=types, purpose=purpose, max_tokens=tokens, refresh=False)
    )
def opened():
    global engine
    engine = Satchel.open(root=tree)
    return [0.0, 0.0]
def mixed(questions):
    for number, question in enumerate(questions):
        ask(question, [["code"], []][number % 2], ["find", "read", "edit"][number % 3], [4000, 2000][number % 5 == 0])
    return [0.0, 0.0]
steps = {"open": opened, "index": lambda: timed(engine.index), "ask": ask, "mixed": mixed}
for line in sys.stdin:
    name, *given = json.loads(line)
    print(json.dumps(steps[name](*given)), flush=True)
"""
"""The process that stays. It uses only what older versions have as well; `mixed` asks in every purpose and kind."""


def package_of(commit: str, folder: Path, *names: str) -> Path:
    """The package as it was at a commit of this repository, with more folders of it if they are named."""
    command = ["git", "archive", commit, "src", *names]
    with tarfile.open(fileobj=io.BytesIO(run(command, HERE, os.environ))) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def package_now(folder: Path) -> Path:
    """A copy of the package as it is, which nobody edits while it is measured."""
    return Path(shutil.copytree(HERE / "src", folder / "src", ignore=shutil.ignore_patterns("*.egg-info")))


def compiled(package: Path) -> Path:
    """The package with its byte code, so that no process compiles modules while it is measured."""
    run([sys.executable, "-m", "compileall", "-q", "-j", "2", str(package)], HERE, os.environ)
    return package


def provider_of(package: Path) -> str:
    """The vectors of an installation without extras: the table of the package, in older versions none."""
    return "static" if '"static"' in (package / "satchel" / "settings.py").read_text(encoding="utf-8") else "off"


def cloned(tree: Path, folder: Path) -> Path:
    """A clone of a repository with its history; benchmarks change files, and rivals write into the tree."""
    target = folder / tree.name
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(tree), str(target)], check=True)
    return target


class Version:
    """One version of the package, with a clone of the tree, a home, and a process that does its steps."""

    def __init__(self, package: Path, tree: Path, folder: Path) -> None:
        self.package, self._folder = package, folder
        self.tree = cloned(tree, folder / "trees")
        self.environment = self.home(folder / "home")
        self._prompts = 0
        self._process = self._started()

    def _started(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-P", "-c", WORKER, str(self.tree)], env=self.environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def restart(self) -> None:
        """Another process takes the place of the one that stays."""
        self.close()
        self._process = self._started()

    def home(self, folder: Path) -> dict[str, str]:
        """The environment of this version with its data in another folder."""
        return fresh_home(folder) | {
            "PYTHONPATH": str(self.package),
            "SATCHEL_EMBED_PROVIDER": provider_of(self.package),
        }

    def new_home(self) -> dict[str, str]:
        """An environment that nothing was written to yet."""
        return self.home(Path(tempfile.mkdtemp(dir=self._folder)))

    def step(self, *step: Any) -> Lap:
        """Do a step in the process that stays."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(step) + "\n")
        self._process.stdin.flush()
        wall, processor = json.loads(self._process.stdout.readline())
        return Lap(wall, processor, os.getloadavg()[0])

    def ask(self, question: str, types: Sequence[str], purpose: str, tokens: int = MAX_TOKENS) -> Lap:
        """Ask the process that stays, whose index is up to date."""
        return self.step("ask", question, types, purpose, tokens)

    def words(self, *arguments: str) -> list[str]:
        """The command line of satchel in this version."""
        return [sys.executable, "-P", "-m", "satchel", *arguments]

    def command(self, *arguments: str, environment: dict[str, str] | None = None, given: str = "") -> Lap:
        """Run a command in a process of its own; `given` is its standard input."""
        where = environment or self.environment
        return lap(lambda: run(self.words(*arguments), self.tree, where, given.encode()))

    def hook(self, prompt: str) -> Lap:
        """A prompt goes through the hook of a client, with no server running; all processes of the hook count."""
        self._prompts += 1
        event = {"prompt": prompt, "session_id": f"benchmark-{self._prompts}", "cwd": str(self.tree)}
        command = partial(run, self.words("hook", "prompt"), self.tree, self.environment, json.dumps(event).encode())
        return lap_of_all(command)

    def first_index(self, peaks: list[float] | None = None) -> Lap:
        """Index the tree for a new home in a process of its own; `peaks` takes the most memory in MB."""
        environment = self.new_home()

        def whole() -> None:
            command = self.words("index", "--quiet")
            with subprocess.Popen(command, cwd=self.tree, env=environment) as process, PeakMemory(process.pid) as peak:
                if process.wait():
                    raise RuntimeError(f"satchel index ended with {process.returncode}")
            if peaks is not None:
                peaks.append(peak.total / 1e6)

        return lap(whole)

    def memory_mb(self) -> float:
        """Memory of the process that stays."""
        return resident_bytes(self._process.pid) / 1e6

    def close(self) -> None:
        """End the process that stays."""
        self._process.communicate()


class Conversation:
    """`satchel mcp` of a version as a client talks to it: it starts with the first question."""

    def __init__(self, version: Version) -> None:
        self._version = version
        self._number = 0

    def _say(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _request(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        self._say({"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters})
        assert self._process.stdout is not None
        while True:
            answer: dict[str, Any] = json.loads(self._process.stdout.readline())
            if answer.get("id") == self._number:
                return answer

    def first(self, question: str) -> Lap:
        """Start the server and ask it the first question, from nothing to its answer."""
        begun = time.perf_counter()
        self._process = subprocess.Popen(
            self._version.words("mcp"), cwd=self._version.tree, env=self._version.environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        client = {"name": "benchmark", "version": "1"}
        self._request("initialize", protocolVersion=PROTOCOL, capabilities={}, clientInfo=client)
        self._say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self._ask(question)
        wall = time.perf_counter() - begun
        return Lap(wall, processor_of(self._process.pid), os.getloadavg()[0])

    def call(self, question: str) -> Lap:
        """One more question."""
        before, begun = processor_of(self._process.pid), time.perf_counter()
        self._ask(question)
        wall = time.perf_counter() - begun
        return Lap(wall, processor_of(self._process.pid) - before, os.getloadavg()[0])

    def _ask(self, question: str) -> None:
        arguments = {"question": question, "names": []}
        answer = self._request("tools/call", name="context_query", arguments=arguments)
        if "result" not in answer or answer["result"].get("isError"):
            raise RuntimeError(f"the tool did not answer: {answer}")

    def close(self) -> None:
        """End the server."""
        self._process.communicate()


class Turns:
    """The laps of several sides by figure; the sides take turns at being first."""

    def __init__(self, sides: Sequence[str]) -> None:
        self.sides = sides
        self.laps: dict[str, dict[str, dict[Any, list[Lap]]]] = {}
        self._turn = 0

    def take(self, figure: str, key: Any, actions: Sequence[Callable[[], Lap]]) -> None:
        """Do one action of each side, in the order of the sides or against it, and keep the laps."""
        self._turn += 1
        pairs = list(zip(self.sides, actions, strict=True))
        for side, action in pairs if self._turn % 2 else reversed(pairs):
            self.laps.setdefault(figure, {}).setdefault(side, {}).setdefault(key, []).append(action())

    def least(self, figure: str, side: str, clock: str = "cpu") -> list[float]:
        """The smallest seconds of each step of a figure."""
        return [min(getattr(one, clock) for one in laps) for laps in self.laps[figure][side].values()]
