"""All proposals from these transcripts are right, in the default install."""

from __future__ import annotations

from pathlib import Path

import pytest
from extraction import BLIND, FRESH, FURTHER, PIECES, UNSEEN, measure  # benchmarks/ is on the path

from satchel.memory.review import proposed


@pytest.mark.parametrize(
    ("name", "least"),
    [(PIECES, 0.9), (UNSEEN, 0.75), (FURTHER, 0.8), (BLIND, 0.4), (FRESH, 0.85)],
    ids=["written before", "written after", "further", "blind", "fresh"],
)
def test_all_proposals_are_right_and_enough_are_made(name: Path, least: float) -> None:
    result = measure(proposed, name)
    assert result["precision"] == 1.0, result["wrong"]
    assert result["recall"] >= least, result["missing"]
