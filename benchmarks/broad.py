"""Ask broad questions of a team's memories, about themes, persons and periods, and count how much of each is shown.

    python benchmarks/broad.py --out benchmarks/results/broad.json

The 60 memories of `broad_records.txt` and the questions were written before the code that reads periods. Shown is what
is in the packed answer of 2,000 tokens, asked on 15 June 2026. `table` is the default install, `words` one without
embedder.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from satchel import Satchel

RECORDS = Path(__file__).with_name("broad_records.txt")
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


def measure(folder: Path, provider: str) -> dict[str, Any]:
    """Return recall and precision of each kind of question, and of each question."""
    homes = {f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("CACHE", "CONFIG", "DATA", "STATE")}
    result: dict[str, Any] = {}
    with Satchel.open(folder, root=folder, settings={"embed.provider": provider}, environ=homes) as engine:
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


def main() -> None:
    """Measure in folders of their own, and print and store the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="file for the result")
    out = parser.parse_args().out
    result = {}
    for provider, name in (("static", "table"), ("off", "words")):
        with tempfile.TemporaryDirectory() as folder:
            result[name] = measure(Path(folder), provider)
    text = json.dumps(result, indent=1)
    print(text)
    if out:
        out.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
