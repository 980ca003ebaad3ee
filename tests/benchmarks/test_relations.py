"""The stored result of the judged call sites is complete, and what it says is what was promised."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.architecture.tree import ROOT

STORED = json.loads((ROOT / "benchmarks/results/relations_before_after.json").read_text(encoding="utf-8"))["sets"]


@pytest.mark.parametrize("name", ["sites", "seven_languages", "held_out"])
def test_every_judged_site_is_in_the_stored_result(name: str) -> None:
    lines = (ROOT / f"benchmarks/relations/{name}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    now = STORED[name]["now"]
    assert sum(row["sites"] for language, row in now.items() if language != "all") == now["all"]["sites"] == len(rows)
    assert now["all"]["inside"] == sum(row["callee"] is not None for row in rows)
    assert max(Counter(json.dumps(row, sort_keys=True) for row in rows).values()) == 1


def test_calls_of_seven_languages_are_linked_and_none_wrongly() -> None:
    now = STORED["seven_languages"]["now"]["all"]
    assert now["precision"] >= 0.97
    assert now["recall"] >= 0.9
    assert all(STORED[name]["now"]["all"]["precision"] >= 0.97 for name in STORED)
