"""How well the same prose is known again, and what that costs: through the real store, search and assembler.

    python benchmarks/duplicates.py --data DIR/neardup.jsonl --out benchmarks/results/duplicates.json

Each labelled pair of paragraphs is remembered as two memories and asked for by a word that only the two have; they
count as duplicates where the answer shows one item that names the other as an origin. `seconds` is the time that the
comparison of 200 different records takes, each with all that were admitted before it.
"""

from __future__ import annotations

import argparse
import json
import os
import string
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from satchel import Satchel, __version__
from satchel.answer.twins import Marks, is_same_prose
from satchel.text import SAME_PROSE, sampled, shingles

RECORDS = 200


def mark(number: int) -> str:
    """A word that only one pair has."""
    letters = string.ascii_lowercase
    return "zqx" + "".join(letters[(number // 26**place) % 26] for place in range(3))


def outcomes(rows: Sequence[dict[str, Any]]) -> list[tuple[bool, bool]]:
    """For each pair, whether it was shown as one, and whether it is one."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        root.mkdir()
        environ = {**os.environ, "SATCHEL_HOME": f"{folder}/home", "SATCHEL_EMBED_PROVIDER": "off"}
        with Satchel.open(root, environ=environ) as satchel:
            lines = [
                json.dumps(
                    {
                        "type": "memory",
                        "id": f"mem_{side}_{number}",
                        "content": row[side],
                        "tags": [mark(number)],
                        "category": "fact",
                        "created_at": "2026-01-01T00:00:00Z",
                    }
                )
                for number, row in enumerate(rows)
                for side in ("a", "b")
            ]
            satchel.import_memory([line.encode() for line in lines], here=True)
            found = []
            for number, row in enumerate(rows):
                context = satchel.assemble(mark(number), types=["memories"], refresh=False, min_score=0.0)
                found.append((len(context.items) == 1 and len(context.items[0].origins) == 1, row["label"] == 1))
            return found


def comparison_seconds(texts: Sequence[str]) -> float:
    """Seconds to compare each of these texts with all before it, the best of five runs."""
    best = float("inf")
    for _ in range(5):
        began = time.process_time()
        marks: list[Marks] = []
        for text in texts:
            every = shingles(text)
            own = Marks(every, sampled(every))
            any(is_same_prose(own, other) for other in marks)
            marks.append(own)
        best = min(best, time.process_time() - began)
    return best


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.data.read_text(encoding="utf-8").splitlines()]
    found = outcomes(rows)
    hits = sum(said and true for said, true in found)
    missed = sum(true and not said for said, true in found)
    wrong = sum(said and not true for said, true in found)
    different = [row["a"] for row in rows][:RECORDS]
    result = {
        "version": __version__,
        "pairs": len(rows),
        "threshold": SAME_PROSE,
        "f1": round(2 * hits / (2 * hits + missed + wrong), 4),
        "missed": missed,
        "wrong": wrong,
        "records": len(different),
        "seconds": round(comparison_seconds(different), 4),
    }
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
