"""Whether memories outlast flipped bytes in any file of satchel, and processes of two versions at once.

    python benchmarks/lasting.py --out benchmarks/results/lasting.json [--flips 200] [--old COMMIT --runs 40]

Flips: a home with an index and memories is copied, a byte of one of its files is changed, and a question is asked, the
memories are listed and one more is kept. What is refused or left out has to be named, and `repair` and `restore`, in
either order, have to bring all back. Versions: in each run processes of the old and the new version remember, index and
ask in one home at the same time; what was acknowledged has to be listed by both. The exit status is 1 if a memory that
was acknowledged is lost or something else than an error of satchel is raised.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from guards import TREE, commit
from options import output

from satchel import Satchel
from satchel.errors import SatchelError
from satchel.testing import TinyRepository

KEPT = tuple(f"The kiln of studio {number} is lit at {number + 5} o'clock by its potter" for number in range(8))
LATER = "The glaze of the tall vases is blue"
QUESTION, ANSWER = "what does backoff return", "return 0.1 * 2**attempt"


def made(folder: Path) -> Path:
    """Make a repository, and a home with an index and memories; returns the home."""
    repository = TinyRepository(folder / "shop")
    repository.commit("Start", {"app.py": f"def backoff(attempt):\n    {ANSWER}\n", "docs/guide.md": "# Kilns\n"})
    home = folder / "home"
    for text in KEPT:  # as many processes do: each closes the store
        with opened(folder, home) as engine:
            engine.memories.add(text)
            engine.assemble(QUESTION)
    return home


def opened(folder: Path, home: Path) -> Satchel:
    """Open an engine in a home."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "SATCHEL_HOME": str(home / "satchel")}
    return Satchel.open(folder / "shop", environ=environ | {"SATCHEL_EMBED_PROVIDER": "off"})


def after_a_flip(folder: Path, home: Path, order: Sequence[str]) -> str:
    """Ask, list and remember in a home with a changed byte, and bring back what is lost; returns what became of it."""
    steps = []
    with opened(folder, home) as engine:
        if ANSWER not in engine.assemble(QUESTION).text:
            return "an answer without its lines"
    try:
        with opened(folder, home) as engine:
            engine.memories.add(LATER)
            steps.append("kept")
    except SatchelError as error:
        steps.append(f"refused: {str(error).partition(': ')[2][:40]}")
    lost = missing(folder, home, steps)
    if lost == []:
        return "all there"
    with opened(folder, home) as engine:  # one record that cannot be read is left out, which an answer has to say
        told = str(engine.assemble(LATER).failures)
    if lost and "cannot be read" not in told:
        return f"lost {len(lost)} in silence: {told}"
    for step in order:  # what is not needed any more is refused
        with contextlib.suppress(SatchelError), opened(folder, home) as engine:
            getattr(engine.memory, step)()
    still = missing(folder, home, steps)
    if still == []:
        return (
            f"{'listing refused' if lost is None else 'a record was left out, and said so'}, "
            f"{' and '.join(order)} brought all back"
        )
    return "no way back" if still is None else f"lost {len(still)} after {' and '.join(order)}"


def missing(folder: Path, home: Path, steps: Sequence[str]) -> list[str] | None:
    """Return the acknowledged memories that are not listed, None if listing is refused."""
    try:
        with opened(folder, home) as engine:
            listed = {one.content for one in engine.memories.listed()}
    except SatchelError:
        return None
    return [text for text in (*KEPT, *((LATER,) if "kept" in steps else ())) if text not in listed]


