"""The outline of a source file: its definitions with spans, signatures and comments."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from satchel.sources.code import deferrable
from satchel.sources.code import languages as marks
from satchel.sources.code.imports import read_imports
from satchel.sources.code.languages import grammar
from satchel.sources.code.parse import CLOSERS, find
from satchel.sources.code.syntax import Declaration, SyntaxFindings
from satchel.sources.docs import chunks
from satchel.types import Definition, EdgeType, Outline, Part, Reference, Role

MAX_SIGNATURE = 400
"""Longest signature in characters: about 100 tokens, twice what a context shows of one."""

_BLANKS = re.compile(rb"\s*(?://[^\n]*\s*)*")
_MODIFIERS = re.compile(rb"[ \t]*((?:[A-Za-z_]\w*[ \t]+)+)")


def signature(findings: SyntaxFindings, declaration: Declaration) -> str:
    """Return at most `MAX_SIGNATURE` characters from the first modifier to the body, without decorators or margin."""
    start = declaration.start
    while (end := findings.prefix_ends.get(start)) is not None:
        blanks = _BLANKS.match(findings.source, end)
        start = blanks.end() if blanks else end
    line_start = findings.line_starts[findings.row_of(start)]
    # `export const f = ...` names only `f = ...`: the words before it on its line are its modifiers.
    modifiers = _MODIFIERS.fullmatch(findings.source, line_start, start)
    if modifiers:
        start = modifiers.start(1)
    end = declaration.body if declaration.body > start else declaration.end
    end = start + len(findings.source[start : min(end, start + 4 * MAX_SIGNATURE)].rstrip())
    while (row := findings.row_of(end - 1)) in findings.comment_rows and findings.line_starts[row] > start:
        end = start + len(findings.source[start : findings.line_starts[row]].rstrip())
    text = findings.text(start, end).rstrip("{= ").rstrip()
    if "\n" in text:
        margin = findings.source[line_start:start].decode("utf-8", "replace")
        text = "\n".join(line.removeprefix(margin).rstrip() for line in text.split("\n"))
    if len(text) <= MAX_SIGNATURE:
        return text
    return text[: MAX_SIGNATURE - 3].rsplit(None, 1)[0] + "..."


_CLOSER = re.compile(rb"\s*(?:(?:[)\]}]+[;,)]*|end)\s*(?:(?://|#|/\*).*)?)?\s*")


@dataclass(slots=True)
class Stretch:
    """Rows (from 0, inclusive) that are one part; without a declaration they are a gap."""

    first: int
    last: int
    declaration: Declaration | None


def nesting(findings: SyntaxFindings) -> list[Declaration]:
    """Return the declarations in order, each with its owner; constants inside functions are left out."""
    ordered = sorted(findings.declarations.values(), key=lambda other: (other.start, -other.end, other.mark))
    stack: list[Declaration] = []
    kept = []
    for declaration in ordered:
        while stack and stack[-1].end <= declaration.start:
            stack.pop()
        if declaration.mark is marks.SCOPE:
            stack = [outer for outer in stack if outer.mark is not marks.SCOPE]
        parent = stack[-1] if stack else None
        if parent is not None:
            declaration.parent = parent
            declaration.in_function = parent.mark is marks.FUNCTION or parent.in_function
            # Longest owner in characters: names that nest without end would grow with the square of the file.
            names = (parent.qualified[:300], declaration.owner)
            declaration.owner = ".".join(name for name in names if name)
        if declaration.in_function and declaration.mark is marks.CONSTANT:
            continue
        if declaration.mark is marks.FUNCTION and not declaration.in_function:
            for outer in reversed(stack):
                if outer.has_function:
                    break
                outer.has_function = True
        if declaration.mark <= marks.SCOPE:
            stack.append(declaration)
        kept.append(declaration)
    return kept


def _cuts(declaration: Declaration) -> bool:
    """Return whether the declaration is a part of its own."""
    if declaration.in_function or declaration.mark > marks.MODULE:
        return False
    if declaration.mark is marks.CLASS and declaration.parent is not None:
        return declaration.has_function or declaration.parent.mark is not marks.CLASS
    return True


def tile(findings: SyntaxFindings, declarations: list[Declaration]) -> list[Stretch]:
    """Return the parts of the file, in order and without holes.

    A function includes the comments and decorators directly above it; a class becomes a header that ends before its
    first method; the other rows are gaps, cut at the end of a class. Blank lines and lone closing brackets belong to
    the part before them.
    """
    tiling = _Tiling(findings)
    overloads = {
        row: other.name
        for other in declarations
        if other.mark is marks.OVERLOAD
        for row in range(other.first_row, other.last_row + 1)
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
        tiling.declaration = declaration
        if declaration.mark is marks.FUNCTION:
            tiling.flush(declaration.last_row + 1)
        else:
            open_classes.append(declaration)
    for declaration in reversed(open_classes):
        tiling.flush(declaration.last_row + 1)
    tiling.flush(findings.row_count)
    return tiling.finish()


def _attached(findings: SyntaxFindings, overloads: dict[int, str], declaration: Declaration, row: int) -> bool:
    """Return whether a row above a declaration belongs to it."""
    if row in findings.comment_rows or row in findings.prefix_rows:
        return True
    return overloads.get(row) == declaration.name


class _Tiling:
    """The stretches so far. `declaration` owns the rows from `position` on, until the next flush."""

    def __init__(self, findings: SyntaxFindings) -> None:
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
        """Assign the rows before `until` to the current owner; the next rows are a gap by default."""
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
        """Assign the blank rows at the start of a gap to the part before; all rows if they only close brackets."""
        rows = [self._findings.line(row) for row in range(first, until)]
        if all(_CLOSER.fullmatch(line) for line in rows):
            kept = until
        else:
            kept = first + next(index for index, line in enumerate(rows) if line.strip())
        if self._stretches:
            self._stretches[-1].last = kept - 1
        elif kept < until:
            kept = 0
        return kept

    def finish(self) -> list[Stretch]:
        """Return the stretches; a file of blank lines is one gap."""
        if not self._stretches and self._findings.row_count:
            return [Stretch(0, self._findings.row_count - 1, None)]
        return self._stretches


MAX_SUMMARY = 200
"""Longest summary in characters."""

_MARKER = re.compile(r"\s*(?:/\*+!?|\*+/|\*(?!\*)|//[/!]*|#+(?!!)|--+)?[ \t]?")
_CLOSING = re.compile(r"\s*\*+/\s*\Z")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_OPENING = re.compile(r"[A-Za-z]{0,2}(\"\"\"|'''|\"|')")
_SENTENCE = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)[.!?](?=\s|\Z)")
_PRAGMA = re.compile(
    r"(?:eslint|prettier|tslint|jshint|istanbul|c8|v8|noqa|nosec|type:|mypy:|pylint|ruff|nolint|NOLINT|clang-format|rubocop"
    r"|phpcs|shellcheck|go:|\+build|pragma|region|endregion|#?!)"
)
"""Comments for tools, which do not describe the code."""

_PARAGRAPH_END = re.compile(r"[@:\\][A-Za-z]+\b|(?:Args|Parameters|Returns|Raises|Example)s?:\s*\Z|[-=~*]{3,}\s*\Z")


def of_comment(lines: Iterable[str]) -> str:
    """Return the first sentence of comment lines, without marks and tags; empty if there is none."""
    return _first_sentence(_TAG.sub("", _CLOSING.sub("", _MARKER.sub("", line, count=1))) for line in lines)


def of_docstring(literal: str) -> str:
    """Return the first sentence of a string literal as written in the source, prefix and quotes included."""
    match = _OPENING.match(literal)
    text = literal[match.end() :].removesuffix(match[1]) if match else literal
    return _first_sentence(text.split("\n"))


def _first_sentence(lines: Iterable[str]) -> str:
    words: list[str] = []
    for line in lines:
        text = line.strip()
        if not text or _PARAGRAPH_END.match(text):
            if words:
                break
            continue
        if not words and (_PRAGMA.match(text) or not any(character.isalnum() for character in text)):
            continue
        words.append(text)
        if _SENTENCE.search(text):
            break
    text = " ".join(words)
    end = _SENTENCE.search(text)
    text = text[: end.end()] if end else text
    if len(text) <= MAX_SUMMARY:
        return text
    return text[: MAX_SUMMARY - 3].rsplit(" ", 1)[0] + "..."


MAX_REFERENCES = 200
"""Most references of one part: a generated table of calls must not fill the graph."""

_NO_NAMES = frozenset({b"Self", b"self", b"static", b"parent"})
"""Words in the place of a called name that mean the enclosing class."""


def outline(text: str, language: str) -> Outline:
    """Return the parts, imports and comment lines of a file; `language` is one of `GRAMMARS`.

    The text has plain line feeds. Syntax errors lose at most the definitions around them. A file that cannot be parsed
    (endless nesting, another language) is cut by lines and has `parsed=False`.
    """
    source = text.encode("utf-8", "replace")
    findings = find(source, language, grammar(language))
    if findings is None or (
        findings.has_error and not (findings.declarations or findings.references or findings.imports)
    ):
        return Outline(language, chunks(text.split("\n"), Role.GAP), parsed=False)
    declarations = nesting(findings)
    stretches = tile(findings, declarations)
    starts = [stretch.first for stretch in stretches]
    definitions = _definitions(declarations, starts)
    findings.references += _renames(findings)
    references = _references(findings, starts)
    parts = tuple(
        _part(findings, stretch, definitions[index], references[index]) for index, stretch in enumerate(stretches)
    )
    is_sound = not findings.has_error
    functions = tuple(deferrable.functions(findings, declarations)) if language in CLOSERS and is_sound else ()
    others: deferrable.ClassesAndStatements | None = deferrable.ClassesAndStatements()
    if language == "python" and is_sound:
        others = deferrable.classes_and_statements(findings, {first for first, body, _ in functions if first < body})
    if others is None:
        functions, others = (), deferrable.ClassesAndStatements()
    return Outline(
        language,
        parts,
        imports=tuple(read_imports(findings)),
        comment_lines=_ranges(findings.comment_rows | findings.doc_rows),
        functions=functions,
        classes=others.classes,
        statements=others.statements,
    )


_RENAMED = re.compile(rb"([\w$]+)[\s\\]+as\s")


def _renames(findings: SyntaxFindings) -> Iterator[tuple[int, EdgeType, bytes]]:
    """Yield the names that imports replace by others: `total` of `from shop import total as price`."""
    for start, node in findings.imports.items():
        statement = findings.source[start : node.end_byte]
        if b"as" in statement:
            yield from ((start, EdgeType.RENAMES, name) for name in _RENAMED.findall(statement))


def _part(
    findings: SyntaxFindings, stretch: Stretch, definitions: tuple[Definition, ...], references: tuple[Reference, ...]
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
    if declaration.mark is not marks.FUNCTION:
        return Role.CLASS
    parent = declaration.parent
    in_class = parent is not None and parent.mark is marks.CLASS
    return Role.METHOD if in_class or declaration.attached else Role.FUNCTION


def _summary(findings: SyntaxFindings, stretch: Stretch, declaration: Declaration) -> str:
    """Return the first sentence of the doc string, or of the comment above."""
    end = findings.doc_ends.get(declaration.body)
    if end is not None:
        return of_docstring(findings.text(declaration.body, end))
    rows = (row for row in range(stretch.first, declaration.name_row) if row in findings.comment_rows)
    return of_comment(findings.line(row).decode("utf-8", "replace") for row in rows)


def _definitions(declarations: list[Declaration], starts: list[int]) -> list[tuple[Definition, ...]]:
    """Return the definitions of each part, by line."""
    by_part: list[list[Definition]] = [[] for _ in starts]
    for declaration in declarations:
        if declaration.mark is not marks.SCOPE:
            index = bisect_right(starts, declaration.name_row) - 1
            by_part[index].append(Definition(declaration.name, declaration.owner, declaration.name_row + 1))
    return [tuple(sorted(some, key=lambda definition: definition.line)) for some in by_part]


def _references(findings: SyntaxFindings, starts: list[int]) -> list[tuple[Reference, ...]]:
    """Return the references of each part, each once, in the order of the text."""
    by_part: list[tuple[Reference, ...]] = []
    references = sorted(reference for reference in findings.references if reference[0] not in findings.declarations)
    offsets = [findings.line_starts[row] for row in starts[1:]]
    index, count = 0, len(references)
    for end in [*offsets, len(findings.source) + 1]:
        names: dict[tuple[EdgeType, bytes], None] = {}
        while index < count and references[index][0] < end:
            _, kind, name = references[index]
            names[kind, name] = None
            index += 1
        by_part.append(
            tuple(
                Reference(kind, name.decode("utf-8", "replace"))
                for kind, name in islice(names, MAX_REFERENCES)
                if name not in _NO_NAMES
            )
        )
    return by_part


def _ranges(rows: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Return runs of rows (from 0) as line ranges (from 1)."""
    ranges: list[list[int]] = []
    for row in sorted(rows):
        if ranges and ranges[-1][1] == row:
            ranges[-1][1] = row + 1
        else:
            ranges.append([row + 1, row + 1])
    return tuple((first, last) for first, last in ranges)
