"""A client waits for the list of operations, so what describes them loads none of the arithmetic behind them."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.usefixtures("unmeasured")
def test_the_operations_are_described_without_the_engine() -> None:
    heavy = {"numpy", "apsw", "rs_bpe", "satchel.engine", "satchel.search.searcher", "tree_sitter"}
    program = f"import sys\nimport satchel.operations.registry\nprint(*sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
