"""How often the judge that compares words is right, on labelled pairs of condition and situation.

    python benchmarks/judge.py [--save]

The pairs are those of tests/guidance/judge_pairs.jsonl and, of natural conditions, judge_natural.jsonl: a condition
names a class of things and the task one case of it, in other words or another language; some cannot be decided
(`holds` is null). Tuning may look at the halves "development" and "work" alone. "further" and "last" were
written later: of the true ones 6 of 14 and 9 of 14 were found at first, and 4 and none called false; then topics were
added for them. `table` is the default install, `words` one without embedder.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from satchel.embed import Embedder
from satchel.embed.static import StaticTable
from satchel.guidance import weights
from satchel.guidance.judge import Verdict, WordJudge
from satchel.guidance.situation import make_situation

ROOT = Path(__file__).resolve().parents[1]


def opinions(rows: Sequence[dict[str, Any]], embedder: Embedder | None) -> list[tuple[bool | None, Verdict]]:
    """Return what is right about each pair, and the verdict."""
    judge = WordJudge(embedder)
    return [
        (row["holds"], judge.judge([row["condition"]], make_situation(row["situation"]))[0].verdict) for row in rows
    ]


def measured(rows: Sequence[dict[str, Any]], embedder: Embedder | None = None) -> dict[str, Any]:
    """Precision and recall of "it holds", how many are decided, and how many of these rightly.

    `right` counts over all pairs whether a rule with this condition is used where it should be, and only there.
    `wrong` are the conditions with a wrong verdict; a pair that cannot be decided has only wrong ones.
    """
    found = opinions(rows, embedder)
    said = [holds is True for holds, verdict in found if verdict is Verdict.TRUE]
    decided = [(holds, verdict) for holds, verdict in found if verdict is not Verdict.UNDECIDED]
    right = sum(holds is (verdict is Verdict.TRUE) for holds, verdict in decided)
    return {
        "pairs": len(rows),
        "true": f"{sum(said)} of {sum(holds is True for holds, _ in found)}",
        "right": round(sum((holds is True) is (verdict is Verdict.TRUE) for holds, verdict in found) / len(found), 3),
        "precision": round(sum(said) / len(said), 3),
        "recall": round(sum(said) / sum(holds is True for holds, _ in found), 3),
        "undecided": round(1 - len(decided) / len(found), 3),
        "right_when_decided": round(right / len(decided), 3),
        "wrong": [row["condition"] for row, (holds, verdict) in zip(rows, found, strict=True)
                  if verdict is not Verdict.UNDECIDED and holds is not (verdict is Verdict.TRUE)],
    }  # fmt: skip


def main() -> None:
    """Measure each half; print, or save with `--save`."""
    result: dict[str, Any] = {"holds_from": weights.HOLDS_FROM, "fails_below": weights.FAILS_BELOW}
    for install, embedder in (("words", None), ("table", StaticTable())):
        result[install] = {}
        for file in ("judge_pairs", "judge_natural"):
            text = (ROOT / f"tests/guidance/{file}.jsonl").read_text(encoding="utf-8")
            rows = [json.loads(line) for line in text.splitlines()]
            for half in dict.fromkeys(row["half"] for row in rows):
                name = half if file == "judge_pairs" else f"natural, {half}"
                result[install][name] = measured([row for row in rows if row["half"] == half], embedder)
    print(json.dumps(result, indent=2))
    if "--save" in sys.argv[1:]:
        (ROOT / "benchmarks/results/judge.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
