r"""Names, paths, line ranges and titles on one line, written so that they can be read back: `@@40-52 Reader.read`.

A label line is above every shown piece of a file. It is the mark, the range, and what is shown there:

    @@10-24                      lines without a name
    @@10-24 Reader.read          a whole unit
    @@10-24 of Reader.read       lines of it; of a class or section: several of its parts
    @@10-11 signature of R.read  its declaration only; `line of` is one line about it
    @@10-24 moved Reader.read    not as it was indexed: `moved`, `changed` or `stale` is before the name
    @@10-24=2                    a range shown on another number of lines than it spans

The range tells how many lines follow, so a line of the file that looks like a label is content.

A field that could be misread (line breaks, a leading quote, one of the words above) is written as a JSON string.

A record has a title line of ours and one marked body. A commit is titled by its hash, author and day, because its
subject is the first line of its body anyway. A memory, an experience and a value are titled by what their body does
not say, any other record by its title.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import takewhile

from satchel.sources import experiences
from satchel.types import ContextItem, Detail, Kind, Piece, Trust

MARK = "@@"
"""Opens a label, as in a diff. A space after it would add a token to each label; `L10-24` has as many tokens and looks
like code."""

SECTION_SEPARATOR = " > "
"""Separates the headings in the name of a section."""

FILES_SHOWN = 5
"""Most files named below a commit; most commits touch no more, and a list of hundreds would hide its text."""

_LINE_END = "\n"
_HASH_SHOWN = 7
_DAY = len("2024-05-01")

# C1 controls and the separators would break lines for some readers, a lone surrogate cannot be written as UTF-8.
_UNSAFE = "\x7f-\x9f\u2028\u2029\ud800-\udfff"
_UNSAFE_CHARACTER = re.compile(f"[{_UNSAFE}]")
_MISREADABLE = re.compile(
    f"[\x00-\x1f{_UNSAFE}]"
    r"|\A(?:\Z|[\"`\s]|(?:of|signature|line|moved|changed|stale)(?: |\Z))"  # a quote, a code span, a word of ours
    r"|(?:\s|\ #+|\ ?\((?:window|signature|line)\))\Z"  # a closing heading mark, a detail mark
)
_RELATIONS = {Detail.FULL: "", Detail.SPAN: "of", Detail.SIGNATURE: "signature of", Detail.LINE: "line of"}
_LONG = frozenset({Detail.FULL, Detail.SPAN})


def quote(text: str) -> str:
    """Return the text on one line: unchanged if it can be read back as it is, else a JSON string."""
    return text if _MISREADABLE.search(text) is None else quoted(text)


def quoted(text: str) -> str:
    """Return the text as a JSON string on one line."""
    return _UNSAFE_CHARACTER.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False))


def file_path(item: ContextItem) -> str:
    """Return the path of an item that shows lines of a file, empty for a record."""
    return item.location.path if item.location is not None and item.pieces else ""


def line_range(piece: Piece) -> str:
    """Return the lines of a piece: `10-24`, or `12` for one line."""
    return f"{piece.start}-{piece.end}" if piece.end != piece.start else str(piece.start)


def shown_range(piece: Piece) -> str:
    """Return the lines of a piece whose text follows: `10-24=2` if that text has another number of lines."""
    return line_range(piece) if _is_exact(piece) else f"{line_range(piece)}={piece.text.count(_LINE_END) + 1}"


def _is_exact(piece: Piece) -> bool:
    """Return whether each line is shown as one line."""
    return piece.text.count(_LINE_END) == piece.end - piece.start


def touches(earlier: Piece, later: Piece) -> bool:
    """Return whether no line is missing between two neighbouring pieces."""
    return later.start == earlier.end + 1


def labelled(pieces: Iterable[Piece], *, shown: bool) -> str:
    """Return the pieces of a file, each below its label. With `shown`, touching pieces share a label where possible."""
    rows: list[str] = []
    for piece in joined_pieces(pieces) if shown else pieces:
        rows.append(_label(piece, shown_range(piece) if shown else line_range(piece)))
        if shown:
            rows.append(piece.text)
    return "\n".join(rows)


def _label(piece: Piece, lines: str) -> str:
    name = quote(piece.name) if piece.name else ""
    relation = _RELATIONS[piece.detail] if name else _RELATIONS[piece.detail].removesuffix("of").rstrip()
    return " ".join(part for part in (f"{MARK}{lines}", piece.freshness or "", relation, name) if part)


def joined_pieces(pieces: Iterable[Piece]) -> list[Piece]:
    """Return the pieces; those that touch and differ only in their names become one.

    It is named after their container. Lines of no file and pieces shown on another number of lines stay separate.
    """
    runs: list[list[Piece]] = []
    for piece in pieces:
        if runs and _continues(runs[-1][-1], piece):
            runs[-1].append(piece)
        else:
            runs.append([piece])
    return [_joined(run) if len(run) > 1 else run[0] for run in runs]


def _continues(last: Piece, piece: Piece) -> bool:
    if not (last.start and touches(last, piece) and _is_exact(last) and _is_exact(piece)):
        return False
    if last.freshness is not piece.freshness:
        return False
    return _LONG.issuperset((last.detail, piece.detail)) or (last.detail, last.name) == (piece.detail, piece.name)


def _joined(run: Sequence[Piece]) -> Piece:
    first, last = run[0], run[-1]
    named = [piece for piece in run if piece.name]
    name, detail = (named[0].name, named[0].detail) if named else ("", Detail.FULL)
    if any(piece.detail is Detail.SPAN for piece in named):
        detail = Detail.SPAN
    if any(piece.name != name for piece in named):
        container = _container([piece.name for piece in named])
        detail = Detail.SPAN if container else detail
        name = container or f"{name} … {named[-1].name}"
    text = "\n".join(piece.text for piece in run)
    return Piece(first.start, last.end, name, text, detail, first.freshness)


def _container(names: Sequence[str]) -> str:
    """Return the class or section that contains all of them, empty if there is none."""
    separator = SECTION_SEPARATOR if SECTION_SEPARATOR in names[0] else "."
    levels = zip(*(name.split(separator) for name in names), strict=False)
    return separator.join(level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels))


def kind_label(item: ContextItem) -> str:
    """Return the word before the title of a record: `Commit`; `Guidance` for guidance of any kind."""
    return (item.trust if item.trust is Trust.GUIDANCE else item.source).capitalize()


def record_name(item: ContextItem) -> str:
    """Return the title of a record without its kind: `1a2b3c4 by Ada on 2024-05-01`."""
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


def _value_name(item: ContextItem) -> str:
    axis, size = item.metadata.get("axis"), item.metadata.get("cluster_size")
    return f"({axis}, cluster size: {size})" if axis else ""


def _conversation_name(item: ContextItem) -> str:
    day, branch = _day(item.metadata.get("created_at")), item.metadata.get("branch")
    return f"on {day}{f' on branch {branch}' if branch else ''}" if day else ""


_NAMES: Mapping[str, Callable[[ContextItem], str]] = {
    Kind.COMMIT: _commit_name,
    Kind.MEMORY: _memory_name,
    Kind.EXPERIENCE: lambda item: experiences.heading(item.metadata),
    Kind.VALUE: _value_name,
    Kind.CONVERSATION: _conversation_name,
}


def record_title(item: ContextItem) -> str:
    """Return the full title of a record: `Commit 1a2b3c4 by Ada on 2024-05-01`."""
    name = record_name(item)
    return f"{kind_label(item)} {name}" if name else kind_label(item)


def heading_name(item: ContextItem) -> str:
    """Return the name above the body of a record, empty where the body begins with it anyway."""
    name = record_name(item)
    return "" if name == record_body(item).split("\n", 1)[0] else name


def heading(item: ContextItem) -> str:
    """Return the title of a record above its body: `Commit 1a2b3c4 by Ada on 2024-05-01`."""
    name = heading_name(item)
    return f"{kind_label(item)} {name}" if name else kind_label(item)


def record_body(item: ContextItem) -> str:
    """Return the text of a record: its pieces one below the other, else its content; then the files of a commit."""
    body = "\n".join(piece.text for piece in item.pieces) if item.pieces else item.content
    files = item.metadata.get("files_changed") if item.source == Kind.COMMIT else None
    if not files or item.detail in (Detail.SIGNATURE, Detail.LINE):
        return body
    more = max(len(files), int(item.metadata.get("file_count", 0))) - FILES_SHOWN
    return f"{body}\nFiles: {', '.join(files[:FILES_SHOWN])}{f' and {more} more' if more > 0 else ''}"


def _day(timestamp: object) -> str:
    """Return the day (UTC) of a time in seconds or of an ISO text, empty if there is none."""
    if isinstance(timestamp, str):
        return timestamp[:_DAY]
    return f"{datetime.fromtimestamp(timestamp, UTC):%Y-%m-%d}" if isinstance(timestamp, int | float) else ""
