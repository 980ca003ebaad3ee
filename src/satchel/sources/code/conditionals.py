"""C without its `#if`: what the compiler would see if every first condition held.

A grammar cannot follow braces that open in one branch and close in another, which real C is full of.
"""

from __future__ import annotations

import re

_DIRECTIVE = re.compile(rb"[ \t]*#[ \t]*(if|elif|else|endif)(?:n?def)?\b[ \t]*(0\s*\Z)?")
_INCLUDE = re.compile(rb"[ \t]*#[ \t]*include\b")


def first_branches(source: bytes) -> bytes:
    """The same text with the directives and all branches but the first of each turned into blanks.

    Offsets and lines stay, and so do all `#include`; `#if 0` counts as false.
    """
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
