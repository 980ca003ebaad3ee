"""Change one memory at random from two processes at once, and see whether anything is lost that nobody named.

    python benchmarks/memory_operations.py --operations 10000 --out benchmarks/results/memory_operations.json

Each process adds, supersedes, links, forgets (by id, by words, for good), restores, imports and accepts candidates, and
writes down what it was told to be gone. Afterwards every memory must be there with its text, or have been named: in the
trash if it was forgotten, nowhere only if it was removed for good.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from satchel import Satchel
from satchel.errors import LockedError, UsageError
from satchel.memory.review import Suggestion
from satchel.types import Kind

THINGS = ("queue", "mailer", "cache", "index", "login", "cart", "audit", "export")
OPERATIONS = (
    *("add", "add", "supersede", "link", "forget", "forget", "query", "good", "restore", "restore", "import", "accept"),
)


class Worker:
    """One process: an engine, its random numbers, and its log of what it made and named."""

    def __init__(self, engine: Satchel, seed: int) -> None:
        self._engine, self._random = engine, random.Random(seed)
        self._seed, self._lines = seed, list[bytes]()
        self.made: dict[str, str] = {}
        self.gone: list[str] = []
        self.purged: list[str] = []
        self.refused: Counter[str] = Counter()
        self.done: Counter[str] = Counter()

    def run(self, operations: int) -> None:
        """Do random operations; one that the other process has overtaken is refused, which is right."""
        for number in range(operations):
            name = self._random.choice(OPERATIONS)
            try:
                getattr(self, f"_{name}")(number)
                self.done[name] += 1
            except (UsageError, LockedError) as error:
                self.refused[type(error).__name__] += 1

    def _text(self, number: int) -> str:
        return f"The {self._random.choice(THINGS)} of {self._seed} listens on port {number}"

    def _pick(self) -> str:
        """Return the id of a memory that is there, of either process."""
        keys = sorted(self._engine.memory_store.keys(Kind.MEMORY))
        if not keys:
            raise UsageError("there is nothing yet")
        return self._random.choice(keys)

    def _made(self, memory: Any) -> None:
        self.made[memory.id] = memory.content

    def _add(self, number: int) -> None:
        self._made(self._engine.memories.add(self._text(number)).memory)

    def _supersede(self, number: int) -> None:
        self._made(self._engine.memories.supersede(self._pick(), self._text(number)).memory)

    def _link(self, _: int) -> None:
        self._engine.memories.supersede(self._pick(), self._pick())

    def _forget(self, _: int) -> None:
        memory = self._engine.memory
        self.gone += memory.forget(memory.find([self._pick()])).ids

    def _query(self, _: int) -> None:
        memory = self._engine.memory
        self.gone += memory.forget(memory.find_containing(f"{self._random.choice(THINGS)} port", 1)).ids

    def _good(self, _: int) -> None:
        memory = self._engine.memory
        chosen = memory.find([self._pick()])
        removed = memory.forget(chosen, for_good=True).ids
        self.purged += removed
        self.gone += removed

    def _restore(self, _: int) -> None:
        if self.gone:
            self._engine.memory.bring_back([self._random.choice(self.gone)])

    def _import(self, number: int) -> None:
        if number % 50 == 0 or not self._lines:
            self._lines = [line.encode() for line in self._engine.export_memory()]
        self._engine.import_memory(self._lines[:1] + self._random.sample(self._lines, min(5, len(self._lines))))

    def _accept(self, number: int) -> None:
        review = self._engine.memory.review
        news = review.propose([Suggestion("fact", f"{self._seed * 7919 + number:x} is a code", "said", "s/1")])
        if news:
            for memory in review.accept([news[0].id]).memories:
                self._made(memory)


def work(root: Path, homes: dict[str, str], seed: int, operations: int) -> None:
    """Run one process and print its log."""
    with Satchel.open(root, root=root, settings={"embed.provider": "off"}, environ=homes) as engine:
        worker = Worker(engine, seed)
        worker.run(operations)
    print(json.dumps({**vars(worker), "_engine": 0, "_random": 0, "_lines": 0}))


def measure(root: Path, operations: int, seed: int = 1) -> dict[str, Any]:
    """Run two processes on one memory and return what is lost, changed and done."""
    homes = {f"XDG_{name}_HOME": str(root / f"home-{name.lower()}") for name in ("CACHE", "CONFIG", "DATA", "STATE")}
    command = [sys.executable, __file__, "--root", str(root), "--homes", json.dumps(homes)]
    running = [
        subprocess.Popen([*command, "--seed", str(seed + n), "--operations", str(operations // 2)],
                         stdout=subprocess.PIPE, text=True)
        for n in range(2)
    ]  # fmt: skip
    logs = [json.loads(one.communicate()[0]) for one in running]
    made = {key: text for log in logs for key, text in log["made"].items()}
    gone, purged = ({key for log in logs for key in log[name]} for name in ("gone", "purged"))
    with Satchel.open(root, root=root, settings={"embed.provider": "off"}, environ=homes) as engine:
        here = {memory.id: memory.content for memory in engine.memories.listed(superseded=True)}
        trash = {memory.id: memory.content for memory in engine.memory.trash().memories}
    left = {**trash, **here}
    return {
        "operations": sum(sum(log["done"].values()) + sum(log["refused"].values()) for log in logs),
        "done": dict(sum((Counter(log["done"]) for log in logs), Counter())), "made": len(made), "here": len(here),
        "in_trash": len(trash), "removed_for_good": len(purged),
        "gone_unnamed": sorted(made.keys() - here.keys() - gone - purged),
        "lost": sorted(made.keys() - left.keys() - purged),
        "changed": sorted(key for key in made.keys() & left.keys() if made[key] != left[key]),
        "unknown": sorted(here.keys() - made.keys()),
    }  # fmt: skip


def main() -> None:
    """Measure in a folder of its own, or be one of the processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="file for the result")
    parser.add_argument("--root", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--homes", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.root:
        work(options.root, options.homes, options.seed, options.operations)
        return
    with tempfile.TemporaryDirectory() as folder:
        text = json.dumps(measure(Path(folder), options.operations, options.seed), indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
