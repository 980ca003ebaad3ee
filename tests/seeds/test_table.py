"""The table in the README names tests and files that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`((?:tests|benchmarks)/[\w/]+\.py|test_\w+\.py)(?:::(\w+))?`")


def test_every_test_that_the_table_names_exists() -> None:
    named = NAMED.findall((ROOT / "tests/seeds/README.md").read_text(encoding="utf-8"))
    missing = []
    for path, name in named:
        file = ROOT / path if "/" in path else Path(__file__).parent / path
        if not file.is_file() or (name and f"def {name}(" not in file.read_text(encoding="utf-8")):
            missing.append(f"{path}::{name}")
    assert len(named) > 40
    assert missing == []
