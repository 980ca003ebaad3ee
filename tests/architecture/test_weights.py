"""Fitted numbers are read where they are used, so that a script can change one and every reader sees it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from importlib import import_module

import pytest

from satchel.fitted import constants
from tests.architecture.tree import Module, modules

FAMILIES = tuple(f"satchel.{room}.weights" for room in ("answer", "guidance", "hooks", "memory", "search"))


def readers() -> Iterator[tuple[Module, frozenset[str]]]:
    """Yield each module of the package that reads fitted numbers, with its names for modules of weights."""
    for module in modules("src"):
        names = {
            alias.asname or alias.name
            for node in ast.walk(module.tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if f"{node.module}.{alias.name}" in FAMILIES
        }
        if names:
            yield module, frozenset(names)


def read_at_import(node: ast.AST, names: frozenset[str]) -> Iterator[int]:
    """Yield the lines at which a node reads a fitted number when its module is imported: bodies of functions do not."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
        yield node.lineno
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        parts: list[ast.AST] = [node.args, *node.decorator_list]
    elif isinstance(node, ast.Lambda):
        parts = [node.args]
    else:
        parts = [*ast.iter_child_nodes(node)]
    for part in parts:
        yield from read_at_import(part, names)


def test_nobody_reads_a_fitted_number_before_it_is_used() -> None:
    found = [f"{one.path}:{line}" for one, names in readers() for line in read_at_import(one.tree, names)]
    assert not found, "read it inside of a function: " + ", ".join(found)


def test_nobody_imports_a_single_fitted_number() -> None:
    found = [
        f"{module.path}:{node.lineno}"
        for module in modules("src")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and node.module in FAMILIES
    ]
    assert not found, "import the module and write weights.NAME: " + ", ".join(found)


def test_a_number_that_is_read_too_early_is_found() -> None:
    text = "A = weights.X\ndef f(x=weights.X):\n    return weights.X\nB = lambda x=weights.X: weights.X\n"
    assert list(read_at_import(ast.parse(text), frozenset({"weights"}))) == [1, 2, 4]


@pytest.mark.parametrize("name", FAMILIES)
def test_every_fitted_number_has_a_range_and_a_reason_and_is_read(name: str) -> None:
    (module,) = (one for one in modules("src") if one.name == name)
    body = module.tree.body[1:]
    declared = {
        node.target.id for node in body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    without_reason = [
        node.lineno
        for node, following in zip(body, [*body[1:], None], strict=True)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and not (isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant))
    ]
    assert not without_reason, f"say what it does below the number: lines {without_reason}"
    assert not [node.lineno for node in body if isinstance(node, ast.Assign)], "give every number its range"
    assert {one.name for one in constants(import_module(name))} == declared
    used = {node.attr for one in modules("src") for node in ast.walk(one.tree) if isinstance(node, ast.Attribute)}
    assert not declared - used, "nobody reads it"


@pytest.mark.parametrize("name", FAMILIES)
def test_every_fitted_number_is_within_its_range(name: str) -> None:
    outside = [one for one in constants(import_module(name)) if not one.low <= one.value <= one.high]
    assert outside == []


NOT_FITTED: Mapping[str, str] = {
    "src/satchel/answer/pins.py::_candidate": "above every file of a search",
    "src/satchel/answer/situation.py::_with_records": "above every value of a search",
    "src/satchel/answer/fitting.py::_with_best_whole": "tokens by count and by estimate",
    "src/satchel/search/bm25.py::_rarity": "the definition of the idf",
    "src/satchel/search/changes.py::_unknown": "names that a message offers",
    "src/satchel/search/contradictions.py::_placed": "an order between equal ones",
    "src/satchel/search/lessons.py::_naming": "a folder says half of what its file says",
    "src/satchel/search/rank_records.py::halved": "the definition of a half-life",
    "src/satchel/search/votes.py::unfaded": "the definition of a half-life",
}
"""Function -> the meaning of a fraction in it that no fit should move."""


def fractions(module: Module) -> Iterator[str]:
    """Yield the functions of a module that have a number with a point, except 0, 1 and tolerances below 1e-5."""
    for function in ast.walk(module.tree):
        if isinstance(function, ast.FunctionDef):
            values = (node.value for part in function.body for node in ast.walk(part) if isinstance(node, ast.Constant))
            if any(isinstance(value, float) and value not in (0.0, 1.0) and abs(value) > 1e-5 for value in values):
                yield f"{module.path}::{function.name}"


def test_no_fraction_is_hidden_in_a_function_of_search_and_answer() -> None:
    rooms = ("satchel.search.", "satchel.answer.")
    found = {name for module in modules("src") if module.name.startswith(rooms) for name in fractions(module)}
    assert found == NOT_FITTED.keys(), "name it in weights.py, or say here why no fit should move it"
