"""Each defect of two reviews: how to meet it, what it did, what happens now, and the test that notices its return.

    python benchmarks/defects.py --out benchmarks/results/defects.json --page benchmarks/results/defects.md

A row of `defects.jsonl` may have a guard: a copy of the tree gets the replacement, and the test has to fail.
Without `--run` the stored outcomes stay and only the page is written.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from guards import Guard, copied, outcome

ROWS = Path(__file__).with_suffix(".jsonl")


def page(rows: list[dict[str, str]], found: dict[str, str]) -> str:
    """Return the table."""
    lines = ["| | steps | before | now | test | without the guard |", "|---|---|---|---|---|---|"]
    for row in rows:
        test = f"`{row['test']}`" if row.get("test") else ""
        cells = (row["id"], row["steps"], row["before"], row["now"], test, found.get(row["id"], ""))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the tests without their guards, and write both files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--page", type=Path, required=True)
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--only", action="append", metavar="ID", help="run only this row, repeatable")
    options = parser.parse_args()
    rows = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    found: dict[str, str] = json.loads(options.out.read_text()) if options.out.exists() else {}
    if options.run:
        with tempfile.TemporaryDirectory() as folder:
            tree = copied(folder)
            for row in rows:
                if row.get("guard") and (not options.only or row["id"] in options.only):
                    guard = Guard(row["id"], row["module"], row["guard"], row["without"])
                    found[row["id"]] = {"failed": "fails", "survived": "passes"}[outcome(tree, guard, row["test"])]
                    print(row["id"], found[row["id"]], flush=True)
                    options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    options.page.write_text(page(rows, found), encoding="utf-8")


if __name__ == "__main__":
    main()
