r"""Names, paths, line ranges and titles on one line, written so that they can be read back: `@@40-52 Reader.read`.

A label line is above every shown piece of a file. It is the mark, the range, and what is shown there:

    @@10-24                      lines without a name
    @@10-24 Reader.read          a whole unit
    @@10-24 of Reader.read       lines of it; of a section: several of its parts
    @@10-24 of Reader: read, go  several parts of a class; of more than three the first and the last
    @@10-11 signature of R.read  its declaration only; `line of` is one line about it
    @@10-24 moved Reader.read    not as it was indexed: `moved`, `changed` or `stale` is before the name
    @@10-24=2                    a range shown on another number of lines than it spans

The range tells how many lines follow, so a line of the file that looks like a label is content.

A field that could be misread (line breaks, a leading quote, one of the words above) is written as a JSON string.

A record has a title line of ours and one marked body. A commit is titled by its hash, author and day, because its
subject is the first line of its body anyway. A memory, an experience and a value are titled by what their body does
not say, any other record by its title.

In a view an item becomes one entity for each name of its pieces, the best first; lines without a name belong to the one
below that they touch, else to the one above.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby, pairwise, takewhile
from operator import itemgetter

from msgspec import Struct
from msgspec.structs import replace

from satchel.safety.sanitize import inert, plain_name
from satchel.sources import experiences
from satchel.text import pattern
from satchel.types import CONTEXT_TYPES, ContextItem, Cut, Detail, Kind, Piece, Trust, View

MARK = "@@"
"""Opens a label, as in a diff. A space after it would add a token to each label; `L10-24` has as many tokens and looks
like code."""

SECTION_SEPARATOR = " > "
"""Separates the headings in the name of a section."""

PARTS_NAMED = 3
"""Most parts of a class that a label names one by one."""

FILES_SHOWN = 5
"""Most files named below a commit; most commits touch no more, and a list of hundreds would hide its text."""

GAP = "…"
"""Stands for missing lines. One token with its line break; three dots would be valid code in some languages."""

_LINE_END = "\n"
_HASH_SHOWN = 7
_DAY = len("2024-05-01")

# C1 controls and the separators would break lines for some readers, a lone surrogate cannot be written as UTF-8.
_UNSAFE = "\x7f-\x9f\u2028\u2029\ud800-\udfff"
_UNSAFE_CHARACTER = pattern(f"[{_UNSAFE}]")
_MISREADABLE = pattern(
    f"[\x00-\x1f{_UNSAFE}]"
    r"|\A(?:\Z|[\"`\s]|(?:of|signature|line|moved|changed|stale)(?: |\Z))"  # a quote, a code span, a word of ours
    r"|(?:\s|\ #+|\ ?\((?:window|signature|line)\))\Z"  # a closing heading mark, a detail mark
)
IMPORTS = "imports"
"""The name of lines that only say where names of the shown code come from; code that follows them names them both."""

_RELATIONS = {Detail.FULL: "", Detail.SPAN: "of", Detail.SIGNATURE: "signature of", Detail.LINE: "line of"}
_LONG = frozenset({Detail.FULL, Detail.SPAN})


def quote(text: str) -> str:
    """Return the text on one line: unchanged if it can be read back as it is, else a JSON string."""
    return inert(text) if _MISREADABLE.search(text) is None else quoted(text)


def quoted_path(path: str) -> str:
    """Return a path on one line, as a JSON string also where it could be read as a sentence."""
    return quote(path) if plain_name(path) == path else quoted(path)


def quoted(text: str) -> str:
    """Return the text as a JSON string on one line."""
    live = inert(text)
    written = live if live != text else json.dumps(text, ensure_ascii=False)
    return _UNSAFE_CHARACTER.sub(lambda match: f"\\u{ord(match[0]):04x}", written)


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


def labelled(pieces: Sequence[Piece], *, shown: bool, numbered: bool = False, cuts: Sequence[Cut] = ()) -> str:
    """Return the pieces of a file, each below its label. With `shown`, touching pieces share a label where possible.

    `numbered` puts its number and a tab before each line; text in the place of other lines has none. Then the pieces of
    one definition share a label, and missing lines between them are one line: `… 12-20`. The end of one of the
    `cuts` is a line with the handle of it, of a long function of all that is left: `… 24-90 a2b3c4d5`.
    """
    lines: list[str] = []
    before: Piece | None = None
    numbered = numbered and shown
    ordered = joined_pieces(pieces) if shown else [*pieces]
    # Without their lines the labels are outside of a block.
    labels = labelled_pieces(pieces) if shown else [replace(piece, name=plain_name(piece.name)) for piece in ordered]
    for piece, label, after in zip(ordered, labels, [*ordered[1:], None], strict=True):
        if numbered and before is not None and _is_one_definition(before, label):
            lines.append(f"{GAP} {before.end + 1}-{piece.start - 1}")
        else:
            lines.append(_label(label, shown_range(piece) if shown else line_range(piece)))
        if shown:
            lines.append(numbered_text(piece) if numbered and _is_exact(piece) else piece.text)
        lines += _end_of_cut(piece, after, cuts) if numbered else ()
        before = label
    return "\n".join(lines)


def _end_of_cut(piece: Piece, after: Piece | None, cuts: Sequence[Cut]) -> list[str]:
    ended = (cut for cut in cuts if cut.name and cut.name == piece.name and cut.start <= piece.end < cut.end)
    left = [cut for cut in ended if after is None or cut.end < after.start]
    return [f"{GAP} {piece.end + 1}-{cut.end} {cut.handle}".rstrip() for cut in left]


def _is_one_definition(before: Piece, piece: Piece) -> bool:
    is_outline = bool(piece.name) or (before.start == before.end and piece.start == piece.end)
    is_same = is_outline and (before.name, before.freshness) == (piece.name, piece.freshness)
    return is_same and _is_exact(before) and _is_exact(piece) and piece.start > before.end + 1


def numbered_text(piece: Piece) -> str:
    """Return the lines of a piece, each after its number and a tab."""
    return "\n".join([f"{number}\t{line}" for number, line in enumerate(piece.text.split("\n"), piece.start)])


def _label(piece: Piece, lines: str) -> str:
    name = quote(piece.name) if piece.name else ""
    relation = _RELATIONS[piece.detail] if name else _RELATIONS[piece.detail].removesuffix("of").rstrip()
    return " ".join(part for part in (f"{MARK}{lines}", piece.freshness or "", relation, name) if part)


def joined_pieces(pieces: Iterable[Piece]) -> list[Piece]:
    """Return the pieces; those that touch and differ only in their names become one.

    It is named after their container. Lines of no file and pieces shown on another number of lines stay separate.
    """
    return [_joined(run) for run in _runs(pieces)]


def labelled_pieces(pieces: Iterable[Piece]) -> list[Piece]:
    """Return the joined pieces, each named as its label says: a class with its parts."""
    return [replace(piece := _joined(run), name=_with_parts(piece.name, run)) for run in _runs(pieces)]


def _runs(pieces: Iterable[Piece]) -> list[list[Piece]]:
    """Return the pieces in runs, each of one piece or of several that become one."""
    runs: list[list[Piece]] = []
    for piece in pieces:
        if runs and _continues(runs[-1][-1], piece):
            runs[-1].append(piece)
        else:
            runs.append([piece])
    return runs


def _continues(last: Piece, piece: Piece) -> bool:
    if not (last.start and touches(last, piece) and _is_exact(last) and _is_exact(piece)):
        return False
    if last.freshness is not piece.freshness:
        return False
    return _LONG.issuperset((last.detail, piece.detail)) or (last.detail, last.name) == (piece.detail, piece.name)


def _joined(run: Sequence[Piece]) -> Piece:
    if len(run) == 1:
        return run[0]
    first, last = run[0], run[-1]
    named = [piece for piece in run if piece.name not in ("", IMPORTS)]
    name, detail = (named[0].name, named[0].detail) if named else ("", Detail.FULL)
    if any(piece.detail is Detail.SPAN for piece in named):
        detail = Detail.SPAN
    if any(piece.name != name for piece in named):
        container = _container([piece.name for piece in named])
        detail = Detail.SPAN if container else detail
        name = container or f"{name} … {named[-1].name}"
    text = "\n".join(piece.text for piece in run)
    return Piece(first.start, last.end, name, text, detail, first.freshness)


def _with_parts(container: str, run: Sequence[Piece]) -> str:
    """Return the name of a class with those of its parts in a run of pieces; any other name as it is."""
    inside = f"{container}."
    parts = [*dict.fromkeys(piece.name.removeprefix(inside) for piece in run if piece.name.startswith(inside))]
    if not container or not parts:
        return container
    return f"{container}: {', '.join(parts) if len(parts) <= PARTS_NAMED else f'{parts[0]} … {parts[-1]}'}"


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
    return _own_name(item) or plain_name(item.title)


def _own_name(item: ContextItem) -> str:
    name = _NAMES.get(item.source)
    return name(item) if name is not None else ""


def _commit_name(item: ContextItem) -> str:
    sha = str(item.metadata.get("sha", ""))
    if not sha:
        return ""
    author = plain_name(str(item.metadata.get("author", "")))
    day = _day(item.metadata.get("timestamp"))
    return f"{sha[:_HASH_SHOWN]}{f' by {author}' if author else ''}{f' on {day}' if day else ''}"


def _memory_name(item: ContextItem) -> str:
    category, importance = item.metadata.get("category"), item.metadata.get("importance")
    if not category:
        return ""
    since, until = item.metadata.get("valid_from"), item.metadata.get("valid_to")
    parts = (
        f"Category: {category}",
        f"Importance: {importance:g}" if isinstance(importance, int | float) else "",
        f"since {_day(since)}" if since else _day(item.metadata.get("timestamp")),
        f"until {_day(until)}" if until else "",
        f"newer: {plain_name(str(newer))}" if (newer := item.metadata.get("newer")) else "",
        f"against the older {plain_name(str(older))}" if (older := item.metadata.get("against")) else "",
    )
    return ", ".join(filter(None, parts))


def _value_name(item: ContextItem) -> str:
    axis, size = item.metadata.get("axis"), item.metadata.get("cluster_size")
    return f"({axis}, cluster size: {size})" if axis else ""


def _conversation_name(item: ContextItem) -> str:
    day, branch = _day(item.metadata.get("created_at")), item.metadata.get("branch")
    return f"on {day}{f' on branch {plain_name(branch)}' if branch else ''}" if day else ""


_NAMES: Mapping[str, Callable[[ContextItem], str]] = {
    Kind.COMMIT: _commit_name,
    Kind.MEMORY: _memory_name,
    Kind.EXPERIENCE: lambda item: experiences.heading(item.metadata),
    Kind.VALUE: _value_name,
    Kind.CONVERSATION: _conversation_name,
}


def listed_title(item: ContextItem) -> str:
    """Return the kind and name of a record in a list: `Commit 1a2b3c4 by Ada on 2024-05-01`, `Memory Use cents`."""
    name = record_name(item) if item.source == Kind.COMMIT else plain_name(item.title) or record_name(item)
    return f"{kind_label(item)} {name}" if name else kind_label(item)


def heading_name(item: ContextItem) -> str:
    """Return the name above the body of a record, empty where the body begins with it anyway."""
    name = _own_name(item) or item.title
    return "" if name == record_body(item).split("\n", 1)[0] else record_name(item)


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
    """Return the day (UTC) of a time in seconds or of an ISO text, empty if there is none or it is 0."""
    if isinstance(timestamp, str):
        return timestamp[:_DAY]
    return (
        f"{datetime.fromtimestamp(timestamp, UTC):%Y-%m-%d}" if timestamp and isinstance(timestamp, int | float) else ""
    )


WHOLE_FILE = "file"
"""The type of an entity of a file without names."""

_GROUP_TITLES = {
    "code": "Relevant Code",
    "documentation": "Related Documentation",
    "conversation": "Previous Conversations",
    "other": "Other Context",
}
_GROUP_OF_TYPE = {
    **dict.fromkeys(("function", "method", "class", "interface", "type", "file", "module", "code"), "code"),
    **dict.fromkeys(("variable", "constant", "property", "enum", "namespace", "struct", "trait", "gap"), "code"),
    **dict.fromkeys(("document", "section", "requirement", "feature", "doc", "user-story"), "documentation"),
    **dict.fromkeys(("session", "message", "decision", "question", "conversation", "commit"), "conversation"),
}
_ENDING = pattern(r"[:\"\[]|\)\Z")


class ItemSection(Struct, frozen=True):
    """A titled run of items; never empty."""

    title: str
    items: tuple[ContextItem, ...]


class ShownEntity(Struct, frozen=True):
    """One definition of a file, or one record (its path is empty).

    Without any name the entity is the file, named by its path. `start` and `end` are the lines of the entity itself
    where they are known, else of what is shown. `imports` are, in blocks, pieces without a name, apart from and before
    the first entity; elsewhere they are among its `pieces`.
    """

    name: str
    type: str
    score: float
    path: str
    start: int
    end: int
    pieces: tuple[Piece, ...]
    imports: tuple[Piece, ...] = ()
    summary: str = ""


def sections(
    items: Sequence[ContextItem], *, group_by_type: bool, view: View = View.SECTIONS, first_kind: Kind | None = None
) -> list[ItemSection]:
    """Return items by kind in their usual order, `first_kind` first, or by type in the order of the four groups.

    Items keep their order inside a section; empty sections are left out. Sections that items name themselves come last,
    in the order of their first items. The other views have no sections unless grouped.
    """
    if view is not View.SECTIONS and not group_by_type:
        return [ItemSection("", tuple(items))] if items else []
    kinds = sorted(CONTEXT_TYPES.values(), key=lambda kind: kind is not first_kind)
    titles = _GROUP_TITLES.values() if group_by_type else (kind.heading for kind in kinds)
    members: dict[str, list[ContextItem]] = {title: [] for title in titles}
    for item in items:
        title = _GROUP_TITLES[_group(item)] if group_by_type else item.section or Kind(item.source).heading
        members.setdefault(title, []).append(item)
    return [ItemSection(title, tuple(chosen)) for title, chosen in members.items() if chosen]


def group_of(entity_type: str) -> str | None:
    """Return `code`, `documentation` or `conversation` for a type of entity, None for any other type."""
    return _GROUP_OF_TYPE.get(entity_type.lower())


def _group(item: ContextItem) -> str:
    """Return the group of an item: by its finer type where it has one, else by its kind."""
    return group_of(str(item.metadata.get("type", ""))) or group_of(item.source) or "other"


def entities(item: ContextItem, view: View) -> list[ShownEntity]:
    """Return the entities of an item, best first, then in line order. Every piece belongs to exactly one."""
    path = file_path(item)
    if not path:
        piece = Piece(0, 0, "", record_body(item), item.detail)
        kind = str(item.metadata.get("type") or item.source)
        summary = str(item.metadata.get("given_summary", ""))
        return [ShownEntity(_record_name(item), kind, item.relevance, "", 0, 0, (piece,), summary=summary)]
    apart = _imports_end(item.pieces) if view is View.BLOCKS else 0
    owned = zip(owners(item.pieces)[apart:], item.pieces[apart:], strict=True)
    shown = [
        _entity(item, path, name, _plain_lines(piece for _, piece in group))
        for name, group in groupby(owned, key=itemgetter(0))
    ]
    first, *rest = sorted(shown, key=lambda entity: -entity.score)
    return [replace(first, imports=_plain_lines(item.pieces[:apart])), *rest]


def _plain_lines(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Return the pieces of one entity, joined where they touch; lines without a name are part of nothing else."""
    whole = (replace(piece, detail=Detail.FULL) if _is_nameless_span(piece) else piece for piece in pieces)
    return tuple(joined_pieces(whole))


