"""The handles of recent answers and their targets.

A handle is a hash; the targets are in one file for each root, with one line of JSON for each handle, the newest last.
The file has no text: ids, paths, line numbers and keyed hashes only.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from satchel.system import files, state_files, telemetry
from satchel.system.locations import Places
from satchel.types import Context, ContextItem, Kind, Omission, Range, ShownBefore

MOST_BYTES = 4_000_000
"""Size above which the older half is dropped: the handles of about 300 answers, read in some 10 ms."""

KEPT_BYTES = MOST_BYTES // 2

LEFT_OUT = "-"
"""The `name` of a record that an answer named and did not show."""

_ENCODE = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class HandleTarget:
    """The target of a handle: lines of a file in one revision, the full file (no `ranges`), or a record (no `path`).

    Several `ranges` are shown as far as they fit, the first ones first. `name` is the qualified name of the definition
    that the lines belong to, empty if there is none. `workspace` is that of an answer from several, empty for the
    root itself; path and id are those that it has there.
    """

    handle: str
    kind: Kind
    id: str
    path: str = ""
    name: str = ""
    content_hash: str = ""
    ranges: tuple[Range, ...] = ()
    workspace: str = ""


def handles_of(context: Context) -> list[HandleTarget]:
    """Return every handle of a context: of its items, their cuts and the omissions."""
    rows = []
    for item in context.items:
        kind = Kind(item.source)
        path, content_hash = (item.location.path, item.location.content_hash) if item.location is not None else ("", "")
        rows.append(HandleTarget(item.handle, kind, item.id, path, "", content_hash))
        if path:
            rows += [
                HandleTarget(cut.handle, kind, f"{item.id}::{cut.name}", path, cut.name, content_hash, ranges)
                for cut in item.cuts
                for ranges in [cut.rest or ((cut.start, cut.end),)]
            ]
    return [row for row in [*rows, *map(_left_out, context.overflow)] if row.handle]


def _left_out(row: Omission) -> HandleTarget:
    ranges = row.rest or (((row.start, row.end),) if row.start else ())
    name = LEFT_OUT if not row.path else row.title if row.title != row.path else ""
    return HandleTarget(row.handle, Kind(row.source), row.id, row.path, name, row.content_hash, ranges)


def reference_handles(context: Context) -> list[HandleTarget]:
    """Return the handles of the references: lines of a file, or a record."""
    return [
        HandleTarget(
            one.handle, Kind(one.source), one.id, one.path, "", one.content_hash, ((one.spans[0][0], one.spans[-1][1]),)
        )
        if one.spans
        else HandleTarget(one.handle, Kind(one.source), one.id)
        for one in context.shown_before
        if one.handle and one.source != Kind.CONTEXT  # those of instruction files lead to the files
    ]


def _is_stored(one: ContextItem | Omission) -> bool:
    return one.source != Kind.CONTEXT


def with_guide_handles(
    context: Context, paths: Mapping[str, str], root: Path, key: bytes, limit: int
) -> tuple[Context, list[HandleTarget]]:
    """Return the context with handles only for items that can be read again, and all its handles.

    `paths` names the file of each guide by the id of its item. The situation itself, records of registered keys and
    files that cannot be read any more lose their handles.
    """
    rows: list[HandleTarget] = []
    named: list[ContextItem | Omission | ShownBefore] = [*context.items, *context.overflow, *context.shown_before]
    for row in named:
        if row.source == Kind.CONTEXT and row.id in paths:
            with contextlib.suppress(files.Skipped):
                raw = files.read_bytes(root, paths[row.id], limit=limit).raw
                rows.append(
                    HandleTarget(row.handle, Kind.CONTEXT, row.id, paths[row.id], "", files.content_hash(raw, key))
                )
    readable = {target.id for target in rows}

    def without_handle(source: str, identity: str) -> bool:
        return source == Kind.CONTEXT and identity not in readable

    items = tuple(replace(one, handle="") if without_handle(one.source, one.id) else one for one in context.items)
    overflow = tuple(one._replace(handle="") if without_handle(one.source, one.id) else one for one in context.overflow)
    stored = replace(context, items=tuple(filter(_is_stored, items)), overflow=tuple(filter(_is_stored, overflow)))
    return replace(context, items=items, overflow=overflow), [*rows, *handles_of(stored)]


class HandleLedger:
    """The file of one root. Several processes may write and read it at once."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def of(cls, places: Places) -> Self:
        """Return the ledger of a root."""
        return cls(places.state / "handles" / f"{places.index.name}.jsonl")

    def record(self, rows: Sequence[HandleTarget]) -> None:
        """Store these handles. If the folder cannot be written, this is only logged."""
        if not rows:
            return
        lines = "".join(f"{_ENCODE([getattr(row, name) for name in HandleTarget.__slots__])}\n" for row in rows)
        try:
            state_files.append(self._path, lines.encode("ascii"), most=MOST_BYTES, kept=KEPT_BYTES)
        except OSError as error:
            telemetry.warning("handles not remembered", path=str(self._path), reason=error.strerror or str(error))

    def find(self, handles: Iterable[str]) -> Mapping[str, HandleTarget]:
        """Return the last row of each of these handles; unknown ones are left out."""
        names = set(handles)
        return {row.handle: row for row in self._rows() if row.handle in names}

    def shown(self, kind: Kind) -> Counter[str]:
        """Return how many recent answers, in all roots of the user, showed each record of a kind, by its key."""
        ledgers = map(HandleLedger, self._path.parent.glob("*.jsonl"))
        rows = (row for ledger in ledgers for row in ledger._rows(f'"{kind}"'.encode()))
        return Counter(row.id.partition(":")[2] for row in rows if row.kind is kind and row.name != LEFT_OUT)

    def _rows(self, mark: bytes = b"") -> Iterator[HandleTarget]:
        """Yield all rows with a mark, oldest first, without a line that a crash cut in two."""
        for line in (state_files.read(self._path) or b"").split(b"\n"):
            if mark not in line:
                continue
            with contextlib.suppress(ValueError, TypeError):
                handle, kind, identity, path, name, content_hash, ranges, *workspace = json.loads(line)
                spans = tuple((int(start), int(end)) for start, end in ranges)
                yield HandleTarget(handle, Kind(kind), identity, path, name, content_hash, spans, *workspace)
