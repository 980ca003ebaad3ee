"""The stored result of the judged call sites is complete, and what it says is what was promised."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.architecture.tree import ROOT

SETS = {"sites": "", "seven_languages": "_seven_languages", "held_out": "_held_out"}
"""Files of judged sites -> the end of the name of their result."""


def stored(name: str) -> Counter[str]:
    """Sum the counts of the languages of a set."""
    path = ROOT / f"benchmarks/results/relations{SETS[name]}.json"
    counts: Counter[str] = Counter()
    for language, row in json.loads(path.read_text(encoding="utf-8"))["groups"].items():
        if language != "all":
            counts.update({key: row[key] for key in ("sites", "inside", "links", "right")})
    return counts


@pytest.mark.parametrize("name", SETS)
def test_every_judged_site_is_in_the_stored_result(name: str) -> None:
    lines = (ROOT / f"benchmarks/relations/{name}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert stored(name)["sites"] == len(rows)
    assert stored(name)["inside"] == sum(row["callee"] is not None for row in rows)
    assert max(Counter(json.dumps(row, sort_keys=True) for row in rows).values()) == 1


def test_calls_of_seven_languages_are_linked_and_none_wrongly() -> None:
    counts = stored("seven_languages")
    assert counts["right"] >= 0.9 * counts["inside"]
    assert all(stored(name)["right"] >= 0.97 * stored(name)["links"] for name in SETS)
