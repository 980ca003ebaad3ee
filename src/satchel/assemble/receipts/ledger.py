"""The handles that were given lately, so that what stands behind one can be asked for.

A handle is a hash and says nothing about what it names; this file of one root does. One line of JSON a handle, the
newest last. It holds no text: ids, paths, line numbers and keyed hashes only.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from satchel import logs, state_files
from satchel.types import Context, Kind

MOST_BYTES = 4_000_000
"""Beyond this size the older half is forgotten: it holds the handles of about 300 answers, read in some 10 ms."""

KEPT_BYTES = MOST_BYTES // 2

_ENCODE = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Given:
    """What one handle stands for: these lines of a file as it was, all of it without `ranges`, or a record (no path).

    `name` is the qualified name of the definition that the lines belong to, empty if there is none.
    """

    handle: str
    kind: Kind
    id: str
    path: str = ""
    name: str = ""
    content_hash: str = ""
    ranges: tuple[Range, ...] = ()


def handles_of(context: Context) -> list[Given]:
    """Every handle that a context carries: of its items, of what they show in part, and of what stayed out."""
    given = []
    for item in context.items:
        kind = Kind(item.source)
        location = item.location
        path, content_hash = (location.path, location.content_hash) if location is not None else ("", "")
        given.append(Given(item.handle, kind, item.id, path, "", content_hash))
        if path:
            given += [
                Given(cut.handle, kind, f"{item.id}::{cut.name}", path, cut.name, content_hash, ((cut.start, cut.end),))
                for cut in item.cuts
            ]
    for out in context.overflow:
        ranges = ((out.start, out.end),) if out.start else ()
        name = out.title if out.path and out.title != out.path else ""
        given.append(Given(out.handle, Kind(out.source), out.id, out.path, name, out.content_hash, ranges))
    return [row for row in given if row.handle]


class HandleLedger:
    """The file of one root. Several processes may write and read it at once."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def record(self, given: Sequence[Given]) -> None:
        """Remember these handles. Where the folder cannot be written, a line in the log says so, and nothing fails."""
        if not given:
            return
        lines = "".join(f"{_ENCODE([getattr(row, name) for name in Given.__slots__])}\n" for row in given)
        try:
            state_files.append(self._path, lines.encode("ascii"), most=MOST_BYTES, kept=KEPT_BYTES)
        except OSError as error:
            logs.warning("handles not remembered", path=str(self._path), reason=error.strerror or str(error))

    def find(self, handles: Iterable[str]) -> Mapping[str, Given]:
        """What these handles were last given for; unknown ones are left out."""
        wanted = set(handles)
        found: dict[str, Given] = {}
        for row in self._rows():
            if row.handle in wanted:
                found[row.handle] = row
        return found

    def _rows(self) -> Iterator[Given]:
        """All rows, oldest first. A line that a crash cut in two is passed over."""
        for line in (state_files.read(self._path) or b"").split(b"\n"):
            with contextlib.suppress(ValueError, TypeError):
                handle, kind, identity, path, name, content_hash, ranges = json.loads(line)
                spans = tuple((int(start), int(end)) for start, end in ranges)
                yield Given(handle, Kind(kind), identity, path, name, content_hash, spans)
