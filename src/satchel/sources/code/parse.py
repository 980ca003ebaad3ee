"""Parse source text, with recovery from broken code and C preprocessor conditionals."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise, repeat
from operator import add
from time import thread_time
from typing import TYPE_CHECKING

from msgspec import Struct

from satchel.sources.code.languages import Grammar, Mark
from satchel.sources.code.syntax import Declaration, SyntaxFindings, collect
from satchel.text import pattern

if TYPE_CHECKING:
    from tree_sitter import Parser, Range, Tree

_DIRECTIVE = pattern(rb"[ \t]*#[ \t]*(if|elif|else|endif)(?:n?def)?\b[ \t]*(0\s*\Z)?")
_INCLUDE = pattern(rb"[ \t]*#[ \t]*include\b")


_MACRO = pattern(
    rb"^[ \t]*[A-Z][A-Z0-9]*_[A-Z0-9_]*[ \t]*$"  # a macro that opens a namespace, on a line of its own
    rb"|(?<!define )\b[A-Z][A-Z0-9]*_[A-Z0-9_]*(?=[ \t\n]+[a-z_]\w*(?:[ \t]|[(:<\n]))"  # `LIB_API f(`
    rb"|(?:(?<=class )|(?<=struct ))[A-Z][A-Z0-9_]{2,}(?=\s+\w+\s*(?:final\s*)?[:{])"  # `class LIB_API Client {`
    rb"|,[ \t\n]*[A-Z][A-Z0-9]*_[A-Z0-9_]*\((?:[^()]|\([^()]*\)){0,200}\)(?=[ \t\n]*[,>])",  # `, LIB_ENABLE_IF(x)>`
    re.MULTILINE,
)


def without_macros(source: bytes) -> bytes:
    """Return C++ with blanks for macros beside declarations, which hide what they stand before; offsets stay."""
    return _MACRO.sub(lambda found: re.sub(rb"[^\n]", b" ", found[0]), source)


def first_branches(source: bytes) -> bytes:
    """Return the text with blanks for directives (not `#include`) and all branches but the first; `#if 0` is false."""
    kept: list[bytes] = []
    branches: list[tuple[bool, bool]] = []
    is_directive = False
    for line in source.split(b"\n"):
        match = None if is_directive else _DIRECTIVE.match(line)
        if match:
            _follow(branches, match[1], is_false=match[2] is not None)
        is_directive = match is not None or is_directive
        is_hidden = is_directive or (not all(is_shown for is_shown, _ in branches) and not _INCLUDE.match(line))
        kept.append(b" " * len(line) if is_hidden else line)
        is_directive = is_directive and line.endswith(b"\\")
    return b"\n".join(kept)


def _follow(branches: list[tuple[bool, bool]], word: bytes, *, is_false: bool) -> None:
    """Open, change or close a branch: whether it is shown, and whether it or one before it was."""
    if word == b"if":
        branches.append((not is_false, not is_false))
    elif branches:
        _, was_shown = branches.pop()
        if word != b"endif":
            branches.append((not was_shown, True))


BRACED = frozenset(
    "c cpp csharp go java javascript kotlin php rust scala swift tsx typescript".split()  # noqa: SIM905 - one line
)
"""Languages whose blocks end with a brace in the column where they began."""

_START = pattern(rb"[A-Za-z_@](?!\w*[ \t]*:(?!:))")
_BEFORE_START = pattern(rb"\s*\Z|[})#]|\s*(?://|\*|/\*)|.*\*/\s*\Z")

Read = Callable[[int, int], bool]
"""Reads the rows from one to before another; true if there was no error."""


class _Block(Struct, frozen=True):
    """Rows `first` to `last`, blank ones at the end left out; `closed` if the last begins with a closing brace."""

    first: int
    last: int
    closed: bool


def recover(findings: SyntaxFindings, read: Read) -> None:
    """Read the blocks again that no declaration covers, or a broken one from somewhere else."""
    bad = list(_bad_blocks(findings))[:2_000]  # most blocks read again in one file, about 0.1 ms each
    declared = sorted((declaration.name_row, offset) for offset, declaration in findings.declarations.items())
    for block in bad:
        start, end = (bisect_left(declared, (row, -1)) for row in (block.first, block.last + 1))
        for _, offset in declared[start:end]:
            findings.declarations.pop(offset, None)
        is_clean = read(block.first, block.last + 1)
        if block.closed and not is_clean:
            _stretch(findings, block)


def _bad_blocks(findings: SyntaxFindings) -> Iterator[_Block]:
    declarations = sorted(
        (declaration for declaration in findings.declarations.values() if declaration.mark <= Mark.MODULE),
        key=lambda declaration: declaration.first_row,
    )
    index, sound_until, broken_until = 0, -1, -1
    for block in _blocks(findings):
        is_broken, reached = broken_until >= block.first, sound_until
        while index < len(declarations) and declarations[index].first_row <= block.last:
            declaration = declarations[index]
            index += 1
            if declaration.mark is Mark.MODULE or not declaration.broken or declaration.last_row <= block.last:
                reached = max(reached, declaration.last_row)
            else:
                is_broken = is_broken or block.closed or declaration.mark is Mark.CLASS
                broken_until = max(broken_until, declaration.last_row)
            if declaration.mark is not Mark.MODULE and not declaration.broken:
                sound_until = max(sound_until, declaration.last_row)
        if is_broken or reached < block.last:
            yield block


def _blocks(findings: SyntaxFindings) -> Iterator[_Block]:
    """Yield the top-level blocks with a brace in them, in order."""
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
    """Return whether a line can end a block: not blank, and no comment or directive before the next block."""
    return bool(line.strip()) and not line.startswith((b"#", b"/", b" *", b"*"))


def _stretch(findings: SyntaxFindings, block: _Block) -> None:
    """Extend the declaration at the start of a block to its end: an error may have cut it short."""
    owner: Declaration | None = None
    for declaration in reversed(findings.declarations.values()):
        if not block.first <= declaration.name_row <= block.last:
            break
        # Rows from the start of a block within which the declaration that owns it begins.
        is_first = declaration.mark <= Mark.MODULE and declaration.first_row < block.first + 3
        if is_first and (owner is None or (declaration.start, -declaration.end) < (owner.start, -owner.end)):
            owner = declaration
    if owner is not None:
        owner.last_row = block.last
        owner.end = findings.line_starts[block.last] + 1


MAX_SIBLINGS = 10_000
"""Most children of a node that holds a syntax error. The query looks past nameless siblings one by one, for each of
them: 100,000 stray brackets took 10 s, 10,000 take 0.1 s."""

MAX_PUNCTUATION = 10_000
"""Longest run of bytes without a word character, limited like `MAX_SIBLINGS`: some languages accept `[,,,,`."""

TICKS = 1_000
TICKS_PER_KILOBYTE = 40
"""Progress reports before the parser is stopped, one for each 100 steps. Code needs at most 22 a kilobyte; error
recovery in garbage goes on for hundreds, each ten times as slow as usual, and took 20 GB for 300 KB of `a=>`."""

PARSE_SECONDS = 3.0
"""Processor time for a file, and as much again for each further megabyte, where steps are few but endless. Usual code
needs 0.1 to 0.2 s a megabyte. Wall time would leave a good file without an outline when the machine is stopped or busy
for a while."""

_PREPROCESSED = frozenset({"c", "cpp", "csharp"})

_CONSTRUCTOR = pattern(
    rb"^[ \t]*(?:@\w+(?:\([^()\n]*\))?\s+|(?:public|internal|private|protected|actual|expect)\s+)+(?=constructor\b)",
    re.MULTILINE,
)
"""Modifiers of a constructor on a line of its own, at which the grammar of Kotlin ends the class."""

_EXPORTED = pattern(rb"\b(?:class|struct)\s+[A-Z][A-Z0-9_]{2,}\s+\w+\s*(?:final\s*)?[:{]")
_WORD = pattern(rb"\w")


class _Budget:
    """The limit of the parser over several readings: steps, the same on every machine, and now and then the time."""

    def __init__(self, size: int) -> None:
        self._ticks = TICKS + TICKS_PER_KILOBYTE * size // 1_000
        self._deadline = thread_time() + PARSE_SECONDS * (1 + size / 1_000_000)

    def is_spent(self, _: int, __: bool) -> bool:
        """Called by the parser with its position and whether it met an error; true stops it."""
        self._ticks -= 1
        # Progress reports between two looks at the time: 2 ms apart in usual code.
        return self._ticks < 0 or (self._ticks % 64 == 0 and thread_time() > self._deadline)


def find(source: bytes, language: str, grammar: Grammar) -> SyntaxFindings | None:
    """Parse and query one file. None if its shape would make that endless."""
    from tree_sitter import Parser

    if _is_hostile_text(source):
        return None
    parser = Parser(grammar.language)
    tree = _parse(parser, source, _Budget(len(source)))
    if tree is None:
        return None
    has_error = tree.root_node.has_error
    again = _Budget(len(source))
    if _is_hidden(tree, source, language):
        tree = _parse(parser, _readable(source, language), again) or tree
    starts = [0, *accumulate(map(add, map(len, source.split(b"\n")[:-1]), repeat(1)))]
    findings = SyntaxFindings(source, language, starts, has_error=has_error, root=tree.root_node)
    collect(tree, grammar, findings)
    _read_embedded(parser, grammar, findings, again)
    if has_error and language in BRACED:
        recover(findings, lambda first, end: _read_rows(parser, grammar, findings, (first, end), again))
    return findings


CLOSERS: Mapping[str, tuple[bytes, bytes]] = {
    "python": (b"(", b")"), **dict.fromkeys(("javascript", "typescript", "tsx", "go", "java"), (b"{", b"}"))
}  # fmt: skip
"""What is read in place of the body of a function, by language: something empty at its first and its last byte."""


def syntax_tree(
    source: bytes,
    grammar: Grammar,
    language: str,
    unread: Sequence[tuple[int, int]] = (),
    left_out: Sequence[tuple[int, int]] = (),
) -> Tree | None:
    """Return the bare syntax tree of a text. None where its shape would make that take for ever.

    Between the first and the last byte of the bodies in `unread` nothing is read, and of what is `left_out` nothing at
    all; both are in order. All nodes around have their offsets.
    """
    from tree_sitter import Parser

    if _is_hostile_text(source):
        return None
    parser = Parser(grammar.language)
    if unread or left_out:
        holes = sorted([*((start + 1, end - 1) for start, end in unread), *left_out])
        return _parse(_between(parser, source, holes), _closed(source, language, unread), _Budget(len(source)))
    tree = _parse(parser, source, _Budget(len(source)))
    if tree is None or not _is_hidden(tree, source, language):
        return tree
    return _parse(parser, _readable(source, language), _Budget(len(source))) or tree


def _between(parser: Parser, source: bytes, holes: Sequence[tuple[int, int]]) -> Parser:
    """Return the parser, made to read what is not in these holes, nor the blanks between two of them."""
    from tree_sitter import Point, Range

    offsets = [0]
    for start, end in holes:
        if offsets[-1] and source[offsets[-1] : start].isspace():
            offsets[-1] = end
        else:
            offsets += (start, end)
    offsets.append(len(source))
    points, row, line, before = [], 0, 0, 0
    for offset in offsets:
        row += source.count(b"\n", before, offset)
        line = source.rfind(b"\n", 0, offset) + 1
        points.append(Point(row, offset - line))
        before = offset
    pairs = zip(offsets[::2], offsets[1::2], points[::2], points[1::2], strict=True)
    parser.included_ranges = [Range(first, last, start, end) for start, end, first, last in pairs]
    return parser


def _closed(source: bytes, language: str, unread: Sequence[tuple[int, int]]) -> bytes:
    """Return a text with bodies that are empty where nothing inside of them is read."""
    text, (opening, closing) = bytearray(source), CLOSERS[language]
    for start, end in unread:
        text[start : start + 1], text[end - 1 : end] = opening, closing
    return bytes(text)


def _is_hidden(tree: Tree, source: bytes, language: str) -> bool:
    """Return whether a text holds what the grammar cannot read: `class API Client {` passes for a function."""
    if language in _PREPROCESSED:
        return tree.root_node.has_error or (language != "csharp" and _EXPORTED.search(source) is not None)
    return language == "kotlin" and tree.root_node.has_error


def _readable(source: bytes, language: str) -> bytes:
    """Return a text with blanks for most of what the grammar cannot read; offsets stay."""
    if language == "kotlin":
        return _CONSTRUCTOR.sub(lambda found: re.sub(rb"[^\n]", b" ", found[0]), source)
    return without_macros(first_branches(source)) if language == "cpp" else first_branches(source)


def _parse(parser: Parser, source: bytes, budget: _Budget) -> Tree | None:
    """Return the tree, or None if parsing is too slow or an error is too large for the query.

    Only a read function has progress reports. The binding never frees the returned objects (tree-sitter 0.26.1 still
    does not), so they are views that are released afterwards, one for each offset: most offsets are asked for again.
    """
    views: dict[int, memoryview] = {}

    def read(offset: int, _: object) -> memoryview:
        if offset not in views:
            views[offset] = memoryview(source)[offset:]
        return views[offset]

    try:
        tree = parser.parse(read, progress_callback=budget.is_spent)
    except ValueError:
        parser.reset()
        return None
    finally:
        for view in views.values():
            view.release()
    return None if tree.root_node.has_error and _is_hostile_tree(tree) else tree


def _is_hostile_text(source: bytes) -> bool:
    """Return whether a run of punctuation and blanks is longer than the limit (or nearly twice as long)."""
    for offset in range(0, len(source), MAX_PUNCTUATION):
        word = _WORD.search(source, offset)
        if (word.start() if word else len(source)) - offset > MAX_PUNCTUATION:
            return True
    return False


def _is_hostile_tree(tree: Tree) -> bool:
    """Return whether a node with an error has too many children. Visits only nodes with errors and their siblings."""
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


def _read_rows(
    parser: Parser, grammar: Grammar, findings: SyntaxFindings, rows: tuple[int, int], budget: _Budget
) -> bool:
    """Read the rows from one to before another alone; true if they hold no error."""
    from tree_sitter import Point, Range

    first, end = rows
    parser.included_ranges = [Range(Point(first, 0), Point(end, 0), findings.offset(first), findings.offset(end))]
    tree = _parse(parser, findings.source, budget)
    if tree is None:
        return False
    collect(tree, grammar, findings)
    return not tree.root_node.has_error


def _read_embedded(parser: Parser, grammar: Grammar, findings: SyntaxFindings, budget: _Budget) -> None:
    """Read the items inside macros: the same text again, only their insides, so that offsets stay true."""
    from tree_sitter import Point, Range

    for _ in range(3):  # maximum depth of nested macros with items: `cfg_net! { cfg_unix! { fn a() {} } }` needs 2
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
        tree = _parse(parser, findings.source, budget)
        if tree is None:
            return
        _forget_references(findings, ranges)
        collect(tree, grammar, findings)


def _forget_references(findings: SyntaxFindings, ranges: Sequence[Range]) -> None:
    """Drop the references in text that is now parsed properly; the ranges are in order."""
    starts = [range_.start_byte for range_ in ranges]

    def is_inside(offset: int) -> bool:
        index = bisect_right(starts, offset) - 1
        return index >= 0 and offset < ranges[index].end_byte

    findings.references = [reference for reference in findings.references if not is_inside(reference[0])]
