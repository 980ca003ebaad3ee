"""Thousands of assemblies over generated repositories, each checked against the laws. Run it with `make fuzz`.

    python -m tests.properties.fuzz --assemblies 10000 --out benchmarks/results/fuzz.json

One repository serves a hundred questions: all formats and tokenizers, budgets from 1 to 32,000, every option. Ctrl-C
ends it with the result of the repositories that are done.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from satchel import Satchel
from satchel.types import Format
from tests.postgres import own_home
from tests.properties.checks import Assembly, assemble, faults, weaker_inside
from tests.properties.corpora import question, write_corpus

QUESTIONS_A_CORPUS = 100

TOKENIZERS = ("o200k_base", "o200k_base", "o200k_base", "cl100k_base", "claude", "chars")


@dataclass(slots=True)
class Tally:
    """What came of a run: faults of single answers, clearly weaker items inside, and pairs of budgets."""

    assemblies: int = 0
    empty: int = 0
    faults: list[str] = field(default_factory=list)
    weaker: list[str] = field(default_factory=list)
    repeated: int = 0
    unequal: list[str] = field(default_factory=list)
    pairs: int = 0
    lost: list[str] = field(default_factory=list)
    stopped: Counter[str] = field(default_factory=Counter)
    formats: Counter[str] = field(default_factory=Counter)


def options(draw: random.Random) -> dict[str, Any]:
    """Options of one question, each combination with some chance."""
    chosen: dict[str, Any] = {
        "format": draw.choice(list(Format)),
        "tokenizer": draw.choice(TOKENIZERS),
        "max_tokens": draw.choice((draw.randint(1, 300), draw.randint(300, 4000), draw.randint(4000, 32_000))),
        "min_score": draw.choice((None, None, 0.0, 0.05)),
        "purpose": draw.choice(("read", "find", "edit")),
    }
    if draw.random() < 0.3:
        chosen["types"] = draw.sample(["code", "docs", "commits"], draw.randint(1, 3))
    for name in ("show_sources", "group_by_type"):
        if draw.random() < 0.2:
            chosen[name] = True
    if draw.random() < 0.1:
        chosen["show_code"] = False
    if draw.random() < 0.2:
        chosen["limit"] = draw.randint(1, 30)
    if draw.random() < 0.5:
        chosen["fill"] = True
    return chosen


def corpus(seed: int, count: int, tally: Tally) -> None:
    """Ask one generated repository so many questions."""
    draw = random.Random(f"questions {seed}")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "corpus"
        write_corpus(root, seed)
        environment = {**os.environ, **own_home(Path(folder) / "home")}
        with Satchel.open(root, environ=environment) as satchel:
            satchel.index()
            for _ in range(count):
                asked, chosen = question(draw), options(draw)
                name = f"corpus {seed}, {asked!r}, {chosen}"
                assembly = assemble(satchel, asked, **chosen)
                judge(assembly, root, tally, name)
                if draw.random() < 0.25:
                    again = assemble(satchel, asked, **chosen)
                    tally.repeated += 1
                    tally.unequal += [name] * (again.context.text != assembly.context.text)
                if draw.random() < 0.25:
                    smaller = assembly.request.budget.max_tokens
                    chosen["max_tokens"] = int(smaller * draw.choice((1.01, 1.2, 1.5, 2, 4))) + 1
                    compare(assembly, assemble(satchel, asked, **chosen), tally, name)


def judge(assembly: Assembly, root: Path, tally: Tally, name: str) -> None:
    """Count one answer and note what is wrong with it."""
    context = assembly.context
    tally.assemblies += 1
    tally.formats[context.format] += 1
    tally.empty += not context.items
    tally.stopped[context.usage.stopped or "nothing more"] += 1
    tally.faults += [f"{fault} ({name})" for fault in faults(assembly, root)]
    tally.weaker += [f"{fault} ({name})" for fault in weaker_inside(assembly)]


def compare(smaller: Assembly, larger: Assembly, tally: Tally, name: str) -> None:
    """Note where the larger budget lost the best item."""
    tally.pairs += 1
    if smaller.best in smaller.shown and smaller.best not in larger.shown:
        tally.lost.append(f"{smaller.best} is not in the answer of {larger.request.budget.max_tokens} tokens ({name})")


def tally_of(asked: tuple[int, int]) -> Tally:
    """What comes of one repository, given its seed and how many questions it is asked."""
    tally = Tally()
    corpus(*asked, tally)
    return tally


def run(assemblies: int, first_seed: int = 0, jobs: int = 1) -> Iterator[Tally]:
    """Yield the running tally after each repository. The result does not depend on how many processes there are."""
    whole, rest = divmod(assemblies, QUESTIONS_A_CORPUS)
    counts = [QUESTIONS_A_CORPUS] * whole + [rest] * bool(rest)
    total = Tally()
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for tally in pool.imap(tally_of, enumerate(counts, first_seed)):
            for part in fields(Tally):
                setattr(total, part.name, getattr(total, part.name) + getattr(tally, part.name))
            yield total


def report(tally: Tally) -> dict[str, Any]:
    """The stored form of a run."""
    return {
        "assemblies": tally.assemblies,
        "empty": tally.empty,
        "formats": dict(sorted(tally.formats.items())),
        "faults": tally.faults[:50],
        "fault_count": len(tally.faults),
        "weaker_inside": tally.weaker[:50],
        "weaker_inside_count": len(tally.weaker),
        "asked_twice": tally.repeated,
        "other_bytes": tally.unequal[:50],
        "other_bytes_count": len(tally.unequal),
        "budget_pairs": tally.pairs,
        "best_item_lost": tally.lost[:50],
        "best_item_lost_count": len(tally.lost),
        "stopped": dict(sorted(tally.stopped.items())),
    }


def main() -> int:
    """Run, show progress, store the result; 1 if a law was broken."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--assemblies", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="the first repository")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    tally = Tally()
    try:
        for tally in run(arguments.assemblies, arguments.seed, arguments.jobs):
            print(
                f"\r{tally.assemblies:,} assemblies, {len(tally.faults)} faults, {len(tally.weaker)} weaker inside, "
                f"{len(tally.unequal)} not repeated, {len(tally.lost)} of {tally.pairs} lost", end="", file=sys.stderr,
            )  # fmt: skip
    except KeyboardInterrupt:
        print(f"\nstopped after {tally.assemblies:,} of {arguments.assemblies:,}", file=sys.stderr)
    text = json.dumps({"first_seed": arguments.seed} | report(tally), indent=1, ensure_ascii=False)
    print(f"\n{text}")
    if arguments.out is not None:
        arguments.out.write_text(text + "\n", encoding="utf-8")
    return 1 if tally.faults or tally.weaker or tally.unequal or tally.lost else 0


if __name__ == "__main__":
    sys.exit(main())
