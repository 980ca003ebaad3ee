"""What a handle stands for, from the same revision: the live file if it still matches, else git, else the index.

Where no copy of that revision is left, nothing is shown, and a note says where the definition stands now.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from satchel import files
from satchel.assemble.receipts.ledger import Given
from satchel.assemble.render import RenderRequest, render
from satchel.clean import clean_field, clean_text
from satchel.errors import GitError, UsageError
from satchel.git import Repository, find_repository
from satchel.keys import handle as make_handle
from satchel.keys import nonce
from satchel.redact import redact
from satchel.sources.blobs import blob, earlier_blobs
from satchel.sources.outline import outline_file
from satchel.store.protocol import Store
from satchel.tokens import TokenCounter
from satchel.types import Context, ContextItem, Cut, Detail, Failure, Format, Kind, Location, Omission, Piece, Usage

EARLIER_COMMITS = 50
"""Versions of a file that are looked at in git, newest first: what was shown lately was committed lately."""

HANDLE_CHARACTERS = 8

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Desk:
    """What expanding works with. `store_of` gives the store that holds a kind; `limit` is in bytes a file."""

    root: Path
    key: bytes
    limit: int
    allow: Sequence[str]
    store_of: Callable[[Kind], Store]


@dataclass(frozen=True, slots=True)
class Expanded:
    """What was found behind one handle: an item, and the lines of it that the handle asks for."""

    given: Given
    item: ContextItem
    lines: tuple[str, ...] = ()


def check_handles(handles: Sequence[str]) -> list[str]:
    """Handles in lower case, each once. Raises UsageError for what cannot be one."""
    if not handles:
        raise UsageError("no handle was given: `satchel context --json` and `--handles` show them")
    asked = list(dict.fromkeys(handle.strip().lower() for handle in handles))
    for handle in asked:
        if len(handle) != HANDLE_CHARACTERS or not handle.isalnum() or not handle.isascii():
            raise UsageError(
                f"{clean_field(handle)!r} is no handle: they have {HANDLE_CHARACTERS} letters and digits: `a2b3c4d5`"
            )
    return asked


def expand(
    given: Sequence[Given],
    desk: Desk,
    *,
    counter: TokenCounter,
    max_tokens: int,
    layout: Format,
) -> tuple[Context, list[Given]]:
    """The whole of what these handles stand for, inside the budget, and the handles that this answer gives anew.

    What does not fit is cut at a line and gets a handle of its own; what is not shown at all stays in the overflow.
    """
    found: list[Expanded] = []
    failures: list[Failure] = []
    fresh: list[Given] = []
    for row in _uncovered(given):
        result, following = _record(row, desk) if not row.path else _file(row, desk)
        fresh += following
        if isinstance(result, Failure):
            failures.append(result)
        else:
            found.append(result)
    context = _packed(found, tuple(failures), counter, max_tokens, layout, desk.key)
    return context, fresh


def _uncovered(given: Sequence[Given]) -> list[Given]:
    """The handles without those whose lines another one of them gives anyway."""
    kept: list[Given] = []
    for row in sorted(given, key=_width, reverse=True):
        if not any(_covers(wider, row) for wider in kept):
            kept.append(row)
    return [row for row in given if row in kept]


def _width(row: Given) -> float:
    return row.ranges[0][1] - row.ranges[0][0] if row.ranges else math.inf


def _covers(wide: Given, narrow: Given) -> bool:
    if (wide.kind, wide.path, wide.content_hash) != (narrow.kind, narrow.path, narrow.content_hash) or not wide.path:
        return False
    if not wide.ranges or not narrow.ranges:
        return not wide.ranges
    return wide.ranges[0][0] <= narrow.ranges[0][0] and narrow.ranges[0][1] <= wide.ranges[0][1]


def _record(row: Given, desk: Desk) -> tuple[Expanded | Failure, list[Given]]:
    """A record is never changed in place: it is there, or it was forgotten."""
    store = desk.store_of(row.kind)
    key = row.id.partition(":")[2]
    bundle = store.bundle(row.kind, key) or store.bundle(row.kind, key.partition("::")[0])
    if bundle is None:
        return Failure("expand", f"{row.handle}: {clean_field(row.id)} is not stored any more"), []
    body = _presentable(store.text(bundle.id), desk.allow)
    item = ContextItem(
        id=row.id,
        source=row.kind.value,
        title=clean_field(bundle.title),
        content=body,
        relevance=1.0,
        metadata={"id": key, "timestamp": bundle.created, **_commit_fields(row, bundle.fields)},
        pieces=(Piece(0, 0, "", body),),
        handle=row.handle,
        nonce=nonce(desk.key, row.id, body),
    )
    return Expanded(row, item), []


def _commit_fields(row: Given, fields: object) -> dict[str, object]:
    shown = dict(fields) if isinstance(fields, dict) else {}
    if row.kind is Kind.COMMIT:
        shown |= {"sha": row.id.partition(":")[2], "files_changed": shown.pop("files", [])}
    return shown


def _file(row: Given, desk: Desk) -> tuple[Expanded | Failure, list[Given]]:
    text, origin = _same_revision(row, desk)
    if text is None:
        return _changed(row, desk)
    lines = tuple(text.split("\n"))
    start, end = row.ranges[0] if row.ranges else (1, _last_line(lines))
    end = min(end, len(lines))
    metadata = {"file_path": row.path, "start_line": start, "end_line": end}
    if origin:
        metadata["origin"] = origin
    item = ContextItem(
        id=f"{row.kind}:{row.path}",
        source=row.kind.value,
        title=row.path,
        content="",
        relevance=1.0,
        metadata=metadata,
        location=Location(row.path, start, end, row.content_hash),
        handle=row.handle,
    )
    return Expanded(row, item, lines), []


def _last_line(lines: Sequence[str]) -> int:
    """The last line; an empty one behind the last line end is none."""
    return len(lines) - 1 if len(lines) > 1 and not lines[-1] else len(lines)


def _same_revision(row: Given, desk: Desk) -> tuple[str | None, str]:
    """The text of the file as it was when the handle was given, and where it comes from if not from the disk."""
    with suppress(files.Skipped):  # gone, or no file any more: what is left of it may be in git or in the index
        raw = files.read_bytes(desk.root, row.path, limit=desk.limit).raw
        if files.content_hash(raw, desk.key) == row.content_hash:
            return _decoded(raw, desk.allow), ""
    earlier = _from_git(row, desk)
    if earlier is not None:
        return _decoded(earlier, desk.allow), "git"
    bundle = desk.store_of(row.kind).bundle(row.kind, row.path)
    if bundle is not None and bundle.content_hash == row.content_hash:
        return _presentable(desk.store_of(row.kind).text(bundle.id), desk.allow), "index"
    return None, ""


def _from_git(row: Given, desk: Desk) -> bytes | None:
    repository = find_repository(desk.root)
    path = repository_path(repository, desk.root, row.path) if repository is not None else None
    if repository is None or path is None:
        return None
    try:
        for identity in earlier_blobs(repository, path, EARLIER_COMMITS):
            raw = blob(repository, identity, desk.limit)
            if raw is not None and files.content_hash(raw, desk.key) == row.content_hash:
                return raw
    except GitError:  # no commit yet, or a history that cannot be read: the index may still have it
        return None
    return None


def repository_path(repository: Repository, root: Path, path: str) -> str | None:
    """The path of a file of the root inside its repository; None if the root is not below the work tree."""
    try:
        prefix = root.resolve().relative_to(repository.work_tree.resolve()).as_posix()
    except ValueError:
        return None
    return path if prefix == "." else f"{prefix}/{path}"


def _decoded(raw: bytes, allow: Sequence[str]) -> str | None:
    decoded = files.decode(raw)
    return _presentable(decoded[0], allow) if decoded is not None else None


def _presentable(text: str, allow: Sequence[str]) -> str:
    """Text from outside as it may be shown: the same steps as before it is indexed."""
    return redact(clean_text(text)[0], allow=allow)[0]


def _changed(row: Given, desk: Desk) -> tuple[Failure, list[Given]]:
    """Where the lines stand now, as a note, with a handle for them."""
    old = f"{row.path}:{row.ranges[0][0]}-{row.ranges[0][1]}" if row.ranges else row.path
    place = _new_place(row, desk)
    if place is None:
        return Failure(
            "expand", f"{row.handle}: {old} has changed and no copy of it is left", "ask the question again"
        ), []
    fresh, (start, end) = place, place.ranges[0]
    name = f"{row.name} is now at " if row.name else "it now has lines "
    where = f"{name}{fresh.path}:{start}-{end}" if row.name else f"{name}{start}-{end}"
    message = f"{row.handle}: {old} has changed and no copy of it is left; {where}"
    return Failure("expand", message, f"`satchel expand {fresh.handle}` shows it"), [fresh]


def _new_place(row: Given, desk: Desk) -> Given | None:
    try:
        raw = files.read_bytes(desk.root, row.path, limit=desk.limit).raw
    except files.Skipped:
        return None
    text = _decoded(raw, desk.allow)
    if text is None:
        return None
    content_hash = files.content_hash(raw, desk.key)
    place: Range | None = (1, _last_line(text.split("\n")))
    if row.name:
        parts = outline_file(row.path, text)[1].parts
        place = next((_written(text, part.start, part.end) for part in parts if part.name == row.name), None)
    if place is None:
        return None
    new = make_handle(row.id, content_hash, (place,))
    return replace(row, handle=new, content_hash=content_hash, ranges=(place,))


def _written(text: str, start: int, end: int) -> Range:
    """The lines without blank ones at the end."""
    lines = text.split("\n")
    while end > start and not lines[end - 1].strip():
        end -= 1
    return start, end


def _packed(
    found: Sequence[Expanded],
    failures: tuple[Failure, ...],
    counter: TokenCounter,
    max_tokens: int,
    layout: Format,
    key: bytes,
) -> Context:
    rendering = RenderRequest(failures=failures, overview=False)
    items: list[ContextItem] = []
    overflow: list[Omission] = []

    def tokens(more: Sequence[ContextItem]) -> int:
        return counter.count(render(rendering, [*items, *more], format=layout))

    whole = [_shown(row, row.item.location.end_line if row.item.location is not None else 0, key) for row in found]
    needed = counter.count(render(rendering, whole, format=layout)) if whole else 0
    for row, complete in zip(found, whole, strict=True):
        item = complete if tokens([complete]) <= max_tokens else _shortened(row, tokens, max_tokens, key)
        if item is None:
            overflow.append(_left_out(row, needed))
        else:
            items.append(item)
    text = render(rendering, items, format=layout) if items else ""
    return Context(
        query="",
        text=text,
        format=layout,
        items=tuple(items),
        usage=Usage(max_tokens, counter.count(text), counter.name, counter.exact),
        overflow=tuple(overflow),
        sources_used={kind: sum(i.source == kind for i in items) for kind in dict.fromkeys(i.source for i in items)},
        failures=failures,
    )


def _shown(row: Expanded, end: int, key: bytes) -> ContextItem:
    """The item up to this line, with a handle for the rest."""
    item, location = row.item, row.item.location
    if location is None:
        return item
    start, last = location.start_line, location.end_line
    text = "\n".join(row.lines[start - 1 : end])
    is_whole = end == last
    name = row.given.name
    detail = Detail.FULL if is_whole else Detail.WINDOW
    rest = () if is_whole else (_rest(row.given, end + 1, last),)
    return replace(
        item,
        content=text,
        detail=detail,
        location=replace(location, end_line=end),
        spans=((start, end),),
        pieces=(Piece(start, end, name, text, detail),),
        cuts=rest,
        nonce=nonce(key, item.id, text),
    )


def _rest(given: Given, start: int, end: int) -> Cut:
    return Cut(
        make_handle(f"{given.kind}:{given.path}::{given.name}", given.content_hash, ((start, end),)),
        start,
        end,
        given.name,
    )


def _shortened(
    row: Expanded, tokens: Callable[[Sequence[ContextItem]], int], max_tokens: int, key: bytes
) -> ContextItem | None:
    """As many whole lines from the beginning as fit, None if not even one does; a record is not cut."""
    location = row.item.location
    if location is None:
        return None
    fits, over = location.start_line - 1, location.end_line
    while over - fits > 1:
        middle = (fits + over) // 2
        if tokens([_shown(row, middle, key)]) <= max_tokens:
            fits = middle
        else:
            over = middle
    return _shown(row, fits, key) if fits >= location.start_line else None


def _left_out(row: Expanded, needed: int) -> Omission:
    """What not even its first line fits of; with `needed` tokens everything that was asked for is whole."""
    location = row.item.location
    return Omission(
        id=row.item.id,
        source=row.item.source,
        title=row.item.title,
        relevance=row.item.relevance,
        reason="budget",
        budget=needed,
        path=location.path if location is not None else "",
        start=location.start_line if location is not None else 0,
        end=location.end_line if location is not None else 0,
        handle=row.given.handle,
        content_hash=row.given.content_hash,
    )
