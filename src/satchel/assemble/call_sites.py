"""Call sites of the definitions in a question, as lines above the items of its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from satchel.assemble.render.labels import quote
from satchel.tokens import TokenCounter

SITES_SHARE = 0.15
"""Share of the budget for these lines: some forty files in 4,000 tokens."""

LINES_SHOWN = 10
"""Lines named for each file; the others are counted, because a long list of calls in a test file does not help."""

FRAME_TOKENS = 4
"""Tokens of each line besides its text: more in XML, fewer in Markdown."""

Listed = Mapping[str, Any]


def call_site_lines(listing: Sequence[Listed], counter: TokenCounter, max_tokens: int) -> tuple[str, ...]:
    """Return a line with the counts for each definition of a listing (`Impact.listing`), below it one for each file.

    Definitions share the room; files without room are counted: `and 7 more in 3 files`.
    """
    room = max_tokens * SITES_SHARE
    lines: list[str] = []
    for number, target in enumerate(listing):
        own = _within(target, counter, room / (len(listing) - number))
        room -= sum(_size(line, counter) for line in own)
        lines += own
    return tuple(lines)


def _within(target: Listed, counter: TokenCounter, room: float) -> list[str]:
    """Return the lines of one definition that fit; none if the counts do not fit."""
    files: Sequence[Listed] = target["files"]
    lines = [_counts(target)]
    room -= _size(lines[0], counter)
    if room < 0:
        return []
    for shown, file in enumerate(files):
        line = _file_line(file)
        rest = _more(files[shown:])
        remaining = room - _size(line, counter)
        if remaining < (_size(rest, counter) if shown + 1 < len(files) else 0):
            return [*lines, rest] if _size(rest, counter) <= room else lines
        lines.append(line)
        room = remaining
    return lines


def _size(line: str, counter: TokenCounter) -> int:
    return counter.count(line) + FRAME_TOKENS


def _counts(target: Listed) -> str:
    """`Call sites of Blueprint.register: 12 in 5 files and 3 other uses`."""
    calls, files = int(target["calls"]), target["files"]
    uses = sum(len(file["uses"]) for file in files)
    calling = sum(bool(file["lines"]) for file in files)
    if calls:
        counts = f"Call sites of {quote(target['name'])}: {calls} in {_files(calling)}"
        counts += f" and {uses} other use{'s' if uses > 1 else ''}" if uses else ""
    elif uses:
        counts = f"Uses of {quote(target['name'])}: {uses} in {_files(len(files))}"
    else:
        return f"Call sites of {quote(target['name'])}: none that syntax can tell"
    unread = int(target["unread_files"])
    return f"{counts}; {_files(unread)} not read" if unread else counts


def _file_line(file: Listed) -> str:
    """`- src/a.py: 10, 44; named 3`. The dash keeps a path from looking like a mark of the layout."""
    calls, uses = _numbers(file["lines"]), _numbers(file["uses"])
    return f"- {quote(file['path'])}: {'; '.join(filter(None, (calls, uses and f'named {uses}')))}"


def _numbers(lines: Sequence[int]) -> str:
    more = len(lines) - LINES_SHOWN
    return ", ".join(map(str, lines[:LINES_SHOWN])) + (f" and {more} more" if more > 0 else "")


def _more(files: Sequence[Listed]) -> str:
    count = sum(len(file["lines"]) + len(file["uses"]) for file in files)
    return f"and {count} more in {_files(len(files))}"


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"
