"""A second reading of files with syntax errors, block by block.

One construct that a grammar does not know can swallow the rest of a file: a C function whose braces do not balance
because of `#if`, a TypeScript interface with call signatures. In languages with braces, what starts in the first
column after a blank line is nearly always a new top-level block, so the blocks that came out wrong are read alone.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from satchel.sources.code.grammar import Mark
from satchel.sources.code.syntax import Declaration, Findings

BRACED = frozenset({"c", "cpp", "csharp", "go", "java", "javascript", "php", "rust", "tsx", "typescript"})
"""Languages whose blocks end with a brace in the column where they began."""

MAX_BLOCKS = 2_000
"""Most blocks read again in one file, about 0.1 ms each."""

_MAX_HEADER = 3
"""Rows from the start of a block within which the declaration that owns it begins."""

_START = re.compile(rb"[A-Za-z_@](?!\w*[ \t]*:(?!:))")
_BEFORE_START = re.compile(rb"\s*\Z|[})#]|\s*(?://|\*|/\*)|.*\*/\s*\Z")

Read = Callable[[int, int], bool]
"""Reads the rows from one to before another; true if there was no error."""


@dataclass(frozen=True, slots=True)
class _Block:
    """Rows `first` to `last`, blank ones at the end left out; `closed` if the last begins with a closing brace."""

    first: int
    last: int
    closed: bool


def recover(findings: Findings, read: Read) -> None:
    """Read the blocks again that no declaration covers, or a broken one from somewhere else."""
    bad = list(_bad_blocks(findings))[:MAX_BLOCKS]
    known = sorted((one.name_row, offset) for offset, one in findings.declarations.items())
    for block in bad:
        for _, offset in known[bisect_left(known, (block.first, -1)) : bisect_left(known, (block.last + 1, -1))]:
            findings.declarations.pop(offset, None)
        is_clean = read(block.first, block.last + 1)
        if block.closed and not is_clean:
            _stretch(findings, block)


def _bad_blocks(findings: Findings) -> Iterator[_Block]:
    declarations = sorted(
        (one for one in findings.declarations.values() if one.mark <= Mark.MODULE), key=lambda one: one.first_row
    )
    index, sound_until, broken_until = 0, -1, -1
    for block in _blocks(findings):
        is_broken, reached = broken_until >= block.first, sound_until
        while index < len(declarations) and declarations[index].first_row <= block.last:
            one = declarations[index]
            index += 1
            if one.mark is Mark.MODULE or not one.broken or one.last_row <= block.last:
                reached = max(reached, one.last_row)
            else:
                is_broken = is_broken or block.closed or one.mark is Mark.CLASS
                broken_until = max(broken_until, one.last_row)
            if one.mark is not Mark.MODULE and not one.broken:
                sound_until = max(sound_until, one.last_row)
        if is_broken or reached < block.last:
            yield block


def _blocks(findings: Findings) -> Iterator[_Block]:
    """The top-level blocks with a brace in them, in order."""
    starts = []
    before = b""
    for row in range(findings.row_count):
        line = findings.line(row)
        if _START.match(line) and _BEFORE_START.match(before):
            starts.append(row)
        before = line
    for first, follower in pairwise([*starts, findings.row_count]):
        last = follower - 1
        while last > first and not _is_end(findings.line(last)):
            last -= 1
        if last > first and b"{" in findings.rows(first, last + 1):
            yield _Block(first, last, findings.line(last).startswith(b"}"))


def _is_end(line: bytes) -> bool:
    """Whether a line can end a block: not blank, and no comment or directive before the next block."""
    return bool(line.strip()) and not line.startswith((b"#", b"/", b" *", b"*"))


def _stretch(findings: Findings, block: _Block) -> None:
    """Let the declaration that begins a block have all of it: its error may have cut it short."""
    owner: Declaration | None = None
    for one in reversed(findings.declarations.values()):
        if not block.first <= one.name_row <= block.last:
            break
        is_first = one.mark <= Mark.MODULE and one.first_row < block.first + _MAX_HEADER
        if is_first and (owner is None or (one.start, -one.end) < (owner.start, -owner.end)):
            owner = one
    if owner is not None:
        owner.last_row = block.last
        owner.end = findings.line_starts[block.last] + 1
