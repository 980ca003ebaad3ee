"""Comment lines of languages that we do not parse, by the mark at the start of a line."""

from __future__ import annotations

from collections.abc import Sequence

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
    """What starts a comment line; empty for a language without one here."""
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
