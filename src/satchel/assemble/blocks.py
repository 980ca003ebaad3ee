"""Blocks around passages of a long function: the headers that enclose them, and edges at the borders of blocks.

Blocks are recognised by indentation, closing lines and the words that continue a block, so that one rule serves all
languages: a header is the nearest line above that is indented less.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from satchel.types import Range

LONG_FUNCTION = 60
"""Lines of the longest function that is completed once a passage of it is shown. Passages of a longer one are shown
with the headers of their blocks, and a handle for the other lines."""

MOST_HEADERS = 4
HEADER_CHARACTERS = 144
"""Most headers of one passage, and their characters in all (40 tokens); the innermost are chosen first."""

HEADER_LINES = 4
"""Most lines of one header: a condition may continue on further lines."""

SNAP_LINES = 3
"""Most closing lines that are added to the end of a passage."""

MOST_LINES = 1_000
"""Lines above a passage that are searched for headers, so that generated functions of any length cost little."""

_TAB_COLUMNS = 4
# Patterns are matched against lines without their margins, and none takes more than linear time.

_IGNORED = re.compile(r"$|//|/?\*|--|#(?!\[)|[A-Za-z_]\w*:$(?<!else:)(?<!try:)(?<!finally:)(?<!default:)")
"""Lines whose indentation says nothing: blank ones, comments, preprocessor directives and labels."""

_CLOSING = re.compile(r"(?:[\])}][\])};,.?]*|end|fi|done|esac)[\s;,]*$")
_CONTINUED = re.compile(r"[\])].*[{:(\[|]$")
"""A line that only closes a block, and one that closes a bracket of its header: `) -> Result<()> {`."""

_HEADER = re.compile(
    r"(?:\}\s*)?(?:if|elif|else|elsif|for|foreach|while|until|unless|do|try|catch|except|finally|rescue|ensure|with|switch"
    r"|select|match|case|default|when|in|begin|loop)\b"
    r"|[^\])].*(?:[{(\[:|]|[=-]>|\b(?:do|then|begin))\s*(?:(?://|#).*)?$"
)
"""A line that begins with a word of control flow, or that ends by opening a block; a doc string has other lines."""

_OPENING = re.compile(r"\{$")
_ELSE = re.compile(r"(?:\}\s*)?else\s*[:{]?$")
_CASE = re.compile(r"(?:(case|default)|when|in)\b")
_SWITCH = re.compile(r"(?:\S+\s*:?=\s*)?(?:switch|select|match|case)\b")


def headers(lines: Sequence[str], body: Range, passage: Range) -> list[Range]:
    """Return the headers of the blocks around the first line of a passage, innermost first, as many as are worth it.

    `lines` are all lines of the file; only those of `body` are headers.
    """
    chosen: list[Range] = []
    room = HEADER_CHARACTERS
    line = next((n for n in range(passage[0], passage[1]) if not _IGNORED.match(lines[n - 1].strip())), passage[1])
    for start, end in _enclosing(lines, max(body[0], line - MOST_LINES), line):
        size = sum(len(text.strip()) + 1 for text in lines[start - 1 : end])
        if size > room or len(chosen) == MOST_HEADERS:
            break
        room -= size
        chosen.append((start, end))
    return chosen


def snapped(lines: Sequence[str], body: Range, passage: Range) -> Range:
    """Return a passage without closing lines at its beginning, and with those after its end."""
    start, end = passage
    while start < end and _is_closing(lines[start - 1]):
        start += 1
    last = end
    while last < min(end + SNAP_LINES, body[1]) and _CLOSING.match(lines[last].strip()):
        last += 1
    return start, last


def _is_closing(line: str) -> bool:
    return not line.strip() or _CLOSING.match(line.strip()) is not None


def _enclosing(lines: Sequence[str], first: int, line: int) -> Iterator[Range]:
    """Yield the headers around a line from the inside out: lines indented less, and those that they continue."""
    columns = _columns(lines[line - 1])
    number = line - 1
    while number >= first and columns:
        text = lines[number - 1]
        if _columns(text) >= columns or _is_silent(text):
            number -= 1
            continue
        columns = _columns(text)
        while number:
            start = _beginning(lines, first, number)
            is_header = _HEADER.match(lines[start - 1].strip()) and not _OPENING.match(lines[start - 1].strip())
            if is_header and number - start < HEADER_LINES:
                yield start, number
            number, last = _earlier(lines, first, start), start
        number = last - 1


def _beginning(lines: Sequence[str], first: int, number: int) -> int:
    """Return the first line of a header that ends at `number`: `if (` above `) {`, a condition above `{`."""
    text = lines[number - 1]
    if not _OPENING.match(text.strip()) and not _CONTINUED.match(text.strip()):
        return number
    start = _aligned(lines, first, number) or number
    return number if lines[start - 1].rstrip().endswith(";") else start


def _earlier(lines: Sequence[str], first: int, number: int) -> int:
    """Return the branch before an `else`, or the `switch` of a `case` that is not indented more; 0 if there is none."""
    if _ELSE.match(lines[number - 1].strip()):
        return _aligned(lines, first, number)
    case = _CASE.match(lines[number - 1].strip())
    if case is None:
        return 0
    while number and (match := _CASE.match(lines[number - 1].strip())) and bool(match[1]) == bool(case[1]):
        number = _aligned(lines, first, number)
    return number if number and _SWITCH.match(lines[number - 1].strip()) else 0


def _aligned(lines: Sequence[str], first: int, number: int) -> int:
    """Return the nearest line above with the same indentation that is not a closing line; 0 if there is none."""
    columns = _columns(lines[number - 1])
    for earlier in range(number - 1, first - 1, -1):
        text = lines[earlier - 1]
        if _columns(text) > columns or _is_silent(text):
            continue
        return earlier if _columns(text) == columns else 0
    return 0


def _is_silent(line: str) -> bool:
    """Return whether the indentation of a line says nothing, or the line only closes a block."""
    text = line.strip()
    return _IGNORED.match(text) is not None or _CLOSING.match(text) is not None


def _columns(line: str) -> int:
    text = line.lstrip(" \t")
    margin = line[: len(line) - len(text)]
    return len(margin) + margin.count("\t") * (_TAB_COLUMNS - 1)
