"""Every system call that writes fails once, or the process dies there, one call after the other.

    LD_PRELOAD=shim.so python -m tests.faults.injection FOLDER '{"writers": [], "faults": [], "most": 0}'

prints one JSON object for each writer and fault; `run` builds the shim and starts this. A process that has imported
everything is forked for each point: the fork lets one call fail (see shim.c) and runs the commands of the writer. A
second fork, without faults, looks at what is left, runs the commands that did not succeed again, and compares the state
with that of an undisturbed run.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from satchel.store.sqlite.connection import MAX_BACKUPS, backups, damage
from tests.faults.bench import QUESTION, Bench, Fork, Ran, environment, inside, load_modules, set_up
from tests.soundness import contents, faults
from tests.store.older import unpacked

HERE = Path(__file__).parent
ADDS, CHANGES, LOCKS = 1, 2, 4

FAULTS: Mapping[str, tuple[int, bool, int]] = {
    "killed": (0, False, ADDS | CHANGES),
    "EIO once": (errno.EIO, False, ADDS | CHANGES),
    "ENOSPC once": (errno.ENOSPC, False, ADDS),
    "ENOSPC from there on": (errno.ENOSPC, True, ADDS),
    "EINTR once": (errno.EINTR, False, ADDS),
    "ENOLCK once": (errno.ENOLCK, False, LOCKS),
}
"""Name -> error (0: the process is killed in the middle of a write), whether it stays, and the calls that it is for."""

LATER = "def later() -> None:\n    '''Sends an order later.'''\n"


@dataclass(frozen=True)
class Writer:
    """Commands that write, what is there before them, whether they repair something, and whether they index first."""

    commands: Sequence[Sequence[str]]
    before: Callable[[Bench], object] = lambda _: None
    repairs: bool = False
    is_first: bool = False


def run_all(*commands: Sequence[str]) -> Callable[[Bench], None]:
    """Prepare with some commands."""

    def prepare(bench: Bench) -> None:
        for command in commands:
            ran = bench(command)
            assert ran.code == 0, ran

    return prepare


def _edited(bench: Bench) -> None:
    (bench.root / "shop" / "later.py").write_text(LATER)
    (bench.root / "shop" / "prices.py").unlink()


def _aged(bench: Bench) -> None:
    run_all(FIRST, SECOND)(bench)
    for copy in backups(bench.memory):
        os.utime(copy, (1, 1))


def _junk(bench: Bench) -> None:
    run_all(FIRST, SECOND)(bench)
    for path in bench.memory.parent.glob("memory.db*"):
        path.unlink()
    bench.memory.write_bytes(b"junk" * 4_000)


def _one_broken(bench: Bench) -> None:
    run_all(FIRST, SECOND)(bench)
    connection = apsw.Connection(str(bench.memory))
    connection.execute("UPDATE texts SET body = x'00' WHERE document = (SELECT max(document) FROM texts)")
    connection.close()


def _exported(bench: Bench) -> None:
    run_all(FIRST, ("export", "../out.jsonl"), SECOND)(bench)


def _to_import(bench: Bench) -> None:
    run_all(FIRST, SECOND, ("export", "../in.jsonl"), ("memory", "forget", "--origin", "notes", "--yes"), THIRD)(bench)


FIRST = ("memory", "add", "The backoff doubles because a linear wait hammered the server.", "--json")
SECOND = ("memory", "add", "Prices are kept in cents.", "--origin", "notes", "--json")
THIRD = ("memory", "add", "Orders are sent at most three times.", "--json")
START = (
    "experience", "start", "--domain", "debugging", "--strategy", "read-the-error", "--goal", "Orders arrive once",
    "--hypothesis", "The retry loop in client.py sends again after a late answer", "--action", "Send an id along",
    "--prediction", "The second order is refused", "--session", "s1",
)  # fmt: skip
RESOLVE = ("experience", "resolve", "--status", "confirmed", "--result", "It was refused", "--session", "s1")
HOOK_EVENTS = (
    ("session-start", "session-start"), ("prompt", "prompt"), ("after-tool", "after-edit"),
    ("session-end", "session-end"),
)  # fmt: skip
ASK = ("context", QUESTION, "--session", "s1", "--now", "2026-01-01", "--max-tokens", "600")

WRITERS: Mapping[str, Writer] = {
    "index, first": Writer([("index",)], is_first=True),
    "index, update": Writer([("index",)], _edited),
    "question that updates the index": Writer([ASK], _edited),
    "index, clean": Writer([("clean",)]),
    "sessions and receipts": Writer(
        [ASK, (*ASK, "--explain"), ("context", "discount", "--session", "s2", "--now", "2026-01-01")],
    ),
    "memory, first": Writer([FIRST]),
    "memory": Writer([THIRD, ("memory", "forget", "--origin", "notes", "--yes")], run_all(FIRST, SECOND)),
    "experiences": Writer([START, RESOLVE], run_all(FIRST)),
    "memory, daily backup": Writer([THIRD], _aged),
    "memory, migration": Writer([THIRD], lambda bench: unpacked(bench.memory, 1)),
    "memory, export": Writer([("export", "../out.jsonl", "--force")], _exported),
    "memory, import": Writer([("import", "../in.jsonl")], _to_import),
    "memory, repair": Writer([("memory", "repair"), THIRD], _one_broken, repairs=True),
    "memory, restore": Writer([("memory", "restore"), THIRD], _junk, repairs=True),
    "client set-up": Writer(
        [("setup", "claude-code", "--scope", "project", "--with-hooks"), ("remove", "claude-code")],
        lambda bench: _settings(bench),
    ),
    "hooks": Writer(
        [("event", word, name, "s1") for word, name in HOOK_EVENTS],
        run_all(FIRST),
    ),
    "settings": Writer(
        [
            ("config", "set", "hooks.enabled", "false"),
            ("trust",),
            ("workspace", "add", "shop", "."),
            ("config", "set", "hooks.enabled", "true"),
        ]
    ),
}  # fmt: skip


def _settings(bench: Bench) -> None:
    (bench.root / ".mcp.json").write_text('{\n  "mcpServers": {"other": {"command": "x"}}\n}\n')
    (bench.root / ".claude").mkdir()
    (bench.root / ".claude" / "settings.json").write_text('{"model": "opus"}\n')


@dataclass
class Result:
    """The points of one writer and one fault."""

    writer: str
    fault: str
    calls: int = 0
    points: int = 0
    succeeded: int = 0
    bad: list[str] = field(default_factory=list)
    bad_points: int = 0
    left_files: dict[str, int] = field(default_factory=dict)


def state(bench: Bench) -> dict[str, Any]:
    """All that the commands can change, without numbers of rows and clocks."""
    kept: dict[str, Any] = {"memories": [], "answer": "", "files": {}}
    if bench.memory.exists():
        kept["memories"] = sorted({*_memories(bench)})  # one that was not acknowledged may be there twice
        listed = json.loads(bench(("experience", "list", "--json")).out or "{}")
        kept["experiences"] = sorted(str(row.get("goal")) for row in listed.get("experiences", ()))
    for index in bench.home.glob("cache/index/*/index.db"):
        kept["index"] = repr(_look(index, contents))
    for name in (".mcp.json", ".claude/settings.json", "../out.jsonl"):
        path = bench.root / name
        kept["files"][name] = _plain(path.read_text()) if path.exists() else None
    return kept


def _plain(text: str) -> str:
    return re.sub(r"[0-9a-f]{8,}|\d+", "#", text)


def _memories(bench: Bench) -> list[str]:
    ran = bench(("memory", "list", "--json"))
    if ran.code:
        raise AssertionError(f"memory list: {ran.err or ran.code}")
    return [row["content"] for row in json.loads(ran.out)["memories"]]


def _look(path: Path, function: Callable[[apsw.Connection], Any]) -> Any:
    connection = apsw.Connection(str(path))
    try:
        return function(connection)
    finally:
        connection.close()


def look(bench: Bench, writer: Writer, rans: Sequence[Ran], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Find what is wrong after a fault: at once, and after the commands that did not succeed were run again."""
    bad = [f"{ran.err}" for ran in rans if "Traceback" in ran.err or "internal error" in ran.err]
    done = [ran.code == 0 for ran in rans]
    if not writer.repairs:
        bad += _harm(bench, writer, done) + _ask(bench)
    for command in writer.commands[[*done, False].index(False) :]:
        again = bench(command)
        was_done = re.search("is not set up|has an active|has no active", again.err)  # by the run that was killed
        if (again.code and not was_done) or "Traceback" in again.err:
            bad.append(f"again: {' '.join(command[:2])}: exit {again.code}: {again.err}")
    bad += _harm(bench, writer, [True] * len(done))
    if len(backups(bench.memory)) > MAX_BACKUPS:
        bad.append(f"{len(backups(bench.memory))} backups")
    for index in bench.home.glob("cache/index/*/index.db"):
        bad += [f"index: {fault}" for fault in _look(index, faults)]
    after = state(bench)
    if after.get("index") != expected.get("index"):
        bad += _ask(bench)  # brings it up to date
        after = state(bench)
    bad += [f"{name} differs: {str(after.get(name))[:300]}" for name in expected if after.get(name) != expected[name]]
    return {"bad": bad, "files": bench.files()}


