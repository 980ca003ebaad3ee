"""A file has at most 500 lines, a function 60. What is longer stands in sizes.toml with its reason."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from typing import TypedDict

from tests.architecture.tree import PYTHON_FOLDERS, ROOT, Module, modules

LONGEST_FILE = 500
LONGEST_FUNCTION = 60
SMALLEST_TABLE = 10
"""A literal at the top of a module with at least this many lines is a data table: its lines do not count."""

_LITERALS = (ast.Dict, ast.List, ast.Set, ast.Tuple, ast.Constant)


def file_lines(module: Module) -> int:
    """Lines of a file without its data tables."""
    tables = sum(_table_lines(node) for node in module.tree.body)
    return len(module.text.splitlines()) - tables


def _table_lines(node: ast.stmt) -> int:
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return 0
    value = node.value
    if isinstance(value, ast.Call) and len(value.args) == 1 and not value.keywords:
        value = value.args[0]
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    return lines if isinstance(value, _LITERALS) and lines >= SMALLEST_TABLE else 0


def functions(module: Module) -> Iterator[tuple[str, int]]:
    """(path::name, lines) of every function, decorators left out."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{module.path}::{node.name}", (node.end_lineno or node.lineno) - node.lineno + 1


@cache
def longer_than_allowed() -> dict[str, int]:
    """Files and functions over their limit, with their lines."""
    every = [module for folder in PYTHON_FOLDERS for module in modules(folder)]
    found = {module.path: file_lines(module) for module in every if file_lines(module) > LONGEST_FILE}
    for module in every:
        for name, lines in functions(module):
            if lines > LONGEST_FUNCTION:
                found[name] = max(lines, found.get(name, 0))
    return found


class Excuse(TypedDict):
    """An entry of sizes.toml: the lines that a file or function may have, and why."""

    lines: int
    reason: str


NONE = Excuse(lines=0, reason="")


def excused() -> dict[str, Excuse]:
    """Path, or path::function, to its excuse."""
    excuses: dict[str, Excuse] = tomllib.loads((ROOT / "sizes.toml").read_text(encoding="utf-8"))["long"]
    return excuses


def test_no_file_or_function_is_longer_than_its_limit() -> None:
    excuses = excused()
    wrong = [f"{name}: {n} lines" for name, n in longer_than_allowed().items() if n > excuses.get(name, NONE)["lines"]]
    assert not wrong, "\n".join(wrong)


def test_an_excuse_has_a_reason_and_is_still_needed() -> None:
    too_long = longer_than_allowed()
    for name, entry in excused().items():
        assert entry["reason"].strip(), f"{name} has no reason"
        assert name in too_long, f"{name} is short enough: remove it from sizes.toml"


def test_the_lines_of_a_data_table_do_not_count() -> None:
    table = "WORDS = frozenset({\n" + '    "a",\n' * 500 + "})\n"
    text = "import re\n" + table + "x = 1\n"
    assert file_lines(Module("m", "m.py", ast.parse(text), text)) == 2
