"""How a record is shown: a title line of ours and one marked body.

A commit is titled by its hash, author and day, because its subject is the first line of its body anyway, and its body
ends with the files that it touched. Any other record is titled by its title.
"""

from __future__ import annotations

from datetime import UTC, datetime

from satchel.types import ContextItem, Detail, Kind

FILES_SHOWN = 5
"""Files named below a commit; most commits touch no more, and a list of hundreds would be all that is seen of it."""

_HASH_SHOWN = 7
_DAY = len("2024-05-01")


def kind_label(item: ContextItem) -> str:
    """The word before the title of a record: `Commit`."""
    return item.source.capitalize()


def record_name(item: ContextItem) -> str:
    """The title of a record without its kind: `1a2b3c4 by Ada on 2024-05-01`."""
    sha = str(item.metadata.get("sha", "")) if item.source == Kind.COMMIT else ""
    if not sha:
        return item.title
    author = str(item.metadata.get("author", ""))
    day = _day(item.metadata.get("timestamp"))
    return f"{sha[:_HASH_SHOWN]}{f' by {author}' if author else ''}{f' on {day}' if day else ''}"


def record_title(item: ContextItem) -> str:
    """The whole title of a record in plain words: `Commit 1a2b3c4 by Ada on 2024-05-01`."""
    name = record_name(item)
    return f"{kind_label(item)} {name}" if name else kind_label(item)


def record_body(item: ContextItem) -> str:
    """What a record shows: its pieces one below the other, else its content; then the files of a commit."""
    body = "\n".join(piece.text for piece in item.pieces) if item.pieces else item.content
    files = item.metadata.get("files_changed") if item.source == Kind.COMMIT else None
    if not files or item.detail in (Detail.SIGNATURE, Detail.LINE):
        return body
    more = max(len(files), int(item.metadata.get("file_count", 0))) - FILES_SHOWN
    return f"{body}\nFiles: {', '.join(files[:FILES_SHOWN])}{f' and {more} more' if more > 0 else ''}"


def _day(timestamp: object) -> str:
    """The day (UTC) of a time in seconds or of an ISO text, empty if there is none."""
    if isinstance(timestamp, str):
        return timestamp[:_DAY]
    return f"{datetime.fromtimestamp(timestamp, UTC):%Y-%m-%d}" if isinstance(timestamp, int | float) else ""
