"""Definitions of a source file by tree-sitter, independent of satchel's own extraction, and the gold functions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from tree_sitter import Language, Node, Parser

if TYPE_CHECKING:
    from .dataset import Instance

GRAMMARS: dict[str, tuple[str, str]] = {
    ".py": ("tree_sitter_python", "language"),
    ".js": ("tree_sitter_javascript", "language"),
    ".jsx": ("tree_sitter_javascript", "language"),
    ".mjs": ("tree_sitter_javascript", "language"),
    ".cjs": ("tree_sitter_javascript", "language"),
    ".ts": ("tree_sitter_typescript", "language_typescript"),
    ".tsx": ("tree_sitter_typescript", "language_tsx"),
    ".go": ("tree_sitter_go", "language"),
    ".rs": ("tree_sitter_rust", "language"),
    ".java": ("tree_sitter_java", "language"),
    ".c": ("tree_sitter_c", "language"),
    ".h": ("tree_sitter_c", "language"),
}
FUNCTIONS = {
    "constructor_declaration",
    "function_declaration",
    "function_definition",
    "function_item",
    "generator_function_declaration",
    "method_declaration",
    "method_definition",
}
CONTAINERS = {
    "abstract_class_declaration": "name",
    "class": "name",
    "class_declaration": "name",
    "class_definition": "name",
    "enum_declaration": "name",
    "impl_item": "type",
    "interface_declaration": "name",
    "internal_module": "name",
    "mod_item": "name",
    "record_declaration": "name",
    "trait_item": "name",
}
# A function that is a value gets its name from what holds it: `const run = () => 1`, `proto.run = function () {}`.
HOLDERS = {
    "assignment_expression": ("left", "right"),
    "field_definition": ("property", "value"),
    "pair": ("key", "value"),
    "public_field_definition": ("name", "value"),
    "variable_declarator": ("name", "value"),
}
FUNCTION_VALUES = {"arrow_function", "function", "function_expression", "generator_function"}
# The data names C functions by their return type (`src/jv.c::int`): only the changed lines can tell which are meant.
NAMELESS = {".c", ".h"}


@dataclass(frozen=True, slots=True)
class Definition:
    """A function or a container of functions; lines are 1-based and inclusive."""

    qualified_name: str
    start: int
    end: int
    is_function: bool
    depth: int


@cache
def _parser(suffix: str) -> Parser | None:
    if suffix not in GRAMMARS:
        return None
    module, name = GRAMMARS[suffix]
    return Parser(Language(getattr(import_module(module), name)()))


def _text(node: Node | None) -> str:
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""


def _c_name(node: Node) -> str:
    inner = node.child_by_field_name("declarator")
    while inner is not None and inner.type not in {"identifier", "field_identifier"}:
        inner = inner.child_by_field_name("declarator")
    return _text(inner)


def _named(node: Node) -> tuple[str, bool] | None:
    """The name of a definition and whether it is a function; None for any other node."""
    if node.type in FUNCTIONS:
        return _text(node.child_by_field_name("name")) or _c_name(node), True
    if node.type in CONTAINERS:
        return _text(node.child_by_field_name(CONTAINERS[node.type])), False
    if node.type in HOLDERS:
        name, value = (node.child_by_field_name(field) for field in HOLDERS[node.type])
        if value is not None and value.type in FUNCTION_VALUES:
            return _text(name), True
    return None


def definitions(path: str, source: bytes) -> list[Definition]:
    """All definitions of a file in order of their first line, nested ones too; empty without a grammar."""
    parser = _parser(PurePosixPath(path).suffix)
    if parser is None:
        return []
    found: list[Definition] = []
    waiting: list[tuple[Node, str, int]] = [(parser.parse(source).root_node, "", 0)]
    while waiting:
        node, prefix, depth = waiting.pop()
        named = _named(node)
        if named is not None and named[0]:
            prefix = f"{prefix}.{named[0]}" if prefix else named[0]
            end = node.end_point.row + (1 if node.end_point.column else 0)
            found.append(Definition(prefix, node.start_point.row + 1, max(end, 1), named[1], depth))
            depth += named[1]
        waiting.extend((child, prefix, depth) for child in node.named_children)
    return sorted(found, key=lambda item: (item.start, -item.end, item.qualified_name))


def _changed(item: Definition, ranges: list[list[int]]) -> bool:
    return any(first <= item.end and item.start <= last for first, last in ranges)


def _candidates(name: str, functions: list[Definition]) -> list[Definition]:
    exact = [item for item in functions if item.qualified_name == name]
    last = name.rsplit(".", 1)[-1]
    return exact or [item for item in functions if item.qualified_name.rsplit(".", 1)[-1] == last]


def gold_function_spans(instance: Instance, tree: Path) -> dict[str, set[tuple[int, int]]]:
    """Line spans of the functions that the fix changed, by path; what cannot be located without doubt is absent.

    Several definitions of one name are told apart by the changed lines; C functions are found by these alone.
    """
    spans: dict[str, set[tuple[int, int]]] = {}
    for entry in instance["gold_functions"]:
        path, _, name = entry.partition("::")
        try:
            source = (tree / path).read_bytes()
        except OSError:
            continue
        ranges = instance["gold_lines"].get(path, [])
        functions = [item for item in definitions(path, source) if item.is_function]
        if PurePosixPath(path).suffix in NAMELESS:
            chosen = [item for item in functions if item.depth == 0 and _changed(item, ranges)]
        else:
            candidates = _candidates(name, functions)
            chosen = [item for item in candidates if _changed(item, ranges)]
            chosen = chosen or (candidates if len(candidates) == 1 else [])
        if chosen:
            spans.setdefault(path, set()).update((item.start, item.end) for item in chosen)
    return spans
