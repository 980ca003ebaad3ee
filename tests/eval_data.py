"""The data to measure with: `SATCHEL_EVAL`, else `../shared/eval` beside the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


def data_file(name: str) -> Path:
    """A file of the evaluation data; the test is skipped where a checkout does not have it."""
    folder = Path(os.environ.get("SATCHEL_EVAL", REPOSITORY.parent / "shared" / "eval"))
    path = folder / name
    if not path.exists():
        pytest.skip(f"the evaluation data {name} is not in {folder}; set SATCHEL_EVAL")
    return path
