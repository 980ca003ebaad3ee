"""Ask broad questions ("everything we know about X") of natural experiences, and count how many of the theme are shown.

    python benchmarks/recall.py --out benchmarks/results/recall.json

The 20 questions of `recall_questions.txt` about the experiences of `values_experiences.txt`, and ten about the set
"web" of `values_sets.txt`, were written before the code. Shown is what is in the
packed answer of 4,000 tokens, and of 2,000.

`entities` asks for everything about persons, services, files and error codes: of 40 memories five are about each of the
eight names. "mail worker" is written like any words: what is said about it is a theme.
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


NAMES = ("Jana", "Tobias Krämer", "billing-api", "mail worker", "src/pay.py", "Dockerfile.dev", "E1042", "ORA-00942")
ABOUT = (
    "{} is responsible for the Tuesday release", "we asked about the slow start: it was {} again",
    "{} needs two reviews", "since June nobody but {} may touch the mirror", "the outage of March began with {}",
)  # fmt: skip
ASKING = ("what do I know about {}?", "everything we know about {}", "what have we learned about {}")


def entities(root: Path) -> dict[str, Any]:
    """Return recall and precision of what is shown about a name, in 4,000 tokens, by words."""
    homes = {f"XDG_{name}_HOME": str(root / name.lower()) for name in ("CACHE", "CONFIG", "DATA", "STATE")}
    recalls, precisions = [], []
    with Satchel.open(root, root=root, settings={"embed.provider": "off"}, environ=homes) as engine:
        of_name = {name: {engine.memories.add(text.format(name)).memory.id for text in ABOUT} for name in NAMES}
        for name, right in of_name.items():
            for asking in ASKING:
                asked = asking.format(name.lower() if asking == ASKING[1] else name)
                context = engine.assemble(asked, types=["memories"], max_tokens=4_000, refresh=False)
                shown = {str(item.metadata["id"]) for item in context.items}
                recalls.append(len(shown & right) / len(right))
                precisions.append(len(shown & right) / max(len(shown), 1))
    count = len(recalls)
    return {
        "questions": count,
        "recall": round(sum(recalls) / count, 3),
        "precision": round(sum(precisions) / count, 3),
    }


def main() -> None:
    """Measure in folders of its own, and print and store the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="file for the result")
    parser.add_argument("--provider", default="off", help="off, or minilm for vectors too")
    options = parser.parse_args()
    data = {"sixty": lines()[0], "web": sets()["web"]}
    result: dict[str, Any] = {}
    names = {"off": "words", "static": "table", "minilm": "vectors"}
    for provider in dict.fromkeys(("off", "static", options.provider)):
        for name, asked in questions().items():
            with tempfile.TemporaryDirectory() as folder:
                result[f"{name}, {names[provider]}"] = measure(Path(folder), data[name], asked, provider)
    with tempfile.TemporaryDirectory() as folder:
        result["entities, words"] = entities(Path(folder))
    text = json.dumps(result, indent=1, ensure_ascii=False)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
