"""Thousands of assemblies over generated repositories, each checked against the laws. Run it with `make fuzz`.

    python -m tests.properties.fuzz --assemblies 10000 --out benchmarks/results/fuzz.json

One repository serves a hundred questions: all formats and tokenizers, budgets from 1 to 32,000, every option.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from satchel import Satchel
from satchel.types import Format
from tests.properties.checks import Assembly, assemble, faults, not_maximal
from tests.properties.corpora import question, write_corpus

QUESTIONS_A_CORPUS = 100

FILL_BUDGET = 1_000
"""From here on an answer has to be full, where there is twice as much to fill it with."""

ROUNDING = 1e-9
"""Two sums of the same values in another order differ by less than this share."""

TOKENIZERS = ("o200k_base", "o200k_base", "o200k_base", "cl100k_base", "claude", "chars")


@dataclass(slots=True)
class Tally:
    """What came of a run. `fills` are the used shares of the answers that had enough to fill them."""

    assemblies: int = 0
    empty: int = 0
    faults: list[str] = field(default_factory=list)
    unfilled: list[str] = field(default_factory=list)
    fills: list[float] = field(default_factory=list)
    lowered: list[tuple[int, int, float]] = field(default_factory=list)
    pairs: int = 0
    doubled: int = 0
    lowered_doubled: list[tuple[int, int, float]] = field(default_factory=list)
    formats: Counter[str] = field(default_factory=Counter)


def options(draw: random.Random) -> dict[str, Any]:
    """Options of one question, each combination with some chance."""
    chosen: dict[str, Any] = {
        "format": draw.choice(list(Format)),
        "tokenizer": draw.choice(TOKENIZERS),
        "max_tokens": draw.choice((draw.randint(1, 300), draw.randint(300, 4000), draw.randint(4000, 32_000))),
        "min_score": draw.choice((None, None, 0.0, 0.05)),
        "purpose": draw.choice(("find", "edit")),
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
    return chosen


def corpus(seed: int, count: int, tally: Tally) -> None:
    """Ask one generated repository so many questions."""
    draw = random.Random(f"questions {seed}")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "corpus"
        write_corpus(root, seed)
        environment = {**os.environ, "SATCHEL_HOME": f"{folder}/home"}
        with Satchel.open(root, environ=environment) as satchel:
            satchel.index()
            for _ in range(count):
                asked, chosen = question(draw), options(draw)
                assembly = assemble(satchel, asked, **chosen)
                judge(assembly, root, tally, f"corpus {seed}, {asked!r}, {chosen}")
                if draw.random() < 0.25:
                    chosen["max_tokens"] = int(assembly.request.max_tokens * draw.choice((1.01, 1.2, 1.5, 2, 4))) + 1
                    compare(assembly, assemble(satchel, asked, **chosen), tally)


def judge(assembly: Assembly, root: Path, tally: Tally, name: str) -> None:
    """Count one answer and note what is wrong with it."""
    context, limit = assembly.context, assembly.request.max_tokens
    tally.assemblies += 1
    tally.formats[context.format] += 1
    tally.empty += not context.items
    tally.faults += [f"{fault} ({name})" for fault in faults(assembly, root)]
    tally.unfilled += [f"{fault} ({name})" for fault in not_maximal(assembly)]
    has_enough = context.usage.tokenizer != "chars" and assembly.offered_tokens >= 2 * limit
    if limit >= FILL_BUDGET and has_enough and assembly.request.show_code:
        tally.fills.append(context.usage.utilization)


def compare(smaller: Assembly, larger: Assembly, tally: Tally) -> None:
    """Note where more budget gave less value."""
    least, most = smaller.request.max_tokens, larger.request.max_tokens
    is_doubled = most >= 2 * least
    tally.pairs += not is_doubled
    tally.doubled += is_doubled
    lost = smaller.total_value - larger.total_value
    if lost > ROUNDING * smaller.total_value:
        (tally.lowered_doubled if is_doubled else tally.lowered).append((least, most, lost / smaller.total_value))


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
        "not_maximal": tally.unfilled[:50],
        "not_maximal_count": len(tally.unfilled),
        "fill_judged": len(tally.fills),
        "median_fill": round(statistics.median(tally.fills), 4) if tally.fills else None,
        "budget_pairs": tally.pairs,
        "value_lowered": len(tally.lowered),
        "worst_lowered": round(max((share for *_, share in tally.lowered), default=0.0), 4),
        "doubled_pairs": tally.doubled,
        "value_lowered_by_twice_the_budget": len(tally.lowered_doubled),
        "lowered": tally.lowered[:20],
        "lowered_by_twice_the_budget": tally.lowered_doubled[:20],
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
    for tally in run(arguments.assemblies, arguments.seed, arguments.jobs):
        print(
            f"\r{tally.assemblies:,} assemblies, {len(tally.faults)} faults, {len(tally.unfilled)} not maximal, "
            f"{len(tally.lowered)} of {tally.pairs} lowered", end="", file=sys.stderr,
        )  # fmt: skip
    text = json.dumps(report(tally), indent=1, ensure_ascii=False)
    print(f"\n{text}")
    if arguments.out is not None:
        arguments.out.write_text(text + "\n", encoding="utf-8")
    return 1 if tally.faults or tally.unfilled or tally.lowered or tally.lowered_doubled else 0


if __name__ == "__main__":
    sys.exit(main())
