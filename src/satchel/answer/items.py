"""Items of an answer from its groups: one for each file or record, with its pieces in line order."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from msgspec import Struct, structs

from satchel.answer.candidates import Candidate
from satchel.answer.file_candidates import DECLARED, is_long_function
from satchel.answer.freshness import freshness_of, gravest
from satchel.answer.packing import Packing
from satchel.answer.render.labels import IMPORTS
from satchel.answer.sections import Group, subtract
from satchel.answer.source_lines import without_blank_ends
from satchel.safety.trust import handle, nonce
from satchel.search.chunks import GIVEN_ORIGIN, REVISION
from satchel.sources.commits import Counted
from satchel.types import ContextItem, Cut, Detail, Failure, Freshness, Hit, Kind, Location, Piece, Range, Role

_DETAIL_ORDER = (Detail.LINE, Detail.SIGNATURE, Detail.SPAN, Detail.FULL)


def build_items(packing: Packing, key: bytes, built: dict[Group, ContextItem] | None = None) -> list[ContextItem]:
    """Return items of all sections, section by section, best first; what was said in one session is in its order.

    Items in `built` are taken from there, and new ones are added.
    """
    items, known = [], built if built is not None else {}
    for section, groups in packing.groups.items():
        ranked = sorted(groups.values(), key=partial(_rank, unsure=packing.inputs.unsure))
        ranked.sort(key=lambda group: group.key in packing.added_late)
        if section.kind is Kind.CONVERSATION:
            sessions = list(dict.fromkeys(_session(group) for group in ranked))
            ranked.sort(key=lambda group: (sessions.index(_session(group)), group.key))
        for group in ranked:
            if group not in known:
                known[group] = build_item(group, key)
            items.append(known[group])
    return items


def build_item(group: Group, key: bytes) -> ContextItem:
    """Return the item of one group."""
    made = _file_item(group, key) if group.lines is not None else _record_item(group, key)
    return replace(made, section=group.title) if group.title else made


def _session(group: Group) -> str:
    return group.key.rpartition("/")[0]


def _rank(group: Group, *, unsure: bool = False) -> tuple[bool, bool, float, str]:
    """Return groups with a pin first, then those that are named, then by the value of the best piece; ties by id.

    Where the answer is `unsure`, the second best definition of a file counts beside the best one.
    """
    is_pinned = any(candidate.pinned for candidate, _ in group.picks)
    is_lifted = any(candidate.is_lifted for candidate, _ in group.picks)
    best: dict[str, float] = {}
    for candidate, _ in group.picks:
        best[candidate.chunk.id] = max(candidate.value, best.get(candidate.chunk.id, -math.inf))
    first, *others = sorted(best.values(), reverse=True)
    value = first + math.log1p(math.exp(others[0] - first)) if unsure and others else first
    return not is_pinned, not is_lifted, -value, group.key


def _file_item(group: Group, key: bytes) -> ContextItem:
    assert group.lines is not None
    pieces = _pieces(group)
    first, _ = group.picks[0]
    path = group.lines.path
    location = first.chunk.location
    content_hash = location.content_hash if location is not None else ""
    content = "\n".join([piece.text for piece in pieces])
    identity = f"{group.kind}:{group.key}"
    spans = tuple(group.ranges)
    return ContextItem(
        id=identity,
        source=group.kind.value,
        title=path,
        content=content,
        relevance=max(candidate.hit.relevance for candidate, _ in group.picks),
        metadata=_file_metadata(group, path, pieces),
        tokens=group.tokens,
        detail=max((step.detail for _, step in group.picks), key=_DETAIL_ORDER.index),
        location=Location(path, pieces[0].start, pieces[-1].end, content_hash),
        spans=spans,
        pieces=pieces,
        signals=first.hit.signals,
        handle=handle(identity, content_hash, ()),  # all of the file; a range has its lines in the hash
        nonce=nonce(key, identity, content),
        origins=_origins(group),
        language=_language(first),
        cuts=_cuts(group, content_hash),
    )


def _language(candidate: Candidate) -> str:
    return str(candidate.chunk.fields.get("language", ""))


def _origins(group: Group) -> tuple[str, ...]:
    """Return the ids of the shown chunks, then those of their twins."""
    ids = [candidate.chunk.id for candidate, _ in group.picks]
    twins = [twin.chunk.id for candidate, _ in group.picks for twin in group.twins_of(candidate)]
    return tuple(dict.fromkeys([*ids, *twins]))


def _pieces(group: Group) -> tuple[Piece, ...]:
    """Return the shown ranges, cut where one chunk ends and the next begins."""
    assert group.lines is not None
    pieces: list[Piece] = []
    companions = (step for candidate, step in group.picks if candidate.companion_of and step.detail is Detail.LINE)
    imported = {start for step in companions for start, _ in step.ranges}
    for (start, end), shown in _by_range(group.ranges, _chunks(group)):
        cuts = {start} | {chunk.start for chunk in shown if start < chunk.start <= end}
        cuts |= group.lines.seams(start, end)
        cuts |= {inner.end + 1 for inner in shown if start <= inner.end < end and _is_nested(inner, shown)}
        ordered = sorted(cuts)
        for first, after in zip(ordered, [*ordered[1:], end + 1], strict=True):
            around = [chunk for chunk in shown if chunk.start <= first <= chunk.end]
            owner = min(around, key=lambda chunk: chunk.end - chunk.start, default=None)
            is_import = owner is None and first in imported
            name = owner.name if owner is not None else IMPORTS if is_import else ""
            whole = Detail.FULL if is_import else Detail.SPAN
            detail = owner.detail(first, after - 1) if owner is not None else whole
            own_freshness = owner.freshness if owner is not None else None
            freshness = group.lines.marks[first - 1] if group.lines.marks else own_freshness
            pieces.append(Piece(first, after - 1, name, group.lines.text(first, after - 1)[:-1], detail, freshness))
    return tuple(sorted([*pieces, *_remarks(group)], key=lambda piece: piece.start))


def _by_range(ranges: Sequence[Range], chunks: Sequence[_Shown]) -> Iterator[tuple[Range, list[_Shown]]]:
    """Yield each range with the chunks that overlap it, and perhaps some before it; both ordered by first lines."""
    waiting = deque(chunks)
    near: list[_Shown] = []
    for start, end in ranges:
        near = [chunk for chunk in near if chunk.end >= start]
        while waiting and waiting[0].start <= end:
            near.append(waiting.popleft())
        yield (start, end), near


def _remarks(group: Group) -> list[Piece]:
    """Return the remarks of truncation strategies whose replaced lines are not shown."""
    remarks: dict[tuple[int, int], Piece] = {}
    for candidate, step in group.picks:
        for remark in step.remarks:
            position = (remark.start, remark.end)
            if subtract([position], group.ranges) == [position]:
                name, freshness = candidate.chunk.title, freshness_of(candidate.chunk.fields)
                remarks.setdefault(position, Piece(*position, name, remark.text, Detail.LINE, freshness))
    return list(remarks.values())


def _cuts(group: Group, content_hash: str) -> tuple[Cut, ...]:
    """Return the chunks that are shown in part, with the handle of the full chunk or of the rest of a long function."""
    hits = {candidate.chunk.id: candidate.hit for candidate, _ in group.picks}
    cuts = []
    for identity, hit in hits.items():
        chunk = hit.chunk
        assert chunk.location is not None
        whole = _own_lines(group, chunk.location)
        if subtract([whole], group.ranges):
            name = "" if chunk.role is Role.GAP or chunk.title == chunk.location.path else chunk.title
            rest = rest_of(group, hit)
            cuts.append(Cut(handle(identity, content_hash, rest or (whole,)), *whole, name, rest))
    return tuple(sorted(cuts, key=lambda cut: (cut.start, cut.end)))


def rest_of(group: Group, hit: Hit) -> tuple[Range, ...]:
    """Return the lines of a long function that its item does not show, empty for any other hit.

    Passages that match come first, the best of them first, then the others in line order.
    """
    location = hit.chunk.location
    if group.lines is None or location is None or not is_long_function(hit.chunk):
        return ()
    missing = subtract([_own_lines(group, location)], group.ranges)
    rest: list[Range] = []
    for span in sorted(hit.spans, key=lambda span: -span.value):
        taken = subtract(missing, subtract(missing, [(span.start, span.end)]))
        missing = subtract(missing, taken)
        rest += taken
    return tuple((start, end) for start, end in [*rest, *missing] if group.lines.text(start, end).strip())


class _Shown(Struct, frozen=True):
    """A chunk that is shown in full or in part, and the fullest admitted step."""

    start: int
    end: int
    name: str
    best: Detail
    freshness: Freshness | None

    def detail(self, first: int, last: int) -> Detail:
        """Return the label of a piece: the full chunk, some lines, or its declaration alone."""
        if first <= self.start and last >= self.end:
            return Detail.FULL
        return Detail.SPAN if self.best is Detail.FULL else self.best


def _is_nested(inner: _Shown, shown: Sequence[_Shown]) -> bool:
    """Return whether another chunk continues after this one, like a class after its method."""
    return any(outer.start <= inner.start and inner.end < outer.end for outer in shown if outer is not inner)


def _chunks(group: Group) -> list[_Shown]:
    best: dict[str, _Shown] = {}
    for candidate, step in group.picks:
        chunk = candidate.chunk
        location = chunk.location
        assert location is not None
        fullest = best.get(chunk.id)
        if fullest is None or _DETAIL_ORDER.index(step.detail) > _DETAIL_ORDER.index(fullest.best):
            name = "" if chunk.role is Role.GAP or chunk.title == location.path else chunk.title
            start, end = _own_lines(group, location)
            best[chunk.id] = _Shown(start, end, name, step.detail, freshness_of(chunk.fields))
    return sorted(best.values(), key=lambda shown: (shown.start, shown.end))


def _own_lines(group: Group, location: Location) -> tuple[int, int]:
    """Return the lines of a chunk without blank ones at its ends, which are not shown."""
    assert group.lines is not None
    return without_blank_ends(group.lines.lines, location.start_line, location.end_line)


def _file_metadata(group: Group, path: str, pieces: Sequence[Piece]) -> Mapping[str, Any]:
    first, _ = group.picks[0]
    location, fields = first.chunk.location, first.chunk.fields
    is_given = any(signal.name == "given" for signal in first.hit.signals)
    locations = [
        c.chunk.location for c, _ in group.picks if is_given and c.companion_of is None and c.chunk.location is not None
    ]
    freshness = gravest(piece.freshness for piece in pieces)
    return {
        "file_path": path,
        # Of given results the lines are those of the entities, without their imports and the lines around them.
        "start_line": min((other.start_line for other in locations), default=pieces[0].start),
        "end_line": max((other.end_line for other in locations), default=pieces[-1].end),
        "language": _language(first),
        "qualified_name": first.chunk.title if location is not None else "",
        "names": list(dict.fromkeys(c.chunk.title for c, _ in group.picks if c.chunk.title)),
        **({"freshness": freshness.value} if freshness is not None else {}),
        **({"type": first.chunk.fields["type"]} if "type" in first.chunk.fields else {}),
        **{name: fields[name] for name in ("redacted", "cleaned") if name in fields},
        **({"also_at": also} if (also := also_at(group)) else {}),
        "entities": list({c.chunk.id: entity_row(c) for c, _ in group.picks if c.companion_of is None}.values()),
    }


def entity_row(candidate: Candidate) -> dict[str, Any]:
    """Return the data of one shown chunk for views: identity, lines and relevance."""
    chunk = candidate.chunk
    location = chunk.location
    last = chunk.title.rpartition(".")[2] if chunk.role in DECLARED else chunk.title
    return {
        "id": chunk.id,
        "name": chunk.fields.get("name") or last,
        "type": chunk.fields.get("type") or chunk.role.value,
        "qualified_name": chunk.title,
        "start_line": location.start_line if location is not None else 0,
        "end_line": location.end_line if location is not None else 0,
        "score": candidate.hit.relevance,
        **{name: chunk.fields[f"given_{name}"] for name in _GIVEN if chunk.fields.get(f"given_{name}")},
        **({"title": chunk.title} if chunk.fields.get("given_qualified_name") else {}),
    }


_GIVEN = ("qualified_name", "summary")
"""Data of an entity that comes with a result, shown as it was given. `title` is then its name in the file."""


def _record_item(group: Group, key: bytes) -> ContextItem:
    candidate, step = group.picks[-1]
    chunk = candidate.chunk
    piece = Piece(0, 0, "", step.text, step.detail)
    return ContextItem(
        id=chunk.id,
        source=chunk.kind.value,
        title=chunk.title,
        content=step.text,
        relevance=candidate.hit.relevance,
        metadata={
            **record_metadata(chunk.id, chunk.fields, chunk.created),
            **({"merged": merged} if (merged := merged_with(group)) else {}),
        },
        tokens=group.tokens,
        detail=step.detail,
        pieces=(piece,),
        signals=candidate.hit.signals,
        handle="" if chunk.origin == GIVEN_ORIGIN else handle(chunk.id, *chunk.fields.get(REVISION, ("", ()))),
        nonce=nonce(key, chunk.id, step.text),
        trust=candidate.trust,
        origins=(*candidate.hit.also, *(twin.chunk.id for twin in group.twins_of(candidate))),
    )


def record_metadata(identity: str, fields: Mapping[str, Any], created: float) -> Mapping[str, Any]:
    """Return the fields of a record besides its text, named as in answers."""
    shown = {name: value for name, value in fields.items() if name not in ("summary", "language")}
    if identity.startswith("experience:"):
        identity = identity.partition("::")[0]  # the id of the record, without the side that matched
    if identity.startswith("commit:"):
        shown |= {"sha": identity.partition(":")[2], "files_changed": shown.pop("files", [])}
    return {"id": _without_kind(identity), "timestamp": created, **shown}


def shortened(items: Sequence[ContextItem]) -> int:
    """Return how many items are not shown in full."""
    return sum(bool(item.cuts) or (not item.spans and item.detail is not Detail.FULL) for item in items)


def linked(items: Sequence[ContextItem]) -> tuple[ContextItem, ...]:
    """The items, with `touches` (the shown paths) in the metadata of commits, `rests_on` (ids) in that of values."""
    paths = {item.location.path for item in items if item.location is not None}
    experiences = {own_id(item.id) for item in items if item.source == Kind.EXPERIENCE}
    return tuple(_linked(item, paths, experiences) for item in items)


def _linked(item: ContextItem, paths: set[str], experiences: set[str]) -> ContextItem:
    if item.source == Kind.COMMIT:
        name, targets = "touches", [path for path in item.metadata.get("files_changed", ()) if path in paths]
    elif item.source == Kind.VALUE:
        name, targets = "rests_on", [member for member in item.metadata.get("member_ids", ()) if member in experiences]
    else:
        return item
    return replace(item, metadata={**item.metadata, name: targets}) if targets else item


def also_at(group: Group) -> list[dict[str, Any]]:
    """Return the other places of the same text: of code only whole definitions of several lines.

    Equal import lines and one-liners such as `ordinal: n => n` do not count. `of_line` is the first line of the
    repeated code in the shown file.
    """
    places: dict[str, dict[str, Any]] = {}
    for candidate, _ in group.picks:
        own_location = candidate.chunk.location
        for twin in group.twins_of(candidate):
            location = twin.chunk.location
            if own_location is not None and location is not None and _is_worth_naming(twin):
                places[twin.chunk.id] = {
                    "id": twin.chunk.id,
                    "path": location.path,
                    "start_line": location.start_line,
                    "end_line": location.end_line,
                    "of_line": own_location.start_line,
                }
    return list(places.values())


def merged_with(group: Group) -> list[dict[str, str]]:
    """Return the records whose bodies equal that of a shown record."""
    candidate, _ = group.picks[-1]
    records = [twin.chunk for twin in group.twins_of(candidate) if twin.chunk.location is None]
    return [
        {"source": record.kind.value, "id": own_id(record.id)} for record in records if record.id != candidate.chunk.id
    ]


def own_id(identity: str) -> str:
    """Return the id of a record without its kind and without the side that matched."""
    return _without_kind(identity.partition("::")[0])


def _without_kind(identity: str) -> str:
    """Return an id without its kind; one that a searcher gave may have none."""
    kind, _, rest = identity.partition(":")
    return rest if rest and kind in frozenset(Kind) else identity


def _is_worth_naming(twin: Candidate) -> bool:
    location = twin.chunk.location
    if twin.kind is not Kind.CODE:
        return location is not None
    return twin.chunk.role in DECLARED and location is not None and location.end_line > location.start_line


CountLines = Callable[[Iterable[str]], Counted]
"""Commit ids -> their counts."""

_PREFIX = f"{Kind.COMMIT}:"


def counted_items(
    items: Sequence[ContextItem], count: CountLines, workspace: str = ""
) -> tuple[tuple[ContextItem, ...], list[Failure]]:
    """Return the items, commits with `insertions` and `deletions` (None if unknown), and what could not be counted.

    Only commits of this workspace are counted.
    """
    ids = {item.id for item in items if item.metadata.get("workspace", "") == workspace}
    counted = _counted(sorted(ids), count)
    return tuple(
        replace(item, metadata={**item.metadata, **_fields(counted, item.id)}) if item.id in ids else item
        for item in items
    ), list(counted.failures)


def counted_hits(hits: Sequence[Hit], count: CountLines) -> tuple[list[Hit], list[Failure]]:
    """Return the hits, commits with `insertions` and `deletions` among their fields, and what could not be counted."""
    counted = _counted((hit.chunk.id for hit in hits), count)
    changed = []
    for hit in hits:
        fields = {**hit.chunk.fields, **_fields(counted, hit.chunk.id)}
        changed.append(structs.replace(hit, chunk=replace(hit.chunk, fields=fields)))
    return changed, list(counted.failures)


def _counted(ids: Iterable[str], count: CountLines) -> Counted:
    shas = [identity.removeprefix(_PREFIX) for identity in ids if identity.startswith(_PREFIX)]
    return count(shas) if shas else Counted({})


def _fields(counted: Counted, identity: str) -> dict[str, int | None]:
    if not identity.startswith(_PREFIX):
        return {}
    insertions, deletions = counted.lines.get(identity.removeprefix(_PREFIX)) or (None, None)
    return {"insertions": insertions, "deletions": deletions}
