"""Are two texts that differ ever shown as one? Through the real store, search and assembler.

    python benchmarks/duplicates.py --data DIR/neardup.jsonl --out benchmarks/results/duplicates.json

Each pair of paragraphs is remembered as two memories and asked for by a word that only the two have. They are merged
where the answer shows one item that names the other as an origin; only texts that are equal but for white space may be.

To the labelled pairs come 100 that differ in one thing: a number, a port, a version, a name or a negation.
"""

from __future__ import annotations

import argparse
import json
import os
import string
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from satchel import Satchel, __version__


def mark(number: int) -> str:
    """A word that only one pair has."""
    letters = string.ascii_lowercase
    return "zqx" + "".join(letters[(number // 26**place) % 26] for place in range(3))


PARAGRAPH = (
    "Orders are sent again with exponential backoff when the connection to the payment server drops in the middle of a "
    "request, at most five times, to port 5432 of release 1.2.3, which Ada and not the operators may change."
)
CHANGES = ((" five ", " nine "), (" 5432 ", " 6432 "), (" 1.2.3,", " 1.2.4,"), (" Ada ", " Bob "), (" not ", " now "))


def changed_pairs(count: int) -> list[dict[str, Any]]:
    """Pairs that differ in one thing, each with a word of its own."""
    rows = []
    for number in range(count):
        before, after = CHANGES[number % len(CHANGES)]
        text = f"Rule {number}. {PARAGRAPH}"
        rows.append({"a": text, "b": text.replace(before, after)})
    return rows


def is_equal(row: dict[str, Any]) -> bool:
    """Whether the texts of a pair are equal but for white space."""
    return str(row["a"]).split() == str(row["b"]).split()


def reported(rows: Sequence[dict[str, Any]]) -> list[tuple[bool, bool]]:
    """For each labelled pair, whether remembering the second text reports the first, and whether they are near."""
    with opened() as satchel:
        pairs = []
        for row in rows:
            first = satchel.memories.add(row["a"]).memory.id
            similar = satchel.memories.add(row["b"]).similar
            pairs.append((any(one.memory.id == first for one in similar), bool(row["label"])))
        return pairs


@contextmanager
def opened() -> Iterator[Satchel]:
    """An empty folder with a memory of its own, without vectors."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        root.mkdir()
        environ = {**os.environ, "SATCHEL_HOME": f"{folder}/home", "SATCHEL_EMBED_PROVIDER": "off"}
        with Satchel.open(root, environ=environ) as satchel:
            yield satchel


def outcomes(rows: Sequence[dict[str, Any]]) -> list[tuple[bool, bool]]:
    """For each pair, whether it was shown as one, and whether it is one."""
    with opened() as satchel:
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
            found.append((len(context.items) == 1 and len(context.items[0].origins) == 1, is_equal(row)))
        return found


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.data.read_text(encoding="utf-8").splitlines()]
    found, changed = outcomes(rows), outcomes(changed_pairs(100))
    result = {
        "version": __version__,
        "pairs": len(found),
        "equal": sum(same for _, same in found),
        "merged": sum(merged for merged, _ in found),
        "merged_different": sum(merged and not same for merged, same in found),
        "differ_in_one_thing": len(changed),
        "merged_of_these": sum(merged for merged, _ in changed),
    }
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
