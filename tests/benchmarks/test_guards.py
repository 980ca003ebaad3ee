"""The guards that `benchmarks/guards.py` takes out are still in the source, each with a test of its row."""

from __future__ import annotations

import guards
import pytest


@pytest.mark.parametrize("guard", guards.GUARDS, ids=lambda guard: f"{guard.row} {guard.text[:40]}")
def test_a_guard_is_in_its_module_and_has_a_test(guard: guards.Guard) -> None:
    assert guard.text in (guards.TREE / "src" / "satchel" / guard.module).read_text(encoding="utf-8")
    assert len(guards.tests_of(guards.TREE, guard.row)) > guard.test
