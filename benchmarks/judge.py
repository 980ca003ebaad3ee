"""How often the judge that compares words is right, on labelled pairs of condition and situation.

    python benchmarks/judge.py [--save]

The pairs are those of tests/guidance/judge_pairs.jsonl. Thresholds and topics may look at the development halves only.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from satchel.guidance import weights
from satchel.guidance.judge import Verdict, WordJudge
from satchel.guidance.situation import make_situation

ROOT = Path(__file__).resolve().parents[1]


def measured(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Precision and recall of "it holds", how many are decided, and how many of these rightly.

    `right` counts over all pairs whether a rule with this condition is used where it should be, and only there.
    """
    judge = WordJudge()
    found = [(row["holds"], judge.judge([row["condition"]], make_situation(row["situation"]))[0]) for row in rows]
    said = [holds for holds, opinion in found if opinion.verdict is Verdict.TRUE]
    decided = [(holds, opinion) for holds, opinion in found if opinion.verdict is not Verdict.UNDECIDED]
    right = sum(holds is (opinion.verdict is Verdict.TRUE) for holds, opinion in decided)
    return {
        "pairs": len(rows),
        "right": round(sum(holds is (opinion.verdict is Verdict.TRUE) for holds, opinion in found) / len(found), 3),
        "precision": round(sum(said) / len(said), 3),
        "recall": round(sum(said) / sum(holds for holds, _ in found), 3),
        "undecided": round(1 - len(decided) / len(found), 3),
        "right_when_decided": round(right / len(decided), 3),
        "wrong": [row["condition"] for row, (holds, o) in zip(rows, found, strict=True)
                  if o.verdict is not Verdict.UNDECIDED and holds is not (o.verdict is Verdict.TRUE)],
    }  # fmt: skip


def main() -> None:
    """Measure each half; print, or save with `--save`."""
    text = (ROOT / "tests/guidance/judge_pairs.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    halves = {half: [row for row in rows if row["half"] == half] for half in dict.fromkeys(row["half"] for row in rows)}
    result = {"holds_from": weights.HOLDS_FROM, "fails_below": weights.FAILS_BELOW} | {
        half: measured(part) for half, part in halves.items()
    }
    print(json.dumps(result, indent=2))
    if "--save" in sys.argv[1:]:
        (ROOT / "benchmarks/results/judge.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
