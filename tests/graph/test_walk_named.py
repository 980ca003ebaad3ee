"""The lens impact starts from the definition that a query names, and tells what the walk does not follow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.testing import TinyRepository

FILES: Mapping[str, str] = {
    "src/svc.ts": (
        "export interface ISvc { start(x: number): number; halt(): void }\n"
        "export class Svc implements ISvc { start(x: number) { return x } halt() { } }\n"
        "export const begin = (s: ISvc) => s.start(1)\nexport const end = (s: ISvc) => s.halt()\n"
    ),
    "src/run.go": (
        "package p\n\ntype Runner interface { Execute() error }\n\nfunc Use(r Runner) error { return r.Execute() }\n"
    ),
    "src/App.vue": "<template><b>{{ svc.start(2) }}</b></template>\n",
    "src/table.py": "def total(rows):\n    return sum(rows)\n\n\nHANDLERS = [total]\n",
}


@pytest.fixture
def walked(tmp_path: Path) -> Mapping[str, str]:
    repository = TinyRepository(tmp_path / "code")
    repository.commit("Code", FILES)
    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as satchel:
        satchel.index()
        return {name: satchel.graph(name, lens="impact").text for name in ("ISvc.start", "Runner.Execute", "total")}


def test_the_callers_of_a_method_without_a_chunk_of_its_own_are_reached(walked: Mapping[str, str]) -> None:
    assert "calls (in) at line 3 > begin" in walked["ISvc.start"]
    assert "> end" not in walked["ISvc.start"]
    assert "calls (in) at line 5 > Use" in walked["Runner.Execute"]


def test_uses_by_value_and_lines_of_other_languages_are_told(walked: Mapping[str, str]) -> None:
    assert "ISvc.start: 1 line in another language contains start, not resolved: src/App.vue:1" in walked["ISvc.start"]
    assert "total: 1 use by value: src/table.py:5" in walked["total"]
