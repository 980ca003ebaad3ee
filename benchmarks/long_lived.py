"""Whether `satchel mcp` and `satchel serve` keep their memory and file descriptors over thousands of calls.

    python benchmarks/long_lived.py TREE --out benchmarks/results/long_lived.json [--calls 5000]

The tree is cloned. Questions are made of names of its definitions; every tenth call uses another tool. Memory and
descriptors are read after the first 500 calls, which fill the caches, and at the end. Then a client asks one question
after the other, alone, and beside 64 clients that send their requests a byte at a time.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from http_load import TOKEN, Server, milliseconds, questions_of
from stopwatch import fresh_home, resident_bytes

import satchel

WARM = 500
"""Calls before the first measurement."""

MAX_GROWTH = 0.10
"""Largest growth of the memory after the warm calls."""

SPARE_DESCRIPTORS = 4
"""File descriptors that may be open in addition at a measurement: a connection or a snapshot that ends later."""

SLOW = 64
NORMAL_CALLS = 200
BYTE_SECONDS = 0.05

Ask = Callable[[str, dict[str, Any]], None]


@contextlib.contextmanager
def stdio(tree: Path, home: Path, source: Path) -> Iterator[tuple[int, Ask]]:
    """`satchel mcp`: its process id, and a call of a tool."""
    environment = fresh_home(home) | {"SATCHEL_EMBED_PROVIDER": "off", "PYTHONPATH": str(source)}
    command = [sys.executable, "-P", "-m", "satchel", "mcp"]
    with subprocess.Popen(command, cwd=tree, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        numbers = iter(range(1, sys.maxsize))

        def request(method: str, params: dict[str, Any]) -> None:
            message = {"jsonrpc": "2.0", "id": next(numbers), "method": method, "params": params}
            process.stdin.write(json.dumps(message).encode() + b"\n")  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
            answer = json.loads(process.stdout.readline())  # type: ignore[union-attr]
            assert "result" in answer, answer
            assert not answer["result"].get("isError"), answer

        client = {"name": "benchmark", "version": "1"}
        request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        yield process.pid, lambda tool, arguments: request("tools/call", {"name": tool, "arguments": arguments})
        process.stdin.close()


@contextlib.contextmanager
def served(tree: Path, home: Path, source: Path) -> Iterator[Server]:
    """`satchel serve` with one process."""
    server = Server(tree, home, source, 1)
    try:
        yield server
    finally:
        server.process.terminate()
        server.process.wait()


def asked(server: Server) -> Ask:
    """A call of an operation over HTTP, on a connection of its own."""

    def ask(operation: str, arguments: dict[str, Any]) -> None:
        status, body, _ = server.request("POST", f"/api/{operation}", json.dumps(arguments).encode())
        assert status == 200, body

    return ask


def use(process: int) -> dict[str, float]:
    """Memory and file descriptors of a process."""
    return {
        "rss_mb": round(resident_bytes(process) / 1e6, 1),
        "descriptors": len(os.listdir(f"/proc/{process}/fd")),  # noqa: PTH208 - names are enough
    }


def many(process: int, ask: Ask, questions: list[str], calls: int) -> dict[str, Any]:
    """Make all calls, and read the use of the process along the way."""
    rows: dict[str, dict[str, float]] = {"0": use(process)}
    begun = time.perf_counter()
    for number in range(1, calls + 1):
        question = questions[number % len(questions)]
        if number % 10:
            ask("context_query", {"question": question, "max_tokens": 2_000})
        elif number % 20:
            ask("search", {"question": question})
        else:
            ask("remember", {"action": "list", "limit": 5})
        if number == WARM or number % 1_000 == 0:
            rows[str(number)] = use(process)
            print(number, rows[str(number)], file=sys.stderr, flush=True)
    warm, last = rows[str(WARM)], use(process)
    growth = last["rss_mb"] / warm["rss_mb"] - 1
    more = last["descriptors"] - warm["descriptors"]
    return {
        "calls": calls,
        "ms_a_call": round((time.perf_counter() - begun) * 1000 / calls, 1),
        "use_after_calls": rows,
        "growth_after_warm": round(growth, 3),
        "is_flat": growth <= MAX_GROWTH and more <= SPARE_DESCRIPTORS,
    }


def beside_slow(server: Server, questions: list[str]) -> dict[str, Any]:
    """Durations of a normal client alone, and beside clients that send a byte at a time."""

    def normal() -> list[float]:
        arguments = [{"question": questions[n % len(questions)], "max_tokens": 2_000} for n in range(NORMAL_CALLS)]
        rows = [server.request("POST", "/api/context_query", json.dumps(one).encode()) for one in arguments]
        assert all(status == 200 for status, _, _ in rows)
        return [seconds for _, _, seconds in rows]

    done, cut = threading.Event(), [0] * SLOW
    body = b'{"question": "backoff"}'
    head = (
        f"POST /api/search HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )

    def slow(slot: int) -> None:
        while not done.is_set():
            with (
                contextlib.suppress(ConnectionError),
                socket.create_connection(("127.0.0.1", server.port)) as connection,
            ):
                for byte in head.encode() + body:
                    if done.wait(BYTE_SECONDS):
                        return
                    connection.send(bytes([byte]))
            cut[slot] += 1

    alone = normal()
    before = use(server.process.pid)
    threads = [threading.Thread(target=slow, args=(slot,)) for slot in range(SLOW)]
    for thread in threads:
        thread.start()
    beside = normal()
    during = use(server.process.pid)
    done.set()
    for thread in threads:
        thread.join()
    time.sleep(1)  # so that the server sees that they are gone
    return {
        "slow_clients": SLOW,
        "slow_requests_ended": sum(cut),
        "calls": NORMAL_CALLS,
        "alone_ms": milliseconds(alone),
        "beside_ms": milliseconds(beside),
        "use": {"before": before, "during": during, "after": use(server.process.pid)},
    }


def main() -> None:
    """Measure and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tree", type=Path)
    parser.add_argument("--calls", type=int, default=5_000)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    source = Path(satchel.__file__).parents[1]
    asked_commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=source, check=True, capture_output=True)
    result: dict[str, Any] = {
        "tree": options.tree.resolve().name,
        "satchel": satchel.__version__,
        "commit": asked_commit.stdout.decode().strip(),
        "python": platform.python_version(),
        "when": datetime.now(UTC).strftime("%Y-%m-%d"),
        "processors": len(os.sched_getaffinity(0)),
        "load_before": round(os.getloadavg()[0], 1),
    }
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(options.tree.resolve()), str(tree)], check=True)
        questions = questions_of(tree, 400)
        with stdio(tree, Path(folder) / "mcp", source) as (process, ask):
            result["mcp"] = many(process, ask, questions, options.calls)
        print(json.dumps(result["mcp"]), flush=True)
        with served(tree, Path(folder) / "serve", source) as server:
            result["serve"] = many(server.process.pid, asked(server), questions, options.calls)
            print(json.dumps(result["serve"]), flush=True)
            result["slow"] = beside_slow(server, questions)
    result["load_after"] = round(os.getloadavg()[0], 1)
    options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result["slow"]))


if __name__ == "__main__":
    main()
