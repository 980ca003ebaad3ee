"""Nine of ten proposals from transcripts are right, in the default install."""

from __future__ import annotations

from pathlib import Path

import pytest
from extraction import PIECES, UNSEEN, measure  # benchmarks/ is on the path

from satchel.memory.review import proposed


@pytest.mark.parametrize(("name", "least"), [(PIECES, 0.9), (UNSEEN, 0.75)], ids=["written before", "written after"])
def test_nine_of_ten_proposals_are_right(name: Path, least: float) -> None:
    result = measure(proposed, name)
    assert result["precision"] >= 0.9, result["wrong"]
    assert result["recall"] >= least, result["missing"]
