"""Helpers over syntax trees that every language shares."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from satchel.sources.code import languages as marks
from satchel.sources.code.languages import Grammar, Mark
from satchel.types import EdgeType

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

MAX_NAME = 120
"""Longest name in characters; a longer one is generated or not a name."""

_GENERIC = re.compile(r"<[^<>]*>")
_OPERATOR = re.compile(r"(?P<owner>.*::)?(?P<name>operator\b.*)", re.DOTALL)
_PATH = re.compile(r"[\w$#~?!=.-]+")
_IDENTIFIER = re.compile(r"(?:[^\W\d]|[$#])[\w$]*")
_SILENT = frozenset({"prototype", "exports", "module", "this", "self", "window", "globalThis"})
_ECMASCRIPT = frozenset({"javascript", "typescript", "tsx"})


def dotted(text: str, language: str) -> str:
    """Return a name from the source, with dots and without generics, quotes and what only says where it is attached.

    `ns::Box<T>::size` -> `ns.Box.size`, `Store.prototype.remove` -> `Store.remove`, `exports.create` -> `create`,
    `&'a super::Shape<T>` -> `Shape` (Rust), `[Symbol.iterator]` -> `iterator`.
    """
    if text.isidentifier():
        return text[:MAX_NAME]
    name = text.strip().strip("'\"`")
    if language == "cpp" and (operator := _OPERATOR.fullmatch(name)):
        return (_path(operator["owner"] or "") + "".join(operator["name"].split()))[:MAX_NAME]
    name = _path(name.replace(":", ".") if language == "lua" else name)
    if not _PATH.fullmatch(name):
        name = next(reversed(_IDENTIFIER.findall(name)), "") or text.strip()
    if language == "rust":
        name = name.rpartition(".")[2]
    elif language in _ECMASCRIPT and "." in name:
        parts = name.split(".")
        name = ".".join(part for part in parts if part not in _SILENT) or parts[-1]
    return name.strip(".")[:MAX_NAME] or text.strip()[:MAX_NAME]


def _path(text: str) -> str:
    """Return the text without generics, its separators turned into dots."""
    for _ in range(10):
        text, count = _GENERIC.subn("", text)
        if not count:
            break
    return text.replace("::", ".").replace("\\", ".").removeprefix(":")


Captures = Mapping[str, Sequence["Node"]]


class Declaration(Struct):
    """A named declaration. Offsets are in bytes, rows count from 0, `body` and `body_end` are -1 without a body.

    `owner` is the owner in the text itself (a Go receiver, the `A` of `A::b`; then `attached` is true) until `nesting`
    completes it; `broken` if a syntax error is inside.
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
    body_end: int = -1
    attached: bool = False
    broken: bool = False
    parent: Declaration | None = None
    in_function: bool = False
    has_function: bool = False

    @property
    def qualified(self) -> str:
        """The name after that of its owner."""
        return f"{self.owner}.{self.name}" if self.owner else self.name


class SyntaxFindings(Struct):
    """All matches of the query in one file; declarations by the offset of their name."""

    source: bytes
    language: str
    line_starts: list[int]
    declarations: dict[int, Declaration] = field(default_factory=dict)
    references: list[tuple[int, EdgeType, bytes]] = field(default_factory=list)
    imports: dict[int, Node] = field(default_factory=dict)
    comment_rows: set[int] = field(default_factory=set)
    doc_rows: set[int] = field(default_factory=set)
    doc_ends: dict[int, int] = field(default_factory=dict)
    prefix_rows: set[int] = field(default_factory=set)
    prefix_ends: dict[int, int] = field(default_factory=dict)
    outer_starts: dict[int, tuple[int, int]] = field(default_factory=dict)
    embedded: list[Node] = field(default_factory=list)
    has_error: bool = False
    root: Node | None = None

    @property
    def row_count(self) -> int:
        """The number of lines; a line end at the very end starts no line."""
        return len(self.line_starts) - (1 if self.line_starts[-1] == len(self.source) else 0)

    def row_of(self, offset: int) -> int:
        """Return the row of a byte."""
        return bisect_right(self.line_starts, offset) - 1

    def line(self, row: int) -> bytes:
        """Return the bytes of a row, without its line end."""
        end = self.line_starts[row + 1] - 1 if row + 1 < len(self.line_starts) else len(self.source)
        return self.source[self.line_starts[row] : end]

    def rows(self, first: int, end: int) -> bytes:
        """Return the bytes of the rows from one to before another."""
        return self.source[self.line_starts[first] : self.offset(end)]

    def offset(self, row: int) -> int:
        """Return where a row starts; the end of the text for the row after the last."""
        return self.line_starts[row] if row < len(self.line_starts) else len(self.source)

    def text(self, start: int, end: int) -> str:
        """Return decoded bytes."""
        return self.source[start:end].decode("utf-8", "replace")


