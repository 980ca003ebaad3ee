"""The outline of a source file in a language that has a grammar."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import islice

from satchel.sources.chunks import chunks
from satchel.sources.code import comments
from satchel.sources.code.grammar import Mark, grammar
from satchel.sources.code.imports import read_imports
from satchel.sources.code.parse import find
from satchel.sources.code.parts import Stretch, nesting, tile
from satchel.sources.code.signature import signature
from satchel.sources.code.syntax import Declaration, Findings
from satchel.types import Definition, EdgeType, Outline, Part, Reference, Role

MAX_REFERENCES = 200
"""Most references of one part: a generated table of calls must not fill the graph."""


_NO_NAMES = frozenset({b"Self", b"self", b"static", b"parent"})
"""What stands in the place of a called name but means the class around it."""


def outline(text: str, language: str) -> Outline:
    """The parts, imports and comment lines of a file; `language` is one of `GRAMMARS`.

    The text has plain line feeds. Syntax errors cost at most the definitions around them. A file that cannot be read
    at all (nesting without end, another language under this name) is cut by lines and says `parsed=False`.
    """
    source = text.encode("utf-8", "replace")
    findings = find(source, language, grammar(language))
    if findings is None or _is_foreign(findings):
        return Outline(language, chunks(text.split("\n"), Role.GAP), parsed=False)
    declarations = nesting(findings)
    stretches = tile(findings, declarations)
    starts = [stretch.first for stretch in stretches]
    definitions = _definitions(declarations, starts)
    references = _references(findings, starts)
    parts = tuple(
        _part(findings, stretch, definitions[index], references[index]) for index, stretch in enumerate(stretches)
    )
    return Outline(
        language,
        parts,
        imports=tuple(read_imports(findings)),
        comment_lines=_ranges(findings.comment_rows | findings.doc_rows),
    )


def _is_foreign(findings: Findings) -> bool:
    """Whether nothing in the file made sense."""
    return findings.has_error and not (findings.declarations or findings.references or findings.imports)


def _part(
    findings: Findings, stretch: Stretch, definitions: tuple[Definition, ...], references: tuple[Reference, ...]
) -> Part:
    declaration = stretch.declaration
    if declaration is None:
        return Part(Role.GAP, "", stretch.first + 1, stretch.last + 1, definitions=definitions, references=references)
    return Part(
        _role(declaration),
        declaration.qualified,
        stretch.first + 1,
        stretch.last + 1,
        signature(findings, declaration),
        _summary(findings, stretch, declaration),
        definitions,
        references,
    )


def _role(declaration: Declaration) -> Role:
    if declaration.mark is not Mark.FUNCTION:
        return Role.CLASS
    parent = declaration.parent
    in_class = parent is not None and parent.mark is Mark.CLASS
    return Role.METHOD if in_class or declaration.attached else Role.FUNCTION


def _summary(findings: Findings, stretch: Stretch, declaration: Declaration) -> str:
    """First sentence of the doc string, or of the comment above."""
    end = findings.doc_ends.get(declaration.body)
    if end is not None:
        return comments.of_docstring(findings.text(declaration.body, end))
    rows = (row for row in range(stretch.first, declaration.name_row) if row in findings.comment_rows)
    return comments.of_comment(findings.line(row).decode("utf-8", "replace") for row in rows)


def _definitions(declarations: list[Declaration], starts: list[int]) -> list[tuple[Definition, ...]]:
    """The definitions of each part, by line."""
    found: list[list[Definition]] = [[] for _ in starts]
    for one in declarations:
        if one.mark is not Mark.SCOPE:
            index = bisect_right(starts, one.name_row) - 1
            found[index].append(Definition(one.name, one.owner, one.name_row + 1))
    return [tuple(sorted(some, key=lambda one: one.line)) for some in found]


def _references(findings: Findings, starts: list[int]) -> list[tuple[Reference, ...]]:
    """The references of each part, each once, in the order of the text."""
    found: list[tuple[Reference, ...]] = []
    references = sorted(findings.references)
    offsets = [findings.line_starts[row] for row in starts[1:]]
    index, count = 0, len(references)
    for end in [*offsets, len(findings.source) + 1]:
        known: dict[tuple[EdgeType, bytes], None] = {}
        while index < count and references[index][0] < end:
            _, kind, name = references[index]
            known[kind, name] = None
            index += 1
        found.append(
            tuple(
                Reference(kind, name.decode("utf-8", "replace"))
                for kind, name in islice(known, MAX_REFERENCES)
                if name not in _NO_NAMES
            )
        )
    return found


def _ranges(rows: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Runs of rows (from 0) as line ranges (from 1)."""
    ranges: list[list[int]] = []
    for row in sorted(rows):
        if ranges and ranges[-1][1] == row:
            ranges[-1][1] = row + 1
        else:
            ranges.append([row + 1, row + 1])
    return tuple((first, last) for first, last in ranges)
