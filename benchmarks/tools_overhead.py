"""What context costs a call of a tool: a wrapped function, and a server behind `satchel proxy`.

    python benchmarks/tools_overhead.py [--save] [--runs N]

The repository, its 50 rules and 100 contexts are those of `situation.py`. Each call has other parameters. A wrapped
tool that takes no context and returns no mapping shows what the wrapping alone costs, the one with an assembler that
does nothing what handing the work to a thread costs. Behind the proxy are an unchosen tool (the relay alone), and a
chosen one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from situation import CONTEXTS, RULES, prepared

from satchel import Satchel, __version__, create_context_aware_tools

ROOT = Path(__file__).resolve().parents[1]
SERVER = ROOT / "tests" / "mcp" / "odd_server.py"
MAX_TOKENS = 1_000


class NoAssembler:
    """An assembler that does nothing."""

    def situation(self, _: object, **__: object) -> str:
        """An empty context."""
        return ""


def edit_file(path: str, task: str, _context: Any = None) -> dict[str, Any]:
    """A tool that takes a context and returns a mapping."""
    return {"path": path, "task": task}


def sizes(path: str, task: str) -> int:
    """A tool that does neither."""
    return len(path) + len(task)


def arguments(number: int) -> dict[str, str]:
    """Parameters that no other call has."""
    return {
        "path": f"src/part{number % 60}/a.py",
        "task": f"part{number % 50}: write database migrations, run {number}",
    }


def situation(number: int) -> dict[str, Any]:
    """What a call with these parameters is assembled for."""
    given = arguments(number)
    return {"tool": "edit_file", "params": given, "task": given["task"], "files": [given["path"]]}


def times_of(call: Callable[[int], object], runs: int) -> dict[str, float]:
    """Median and 95th percentile of calls in milliseconds, and this process's own time a call.

    The first call is not counted. On a machine that others use too, p50 and p95 say what they did as well.
    """
    call(runs)
    times, processor = [], time.process_time()
    for number in range(runs):
        started = time.perf_counter()
        call(number)
        times.append((time.perf_counter() - started) * 1_000)
    own = (time.process_time() - processor) / runs * 1_000
    times.sort()
    found = {"p50_ms": median(times), "p95_ms": times[int(len(times) * 0.95) - 1], "own_ms": own}
    return {name: round(value, 3) for name, value in found.items()}


@contextmanager
def server(command: list[str], environ: dict[str, str]) -> Iterator[Callable[[str, int], Any]]:
    """A running server as a function of tool and number; answers come one after the other."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def call(tool: str, number: int) -> Any:
            params = {"name": tool, "arguments": arguments(number)}
            message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())["result"]

        yield call
        process.stdin.close()


def in_python(root: Path, environ: dict[str, str], runs: int) -> dict[str, Any]:
    """Functions, plain and wrapped."""
    with Satchel.open(root=root, environ=environ) as satchel:
        satchel.index()
        plain: dict[str, Any] = {"edit_file": edit_file, "sizes": sizes}
        bare = create_context_aware_tools(NoAssembler(), plain)
        real = create_context_aware_tools(satchel, plain, max_tokens=MAX_TOKENS)
        found = real["edit_file"](**arguments(0))["_meta"]["contextUsed"]
        assert found["items"]
        assert not any("assembled within" in warning for warning in found["warnings"])
        calls: dict[str, Callable[[int], object]] = {
            "plain": lambda number: edit_file(**arguments(number)),
            "wrapped, needs no context": lambda number: real["sizes"](**arguments(number)),
            "wrapped, assembler that does nothing": lambda number: bare["edit_file"](**arguments(number)),
            "wrapped": lambda number: real["edit_file"](**arguments(number)),
            "assembly alone": lambda number: satchel.situation(situation(number), max_tokens=MAX_TOKENS),
        }
        return {name: times_of(call, runs) for name, call in calls.items()}


def behind_proxy(root: Path, environ: dict[str, str], runs: int) -> dict[str, Any]:
    """The same server without the proxy, behind it, and with context."""
    command = [sys.executable, str(SERVER)]
    proxy = [sys.executable, "-P", "-m", "satchel", "proxy", "--root", str(root), "--tools", "echo", "--", *command]
    with server(command, environ) as call:
        direct = times_of(lambda number: call("echo", number), runs)
    with server(proxy, environ) as call:
        result = call("echo", 0)
        while len(result["content"]) == 1:  # the first ones come while the index is opened
            result = call("echo", 0)
        relayed = times_of(lambda number: call("odd_echo", number), runs)
        chosen = times_of(lambda number: call("echo", number), runs)
        assert len(call("echo", 1)["content"]) == 2
    return {"direct": direct, "proxy, tool not chosen": relayed, "proxy, tool chosen": chosen}


def main() -> None:
    """Measure; print, or save with `--save`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--runs", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = prepared(Path(folder))
        environ = {**os.environ, "SATCHEL_HOME": f"{folder}/home", "SATCHEL_EMBED_PROVIDER": "off"}
        result = {
            "version": __version__, "rules": RULES, "contexts": CONTEXTS, "max_tokens": MAX_TOKENS,
            "runs": options.runs, "load": round(os.getloadavg()[0], 1),
            "python": in_python(root, environ, options.runs),
            "mcp": behind_proxy(root, environ, options.runs),
        }  # fmt: skip
    print(json.dumps(result, indent=2))
    if options.save:
        target = ROOT / "benchmarks/results/tools_overhead.json"
        target.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