def collect(tree: Tree, grammar: Grammar, findings: SyntaxFindings) -> None:
    """Run the query over a tree and add each match under its mark."""
    from tree_sitter import QueryCursor

    cursor = QueryCursor(grammar.query)
    # Deepest tree level at which a pattern may start. Beyond it each step of the query costs as much as the level:
    # 100,000 open brackets took 12 s, 1,000 take a few milliseconds. Code written by people stays below 300.
    cursor.set_max_start_depth(1_000)
    meanings, conditions = grammar.marks, grammar.conditions
    call, source, references, kind = marks.CALL, findings.source, findings.references, EdgeType.CALLS
    for pattern, captures in cursor.matches(tree.root_node):
        mark, condition = meanings[pattern], conditions[pattern]
        if condition is not None:
            word = captures["_word"][0]
            if not condition.search(source[word.start_byte : word.end_byte]):
                continue
        if mark is call:
            for node in captures["call"]:
                start = node.start_byte
                references.append((start, kind, source[start : node.end_byte]))
        elif mark <= marks.CONSTANT:
            _declare(findings, mark, captures)
        else:
            _file(findings, mark, captures)


def _declare(findings: SyntaxFindings, mark: Mark, captures: Captures) -> None:
    """Add a declaration, or several constants; of two patterns for the same name the preferred one wins."""
    if mark is marks.CONSTANT:
        nodes = [*captures.get("constant", ()), *map(_innermost, captures.get("declarator", ()))]
        pairs = [(name, name) for name in nodes]
    else:
        names = captures.get("name") or [_innermost(node) for node in captures["declarator"]]
        pairs = [(names[0], captures[marks.CAPTURES[mark]][0])]
    bodies = captures.get("body")
    body, body_end = (bodies[0].start_byte, bodies[0].end_byte) if bodies else (-1, -1)
    for name, node in pairs:
        earlier = findings.declarations.get(name.start_byte)
        rank = mark, body < 0, "owner" not in captures
        if earlier is not None and (earlier.mark, earlier.body < 0, not earlier.attached) <= rank:
            continue
        owner, _, last = dotted(findings.text(name.start_byte, name.end_byte), findings.language).rpartition(".")
        if "owner" in captures:
            receiver = captures["owner"][0]
            owner = findings.text(receiver.start_byte, receiver.end_byte)
        start, first = findings.outer_starts.get(node.start_byte, (node.start_byte, node.start_point[0]))
        if node.is_error:
            # A class that is never closed: it begins at its name, and the error is inside.
            start, first = name.start_byte, name.start_point[0]
            body = findings.offset(first + 1)
        end_row, end_column = node.end_point
        findings.declarations[name.start_byte] = Declaration(
            mark,
            last,
            owner,
            start,
            len(findings.source) if mark is marks.SCOPE else node.end_byte,
            first,
            end_row - 1 if end_column == 0 and end_row > first else end_row,
            name.start_point[0],
            body,
            body_end,
            attached=bool(owner),
            broken=node.has_error,
        )


def _innermost(node: Node) -> Node:
    """Return the name inside a C declarator: `shape_new` of `*shape_new(int x)`."""
    for _ in range(50):  # maximum depth of the name in a C declarator: `int (*(*f)(void))[3]` needs 6
        inner = node.child_by_field_name("declarator")
        if inner is None and node.type in {"parenthesized_declarator", "reference_declarator"}:
            inner = node.named_child(node.named_child_count - 1)
        if inner is None:
            break
        node = inner
    return node


def _own_rows(findings: SyntaxFindings, node: Node) -> range:
    """Return the rows that contain only this node."""
    (first, _), (last, end_column) = node.start_point, node.end_point
    starts, source = findings.line_starts, findings.source
    end = node.end_byte
    after = findings.offset(last + 1)
    if (end_column == 0 and last > first) or source[end:after].strip():
        last -= 1
    if source[starts[first] : node.start_byte].strip():
        first += 1
    return range(first, last + 1)


def _file(findings: SyntaxFindings, mark: Mark, captures: Captures) -> None:
    """Add a match of any mark but a declaration or a plain call."""
    if mark is marks.OUTER:
        outer, inner = captures["outer"][0], captures["inner"][0]
        findings.outer_starts[inner.start_byte] = (outer.start_byte, outer.start_point[0])
        return
    for node in captures[marks.CAPTURES[mark]]:
        start, end = node.start_byte, node.end_byte
        if mark is marks.INHERIT:
            findings.references.append((start, EdgeType.INHERITS, findings.source[start:end]))
        elif mark is marks.POSSIBLE_CALL:
            if findings.source[end : end + 1] in {b"(", b"!"}:
                findings.references.append((start, EdgeType.CALLS, findings.source[start:end]))
        elif mark is marks.IMPORT:
            findings.imports[start] = node
        elif mark is marks.COMMENT:
            findings.comment_rows.update(_own_rows(findings, node))
        elif mark is marks.DOC:
            findings.doc_rows.update(_own_rows(findings, node))
            findings.doc_ends[start] = end
        elif mark is marks.PREFIX:
            findings.prefix_rows.update(_own_rows(findings, node))
            findings.prefix_ends[start] = end
        else:
            findings.embedded.append(node)
