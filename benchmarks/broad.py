"""Ask broad questions ("everything we know about X"), and count how much of what is right is shown, and what else.

    python benchmarks/broad.py --out benchmarks/results/broad.json

Experiences: the 20 questions of `recall_questions.txt` about those of `values_experiences.txt`, and ten about the set
"web" of `values_sets.txt`, in packed answers of 2,000 and 4,000 tokens. Memories: themes, persons and periods of the 60
of `broad_records.txt`, in 2,000 tokens, asked on 15 June 2026. Names: everything about persons, services, files and
error codes; of 40 memories five are about each of the eight. "mail worker" is written like any words: what is said
about it is a theme. `table` is the default install, `words` one without embedder. All questions were written before
the code that they measure.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from options import keep, output
from stopwatch import homes
from values import lines, sets

from satchel import Satchel

RECORDS = Path(__file__).with_name("broad_records.txt")
EXPERIENCE_QUESTIONS = Path(__file__).with_name("recall_questions.txt")
ASKED_ON = "2026-06-15"

THEMES: Mapping[str, tuple[str, ...]] = {
    "backups": ("what do I know about backups?", "everything we know about backup and restore"),
    "payments": ("what do we know about payments?", "everything about invoices and payments"),
    "mail": ("what have we learned about email?", "facts about sending mail"),
    "app": ("what do I know about the mobile app?", "everything we know about our app for phones"),
}
PERSONS = ("Ravi Menon", "Ines Duarte", "Tomasz Zielinski")
ASKING = ("what do I know about {}?", "everything we know about {}")
PERIODS: Mapping[str, tuple[str, ...]] = {
    "2026-03": ("what happened in March?", "what did we learn in March 2026?"),
    "2026-02": ("what happened in February?", "everything from February 2026"),
    "2026-05": ("what happened last month?", "what do we know from May?"),
}


def records() -> list[tuple[str, str, str]]:
    """Return theme, day and text of each memory."""
    rows = RECORDS.read_text("utf-8").splitlines()
    return [tuple(row.split(" | ", 2)) for row in rows if row and not row.startswith("#")]  # type: ignore[misc]


def questions() -> dict[str, list[tuple[str, set[str]]]]:
    """Return the questions of each kind with the texts that are right."""
    rows = records()
    themes = [(q, {text for theme, _, text in rows if theme == name}) for name, asked in THEMES.items() for q in asked]
    persons = [(q.format(name), {text for *_, text in rows if name in text}) for name in PERSONS for q in ASKING]
    periods = [(q, {text for _, day, text in rows if day.startswith(month)})
               for month, asked in PERIODS.items() for q in asked]  # fmt: skip
    both = [("what did we learn about payments in March?",
             {text for theme, day, text in rows if theme == "payments" and day.startswith("2026-03")})]  # fmt: skip
    return {"themes": themes, "persons": persons, "periods": periods, "theme and period": both}


def memories(folder: Path, provider: str) -> dict[str, Any]:
    """Return recall and precision of each kind of question, and of each question."""
    result: dict[str, Any] = {}
    with Satchel.open(folder, root=folder, settings={"embed.provider": provider}, environ=homes(folder)) as engine:
        lines = [
            {"type": "memory", "id": f"m{number:02d}", "content": text, "created_at": f"{day}T10:00:00Z"}
            for number, (_, day, text) in enumerate(records())
        ]
        engine.import_memory([json.dumps(line).encode() for line in lines], here=True)
        engine.embed()
        for kind, asked in questions().items():
            each = []
            for question, right in asked:
                context = engine.assemble(question, max_tokens=2_000, refresh=False, now=ASKED_ON)
                shown = {item.content.strip() for item in context.items}
                each.append((len(shown & right) / len(right), len(shown & right) / max(len(shown), 1)))
            result[kind] = {
                "questions": len(asked),
                "recall": round(sum(recall for recall, _ in each) / len(each), 3),
                "precision": round(sum(precision for _, precision in each) / len(each), 3),
                "each": [[round(recall, 2), round(precision, 2)] for recall, precision in each],
            }
    return result


def theme_questions() -> dict[str, list[tuple[str, str]]]:
    """Return theme and question of each set."""
    rows = [
        row.split(" | ")
        for row in EXPERIENCE_QUESTIONS.read_text("utf-8").splitlines()
        if row and not row.startswith("#")
    ]
    found: dict[str, list[tuple[str, str]]] = {}
    for theme, question in rows:
        name, _, own = theme.rpartition(":")
        found.setdefault(name or "sixty", []).append((own, question))
    return found


def experiences(
    root: Path, rows: Sequence[dict[str, Any]], asked: Sequence[tuple[str, str]], provider: str = "off"
) -> dict[str, Any]:
    """Return recall and precision of the packed answers, by budget, and the recall of each question."""
    result: dict[str, Any] = {"experiences": len(rows), "questions": len(asked)}
    with Satchel.open(root, root=root, settings={"embed.provider": provider}, environ=homes(root)) as engine:
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
NAME_ASKING = ("what do I know about {}?", "everything we know about {}", "what have we learned about {}")


def entities(root: Path) -> dict[str, Any]:
    """Return recall and precision of what is shown about a name, in 4,000 tokens, by words."""
    recalls, precisions = [], []
    with Satchel.open(root, root=root, settings={"embed.provider": "off"}, environ=homes(root)) as engine:
        of_name = {name: {engine.memories.add(text.format(name)).memory.id for text in ABOUT} for name in NAMES}
        for name, right in of_name.items():
            for asking in NAME_ASKING:
                asked = asking.format(name.lower() if asking == NAME_ASKING[1] else name)
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
    """Measure in folders of their own, and print and store the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=output, help="file for the result")
    parser.add_argument("--provider", default="off", help="minilm: experiences with its vectors too")
    options = parser.parse_args()
    data = {"sixty": lines()[0], "web": sets()["web"]}
    names = {"off": "words", "static": "table", "minilm": "vectors"}
    result: dict[str, Any] = {"experiences": {}, "memories": {}}
    for provider in dict.fromkeys(("off", "static", options.provider)):
        for name, asked in theme_questions().items():
            with tempfile.TemporaryDirectory() as folder:
                found = experiences(Path(folder), data[name], asked, provider)
            result["experiences"][f"{name}, {names[provider]}"] = found
    for provider in ("static", "off"):
        with tempfile.TemporaryDirectory() as folder:
            result["memories"][names[provider]] = memories(Path(folder), provider)
    with tempfile.TemporaryDirectory() as folder:
        result["names, words"] = entities(Path(folder))
    keep(result, options.out)


if __name__ == "__main__":
    main()
