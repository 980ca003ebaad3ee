"""Runs of statements and members: units that can be left out of a text without breaking its syntax.

A *run* is the list of units (statements, methods, entries) inside one node of the syntax tree, each on lines of its
own. Leaving out complete units keeps the syntax almost always; `faults` detects the exceptions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from satchel.sources.code.languages import grammar
from satchel.sources.code.parse import syntax_tree

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

_DEEPEST = 60
"""Maximum levels searched below a definition; written code nests less deep."""

_SEPARATORS = frozenset({",", ";", "\n", ""})
_COMMENT = re.compile(r"comment")
_FUNCTION = re.compile(r"function|method|constructor|decorated")
_INTRODUCES = re.compile(r"comment|decorator|attribute|annotation|php_tag")
_LIST = re.compile(
    r"block|body|list|program|module|source_file|unit|compound|object|array|dict|hash|group|then|literal_value|subshell"
)
"""Types of the nodes whose children are statements, members or entries."""


class _Group(NamedTuple):
    """Children of a node that share lines with each other and with nothing else; lines from 1."""

    first: int
    last: int
    nodes: tuple[Node, ...]

    @property
    def only(self) -> Node | None:
        """The one named child, None if there are several."""
        named = [node for node in self.nodes if node.is_named]
        return named[0] if len(named) == 1 else None

    def says(self, pattern: re.Pattern[str]) -> bool:
        """Return whether the types of all named children match."""
        return all(pattern.search(node.type) for node in self.nodes if node.is_named)


class Unit(NamedTuple):
    """One statement or member: its lines (from 1). `body` is the run inside it if it is a function."""

    start: int
    end: int
    body: Run | None = None
    is_comment: bool = False


class Run(NamedTuple):
    """Units in order; `documented` if the first is the doc string of the enclosing node."""

    units: tuple[Unit, ...]
    documented: bool = False


def tree_of(text: str, language: str) -> Tree | None:
    """Return the syntax tree of a text in one of `GRAMMARS`; None for a hostile text."""
    return syntax_tree(text.encode("utf-8", "replace"), grammar(language), language)


def faults(tree: Tree) -> int:
    """Return the number of errors and missing tokens in the tree."""
    count, pending = 0, [tree.root_node]
    while pending:
        node = pending.pop()
        count += node.is_error or node.is_missing
        pending += [child for child in node.children if child.has_error or child.is_missing]
    return count


def run_within(tree: Tree, text: str, start: int, end: int) -> Run | None:
    """Return the run (a body, members) with most of these lines (from 1), None if it cannot be divided."""
    lines = text.encode("utf-8", "replace").split(b"\n")  # the binding must not be asked for the text of a node
    return _main_run(_around(tree.root_node, start - 1, end - 1), start, end, lines)


def _around(node: Node, first: int, last: int) -> Node:
    """Return the smallest node with all of these rows."""
    for _ in range(_DEEPEST):
        inner = next((child for child in node.children if child.start_point[0] <= first and _last(child) >= last), None)
        if inner is None or (inner.start_point[0], _last(inner)) == (first, last):
            return inner or node
        node = inner
    return node


def _main_run(node: Node, start: int, end: int, lines: Sequence[bytes]) -> Run | None:
    """Return the run of a node, or of its largest child, as deep as possible."""
    best: Run | None = None
    is_inside = False
    for _ in range(_DEEPEST):
        groups = [group for group in _groups(node, lines) if start <= group.first and group.last <= end]
        if _LIST.search(node.type) and groups:
            *before, last = groups
            introduced = all(group.says(_INTRODUCES) for group in before)
            # A definition with its comments and decorators is looked into, never left out as a whole.
            if not introduced or (is_inside and best is None):
                best = _run(groups, lines)
            if last.only is None or not introduced:
                return best
            node = last.only
        else:
            inside = [child for child in node.children if child.is_named and child.start_point[0] + 1 >= start]
            largest = max(inside, key=lambda child: _last(child) - child.start_point[0], default=None)
            if largest is None or _last(largest) == largest.start_point[0]:
                return best
            node, is_inside = largest, True
    return best


def _run(groups: Sequence[_Group], lines: Sequence[bytes]) -> Run:
    opening = groups[0].only
    documented = (
        opening is not None
        and opening.type == "expression_statement"
        and [child.type for child in opening.named_children] == ["string"]
    )
    return Run(tuple(_unit(group, lines) for group in groups), documented)


def _unit(group: _Group, lines: Sequence[bytes]) -> Unit:
    body = None
    if group.only is not None and _FUNCTION.search(group.only.type):
        body = _main_run(group.only, group.first + 1, group.last, lines)
    return Unit(group.first, group.last, body, group.says(_COMMENT))


def _groups(node: Node, lines: Sequence[bytes]) -> Iterator[_Group]:
    """Yield the children that can be left out: those on lines without keyword, bracket or text of the node."""
    pending: _Group | None = None
    for child in node.children:
        first, last = child.start_point[0] + 1, _last(child) + 1
        if pending is not None and first <= pending.last:
            pending = _Group(pending.first, max(pending.last, last), (*pending.nodes, child))
            continue
        if pending is not None and _is_free(pending, lines):
            yield pending
        pending = _Group(first, last, (child,))
    if pending is not None and _is_free(pending, lines):
        yield pending


def _is_free(group: _Group, lines: Sequence[bytes]) -> bool:
    if not any(node.is_named for node in group.nodes):
        return False
    if any(not node.is_named and node.type not in _SEPARATORS for node in group.nodes):
        return False
    opening, closing = group.nodes[0], max(group.nodes, key=lambda node: node.end_byte)
    before = lines[group.first - 1][: opening.start_point[1]]
    behind = lines[group.last - 1][closing.end_point[1] :] if closing.end_point[0] == group.last - 1 else b""
    return not before.strip() and not behind.strip(b" \t\r")


def _last(node: Node) -> int:
    """Return the last row (from 0) of the node."""
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point[0] else row
