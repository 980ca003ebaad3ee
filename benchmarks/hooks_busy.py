"""How many prompts that come at once are answered in time beside processes that compute, with a resident and without.

    python benchmarks/hooks_busy.py --out benchmarks/results/hooks_busy.json [--root FOLDER] [--beside 10]

Prompts come in waves of three to twelve, each of a session of its own; a wave begins when the one before has ended.
`--beside` processes compute all the time: with none the load is what the machine has already. Whatever a hook needs,
it has to exit with 0 before the limit of the hosts that `satchel setup` writes. `late` counts what `satchel doctor`
tells.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from resident import PROMPTS
from stopwatch import fresh_home

from satchel import Satchel
from satchel.config import Folders
from satchel.system import resident, telemetry

WAVES = (3,) * 14 + (4,) * 6 + (5,) * 6 + (12,) * 3
"""Prompts at once: 132 together."""

HOST_SECONDS = 10.0
"""The limit that `satchel setup` writes beside each hook."""


def main() -> None:
    """Measure and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--beside", type=int, default=10, help="processes that compute beside the hooks")
    parser.add_argument("--only", choices=("resident", "alone"), help="measure one way only")
    options = parser.parse_args()
    root = options.root.resolve()
    result: dict[str, Any] = {"root": root.name, "cores": os.cpu_count(), "beside": options.beside, "waves": WAVES}
    with tempfile.TemporaryDirectory(prefix="satchel-") as folder:
        home = {**fresh_home(Path(folder)), "SATCHEL_EMBED_PROVIDER": "off"}
        with Satchel.open(root, root=root, environ=home) as satchel:
            satchel.index()
        with computing(options.beside):
            for way in [options.only] if options.only else ("resident", "alone"):
                with running(root, home, is_wanted=way == "resident"):
                    result[way] = measured(root, home, way)
                print(way, json.dumps(result[way]), flush=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


@contextmanager
def computing(count: int) -> Iterator[None]:
    """Let so many processes compute while the block runs."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for one in busy:
            one.kill()
            one.wait()


@contextmanager
def running(root: Path, home: Mapping[str, str], *, is_wanted: bool) -> Iterator[None]:
    """Run a server of the root while the block runs, and ask it each question once, which fills its caches."""
    if not is_wanted:
        yield
        return
    server = subprocess.Popen(
        [sys.executable, "-P", "-m", "satchel", "mcp"], cwd=root, env=home,
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        sockets = Path(resident.socket_folder(home))
        while not sockets.exists() or not any(sockets.iterdir()):
            time.sleep(0.05)
        for prompt in PROMPTS:
            subprocess.run(
                [sys.executable, "-P", "-m", "satchel", "context", prompt], cwd=root, env=home, capture_output=True
            )
        yield
    finally:
        server.communicate()


def measured(root: Path, home: Mapping[str, str], way: str) -> dict[str, Any]:
    """Send all waves and count the answers."""
    answered, codes, seconds, in_time = 0, set[int](), list[float](), 0
    before = len(telemetry.late_events(Folders.from_environment(home).state))
    loads: list[float] = []
    asked = 0
    for number, size in enumerate(WAVES):
        loads.append(os.getloadavg()[0])
        hooks = []
        for at in range(size):
            event = {
                "hook_event_name": "UserPromptSubmit", "session_id": f"{way}-{number}-{at}", "cwd": str(root),
                "prompt": PROMPTS[asked % len(PROMPTS)],
            }  # fmt: skip
            asked += 1
            began = time.monotonic()
            hook = subprocess.Popen(
                [sys.executable, "-P", "-m", "satchel", "hook", "prompt"], cwd=root, env=home,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            assert hook.stdin is not None
            hook.stdin.write(json.dumps(event).encode())
            hook.stdin.close()
            hooks.append((began, hook))
        for began, hook in hooks:
            assert hook.stdout is not None
            answered += bool(hook.stdout.read())
            codes.add(hook.wait())
            seconds.append(time.monotonic() - began)
            in_time += seconds[-1] < HOST_SECONDS
    seconds.sort()
    return {
        "prompts": asked, "answered": answered, "within_host_limit": in_time, "exit_codes": sorted(codes),
        "late": len(telemetry.late_events(Folders.from_environment(home).state)) - before,
        "wall_s": {"median": round(seconds[asked // 2], 2), "p95": round(seconds[asked * 95 // 100], 2),
                   "max": round(seconds[-1], 2)},
        "load": {"least": round(min(loads), 1), "most": round(max(loads), 1)},
    }  # fmt: skip


if __name__ == "__main__":
    main()
