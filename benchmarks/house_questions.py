"""Ask where things are decided in this repository, and check that the right room is among the first three files.

python benchmarks/house_questions.py --out benchmarks/results/house_questions.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

from satchel import Satchel

ROOT = Path(__file__).resolve().parents[1]

FIRST_FILES = 3

QUESTIONS: Mapping[str, str] = {
    "Where is it decided which files are left out of the index?": "src/satchel/index/",
    "Where is the token budget of an answer enforced?": "src/satchel/answer/",
    "Where are secrets recognised and redacted?": "src/satchel/safety/",
    "Where does a command line option of an operation get its type and help?": "src/satchel/cli/",
    "Where is the BM25 score of a file computed?": "src/satchel/search/",
    "How does an experience become a gold, silver or bronze one?": "src/satchel/memory/",
    "Where does the AGENTS.md that applies to a file get chosen?": "src/satchel/guidance/",
    "Where is a handle expanded to the full text?": "src/satchel/receipts/",
    "Where is the walk over neighbours of a node bounded?": "src/satchel/graph/",
    "Where is the transaction that publishes a new revision of the store?": "src/satchel/store/",
}
"""Question -> the room that answers it. Written from the list of rooms, before any answer was seen."""


def first_files(satchel: Satchel, question: str) -> list[str]:
    """Return the first files of code that the answer shows."""
    context = satchel.assemble(question, types=["code"], exclude=["benchmarks/**", "tests/**"], max_tokens=4000)
    paths = (item.location.path for item in context.items if item.location is not None)
    return list(dict.fromkeys(paths))[:FIRST_FILES]


def main() -> None:
    """Ask every question and store what came first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    with Satchel.open(root=ROOT) as satchel:
        satchel.index()
        answers = {question: first_files(satchel, question) for question in QUESTIONS}
    right = {
        question: any(path.startswith(QUESTIONS[question]) for path in answers[question]) for question in QUESTIONS
    }
    rows = [{"question": one, "room": QUESTIONS[one], "first": answers[one], "right": right[one]} for one in QUESTIONS]
    result = {"right": sum(right.values()), "of": len(right), "answers": rows}
    text = json.dumps(result, indent=1) + "\n"
    if chosen.out is not None:
        chosen.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
