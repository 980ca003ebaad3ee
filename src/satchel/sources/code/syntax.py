"""From the matches of a query to plain values: declarations, references, imports, comment lines.

Everything is found by query, in document order; no tree is walked by recursion, so depth cannot hurt.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from satchel.sources.code.grammar import Grammar, Mark
from satchel.types import EdgeType

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 1_000
"""Deepest tree level at which a pattern may start. Beyond it each step of the query costs as much as the level:
100,000 open brackets took 12 s, 1,000 take a few milliseconds. Code written by people stays below 300."""

MAX_SIBLINGS = 10_000
"""Most children of a node that holds a syntax error. The query looks past nameless siblings one by one, for each of
them: 100,000 stray brackets took 10 s, 10,000 take 0.1 s."""

MAX_PUNCTUATION = 10_000
"""Longest run of characters that are no word: for the same reason, and some languages accept `[,,,,` without error."""

_DECLARATOR_STEPS = 50
"""How deep a C declarator may hide its name: `int (*(*f)(void))[3]` needs 6."""

_WORD = re.compile(rb"\w")
_MODIFIERS = re.compile(r"[ \t]*((?:[A-Za-z_]\w*[ \t]+)+)\Z")


@dataclass(slots=True)
class Declaration:
    """Something that gets a name. Offsets are in bytes, rows count from 0, `body` is -1 where there is none."""

    mark: Mark
    name: str
    owner: str
    start: int
    end: int
    first_row: int
    last_row: int
    name_row: int
    body: int = -1
    signature_start: int = -1


@dataclass(slots=True)
class Findings:
    """All that the query found in one file."""

    source: bytes
    line_starts: list[int]
    declarations: dict[int, Declaration] = field(default_factory=dict)
    references: list[tuple[int, EdgeType, bytes]] = field(default_factory=list)
    imports: list[Node] = field(default_factory=list)
    comment_rows: set[int] = field(default_factory=set)
    doc_rows: set[int] = field(default_factory=set)
    doc_ends: dict[int, int] = field(default_factory=dict)
    prefix_rows: set[int] = field(default_factory=set)
    prefix_ends: dict[int, int] = field(default_factory=dict)
    outer_starts: dict[int, int] = field(default_factory=dict)
    embedded: list[Node] = field(default_factory=list)
    broken: bool = False

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


def line_starts(source: bytes) -> list[int]:
    """The offset of each line; one more than there are line ends."""
    return [0, *accumulate(len(line) + 1 for line in source.split(b"\n")[:-1])]
