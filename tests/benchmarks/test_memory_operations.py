"""Two processes change one memory at random, and nothing is lost that nobody named."""

from __future__ import annotations

from pathlib import Path

from memory_operations import measure  # benchmarks/ is on the path


def test_nothing_is_lost_that_was_not_named(tmp_path: Path) -> None:
    result = measure(tmp_path, 160, seed=7)
    assert result["operations"] == 160
    assert result["made"] > 20
    for problem in ("gone_unnamed", "lost", "changed", "unknown"):
        assert result[problem] == [], problem
