"""How long assembling takes: ten entities read and packed, 200 candidates, a pool of a million tokens.

    python benchmarks/assembly.py --out benchmarks/results/assembly.json

The files are generated, the results are a user's own list, and the whole call is timed: reading the lines of the
files, fitting, rendering, counting. Beside each time stands its ratio to counting the tokens of the same pool of text
once with the same tokenizer, which says how fast the machine was just then.
"""

from __future__ import annotations

import argparse
import platform
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from options import keep
from stopwatch import laps

from satchel import AssemblyOptions, ContextAssembler
from satchel.tokens import counter

ROUNDS = 15
WORDS = (
    "order", "client", "price", "retry", "queue", "token", "worker", "buffer", "socket", "parser", "cache", "lease",
    "ledger", "route", "basket",
)  # fmt: skip

CASES = (
    ("10 entities read and assembled", 10, 12, 4_000, 20.0),
    ("200 candidates fitted and rendered", 200, 12, 8_000, 30.0),
    ("a pool of 1,000,000 tokens", 2_500, 40, 8_000, 300.0),
)
"""Name, entities, statements of each, budget in tokens, target in milliseconds."""


def function(draw: random.Random, name: str, statements: int) -> str:
    """One function of about ten tokens a statement."""
    body = "".join(
        f"    {draw.choice(WORDS)}_{n} = {draw.choice(WORDS)}.{draw.choice(WORDS)}({draw.randint(1, 999)})\n"
        for n in range(statements)
    )
    return f'def {name}(order, limit=3):\n    """{" ".join(draw.choices(WORDS, k=8))}."""\n{body}    return order\n\n\n'


def write_pool(root: Path, entities: int, statements: int) -> tuple[list[dict[str, Any]], str]:
    """Files of ten functions each, the results that name all of them, and all of their text."""
    draw = random.Random(entities)
    results, texts = [], []
    for number in range(0, entities, 10):
        path = f"shop/part_{number}.py"
        text = ""
        for inner in range(number, min(number + 10, entities)):
            written = function(draw, f"step_{inner}", statements)
            start = text.count("\n") + 1
            end = start + written.rstrip("\n").count("\n")
            text += written
            entity = {"id": f"e{inner}", "name": f"step_{inner}", "type": "function", "file_path": path}
            results.append(
                {"entity": entity | {"start_line": start, "end_line": end}, "score": draw.random(), "source": "words"}
            )
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
        texts.append(text)
    return results, "".join(texts)


def measured(action: Callable[[], Any]) -> dict[str, float]:
    """Milliseconds, after one run that warms up."""
    action()
    runs = laps(action, ROUNDS)
    walls = sorted(run.wall * 1000 for run in runs)
    return {
        "wall_p50_ms": round(statistics.median(walls), 2),
        "wall_min_ms": round(walls[0], 2),
        "wall_max_ms": round(walls[-1], 2),
        "cpu_p50_ms": round(statistics.median(run.cpu * 1000 for run in runs), 2),
        "load": round(runs[-1].load, 1),
    }


def case(name: str, entities: int, statements: int, budget: int, target: float) -> dict[str, Any]:
    """One row of the result."""
    with tempfile.TemporaryDirectory() as folder:
        results, text = write_pool(Path(folder), entities, statements)
        assembler = ContextAssembler()
        options = AssemblyOptions(max_tokens=budget, project_root=folder)
        context = assembler.assemble_now(results, options)
        row = measured(lambda: assembler.assemble_now(results, options))
        exact = counter("o200k_base")
        started = time.perf_counter()
        pool = exact.count(text)
        counting = (time.perf_counter() - started) * 1000
    return {
        "case": name,
        "entities": entities,
        "pool_tokens": pool,
        "budget": budget,
        "used": context.usage.used,
        "items": len(context.items),
        **row,
        "counting_the_pool_ms": round(counting, 2),
        "ratio_to_counting": round(row["wall_p50_ms"] / counting, 2),
        "target_ms": target,
        "met": row["wall_p50_ms"] <= target,
    }


def main() -> None:
    """Measure all cases and store them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    report = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "rounds": ROUNDS,
        "cases": [case(*row) for row in CASES],
    }
    keep(report, arguments.out)


if __name__ == "__main__":
    main()
