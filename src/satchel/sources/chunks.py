"""Cutting of a document into chunks, comment marks, and line counts."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.types import Part, Role

MAX_LINES = 40
"""Longest chunk in lines: about 400 tokens, which a packer still shows completely."""

MIN_LINES = 12
"""Shortest chunk in lines, except for the last one: a shorter one has too few words for a search."""

_BLANK_BONUS = 6
"""Columns of indentation that a blank line before a cut is worth."""


def line_count(lines: Sequence[str]) -> int:
    """Return the number of lines of a text split at line feeds; a line feed at the very end starts no line."""
    return len(lines) - 1 if lines and not lines[-1] else len(lines)


def chunks(lines: Sequence[str], role: Role, first: int = 0, last: int | None = None) -> tuple[Part, ...]:
    """Return parts of at most `MAX_LINES` lines that tile the rows `first` to `last` (from 0, `last` exclusive).

    A cut is before the line with the least indentation, preferably after a blank line, and as late as possible. Blank
    lines stay with the chunk before, so a long run of them makes that chunk longer.
    """
    end = line_count(lines) if last is None else last
    parts = []
    start = first
    while start < end:
        cut = end if end - start <= MAX_LINES else _cut(lines, start, end)
        while cut < end and not lines[cut].strip():
            cut += 1
        parts.append(Part(role, "", start + 1, cut))
        start = cut
    return tuple(parts)


def _cut(lines: Sequence[str], start: int, end: int) -> int:
    """Return the best row to start the next chunk at; a blank row counts as the text after it."""
    best, best_cost = start + MAX_LINES, float("inf")
    below = start
    for row in range(start + MIN_LINES, min(start + MAX_LINES + 1, end)):
        below = max(below, row)
        while below < end and not lines[below].strip():
            below += 1
        if below == end:
            return row
        indentation = len(lines[below]) - len(lines[below].lstrip())
        after_blank = below > row or not lines[row - 1].strip()
        cost = indentation - (_BLANK_BONUS if after_blank else 0)
        if cost <= best_cost:
            best, best_cost = row, cost
    return best


_HASH = (
    "awk bazel cmake coffeescript config crystal dockerfile dotenv elixir fish graphql ini jq julia just make nim nix "
    "perl po powershell procfile puppet r requirements starlark tcl terraform toml yaml"
)
_SLASHES = (
    "asciidoc cython css d dart fsharp glsl groovy kotlin objective-c pascal proto scala solidity swift thrift "
    "verilog vue svelte zig"
)
_DASHES = "ada elm haskell lua sql vhdl"
_SEMICOLONS = "assembly clojure common-lisp racket scheme"

_MARKS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_HASH.split(), ("#",)),
    **dict.fromkeys(_SLASHES.split(), ("//", "/*", "*/", "* ")),
    **dict.fromkeys(_DASHES.split(), ("--",)),
    **dict.fromkeys(_SEMICOLONS.split(), (";",)),
    "batch": ("rem ", "REM ", "::"),
    "cython": ("#",),
    "erlang": ("%",),
    "fortran": ("!",),
    "ini": ("#", ";"),
    "tex": ("%",),
    "vim": ('"',),
}


def line_mark(language: str) -> str:
    """Return the mark of a comment line; empty for a language without one here."""
    return _MARKS.get(language, ("",))[0].strip()


def comment_lines(lines: Sequence[str], language: str) -> tuple[tuple[int, int], ...]:
    """Return the line ranges (from 1) of comment lines; none for a language without a comment mark here."""
    marks = _MARKS.get(language)
    if marks is None:
        return ()
    ranges: list[list[int]] = []
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith(marks):
            if ranges and ranges[-1][1] == number - 1:
                ranges[-1][1] = number
            else:
                ranges.append([number, number])
    return tuple((first, last) for first, last in ranges)


_SLASH_LANGUAGES = frozenset(
    ["c", "cpp", "csharp", "go", "java", "javascript", "php", "rust", "tsx", "typescript", "json"]
)
"""JSON has no comments, but its dialects have this mark, and readers recognise it."""

_HASH_LANGUAGES = frozenset(["bash", "python", "ruby"])
_TAGGED = frozenset(["markdown", "html", "xml", "vue", "svelte", "astro"])
_BLOCKS = {"css": ("/*", "*/"), "ocaml": ("(*", "*)"), "coq": ("(*", "*)")}


def comment(language: str, remark: str) -> str:
    """Return the remark (one line) as a comment; in square brackets if the language has none."""
    if language in _BLOCKS:
        opening, closing = _BLOCKS[language]
        return f"{opening} {remark} {closing}"
    if language in _TAGGED:
        return f"<!-- {remark} -->"
    mark = "//" if language in _SLASH_LANGUAGES else "#" if language in _HASH_LANGUAGES else line_mark(language)
    return f"{mark} {remark}" if mark else f"[{remark}]"
