"""The call sites of what a question asks about, as the lines that stand above the items of its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from satchel.assemble.render.labels import quote
from satchel.tokens import TokenCounter

SITES_SHARE = 0.15
"""Of the budget, what these lines may take: some forty files in 4,000 tokens."""

LINES_SHOWN = 10
"""Lines named of one file; the others are a number: nobody goes through the calls of a test file one by one."""

FRAME_TOKENS = 4
"""Of one line, besides its text: in XML its element takes more, in Markdown less."""

Listed = Mapping[str, Any]


def call_site_lines(listing: Sequence[Listed], counter: TokenCounter, max_tokens: int) -> tuple[str, ...]:
    """Return a line with the counts for each definition of a listing (`Impact.listing`), below it one for each file.

    Definitions share the room; what has none is a number: `and 7 more in 3 files`.
    """
    room = max_tokens * SITES_SHARE
    lines: list[str] = []
    for number, target in enumerate(listing):
        own = _within(target, counter, room / (len(listing) - number))
        room -= sum(_size(line, counter) for line in own)
        lines += own
    return tuple(lines)


def _within(target: Listed, counter: TokenCounter, room: float) -> list[str]:
    """Return the lines of one definition that have room; none where not even the counts have."""
    files: Sequence[Listed] = target["files"]
    lines = [_counts(target)]
    room -= _size(lines[0], counter)
    if room < 0:
        return []
    for shown, file in enumerate(files):
        line = _file_line(file)
        rest = _more(files[shown:])
        left = room - _size(line, counter)
        if left < (_size(rest, counter) if shown + 1 < len(files) else 0):
            return [*lines, rest] if _size(rest, counter) <= room else lines
        lines.append(line)
        room = left
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