def _harm(bench: Bench, writer: Writer, done: Sequence[bool]) -> list[str]:
    """Return damage of stores (as `doctor` sees it), lost acknowledged memories, and questions without an answer."""
    stores = [bench.memory, *bench.home.glob("cache/index/*/index.db")]
    bad = [
        f"{path.name}: {fault}" for path in stores if path.exists() and path.stat().st_size for fault in damage(path)
    ]
    commands = [command for command, is_done in zip(writer.commands, done, strict=True) if is_done]
    memories = _memories(bench)
    before = [] if writer.repairs else json.loads((bench.folder / "before.json").read_text())
    is_forgotten = any("forget" in command for command in writer.commands)
    must = [command[2] for command in commands if command[:2] == ("memory", "add")]
    must += [text for text in before if not (is_forgotten and text == SECOND[2])]
    bad += [f"lost: {text}" for text in must if text not in memories]
    if any("forget" in command for command in commands) and SECOND[2] in memories:
        bad.append("a forgotten memory is back")
    return bad


def _ask(bench: Bench) -> list[str]:
    asked = bench(("context", QUESTION, "--max-tokens", "600"))
    is_answered = asked.code == 0 and "2**attempt" in asked.out and "Traceback" not in asked.err
    return [] if is_answered else [f"question: exit {asked.code}: {asked.err or asked.out[:300]}"]


