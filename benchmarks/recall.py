"""Ask broad questions ("everything we know about X") of natural experiences, and count how many of the theme are shown.

    python benchmarks/recall.py --out benchmarks/results/recall.json

The 20 questions of `recall_questions.txt` about the experiences of `values_experiences.txt`, and ten about the set
"web" of `values_sets.txt`, were written before the code. Shown is what is in the
packed answer of 4,000 tokens, and of 2,000.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from values import lines
from values_sets import sets

from satchel import Satchel

QUESTIONS = Path(__file__).with_name("recall_questions.txt")


def questions() -> dict[str, list[tuple[str, str]]]:
    """Return theme and question of each set."""
    rows = [row.split(" | ") for row in QUESTIONS.read_text("utf-8").splitlines() if row and not row.startswith("#")]
    found: dict[str, list[tuple[str, str]]] = {}
    for theme, question in rows:
        name, _, own = theme.rpartition(":")
        found.setdefault(name or "sixty", []).append((own, question))
    return found


def measure(
    root: Path, rows: Sequence[dict[str, Any]], asked: Sequence[tuple[str, str]], provider: str = "off"
) -> dict[str, Any]:
    """Return recall and precision of the packed answers, by budget, and the recall of each question."""
    homes = {f"XDG_{name}_HOME": str(root / name.lower()) for name in ("CACHE", "CONFIG", "DATA", "STATE")}
    result: dict[str, Any] = {"experiences": len(rows), "questions": len(asked)}
    with Satchel.open(root, root=root, settings={"embed.provider": provider}, environ=homes) as engine:
        engine.import_memory([json.dumps(row).encode() for row in rows], here=True)
        if provider != "off":
            engine.embed()
        for budget in (2_000, 4_000):
            recalls, precisions, used = [], [], []
            for theme, question in asked:
                context = engine.assemble(question, types=["experiences"], max_tokens=budget, refresh=False)
                shown = {str(item.metadata["id"]) for item in context.items}
                right = {str(row["id"]) for row in rows if str(row["id"]).startswith(f"{theme}_")}
                recalls.append(len(shown & right) / len(right))
                precisions.append(len(shown & right) / max(len(shown), 1))
                used.append(context.usage.used)
            result[f"{budget}"] = {
                "recall": round(sum(recalls) / len(recalls), 3),
                "precision": round(sum(precisions) / len(precisions), 3),
                "tokens": round(sum(used) / len(used)), "each": [round(one, 2) for one in recalls],
            }  # fmt: skip
    return result


def main() -> None:
    """Measure in folders of its own, and print and store the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="file for the result")
    parser.add_argument("--provider", default="off", help="off, or minilm for vectors too")
    options = parser.parse_args()
    data = {"sixty": lines()[0], "web": sets()["web"]}
    result: dict[str, Any] = {}
    for provider in dict.fromkeys(("off", options.provider)):
        for name, asked in questions().items():
            with tempfile.TemporaryDirectory() as folder:
                result[f"{name}, {'words' if provider == 'off' else 'vectors'}"] = measure(
                    Path(folder), data[name], asked, provider
                )
    text = json.dumps(result, indent=1, ensure_ascii=False)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
