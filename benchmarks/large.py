"""What a work tree with a million documents costs: memory, questions, disk, and the switch of a branch.

    python benchmarks/large.py --documents 1000000 --out benchmarks/results/large.json

The files are those of `code_pool.py`, committed to a git repository. Everything else is a user's: `satchel index`
as a process of its own, with the workers that it starts, and another process that stays and is asked.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from code_pool import MAX_TOKENS, Source, load_pool, questions, renamed
from guards import commit
from stopwatch import PeakMemory, base_home, lap, quantiles, run

from satchel import Satchel

CHANGED = 500
"""Files that differ between the two branches."""

INDEX = (sys.executable, "-m", "satchel", "index", "--quiet")
GIT = ("git", "-c", "core.compression=0", "-c", "user.name=bench", "-c", "user.email=bench@example.com")
TARGETS: Mapping[str, tuple[tuple[str, ...], float]] = {
    "peak memory while indexing, MB": (("first_index", "peak_total_mb"), 400),
    "question p95, ms": (("asked", "answer", "wall_ms", "p95"), 500),
    "idle memory, MB": (("asked", "idle_mb"), 120),
}
"""What is aimed at: where it stands in the result, and the most that it should be."""


def write_tree(pool: Sequence[Source], documents: int, root: Path) -> dict[str, Any]:
    """Write files until they have so many parts and commit them, with a second branch that changes some of them."""
    count, copy, size, paths = 0, 0, 0, list[Path]()
    while count < documents:
        for source in pool:
            name, text, outline = renamed(source, copy)
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            size += path.write_bytes(text.encode())
            paths.append(path)
            count += len(outline.parts)
            if count >= documents:
                break
        copy += 1
    git = partial(run, folder=root, environment=os.environ)
    for words in (
        ("init", "-q", "-b", "main"),
        ("add", "-A"),
        ("commit", "-qm", "the tree"),
        ("switch", "-qc", "other"),
    ):
        git([*GIT, *words])
    for path in paths[:: max(len(paths) // CHANGED, 1)][:CHANGED]:
        with path.open("a", encoding="utf-8") as file:
            file.write(f"\n\ndef added_on_the_other_branch_{len(path.name)}(value):\n    return value\n")
    git([*GIT, "commit", "-qam", "some files change"])
    git([*GIT, "switch", "-q", "main"])
    return {"documents": count, "files": len(paths), "source_mb": round(size / 1e6, 1)}


def indexed(root: Path, home: Mapping[str, str]) -> dict[str, Any]:
    """Bring the index up to date in a process; return its seconds and memory. Raises RuntimeError when it fails."""
    peaks = []

    def whole() -> None:
        with subprocess.Popen(INDEX, cwd=root, env=home) as process, PeakMemory(process.pid) as peak:
            peaks.append(peak)
            if process.wait():
                raise RuntimeError(f"satchel index ended with {process.returncode}")

    took = lap(whole)
    return {
        "wall_s": round(took.wall, 2),
        "cpu_s": round(took.cpu, 2),
        "load": round(took.load, 1),
        "peak_total_mb": round(peaks[0].total / 1e6, 1),
        "peak_largest_process_mb": round(peaks[0].largest / 1e6, 1),
    }


def resident_mb() -> float:
    """Memory of this process right now, in MB."""
    gc.collect()
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return round(int(dict(re.findall(r"^(Vm\w+):\s+(\d+) kB$", status, re.M))["VmRSS"]) * 1024 / 1e6, 1)


def ask(root: Path, asked: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Memory and question times of this process, which must be a new one."""
    with Satchel.open(root, root=root) as opened:
        result: dict[str, Any] = {"opened_mb": resident_mb()}
        result["unchanged_s"] = round(lap(opened.index).wall, 2)
        result["idle_mb"] = resident_mb()
        answer = partial(opened.assemble, types=["code"], purpose="find", max_tokens=MAX_TOKENS, refresh=False)
        result["first_question_s"] = round(lap(partial(answer, "warm up the process")).wall, 2)
        result["after_first_question_mb"] = resident_mb()
        rows = {group: [lap(partial(answer, one)) for one in every] for group, every in asked.items()}
        result["groups"] = {group: quantiles(measured) for group, measured in rows.items()}
        result["answer"] = quantiles([row for measured in rows.values() for row in measured])
        return result | {"after_questions_mb": resident_mb()}


def measure(pool: Sequence[Source], documents: int) -> dict[str, Any]:
    """All figures of one size."""
    with tempfile.TemporaryDirectory(prefix="satchel-large-") as name:
        root, home, asked = Path(name) / "tree", base_home(Path(name) / "home"), Path(name) / "questions.json"
        root.mkdir()
        result: dict[str, Any] = {"satchel": commit(), **write_tree(pool, documents, root)}
        result["first_index"] = indexed(root, home)
        with Satchel.open(root, root=root, environ=home) as opened:
            folder = opened.places.index
            result["chunks"] = sum(opened.store.kinds().values())
        sizes = {file.name: file.stat().st_size for file in folder.iterdir()}
        result["disk_mb"] = {key: round(size / 1e6, 1) for key, size in sorted(sizes.items())}
        result["disk_per_source"] = round(sum(sizes.values()) / 1e6 / result["source_mb"], 2)
        asked.write_text(json.dumps(questions(pool)), encoding="utf-8")
        command = [sys.executable, __file__, "--ask", str(root), "--questions", str(asked)]
        result["asked"] = json.loads(run(command, root, home))
        for name_, branch in (("switch_there", "other"), ("switch_back", "main")):
            run([*GIT, "switch", "-q", branch], root, os.environ)
            result[name_] = indexed(root, home)
    return result | {"targets": judged(result)}


def judged(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What is aimed at, beside what was measured."""
    rows = []
    for name, (place, most) in TARGETS.items():
        value: Any = result
        for key in place:
            value = value[key]
        rows.append({"name": name, "target": most, "measured": value, "met": value <= most})
    return rows


def main() -> int:
    """Measure and store the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--pool", type=Path, default=Path(sysconfig.get_paths()["purelib"]), help="where the texts are")
    parser.add_argument("--out", type=Path, help="where to store the row; those of other sizes are kept")
    parser.add_argument("--ask", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--questions", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ask:
        print(json.dumps(ask(options.ask, json.loads(options.questions.read_text(encoding="utf-8")))))
        return 0
    row = {"asked_for": options.documents, **measure(load_pool(options.pool), options.documents)}
    print(json.dumps(row, indent=1))
    if options.out:
        kept = json.loads(options.out.read_text(encoding="utf-8")) if options.out.exists() else []
        rows = [row, *(one for one in kept if one["asked_for"] != options.documents)]
        rows.sort(key=lambda one: int(one["asked_for"]))
        options.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
