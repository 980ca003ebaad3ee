"""The text behind a handle, from the same revision: the live file, else git, else the index, else a note."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from satchel import types
from satchel.answer.pins import parse_pin
from satchel.answer.render import RenderRequest, elsewhere_line, render
from satchel.answer.request import TextForm
from satchel.answer.sections import outer_range, subtract
from satchel.answer.source_lines import Unreadable, joined, without_blank_ends
from satchel.errors import GitError, UsageError
from satchel.safety.sanitize import clean_field, clean_text, redact
from satchel.safety.trust import handle as make_handle
from satchel.safety.trust import nonce
from satchel.sources.change import blob, earlier_blobs
from satchel.sources.code.languages import extent
from satchel.sources.experiences import shown_record
from satchel.sources.outline import outline_file, readable
from satchel.store.records import Document
from satchel.system import files
from satchel.system.git import find_repository
from satchel.tokens import TokenCounter, count_within
from satchel.types import HandleTarget
from satchel.vocabulary import checked_names

if TYPE_CHECKING:
    from satchel.services.open_root import OpenRoot

HANDLE_CHARACTERS = 8

_LINES = re.compile(r"#L(\d{1,9})-(\d{1,9})$")
_TWIN = re.compile(r"~(\d{1,4})$")
_NAMED = re.compile(r"(.+?\w)::?([^\W\d][^:/]*)")


class Expanded(NamedTuple):
    """The item behind one handle, with the lines of its file and the ranges to show, the first ones first."""

    target: HandleTarget
    item: types.ContextItem
    lines: tuple[str, ...] = ()
    ranges: tuple[types.Range, ...] = ()
    detail: types.Detail = types.Detail.FULL


def check_handles(handles: Sequence[str]) -> list[str]:
    """Return the handles in lower case, and places (`src/a.py:10-20`), each once. Raises UsageError for others."""
    if not handles:
        raise UsageError("no handle was given: `satchel context --json` and `--handles` show them")
    stripped = (handle.strip() for handle in checked_names("handles", handles))
    unique = list(dict.fromkeys(identifier if is_place(identifier) else identifier.lower() for identifier in stripped))
    for handle in unique:
        if is_place(handle):
            continue
        if len(handle) != HANDLE_CHARACTERS or not handle.isalnum() or not handle.isascii():
            raise UsageError(
                f"{clean_field(handle)!r} is not a handle: it has {HANDLE_CHARACTERS} letters and digits, as in "
                "`a2b3c4d5`. A place is a file, its lines or a definition: `src/app.py:10-20`, `src/app.py:Reader.read`"
            )
    return unique


def expand(
    targets: Sequence[HandleTarget],
    roots: Mapping[str, OpenRoot],
    *,
    counter: TokenCounter,
    max_tokens: int,
    layout: types.Format,
) -> types.Context:
    """Return the full text of these handles within the budget, each from its workspace in `roots`.

    An item that is too long is cut at a line, with a handle for the rest; one that does not fit at all is in the
    overflow. Of several ranges of one handle the first ones are shown, in line order.
    """
    expanded: list[Expanded] = []
    failures: list[types.Failure] = []
    for target in _uncovered(targets):
        root = roots[target.workspace]
        result = _record(target, root) if not target.path else _file(target, root)
        if isinstance(result, types.Failure):
            failures.append(result)
        else:
            expanded.append(result)
    used = tuple(_used_elsewhere(expanded, roots, counter, max_tokens))
    return _packed(expanded, tuple(failures), counter, max_tokens, layout, roots[""].key, used)


def _used_elsewhere(
    expanded: Sequence[Expanded], roots: Mapping[str, OpenRoot], counter: TokenCounter, max_tokens: int
) -> Iterator[str]:
    """Yield a line for each definition that files in other languages name, as the list of its calls has it."""
    for item in expanded[:MAX_LISTED]:
        if item.target.kind is not types.Kind.CODE:
            continue
        from satchel.search.relations import Relations  # here, because records and documents need no relations

        root, text = roots[item.target.workspace], "\n".join(item.lines)
        name = item.target.name or _name_at(item.target.path, text, item.ranges)
        relations = Relations(root.store_of(item.target.kind))
        definition = relations.named(item.target.path, name) if name else None
        prefix = f"{item.target.workspace}/" if item.target.workspace else ""
        found = relations.elsewhere(definition) if definition is not None else {}
        if found:
            files = [{"path": f"{prefix}{path}", "lines": lines} for path, lines in found.items()]
            yield elsewhere_line({"name": name, "elsewhere": files}, counter, max_tokens)


def _name_at(path: str, text: str, ranges: Sequence[types.Range]) -> str:
    """Return the name of the definition that is on these lines alone, empty for other lines."""
    if len(ranges) != 1:
        return ""
    lines = text.split("\n")
    named = [part for part in outline_file(path, text)[1].parts if part.name]
    return next((part.name for part in named if without_blank_ends(lines, part.start, part.end) == ranges[0]), "")


def _uncovered(targets: Sequence[HandleTarget]) -> list[HandleTarget]:
    """Return the handles without those whose lines are part of another."""
    kept: list[HandleTarget] = []
    for target in sorted(targets, key=_width, reverse=True):
        if not any(_covers(wider, target) for wider in kept):
            kept.append(target)
    return [target for target in targets if target in kept]


def _width(target: HandleTarget) -> float:
    return sum(end - start for start, end in target.ranges) if target.ranges else math.inf


def _covers(wide: HandleTarget, narrow: HandleTarget) -> bool:
    wider, narrower = ((target.kind, target.workspace, target.path, target.content_hash) for target in (wide, narrow))
    if wider != narrower or not wide.path:
        return False
    if not wide.ranges or not narrow.ranges:
        return not wide.ranges
    return not subtract(sorted(narrow.ranges), sorted(wide.ranges))


def _record(target: HandleTarget, root: OpenRoot) -> Expanded | types.Failure:
    """Return a record by its id. Only a note can change, with a new export: then the handle has its content hash."""
    store = root.store_of(target.kind)
    key = target.id.partition(":")[2]
    document = store.document(target.kind, key) or store.document(target.kind, key.partition("::")[0])
    if document is None:
        return types.Failure("expand", f"{target.handle}: {clean_field(target.id)} is not stored any more")
    if target.content_hash and target.content_hash != document.content_hash:
        message = f"{target.handle}: {clean_field(target.id)} has changed and no copy of it is left"
        return types.Failure("expand", message, "ask the question again")
    text = store.text(document.id)
    if target.kind is types.Kind.EXPERIENCE:
        text = shown_record(target.kind, document.fields, text)
    body = _presentable(text, root.settings.redact_allow)
    item = types.ContextItem(
        id=target.id,
        source=target.kind.value,
        title=clean_field(document.title),
        content=body,
        relevance=1.0,
        metadata={"id": key, "timestamp": document.created, **_commit_fields(target, document.fields)},
        pieces=(types.Piece(0, 0, "", body),),
        handle=target.handle,
        nonce=nonce(root.key, target.id, body),
    )
    return Expanded(target, item)


def _commit_fields(target: HandleTarget, fields: object) -> dict[str, object]:
    shown = dict(fields) if isinstance(fields, dict) else {}
    if target.kind is types.Kind.COMMIT:
        shown |= {"sha": target.id.partition(":")[2], "files_changed": shown.pop("files", [])}
    return shown


def _file(target: HandleTarget, root: OpenRoot) -> Expanded | types.Failure:
    text, origin = _same_revision(target, root)
    if text is None:
        old = target.path
        if target.ranges:
            start, end = outer_range(target.ranges)
            old = f"{target.path}:{start}-{end}"
        message = f"{target.handle}: {old} has changed and no copy of it is left"
        return types.Failure("expand", message, "ask the question again")
    lines = tuple(text.split("\n"))
    last = len(lines) - (len(lines) > 1 and not lines[-1])
    ranges = tuple((start, min(end, len(lines))) for start, end in target.ranges) or ((1, last),)
    start, end = outer_range(ranges)
    path = f"{target.workspace}/{target.path}" if target.workspace else target.path
    metadata = {"file_path": path, "start_line": start, "end_line": end}
    if origin:
        metadata["origin"] = origin
    item = types.ContextItem(
        id=f"{target.kind}:{path}",
        source=target.kind.value,
        title=path,
        content="",
        relevance=1.0,
        metadata=metadata,
        location=types.Location(path, start, end, target.content_hash),
        handle=target.handle,
    )
    return Expanded(target, item, lines, ranges, _detail(target, text, ranges))


def _detail(target: HandleTarget, text: str, ranges: Sequence[types.Range]) -> types.Detail:
    """Return whether these are all lines of the definition that they belong to."""
    whole = _definition(target.path, text, target.name) if target.name else None
    is_part = whole is not None and subtract([without_blank_ends(text.split("\n"), *whole)], sorted(ranges))
    return types.Detail.SPAN if is_part else types.Detail.FULL


def _same_revision(target: HandleTarget, root: OpenRoot) -> tuple[str | None, str]:
    """Return the text of the file as it was when the handle was issued, and its origin if not the disk."""
    whole, head = extent(target.path, root.settings.index_max_file_bytes)
    with suppress(files.Skipped):  # a file that is gone may still be in git or in the index
        raw = files.read_bytes(root.places.root, target.path, limit=whole, head=head).raw
        if files.content_hash(raw, root.key) == target.content_hash:
            return _decoded(target.path, raw, root.settings.redact_allow), ""
    earlier = _from_git(target, root)
    if earlier is not None:
        return _decoded(target.path, earlier, root.settings.redact_allow), "git"
    document = root.store_of(target.kind).document(target.kind, target.path)
    if document is not None and document.content_hash == target.content_hash:
        return _presentable(root.store_of(target.kind).text(document.id), root.settings.redact_allow), "index"
    return None, ""


def _from_git(target: HandleTarget, root: OpenRoot) -> bytes | None:
    repository = find_repository(root.places.root)
    if repository is None:
        return None
    try:
        prefix = root.places.root.resolve().relative_to(repository.work_tree.resolve())
        # Most versions of a file that are compared in git, newest first: a recent answer is based on a recent commit.
        for identity in earlier_blobs(repository, (prefix / target.path).as_posix(), 50):
            raw = blob(repository, identity, root.settings.index_max_file_bytes)
            if raw is not None and files.content_hash(raw, root.key) == target.content_hash:
                return raw
    except (GitError, ValueError):  # no commit yet, an unreadable history, or a root that is not below the work tree
        return None
    return None


def _decoded(path: str, raw: bytes, allow: Sequence[str]) -> str | None:
    decoded = files.decode(raw)
    return _presentable(readable(path, decoded[0]), allow) if decoded is not None else None


def _presentable(text: str, allow: Sequence[str]) -> str:
    """Return text from outside, cleaned and redacted as before it is indexed."""
    return redact(clean_text(text)[0], allow=allow)[0]


def _packed(
    expanded: Sequence[Expanded],
    failures: tuple[types.Failure, ...],
    counter: TokenCounter,
    max_tokens: int,
    layout: types.Format,
    key: bytes,
    used: tuple[str, ...],
) -> types.Context:
    is_numbered = any(_LINES.search(expanded_item.target.id) for expanded_item in expanded)
    rendering = RenderRequest(
        form=TextForm(show_handles=True), failures=failures, overview=False, is_numbered=is_numbered
    )
    items: list[types.ContextItem] = []
    overflow: list[types.Omission] = []

    def tokens(more: Sequence[types.ContextItem]) -> int:
        return counter.count(render(rendering, [*items, *more], format=layout))

    whole = [_shown(expanded_item, _line_count(expanded_item.ranges), key) for expanded_item in expanded]
    with_used = structs.replace(rendering, call_sites=used)
    if used and counter.count(render(with_used, whole, format=layout)) <= max_tokens:
        rendering = with_used  # the code itself comes first
    needed = counter.count(render(rendering, whole, format=layout)) if whole else 0
    for expanded_item, complete in zip(expanded, whole, strict=True):
        item = complete if tokens([complete]) <= max_tokens else _shortened(expanded_item, tokens, max_tokens, key)
        if item is None:
            overflow.append(_left_out(expanded_item, needed))
        else:
            items.append(item)
    text = render(rendering, items, format=layout) if items else ""
    return types.Context(
        query="",
        text=text,
        format=layout,
        items=tuple(items),
        usage=types.Usage(max_tokens, counter.count(text), counter.name, counter.exact),
        overflow=tuple(overflow),
        sources_used=dict(Counter(item.source for item in items)),
        failures=failures,
    )


def _shown(expanded_item: Expanded, count: int, key: bytes) -> types.ContextItem:
    """Return the item with the first `count` lines of its ranges, and a handle for the rest."""
    item, location = expanded_item.item, expanded_item.item.location
    if location is None:
        return item
    shown, rest = _split(expanded_item.ranges, count)
    ranges = joined(shown)
    detail = types.Detail.SPAN if rest else expanded_item.detail
    pieces = [
        types.Piece(start, end, expanded_item.target.name, "\n".join(expanded_item.lines[start - 1 : end]), detail)
        for start, end in ranges
    ]
    text = "\n".join(piece.text for piece in pieces)
    start, end = outer_range(ranges)
    return replace(
        item,
        content=text,
        detail=detail,
        location=location._replace(start_line=start, end_line=end),
        spans=tuple(ranges),
        pieces=tuple(pieces),
        cuts=(_cut(expanded_item, rest),) if rest else (),
        nonce=nonce(key, item.id, text),
    )


def _split(ranges: Sequence[types.Range], count: int) -> tuple[list[types.Range], list[types.Range]]:
    """Return the first `count` lines of these ranges, and the others."""
    shown: list[types.Range] = []
    rest: list[types.Range] = []
    for start, end in ranges:
        last = min(start + count - 1, end)
        if last >= start:
            shown.append((start, last))
        if last < end:
            rest.append((max(last + 1, start), end))
        count = max(count - (end - start + 1), 0)
    return shown, rest


def _line_count(ranges: Sequence[types.Range]) -> int:
    return sum(end - start + 1 for start, end in ranges)


def _cut(item: Expanded, rest: Sequence[types.Range]) -> types.Cut:
    target = item.target
    name = f"{target.kind}:{target.path}::{target.name}"
    made = make_handle(name, target.content_hash, rest)
    return types.Cut(made, *outer_range(rest), target.name, tuple(rest) if target.name else ())


def _shortened(
    item: Expanded, tokens: Callable[[Sequence[types.ContextItem]], int], max_tokens: int, key: bytes
) -> types.ContextItem | None:
    """Return as many lines from the beginning as fit, None if not even one does; a record is not cut."""
    if item.item.location is None:
        return None
    limit = _line_count(item.ranges) - 1
    fitting = count_within(limit, max_tokens, lambda count: tokens([_shown(item, count, key)]))
    return _shown(item, fitting, key) if fitting else None


def _left_out(expanded_item: Expanded, needed: int) -> types.Omission:
    """Return the omission of an item that does not fit; with `needed` tokens all items would be complete."""
    item, target = expanded_item.item, expanded_item.target
    path, start, end = item.location[:3] if item.location is not None else ("", 0, 0)
    rest = expanded_item.ranges if target.name else ()
    return types.Omission(
        item.id, item.source, item.title, item.relevance, "budget", needed, path, start, end, handle=target.handle,
        content_hash=target.content_hash, rest=rest,
    )  # fmt: skip


MAX_LISTED = 3
"""Definitions whose uses in other languages are listed."""

LINES_TOLD = 6
"""Most lines told that contain the name of no definition."""


def is_place(text: str) -> bool:
    """Return whether a text names a file, a definition in it, or lines of it: `src/a.py:10-20`."""
    return "/" in text or "." in text or re.search(r".:\d+(?:-\d+)?$", text) is not None


def place_handle(text: str, root: OpenRoot) -> HandleTarget:
    """Return a handle for lines of an indexed file as it is now. Raises UsageError.

    `src/a.py:Reader.read` are those of a definition, `src/a.py` the first lines of all its definitions.
    """
    named = _NAMED.fullmatch(text)
    pin = parse_pin(named[1] if named else text)
    read = root.lines.read(pin.path)
    kind = next(filter(lambda kind: root.store.document(kind, pin.path), types.FILE_KINDS), None)
    if kind is None or isinstance(read, Unreadable):
        raise UsageError(f"there is no indexed file {clean_field(pin.path)!r} here to show lines of")
    if pin.start > len(read.lines):
        raise UsageError(f"{clean_field(pin.path)} has only {len(read.lines)} lines")
    content = "\n".join(read.lines)
    ranges: tuple[types.Range, ...] = ((pin.start, pin.end),)
    if named:
        found = _definition(pin.path, content, named[2])
        if found is None:
            raise UsageError(_undefined(pin.path, content, named[2]))
        ranges = (without_blank_ends(read.lines, *found),)
    elif not pin.start:
        ranges = _first_lines(pin.path, content) or ((1, len(read.lines)),)
    start, end = outer_range(ranges)
    identity = f"{kind}:{pin.path}#L{start}-{end}"
    handle = make_handle(identity, read.content_hash, ranges)
    return HandleTarget(handle, kind, identity, pin.path, "", read.content_hash, ranges)


def _undefined(path: str, text: str, name: str) -> str:
    """Return what is wrong with the name of a definition: that it is none, or that its file is read without them."""
    shown, word = clean_field(path), clean_field(name)
    if _first_lines(path, text):
        return f"{shown} has no definition {word!r}: its path alone lists all"
    form = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    places = [str(number) for number, line in enumerate(text.split("\n"), 1) if form.search(line)]
    if not places:
        return f"{shown} does not contain {word!r}"
    more = " and more" if len(places) > LINES_TOLD else ""
    lines = f"line{'s' if len(places) > 1 else ''} {', '.join(places[:LINES_TOLD])}{more}"
    return f"{shown} is read without definitions; {word!r} is in {lines} ({shown}:{places[0]} shows it)"


def _first_lines(path: str, text: str) -> tuple[types.Range, ...]:
    """Return the first line of each declaration of a file."""
    lines, found = text.split("\n"), list[types.Range]()
    for part in outline_file(path, text)[1].parts:
        start = part.signature.split("\n")[0].strip()
        inside = range(part.start, part.end + 1) if part.name else ()
        found += [(line, line) for line in inside if start in lines[line - 1]][:1]
    return tuple(found)


def chunk_handle(identity: str, root: OpenRoot) -> HandleTarget | None:
    """Return a handle for an indexed or remembered chunk by its id, None for any other id."""
    name, _, key = identity.partition(":")
    if name not in set(types.Kind) or not key:
        return None
    kind = types.Kind(name)
    document, ranges = _document(root, kind, key)
    if document is None:
        return None
    path = document.key if document.content_hash else ""
    part = key.partition("::")[2] if path else ""
    handle = make_handle(identity, document.content_hash, ranges)
    return HandleTarget(handle, kind, identity, path, part, document.content_hash, ranges)


def _document(root: OpenRoot, kind: types.Kind, key: str) -> tuple[Document | None, tuple[types.Range, ...]]:
    """Return the document of a chunk, and its lines if it is a part of that document."""
    store = root.store_of(kind)
    document = store.document(kind, key)
    if document is not None:
        return document, ()
    lines = _LINES.search(key)
    if lines is not None:
        start, end = int(lines[1]), int(lines[2])
        is_range = 1 <= start <= end
        return (store.document(kind, key[: lines.start()]) if is_range else None), ((start, end),)
    path, separator, part = key.partition("::")
    document = store.document(kind, path) if separator else None
    if document is None or not document.content_hash:
        return document, ()
    position = _definition(path, store.text(document.id), part)
    return (document, (position,)) if position is not None else (None, ())


def _definition(path: str, text: str, name: str) -> types.Range | None:
    """Return the lines of a definition; `~2` behind the name means the second one of that name."""
    twin = _TWIN.search(name)
    plain, number = (name[: twin.start()], int(twin[1])) if twin is not None else (name, 1)
    named = [part for part in outline_file(path, text)[1].parts if part.name == plain]
    return (named[number - 1].start, named[number - 1].end) if 1 <= number <= len(named) else None
