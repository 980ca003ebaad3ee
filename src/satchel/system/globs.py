"""Globs with the meaning that git gives them, as regular expressions that take linear time.

`*` and `?` stop at a slash; `**` between slashes means any number of folders; brackets allow ranges, negation and
the POSIX classes. Two things differ from git on purpose: `?` and brackets match one character, not one byte of
it, and matching is always case-sensitive.

This module imports nothing of satchel.
"""

from __future__ import annotations

import re

WILD = re.compile(r"[*?\[\\]")
"""The characters with a special meaning in a glob."""

_NEVER = "(?!)"  # a pattern that git calls malformed matches nothing
_STAR, _FOLDERS, _EVERYTHING = "*", "**/", "**"
_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"\x21-\x7e",
    "lower": "a-z",
    "print": r"\x20-\x7e",
    "punct": r"!-\/:-@\[-`{-~",
    "space": r" \t\n\r\f\v",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


def translate(glob: str) -> str:
    """Turn a glob into an expression for `fullmatch`.

    A star that is not the last of its folder matches the shortest text before a match of the tokens up to the next
    star, without backtracking: these have a fixed length, so a longer match could not help. `**/` does the same with
    complete folders. So nothing is tried twice: `a*b*c` becomes `a(?>[^/]*?b)[^/]*c`.
    """
    tokens = _tokens(glob)
    if _NEVER in tokens:
        return _NEVER
    everything = tokens[-1:] == [_EVERYTHING]
    first, *groups = _split(tokens[: -1 if everything else None], _FOLDERS)
    expression = [_steps(first)]
    for number, group in enumerate(groups, 1):
        is_last = number == len(groups) and not everything
        expression.append(f"(?:[^/]*/)*{_steps(group)}" if is_last else f"(?>(?:[^/]*/)*?{_steps(group)})")
    return "".join(expression) + (".*" if everything else "")


def _tokens(glob: str) -> list[str]:
    """Cut a glob into stars and expressions of one character each."""
    tokens: list[str] = []
    position = 0
    while position < len(glob):
        character = glob[position]
        if character == "*":
            token, position = _star(glob, position)
        elif character == "[":
            token, position = _bracket(glob, position + 1)
        elif character == "\\":
            token, position = re.escape(glob[position + 1 : position + 2]) or _NEVER, position + 2
        else:
            token, position = "[^/]" if character == "?" else re.escape(character), position + 1
        tokens.append(token)
    return tokens


def _star(glob: str, position: int) -> tuple[str, int]:
    """Return the token for the stars at `position`, and the position after them."""
    end = position
    while glob.startswith("*", end):
        end += 1
    wild = WILD.search(glob)
    # git compares the plain beginning of a pattern apart from the rest, so `lib**/x` counts as `lib` and `**/x`.
    begins_step = position == 0 or glob[position - 1] == "/" or (wild is not None and wild.start() == position)
    if end - position > 1 and begins_step:
        if end == len(glob):
            return _EVERYTHING, end
        for slash in ("/", "\\/"):
            if glob.startswith(slash, end):
                return _FOLDERS, end + len(slash)
    return _STAR, end


_CLASS = re.compile(r"\[:([^\]]*):\]")
_RANGE_END = re.compile(r"-(?:\\(.)|([^\]\\]))", re.DOTALL)
_MEMBER = re.compile(r"\\(.)|([^\\])", re.DOTALL)


def _bracket(glob: str, position: int) -> tuple[str, int]:
    """Return the token for the bracket whose inside begins at `position`, and the position after it."""
    negated = glob.startswith(("!", "^"), position)
    start = position = position + negated
    members: list[str] = []
    previous = ""  # what a following `-` makes a range of
    while position == start or not glob.startswith("]", position):
        if match := _CLASS.match(glob, position):
            if match[1] not in _CLASSES:
                return _NEVER, len(glob)
            members.append(_CLASSES[match[1]])
            previous = ""
        elif previous and (match := _RANGE_END.match(glob, position)):
            last = match[1] or match[2]
            if previous <= last:
                members.append(f"{re.escape(previous)}-{re.escape(last)}")
            previous = ""
        elif match := _MEMBER.match(glob, position):
            previous = match[1] or match[2]
            members.append(re.escape(previous))
        else:
            return _NEVER, len(glob)
        position = match.end()
    inside = "".join(members)
    return f"[^/{inside}]" if negated else f"(?!/)[{inside}]", position + 1


def _steps(tokens: list[str]) -> str:
    """Return the expression for tokens without `**/`."""
    return "/".join(_step(step) for step in _split(tokens, "/"))


def _step(tokens: list[str]) -> str:
    """Return the expression for one step of a path."""
    first, *pieces = ("".join(piece) for piece in _split(tokens, _STAR))
    if not pieces:
        return first
    return first + "".join(f"(?>[^/]*?{piece})" for piece in pieces[:-1]) + f"[^/]*{pieces[-1]}"


def _split(tokens: list[str], separator: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token == separator:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts
