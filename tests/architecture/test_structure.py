"""The structure of the package: no import cycle, and one module for a class name."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping

from tests.architecture.tree import PACKAGE, imports_of, modules


def import_graph() -> dict[str, set[str]]:
    """Map each module to those it imports: at the top, inside functions, and for type checkers."""
    listed = modules("src")
    names = {module.name for module in listed} - {PACKAGE}
    return {one.name: {target.target for target in imports_of(one)} & names - {one.name} for one in listed}


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return each group of modules that reach one another."""
    reachable = {module: _reachable(graph, module) for module in graph}
    groups = {tuple(sorted(other for other in reachable[module] if module in reachable[other])) for module in graph}
    return [list(group) for group in sorted(groups) if len(group) > 1]


def _reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for target in graph[waiting.pop()] - seen:
            seen.add(target)
            waiting.append(target)
    return seen


def test_no_modules_import_each_other() -> None:
    assert cycles(import_graph()) == []


def test_a_cycle_is_detected() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def test_a_public_class_name_is_defined_in_one_module() -> None:
    homes: dict[str, set[str]] = defaultdict(set)
    for module in modules("src"):
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].add(module.name)
    several = {name: sorted(places) for name, places in homes.items() if len(places) > 1}
    assert several == {}
