"""Run the tests of every row of `docs/security.md`, and store with the date what each of them did.

    python benchmarks/security.py --out benchmarks/results/security.json [--rows A D7] [--part 1/4]

The tests run in this process, each once, however many rows name it. Results of rows that are not chosen stay as they
are stored; `--part` chooses the first, second, ... of so many equal parts of the rows.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from guards import TREE, commit

sys.path.insert(0, str(TREE))

from tests.contracts.rows import node, secured

WORST = ("passed", "skipped", "failed")


class Outcomes:
    """A plugin of pytest that keeps the worst outcome of each test, over its cases and phases."""

    def __init__(self) -> None:
        self.by_test: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note one phase of one case."""
        name = report.nodeid.partition("[")[0]
        self.by_test[name] = max(self.by_test.get(name, "passed"), report.outcome, key=WORST.index)


def measured(rows: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Run the tests of these rows; returns by row what each did."""
    names = {test: node(test) for tests in rows.values() for test in tests}
    outcomes = Outcomes()
    pytest.main(["-p", "no:cacheprovider", *dict.fromkeys(filter(None, names.values()))], plugins=[outcomes])
    day, version = time.strftime("%Y-%m-%d", time.gmtime()), commit()
    return {
        row: {"day": day, "commit": version,
              "tests": {test: outcomes.by_test.get(str(names[test]), "did not run") for test in tests}}
        for row, tests in rows.items()
    }  # fmt: skip


def main() -> int:
    """Run, store, and print the rows of which a test did not pass."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", nargs="*", default=[], help="rows or their first letters; all without any")
    parser.add_argument("--part", default="1/1", help="which of how many parts of the rows")
    options = parser.parse_args()
    os.chdir(TREE)
    os.nice(2)
    rows = {row: tests for row, tests in secured().items() if not options.rows or {row, row[0]} & {*options.rows}}
    number, parts = map(int, options.part.split("/"))
    chosen = dict([*rows.items()][number - 1 :: parts])
    stored = json.loads(options.out.read_text(encoding="utf-8")) if options.out.exists() else {}
    stored |= measured(chosen)
    ordered = {row: stored[row] for row in secured() if row in stored}
    options.out.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
    bad = {row: ordered[row]["tests"] for row in chosen if {*ordered[row]["tests"].values()} != {"passed"}}
    print(json.dumps({"rows": len(chosen), "passed": len(chosen) - len(bad), "others": bad}, indent=1))
    return len(bad) > 0


if __name__ == "__main__":
    sys.exit(main())