def _is_nameless_span(piece: Piece) -> bool:
    return not piece.name and piece.detail is Detail.SPAN


def owners(pieces: Sequence[Piece]) -> list[str]:
    """Return the name that each piece is shown under: its own, that of a neighbour it touches, the last."""
    names: list[str] = []
    for number, piece in enumerate(pieces):
        name = piece.name
        if not name and number and touches(pieces[number - 1], piece):
            name = names[-1]
        names.append(
            name
            or _name_below(pieces[number:])
            or next(filter(None, [*names[::-1], *(other.name for other in pieces)]), "")
        )
    return names


def _name_below(pieces: Sequence[Piece]) -> str:
    """Return the first name below, if all pieces down to it touch."""
    for piece, below in pairwise(pieces):
        if below.name or not touches(piece, below):
            return below.name if touches(piece, below) else ""
    return ""


def _imports_end(pieces: Sequence[Piece]) -> int:
    """Return the number of pieces before the first named one and those that touch it."""
    end = next((number for number, piece in enumerate(pieces) if piece.name), 0)
    while end and touches(pieces[end - 1], pieces[end]):
        end -= 1
    return end


def _record_name(item: ContextItem) -> str:
    """Return the name of a record without its type; guidance is marked in the name."""
    name, label = heading_name(item), kind_label(item)
    return " ".join(filter(None, (label, name))) if item.trust is Trust.GUIDANCE or not name else name


