"""The rows of what satchel promises, with their tests as pytest names them.

What this prints is for pytest:

    pytest $(python -m tests.contracts.rows)                 # every row of rows.toml
    pytest $(python -m tests.contracts.rows A F12)           # the rows of a letter, and one row
    pytest $(python -m tests.contracts.rows --security)      # the rows of docs/security.md in their place
"""

from __future__ import annotations

import argparse
import ast
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
Tests = Mapping[str, Sequence[str]]
"""Tests by row, each as `folder/test_file.py::name`, without the `test_` of the name."""


def promised() -> Tests:
    """Return the tests of each row of `rows.toml`."""
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {row: values["tests"] for row, values in rows.items()}


def secured() -> Tests:
    """Return the tests of each row of the table of `docs/security.md`."""
    page = (TESTS.parent / "docs" / "security.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([A-Z]\d+) \|(.*)", page, re.MULTILINE)
    return {row: re.findall(r"`([\w/]+\.py::\w+)`", line) for row, line in rows}


def node(test: str) -> str | None:
    """Return the name that pytest gives a test, None if there is no such test."""
    path, _, name = test.partition("::")
    inside = _names(path).get(f"test_{name}")
    return f"tests/{path}::{inside}" if inside is not None else None


@cache
def _names(path: str) -> Mapping[str, str]:
    file = TESTS / path
    return dict(_defined(ast.parse(file.read_text(encoding="utf-8")))) if file.is_file() else {}


def _defined(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for part in tree.body:
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
            yield part.name, part.name
        elif isinstance(part, ast.ClassDef):
            methods = (one for one in part.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
            yield from ((method.name, f"{part.name}::{method.name}") for method in methods)


def main() -> None:
    """Print the tests of the chosen rows, each once, one on a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", help="rows or their first letters; all without any")
    parser.add_argument("--security", action="store_true", help="the rows of docs/security.md")
    options = parser.parse_args()
    rows = secured() if options.security else promised()
    chosen = [row for row in rows if not options.rows or row in options.rows or row[0] in options.rows]
    names = {node(test): None for row in chosen for test in rows[row]}
    print("\n".join(name for name in names if name is not None))


if __name__ == "__main__":
    main()
