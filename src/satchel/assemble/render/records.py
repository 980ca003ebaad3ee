"""How a record is shown: a title line of ours and one marked body.

A commit is titled by its hash, author and day, because its subject is the first line of its body anyway, and its body
ends with the files that it touched. A memory, an experience and a value are titled by what their body does not say.
Any other record is titled by its title.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from satchel.sources import experiences
from satchel.types import ContextItem, Detail, Kind, Trust

FILES_SHOWN = 5
"""Files named below a commit; most commits touch no more, and a list of hundreds would be all that is seen of it."""

_HASH_SHOWN = 7
_DAY = len("2024-05-01")


def kind_label(item: ContextItem) -> str:
    """The word before the title of a record: `Commit`; `Guidance` for what is to be followed, whatever it is."""
    return (item.trust if item.trust is Trust.GUIDANCE else item.source).capitalize()


def record_name(item: ContextItem) -> str:
    """The title of a record without its kind: `1a2b3c4 by Ada on 2024-05-01`."""
    name = _NAMES.get(item.source)
    return (name(item) if name is not None else "") or item.title


def _commit_name(item: ContextItem) -> str:
    sha = str(item.metadata.get("sha", ""))
    if not sha:
        return ""
    author = str(item.metadata.get("author", ""))
    day = _day(item.metadata.get("timestamp"))
    return f"{sha[:_HASH_SHOWN]}{f' by {author}' if author else ''}{f' on {day}' if day else ''}"


def _memory_name(item: ContextItem) -> str:
    category, importance = item.metadata.get("category"), item.metadata.get("importance")
    if not category:
        return ""
    return f"Category: {category}" + (f", Importance: {importance:g}" if isinstance(importance, int | float) else "")


def _experience_name(item: ContextItem) -> str:
    return experiences.heading(item.metadata)


def _value_name(item: ContextItem) -> str:
    axis, size = item.metadata.get("axis"), item.metadata.get("cluster_size")
    return f"({axis}, cluster size: {size})" if axis else ""


def _conversation_name(item: ContextItem) -> str:
    day, branch = _day(item.metadata.get("created_at")), item.metadata.get("branch")
    return f"on {day}{f' on branch {branch}' if branch else ''}" if day else ""


_NAMES: Mapping[str, Callable[[ContextItem], str]] = {
    Kind.COMMIT: _commit_name,
    Kind.MEMORY: _memory_name,
    Kind.EXPERIENCE: _experience_name,
    Kind.VALUE: _value_name,
    Kind.CONVERSATION: _conversation_name,
}


def record_title(item: ContextItem) -> str:
    """The whole title of a record in plain words: `Commit 1a2b3c4 by Ada on 2024-05-01`."""
    name = record_name(item)
    return f"{kind_label(item)} {name}" if name else kind_label(item)


def heading_name(item: ContextItem) -> str:
    """The name above the body of a record, empty where the body begins with it anyway."""
    name = record_name(item)
    return "" if name == record_body(item).split("\n", 1)[0] else name


def heading(item: ContextItem) -> str:
    """The title of a record above its body: `Commit 1a2b3c4 by Ada on 2024-05-01`."""
    name = heading_name(item)
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
