"""From declarations to parts that tile the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from satchel.sources.code.grammar import Mark
from satchel.sources.code.syntax import Declaration, Findings

MAX_OWNER = 300
"""Longest owner in characters: names that nest without end would grow with the square of the file."""

_CLOSER = re.compile(rb"\s*(?:(?:[)\]}]+[;,)]*|end)\s*(?:(?://|#|/\*).*)?)?\s*")


@dataclass(slots=True)
class Stretch:
    """Rows (from 0, inclusive) that are one part; without a declaration they are a gap."""

    first: int
    last: int
    declaration: Declaration | None


def nesting(findings: Findings) -> list[Declaration]:
    """The declarations in order, each told its owner; constants inside functions are left out."""
    ordered = sorted(findings.declarations.values(), key=lambda one: (one.start, -one.end, one.mark))
    stack: list[Declaration] = []
    kept = []
    for declaration in ordered:
        while stack and stack[-1].end <= declaration.start:
            stack.pop()
        if declaration.mark is Mark.SCOPE:
            stack = [one for one in stack if one.mark is not Mark.SCOPE]
        parent = stack[-1] if stack else None
        if parent is not None:
            declaration.parent = parent
            declaration.in_function = parent.mark is Mark.FUNCTION or parent.in_function
            names = (parent.qualified[:MAX_OWNER], declaration.owner)
            declaration.owner = ".".join(name for name in names if name)
        if declaration.in_function and declaration.mark is Mark.CONSTANT:
            continue
        if declaration.mark is Mark.FUNCTION and not declaration.in_function:
            for one in reversed(stack):
                if one.has_function:
                    break
                one.has_function = True
        if declaration.mark <= Mark.SCOPE:
            stack.append(declaration)
        kept.append(declaration)
    return kept


def _cuts(declaration: Declaration) -> bool:
    """Whether the declaration is a part of its own."""
    if declaration.in_function or declaration.mark > Mark.MODULE:
        return False
    if declaration.mark is Mark.CLASS and declaration.parent is not None:
        return declaration.has_function or declaration.parent.mark is not Mark.CLASS
    return True


def tile(findings: Findings, declarations: list[Declaration]) -> list[Stretch]:
    """The parts of the file, in order and without holes.

    A function takes the comments and decorators directly above it; a class becomes a header that ends before its
    first method; what is left are gaps, cut where a class ends. Blank lines and lone closing brackets go to the part
    before them.
    """
    tiling = _Tiling(findings)
    overloads = {
        row: one.name
        for one in declarations
        if one.mark is Mark.OVERLOAD
        for row in range(one.first_row, one.last_row + 1)
    }
    open_classes: list[Declaration] = []
    for declaration in filter(_cuts, declarations):
        while open_classes and open_classes[-1].end <= declaration.start:
            tiling.flush(open_classes.pop().last_row + 1)
        first = declaration.first_row
        while first > tiling.floor and _attached(findings, overloads, declaration, first - 1):
            first -= 1
        first = max(first, tiling.floor)
        if declaration.last_row < first:
            continue
        tiling.flush(first)
        if declaration.mark is Mark.FUNCTION:
            tiling.declaration = declaration
            tiling.flush(declaration.last_row + 1)
        else:
            tiling.declaration = declaration
            open_classes.append(declaration)
    for declaration in reversed(open_classes):
        tiling.flush(declaration.last_row + 1)
    tiling.flush(findings.row_count)
    return tiling.finish()


def _attached(findings: Findings, overloads: dict[int, str], declaration: Declaration, row: int) -> bool:
    """Whether a row above a declaration belongs to it."""
    if row in findings.comment_rows or row in findings.prefix_rows:
        return True
    return overloads.get(row) == declaration.name


class _Tiling:
    """Rows handed out so far. `declaration` owns the rows from `position` on, until the next flush."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._stretches: list[Stretch] = []
        self.position = 0
        self.declaration: Declaration | None = None

    @property
    def floor(self) -> int:
        """The first row that a new part may start at: a class header keeps at least its own line."""
        if self.declaration is None:
            return self.position
        return max(self.position, self.declaration.name_row + 1)

    def flush(self, until: int) -> None:
        """Hand out the rows before `until` to the current owner; what follows is a gap until told otherwise."""
        first, declaration = self.position, self.declaration
        self.declaration = None
        if until <= first:
            return
        self.position = until
        if declaration is None:
            first = self._give_back(first, until)
        if first < until:
            self._stretches.append(Stretch(first if self._stretches else 0, until - 1, declaration))

    def _give_back(self, first: int, until: int) -> int:
        """Leave the blank rows at the start of a gap to the part before; all of it if only brackets are closed."""
        rows = self._lines(first, until)
        if all(_CLOSER.fullmatch(line) for line in rows):
            kept = until
        else:
            kept = first + next(index for index, line in enumerate(self._lines(first, until)) if line.strip())
        if self._stretches:
            self._stretches[-1].last = kept - 1
        elif kept < until:
            kept = 0
        return kept

    def _lines(self, first: int, until: int) -> Iterator[bytes]:
        return (self._findings.line(row) for row in range(first, until))

    def finish(self) -> list[Stretch]:
        """The stretches; a file of blank lines is one gap."""
        if not self._stretches and self._findings.row_count:
            return [Stretch(0, self._findings.row_count - 1, None)]
        return self._stretches