def _entity(item: ContextItem, path: str, name: str, pieces: tuple[Piece, ...]) -> ShownEntity:
    entities = item.metadata.get("entities", ())
    entity = next(
        (entity for entity in entities if entity.get("title", entity["qualified_name"]) == (name or path)), None
    )
    name = plain_name(name)
    if entity is None:
        kind = WHOLE_FILE if not name else str(item.metadata.get("type") or item.source)
        return ShownEntity(name or path, kind, item.relevance, path, pieces[0].start, pieces[-1].end, pieces)
    lines = entity["start_line"], entity["end_line"]
    return ShownEntity(
        name or path, entity["type"], entity["score"], path, *lines, pieces, summary=entity.get("summary", "")
    )


def place(pieces: Sequence[Piece], *, shown: bool) -> str:
    """Return the ranges with their marks: `15-18 (span); 19-37=1 (line)`."""
    write = shown_range if shown else line_range
    return "; ".join(
        f"{','.join(map(write, group))}{f' ({marks})' if marks else ''}"
        for marks, group in groupby(pieces, key=marks_of)
    )


def marks_of(piece: Piece) -> str:
    """Return how a piece differs from the full, fresh text of its definition: `span, moved`; empty if it does not."""
    marks = [] if piece.detail is Detail.FULL else [piece.detail.value]
    return ", ".join([*marks, *([piece.freshness.value] if piece.freshness is not None else [])])


def colonless(text: str) -> str:
    """Return a name or path that can be followed by a colon or mark: unchanged, or as a JSON string."""
    return quoted(text) if _ENDING.search(text) else quoted_path(text)
