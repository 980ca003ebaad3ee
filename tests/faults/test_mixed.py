"""Many processes at once: a small run of `benchmarks/kill_loop.py --mixed`, whose result is in `benchmarks/results`."""

from __future__ import annotations

from pathlib import Path

from tests.faults.mixed import results


def test_answers_of_many_processes_at_once_are_those_of_a_sequential_order(tmp_path: Path) -> None:
    found = results(tmp_path, runs=5, seed=3)
    assert {name: found[name] for name in ("differing", "damaged", "lost", "failed")} == {
        "differing": [], "damaged": [], "lost": [], "failed": [],
    }  # fmt: skip
    assert found["runs"] == 5
    assert found["answers"] > 5
    assert sum(found["killed"].values()) > 0