class Sweep:
    """The points of one writer and one fault."""

    def __init__(self, bench: Bench, shim: ctypes.CDLL, name: str, fault: str) -> None:
        self._bench, self._shim, self._writer, self._fault = bench, shim, WRITERS[name], FAULTS[fault]
        self.result = Result(name, fault)
        if failed := [ran for ran in self._attempt(0) if ran.code]:
            raise AssertionError(f"{name} fails without a fault: {failed}")
        self.result.calls = int(shim.fault_calls())
        done = [Ran(0, "", "")] * len(self._writer.commands)
        self._files: dict[str, int] = inside(lambda: look(bench, self._writer, done, {}))["files"]
        self._expected: dict[str, Any] = inside(lambda: state(bench))

    def points(self, most: int) -> list[int]:
        """Return all points, or about `most` of them, from the first to the last."""
        last = self.result.calls
        return sorted(
            {1 + number * (last - 1) // max((most or last) - 1, 1) for number in range(min(most or last, last))}
        )

    def attempt(self, point: int) -> None:
        """Try one point and add what was found to the result."""
        result = self.result
        before = len(result.bad)
        rans = self._attempt(point)
        place = self._shim.fault_where().decode()
        if not place:
            return  # this run had fewer calls: threads and clocks
        result.points += 1
        result.succeeded += all(ran.code == 0 for ran in rans)
        found = Fork(lambda: look(self._bench, self._writer, rans, self._expected)).result()
        bad = [found["raised"]] if "raised" in found else found["bad"]
        result.bad += [f"point {point}, {place}: {text}" for text in bad]
        result.bad_points += len(result.bad) > before
        for file, count in found.get("files", {}).items():
            if (more := count - self._files.get(file, 0)) > 0:
                result.left_files[file] = result.left_files.get(file, 0) + more

    def _attempt(self, point: int) -> list[Ran]:
        """Run the commands with the fault at a point; without one for 0."""
        self._bench.reset()
        progress = self._bench.folder.with_name("progress")
        error, persists, classes = self._fault
        self._shim.fault_plan(point, error, persists, classes, str(self._bench.folder).encode())

        def commands() -> None:
            with progress.open("w") as file:
                self._shim.fault_begin()
                for command in self._writer.commands:
                    file.write(json.dumps(self._bench(command)) + "\n")
                    file.flush()

        progress.unlink(missing_ok=True)
        failed = Fork(commands).result()
        if failed is not None:
            self.result.bad.append(f"point {point}: {failed['raised']}")
        rans = [Ran(*json.loads(line)) for line in progress.read_text().splitlines()]
        return rans + [Ran(-1, "", "")] * (len(self._writer.commands) - len(rans))


def main() -> int:
    """Try what the second argument asks for, below the folder of the first one."""
    options = json.loads(sys.argv[2])
    shim = ctypes.CDLL(os.environ["LD_PRELOAD"])
    shim.fault_where.restype, shim.fault_calls.restype = ctypes.c_char_p, ctypes.c_long
    shim.fault_plan.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_char_p)
    set_up()
    bench = Bench(Path(sys.argv[1]))
    for name in options["writers"] or WRITERS:
        writer = WRITERS[name]
        bench.prepare(lambda bench: _prepared(bench, writer))  # noqa: B023 - called at once
        load_modules(lambda: ([bench(one) for one in writer.commands], state(bench), _ask(bench)))  # noqa: B023
        for fault in options["faults"] or FAULTS:
            started = time.monotonic()
            sweep = Sweep(bench, shim, name, fault)
            for point in sweep.points(options["most"]):
                sweep.attempt(point)
            print(json.dumps({**vars(sweep.result), "seconds": round(time.monotonic() - started, 1)}), flush=True)
    return 0


def _prepared(bench: Bench, writer: Writer) -> None:
    if not writer.is_first:
        run_all(("index",))(bench)
    writer.before(bench)
    kept = [] if writer.repairs or not bench.memory.exists() else _memories(bench)
    (bench.folder / "before.json").write_text(json.dumps(kept))


def run(folder: Path, **options: Any) -> Iterator[dict[str, Any]]:
    """Build the shim, try the writers and faults of the options, and yield the result of each pair."""
    shim = folder / "shim.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", shim, HERE / "shim.c", "-ldl"], check=True)
    command = [
        sys.executable,
        "-P",
        "-m",
        "tests.faults.injection",
        str(folder),
        json.dumps({"writers": [], "faults": [], "most": 0} | options),
    ]
    environ = environment(folder) | {"LD_PRELOAD": str(shim)}
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode:
        raise AssertionError(f"the injection ended with {process.returncode}")


if __name__ == "__main__":
    sys.exit(main())
