"""Chunks of a chunk, and what their readers share."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.types import Part, Role

MAX_LINES = 40
"""Longest chunk: about 400 tokens, what a packer still shows whole."""

MIN_LINES = 12
"""Shortest chunk, the last one apart: below it a chunk says too little to be found by."""

_BLANK_BONUS = 6
"""Columns of indentation that a blank line before a cut is worth."""


def line_count(lines: Sequence[str]) -> int:
    """Return how many lines a text split at line feeds has: one at the very end starts none."""
    return len(lines) - 1 if lines and not lines[-1] else len(lines)


def chunks(lines: Sequence[str], role: Role, first: int = 0, last: int | None = None) -> tuple[Part, ...]:
    """Return parts of at most `MAX_LINES` lines that tile the rows `first` to `last` (from 0, `last` exclusive).

    A cut goes where the next line is indented least, a blank line before it helps, and later wins. Blank lines stay
    with the chunk before, so a long run of them makes that chunk longer.
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
    """Return the best row to start the next chunk at; a blank row stands for the text after it."""
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
    """Return what starts a comment line; empty for a language without one here."""
    return _MARKS.get(language, ("",))[0].strip()


def comment_lines(lines: Sequence[str], language: str) -> tuple[tuple[int, int], ...]:
    """Line ranges (from 1) whose lines all start with a comment mark; none for a language without one here."""
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
"""JSON has no comments; this is the mark of the dialects that do, and what a reader takes for one."""

_HASH_LANGUAGES = frozenset(["bash", "python", "ruby"])
_TAGGED = frozenset(["markdown", "html", "xml", "vue", "svelte", "astro"])
_BLOCKS = {"css": ("/*", "*/"), "ocaml": ("(*", "*)"), "coq": ("(*", "*)")}


def comment(language: str, remark: str) -> str:
    """Return the remark (one line) as a comment; in square brackets where the language has none or is unknown."""
    if language in _BLOCKS:
        opening, closing = _BLOCKS[language]
        return f"{opening} {remark} {closing}"
    if language in _TAGGED:
        return f"<!-- {remark} -->"
    mark = "//" if language in _SLASH_LANGUAGES else "#" if language in _HASH_LANGUAGES else line_mark(language)
    return f"{mark} {remark}" if mark else f"[{remark}]"
