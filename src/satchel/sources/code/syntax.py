"""From the matches of a query to plain values: declarations, references, imports, comment lines.

Everything is found by query; no tree is walked by recursion, so depth cannot hurt.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from time import monotonic
from typing import TYPE_CHECKING

from satchel.sources.code.grammar import Grammar, Mark
from satchel.sources.code.naming import dotted
from satchel.types import EdgeType

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

Captures = Mapping[str, Sequence["Node"]]

MAX_DEPTH = 1_000
"""Deepest tree level at which a pattern may start. Beyond it each step of the query costs as much as the level:
100,000 open brackets took 12 s, 1,000 take a few milliseconds. Code written by people stays below 300."""

MAX_SIBLINGS = 10_000
"""Most children of a node that holds a syntax error. The query looks past nameless siblings one by one, for each of
them: 100,000 stray brackets took 10 s, 10,000 take 0.1 s."""

MAX_PUNCTUATION = 10_000
"""Longest run of bytes that are no word: for the same reason, as some languages accept `[,,,,` without an error."""

TICKS = 1_000
TICKS_PER_KILOBYTE = 40
"""Progress reports before the parser is stopped, one for each 100 steps. Code needs at most 22 a kilobyte; error
recovery in garbage goes on for hundreds, each ten times as slow as usual, and took 20 GB for 300 KB of `a=>`."""

PARSE_SECONDS = 5.0
"""Wall time for a file, and as much again for each further megabyte, where steps are few but endless. Usual code
needs 0.1 to 0.2 s a megabyte, so that only a hopeless file on a busy machine ends here."""

_TICKS_PER_LOOK = 64
"""Progress reports between two looks at the clock: 2 ms apart in usual code."""

_DECLARATOR_STEPS = 50
"""How deep a C declarator may hide its name: `int (*(*f)(void))[3]` needs 6."""

_EMBEDDED_ROUNDS = 3
"""How deep macros that hold items may nest: `cfg_net! { cfg_unix! { fn a() {} } }` needs 2."""

_WORD = re.compile(rb"\w")


@dataclass(slots=True)
class Declaration:
    """Something that gets a name. Offsets are in bytes, rows count from 0, `body` is -1 where there is none.

    `owner` is what the text itself names (a Go receiver, the `A` of `A::b`; `attached` says so) until `nesting`
    completes it.
    """

    mark: Mark
    name: str
    owner: str
    start: int
    end: int
    first_row: int
    last_row: int
    name_row: int
    body: int = -1
    attached: bool = False
    parent: Declaration | None = None
    in_function: bool = False
    has_function: bool = False

    @property
    def qualified(self) -> str:
        """The name with that of its owner before it."""
        return f"{self.owner}.{self.name}" if self.owner else self.name


@dataclass(slots=True)
class Findings:
    """All that the query found in one file; declarations by the offset of their name."""

    source: bytes
    language: str
    line_starts: list[int]
    declarations: dict[int, Declaration] = field(default_factory=dict)
    references: list[tuple[int, EdgeType, bytes]] = field(default_factory=list)
    imports: list[Node] = field(default_factory=list)
    comment_rows: set[int] = field(default_factory=set)
    doc_rows: set[int] = field(default_factory=set)
    doc_ends: dict[int, int] = field(default_factory=dict)
    prefix_rows: set[int] = field(default_factory=set)
    prefix_ends: dict[int, int] = field(default_factory=dict)
    outer_starts: dict[int, tuple[int, int]] = field(default_factory=dict)
    embedded: list[Node] = field(default_factory=list)
    has_error: bool = False

    @property
    def row_count(self) -> int:
        """The number of lines; a line end at the very end starts no line."""
        return len(self.line_starts) - (1 if self.line_starts[-1] == len(self.source) else 0)

    def row_of(self, offset: int) -> int:
        """The row that holds a byte."""
        return bisect_right(self.line_starts, offset) - 1

    def line(self, row: int) -> bytes:
        """The bytes of a row, without its line end."""
        end = self.line_starts[row + 1] - 1 if row + 1 < len(self.line_starts) else len(self.source)
        return self.source[self.line_starts[row] : end]

    def text(self, start: int, end: int) -> str:
        """Decoded bytes."""
        return self.source[start:end].decode("utf-8", "replace")


def find(source: bytes, language: str, grammar: Grammar) -> Findings | None:
    """Parse and query one file. None where its shape would make that take for ever."""
    from tree_sitter import Parser

    if _is_hostile_text(source):
        return None
    parser = Parser(grammar.language)
    tree = _parse(parser, source)
    if tree is None:
        return None
    starts = [0, *accumulate(len(line) + 1 for line in source.split(b"\n")[:-1])]
    findings = Findings(source, language, starts, has_error=tree.root_node.has_error)
    _collect(tree, grammar, findings)
    _collect_embedded(parser, grammar, findings)
    return findings


def _parse(parser: Parser, source: bytes) -> Tree | None:
    """The tree, or None where it takes too long or holds an error that no query can get past.

    Only a read function comes with progress reports. The binding never lets go of what it returns, so it gets views
    that are emptied afterwards.
    """
    views: list[memoryview] = []
    most_ticks = TICKS + TICKS_PER_KILOBYTE * len(source) // 1_000
    deadline = monotonic() + PARSE_SECONDS * (1 + len(source) / 1_000_000)
    ticks = 0

    def read(offset: int, _: object) -> memoryview:
        views.append(memoryview(source)[offset:])
        return views[-1]

    def is_hopeless(_: int, __: bool) -> bool:
        nonlocal ticks
        ticks += 1
        return ticks > most_ticks or (ticks % _TICKS_PER_LOOK == 0 and monotonic() > deadline)

    try:
        tree = parser.parse(read, progress_callback=is_hopeless)
    except ValueError:
        return None
    finally:
        for view in views:
            view.release()
    return None if tree.root_node.has_error and _is_hostile_tree(tree) else tree


def _is_hostile_text(source: bytes) -> bool:
    """Whether a run of punctuation and blanks is longer than the limit (or nearly twice as long)."""
    for offset in range(0, len(source), MAX_PUNCTUATION):
        word = _WORD.search(source, offset)
        if (word.start() if word else len(source)) - offset > MAX_PUNCTUATION:
            return True
    return False


def _is_hostile_tree(tree: Tree) -> bool:
    """Whether a node with an error has too many children. Visits only nodes with errors and their siblings."""
    cursor = tree.walk()
    while True:
        node = cursor.node
        if node is not None and node.has_error:
            if node.child_count > MAX_SIBLINGS:
                return True
            if cursor.goto_first_child():
                continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return False


def _collect(tree: Tree, grammar: Grammar, findings: Findings) -> None:
    """Run the query over a tree and file each match under its mark."""
    from tree_sitter import QueryCursor

    cursor = QueryCursor(grammar.query)
    cursor.set_max_start_depth(MAX_DEPTH)
    marks, conditions = grammar.marks, grammar.conditions
    calls, source, references = Mark.CALL, findings.source, findings.references
    for pattern, captures in cursor.matches(tree.root_node):
        mark, condition = marks[pattern], conditions[pattern]
        if condition is not None:
            word = captures["_word"][0]
            if not condition.search(source[word.start_byte : word.end_byte]):
                continue
        if mark is calls:
            for node in captures["call"]:
                start = node.start_byte
                references.append((start, EdgeType.CALLS, source[start : node.end_byte]))
        elif mark <= Mark.CONSTANT:
            _declare(findings, mark, captures)
        else:
            _FILERS[mark](findings, captures)


def _collect_embedded(parser: Parser, grammar: Grammar, findings: Findings) -> None:
    """Read the items inside macros: the same text again, only their insides, so that offsets stay true."""
    from tree_sitter import Point, Range

    for _ in range(_EMBEDDED_ROUNDS):
        nodes, findings.embedded = findings.embedded, []
        ranges = [
            Range(
                Point(node.start_point.row, node.start_point.column + 1),
                Point(node.end_point.row, node.end_point.column - 1),
                node.start_byte + 1,
                node.end_byte - 1,
            )
            for node in nodes
            if node.end_point.column > 0 and b"fn " in findings.source[node.start_byte : node.end_byte]
        ]
        if not ranges:
            return
        parser.included_ranges = ranges
        tree = _parse(parser, findings.source)
        if tree is None:
            return
        _collect(tree, grammar, findings)


def _declare(findings: Findings, mark: Mark, captures: Captures) -> None:
    """Note a declaration, or several constants; the better of two patterns that name the same thing wins."""
    if mark is Mark.CONSTANT:
        nodes = [*captures.get("constant", ()), *map(_innermost, captures.get("declarator", ()))]
        pairs = [(name, name) for name in nodes]
    else:
        names = captures.get("name") or [_innermost(node) for node in captures["declarator"]]
        pairs = [(names[0], captures[mark.name.lower()][0])]
    bodies = captures.get("body")
    body = bodies[0].start_byte if bodies else -1
    for name, node in pairs:
        known = findings.declarations.get(name.start_byte)
        if known is not None and (known.mark, known.body < 0) <= (mark, body < 0):
            continue
        owner, _, last = dotted(findings.text(name.start_byte, name.end_byte), findings.language).rpartition(".")
        if "owner" in captures:
            receiver = captures["owner"][0]
            owner = findings.text(receiver.start_byte, receiver.end_byte)
        start, first = findings.outer_starts.get(node.start_byte, (node.start_byte, node.start_point[0]))
        end_row, end_column = node.end_point
        findings.declarations[name.start_byte] = Declaration(
            mark,
            last,
            owner,
            start,
            len(findings.source) if mark is Mark.SCOPE else node.end_byte,
            first,
            end_row - 1 if end_column == 0 and end_row > first else end_row,
            name.start_point[0],
            body,
            attached=bool(owner),
        )


def _innermost(node: Node) -> Node:
    """The name inside a C declarator: `shape_new` of `*shape_new(int x)`."""
    for _ in range(_DECLARATOR_STEPS):
        inner = node.child_by_field_name("declarator")
        if inner is None and node.type in {"parenthesized_declarator", "reference_declarator"}:
            inner = node.named_child(node.named_child_count - 1)
        if inner is None:
            break
        node = inner
    return node


def _own_rows(findings: Findings, node: Node) -> range:
    """The rows that hold nothing but this node."""
    (first, _), (last, end_column) = node.start_point, node.end_point
    starts, source = findings.line_starts, findings.source
    end = node.end_byte
    after = starts[last + 1] if last + 1 < len(starts) else None
    if (end_column == 0 and last > first) or source[end:after].strip():
        last -= 1
    if source[starts[first] : node.start_byte].strip():
        first += 1
    return range(first, last + 1)


def _file_inherit(findings: Findings, captures: Captures) -> None:
    for node in captures["inherit"]:
        text = findings.source[node.start_byte : node.end_byte]
        findings.references.append((node.start_byte, EdgeType.INHERITS, text))


def _file_possible_call(findings: Findings, captures: Captures) -> None:
    for node in captures["possible_call"]:
        if findings.source[node.end_byte : node.end_byte + 1] in {b"(", b"!"}:
            text = findings.source[node.start_byte : node.end_byte]
            findings.references.append((node.start_byte, EdgeType.CALLS, text))


def _file_import(findings: Findings, captures: Captures) -> None:
    findings.imports.extend(captures["import"])


def _file_comment(findings: Findings, captures: Captures) -> None:
    for node in captures["comment"]:
        findings.comment_rows.update(_own_rows(findings, node))


def _file_doc(findings: Findings, captures: Captures) -> None:
    for node in captures["doc"]:
        findings.doc_rows.update(_own_rows(findings, node))
        findings.doc_ends[node.start_byte] = node.end_byte


def _file_prefix(findings: Findings, captures: Captures) -> None:
    for node in captures["prefix"]:
        findings.prefix_rows.update(_own_rows(findings, node))
        findings.prefix_ends[node.start_byte] = node.end_byte


def _file_embedded(findings: Findings, captures: Captures) -> None:
    findings.embedded.extend(captures["embedded"])


def _file_outer(findings: Findings, captures: Captures) -> None:
    outer, inner = captures["outer"][0], captures["inner"][0]
    findings.outer_starts[inner.start_byte] = (outer.start_byte, outer.start_point[0])


_FILERS: dict[Mark, Callable[[Findings, Captures], None]] = {
    Mark.INHERIT: _file_inherit,
    Mark.POSSIBLE_CALL: _file_possible_call,
    Mark.IMPORT: _file_import,
    Mark.COMMENT: _file_comment,
    Mark.DOC: _file_doc,
    Mark.PREFIX: _file_prefix,
    Mark.EMBEDDED: _file_embedded,
    Mark.OUTER: _file_outer,
}