def flips(count: int, seed: int) -> dict[str, Any]:
    """Flip so many bytes, one at a time; returns what became of each, by kind of file."""
    chosen = random.Random(seed)
    found: dict[str, Counter[str]] = {}
    bad: list[str] = []
    with tempfile.TemporaryDirectory(prefix="satchel-flips-") as place:
        folder = Path(place)
        home = made(folder)
        files = sorted(path.relative_to(home) for path in home.rglob("*") if path.is_file() and path.stat().st_size)
        stores = [path for path in files if path.name == "memory.db"]
        for number in range(count):
            file = chosen.choice(stores if number % 2 else files)
            copy = folder / "copy"
            shutil.copytree(home, copy, symlinks=True)
            raw = bytearray((copy / file).read_bytes())
            # Every other one is in the first pages, which have the schema and the roots of the tables.
            at = chosen.randrange(min(len(raw), 8_192) if number % 4 == 1 else len(raw))
            raw[at] ^= 1 << chosen.randrange(8)
            (copy / file).write_bytes(raw)
            try:
                told = after_a_flip(folder, copy, (("repair", "restore"), ("restore", "repair"))[number // 2 % 2])
            except Exception:  # noqa: BLE001 - what is no error of satchel is what this looks for
                told = traceback.format_exc(limit=-1)
            if told.startswith(("lost", "no way", "an answer", "Traceback")):
                bad.append(f"{file} at {at}: {told}")
            found.setdefault(kind(file), Counter())[told.partition("\n")[0]] += 1
            shutil.rmtree(copy)
    return {"flips": count, "seed": seed, "by_file": {name: dict(one) for name, one in found.items()}, "bad": bad}


def kind(file: Path) -> str:
    """Return the kind of a file: its name without numbers and marks."""
    name = file.name if "index" not in file.parts else f"index/{file.name}"
    return "memory.backup" if "backup" in name else "memory.changes" if "changes" in name else name


def versions(old: str, runs: int, seed: int) -> dict[str, Any]:
    """Run processes of two versions at once in one home, again and again; returns what was lost."""
    chosen = random.Random(seed)
    counts: Counter[str] = Counter()
    lost: list[str] = []
    errors: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="satchel-versions-") as place:
        folder = Path(place)
        archive = subprocess.run(["git", "-C", str(TREE), "archive", old, "src"], check=True, capture_output=True)
        (folder / "old").mkdir()
        subprocess.run(["tar", "-x", "-C", str(folder / "old")], input=archive.stdout, check=True)
        repository = TinyRepository(folder / "shop")
        repository.commit("Start", {"app.py": f"def backoff(attempt):\n    {ANSWER}\n"})
        trees = {"old": folder / "old/src", "new": TREE / "src"}
        for run in range(runs):
            home = folder / f"home{run}"
            kept: list[str] = []
            for turn in range(2):
                repository.write({f"more{run}_{turn}.py": f"def more{run}_{turn}():\n    return {turn}\n"})
                started = []
                for name in ("old", "new"):
                    text = f"The {name} kiln {run} {turn} is lit by potter {chosen.randrange(1 << 30)}"
                    commands: list[tuple[str, ...]] = [("memory", "add", text), ("context", QUESTION), ("index",)]
                    started += [(name, one, process(trees[name], folder, home, one)) for one in commands]
                for name, command, child in started:
                    printed, said = child.communicate(timeout=300)
                    counts[f"{name} {command[0]}: {child.returncode}"] += 1
                    if child.returncode:
                        errors[f"{name} {command[0]}: {said.strip()[-160:]}"] += 1
                    elif command[0] == "memory":
                        kept.append(command[2])
                    elif command[0] == "context" and ANSWER not in printed:
                        lost.append(f"run {run}: an answer of {name} without its lines")
            for name in ("new", "old"):
                listed, said = process(trees[name], folder, home, ("memory", "list")).communicate(timeout=300)
                lost += [
                    f"run {run}: {name} does not list {text!r}: {said[-160:]}" for text in kept if text not in listed
                ]
            counts["acknowledged"] += len(kept)
            shutil.rmtree(home)
    return {"old": old, "runs": runs, "seed": seed, "counts": dict(counts), "errors": dict(errors), "lost": lost}


def process(source: Path, folder: Path, home: Path, command: Sequence[str]) -> subprocess.Popen[str]:
    """Start a command of the version whose source is in a folder."""
    environ = {
        "PATH": os.environ["PATH"], "HOME": str(home), "SATCHEL_HOME": str(home / "satchel"),
        "PYTHONPATH": str(source), "SATCHEL_EMBED_PROVIDER": "off",
    }  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "satchel", *command], cwd=folder / "shop", env=environ, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def main() -> int:
    """Do what the options ask for, and write the result; the other part of a stored result stays."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flips", type=int, default=0)
    parser.add_argument("--old", help="a commit of an older version")
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=output)
    given = parser.parse_args()
    result = json.loads(given.out.read_text()) if given.out and given.out.exists() else {}
    stamp = {"day": f"{datetime.now(tz=UTC):%Y-%m-%d}", "commit": commit()}
    if given.flips:
        result["flips"] = stamp | flips(given.flips, given.seed)
    if given.old:
        result["versions"] = stamp | versions(given.old, given.runs, given.seed)
    text = json.dumps(result, indent=1) + "\n"
    if given.out:
        given.out.write_text(text, encoding="utf-8")
    print(text)
    return int(any(result.get(part, {}).get(name) for part, name in (("flips", "bad"), ("versions", "lost"))))


if __name__ == "__main__":
    sys.exit(main())
