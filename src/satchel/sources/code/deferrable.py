"""What of a file need not be parsed until something in it is asked for: functions, classes, statements.

The index stores the offsets; `search/resolve/unparsed.py` uses them. The syntax tree of the rest has the same nodes at
the same places as that of the whole file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from satchel.sources.code import languages as marks
from satchel.sources.code.syntax import Declaration, SyntaxFindings

if TYPE_CHECKING:
    from tree_sitter import Node

MIN_BODY = 200
"""Bytes of the shortest body of a function that may be left unparsed."""

MIN_FUNCTION = 100
"""Bytes of the shortest function or class that may be left out as a whole."""

MIN_STATEMENTS, MAX_STATEMENTS = 60, 400
"""Bytes of the shortest stretch of statements that may be left out, and after which the next one begins."""

_BETWEEN_PREFIXES = re.compile(rb"\s*(?:#[^\n]*\s*)*")
_LINE_END = re.compile(rb"[ \t\r\f]*(?:#|\n|\Z)")
_IMPORTS = frozenset({"import_statement", "import_from_statement", "future_import_statement"})

Span = tuple[int, int]
Body = tuple[int, int, int]
"""Where a function or class begins, where its body does, and where it ends."""


def functions(findings: SyntaxFindings, declarations: Iterable[Declaration]) -> Iterator[Body]:
    """Yield the long functions that are not inside of another one.

    One without which the text around it would be no code begins with its body.
    """
    behind, before = 0, {}
    for start, end in findings.prefix_ends.items():
        blanks = _BETWEEN_PREFIXES.match(findings.source, end)
        before[blanks.end() if blanks else end] = start
    for declaration in declarations:
        start, end = declaration.body, declaration.body_end
        if declaration.mark is not marks.FUNCTION or start < behind:
            continue
        first = declaration.start
        while first in before:
            first = before[first]
        is_long = end - first >= MIN_FUNCTION and end - start > 1  # its body may have to be parsed as `()`
        if is_long and findings.language == "python" and _is_free(findings, declaration, first):
            yield first, start, end
            behind = end
        elif end - start >= MIN_BODY:
            is_block = findings.source[start : start + 1] == b"{" and findings.source[end - 1 : end] == b"}"
            if is_block or findings.language == "python":
                yield start, start, end
                behind = end


def _is_free(findings: SyntaxFindings, declaration: Declaration, first: int) -> bool:
    """Return whether a function of Python may be left out: a statement of a file or class that does not begin it.

    A class does not end with it either. Without it, what is around would be at another place.
    """
    around = declaration.parent
    if around is None:
        return _column(findings, first) == 0 and first > len(findings.source) - len(findings.source.lstrip())
    is_in_class = around.mark is marks.CLASS and around.body < first and declaration.body_end < around.body_end
    return is_in_class and _column(findings, first) == _column(findings, around.body)


def _column(findings: SyntaxFindings, offset: int) -> int:
    return offset - findings.line_starts[findings.row_of(offset)]


class ClassesAndStatements(NamedTuple):
    """Classes, and stretches of statements of a file or class, that may be left out; each in order.

    A stretch that begins with an import has nothing else.
    """

    classes: tuple[Body, ...] = ()
    statements: tuple[Span, ...] = ()


def classes_and_statements(findings: SyntaxFindings, left_out: Collection[int]) -> ClassesAndStatements | None:
    """Return what may be left out of a file of Python beside the functions that begin at these offsets.

    What begins a file, and what begins or ends a class, is never left out. None for a file in which a statement or
    comment begins in another column than its block: without what is before, it would belong to what is above.
    """
    classes: list[Body] = []
    statements: list[Span] = []
    pending = [(findings.root, False)]
    for block, is_class in pending:
        children = block.children if block is not None else []
        known = [index for index, child in enumerate(children) if child.is_named and child.type != "comment"]
        first, last = (known[0], known[-1]) if is_class and known else (0, len(children))
        stretch, columns = _Stretch(findings.source, statements), set()
        for index, child in enumerate(children):
            start, is_free = child.start_byte, first < index < last
            columns |= {child.start_point.column} if stretch.starts_line(start) else set()
            body = _body_of_class(child)
            pending += [(body, True)] if body is not None else []
            is_long = body is not None and body.end_byte - max(start + MIN_FUNCTION, body.start_byte + 2) >= 0
            if is_free and body is not None and is_long:
                stretch.close()
                classes.append((start, body.start_byte, body.end_byte))
            elif is_free and start not in left_out:
                stretch.add(child)
            else:
                stretch.close()
        stretch.close()
        if len(columns) > 1:
            return None
    return ClassesAndStatements(tuple(sorted(classes)), tuple(sorted(statements)))


def _body_of_class(node: Node) -> Node | None:
    """Return the body of a class, also of one with decorators; None for anything else."""
    if node.type == "decorated_definition":
        node = node.named_children[-1]
    return node.child_by_field_name("body") if node.type == "class_definition" else None


class _Stretch:
    """Statements that follow each other on lines of their own; imports are never beside anything else."""

    def __init__(self, source: bytes, found: list[Span]) -> None:
        self._source, self._found = source, found
        self._first = self._end = -1
        self._kinds: set[bool] = set()  # whether its statements are imports

    def add(self, child: Node) -> None:
        """Add a statement, a comment or a semicolon."""
        start, kind = child.start_byte, child.type
        kinds = set() if kind in {"comment", ";"} else {kind in _IMPORTS}
        if self.starts_line(start):
            if len(self._kinds | kinds) > 1 or self._end - self._first >= MAX_STATEMENTS:
                self.close()
            self._first = start if self._first < 0 else self._first
        if self._first >= 0:
            self._end = child.end_byte
            self._kinds |= kinds

    def close(self) -> None:
        """Note the stretch so far, if it is long and ends with its line."""
        first, end, kinds = self._first, self._end, self._kinds
        self._first, self._end, self._kinds = -1, -1, set()
        if end - first >= MIN_STATEMENTS and len(kinds) < 2 and _LINE_END.match(self._source, end):
            self._found.append((first, end))

    def starts_line(self, offset: int) -> bool:
        """Return whether nothing but blanks is before an offset on its line."""
        return not self._source[self._source.rfind(b"\n", 0, offset) + 1 : offset].strip()
