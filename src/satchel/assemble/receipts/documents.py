"""A document by its id, as if its handle had been given: the file, a part of it, or a record."""

from __future__ import annotations

import re

from satchel.assemble.receipts.expand import Desk
from satchel.assemble.receipts.ledger import Given
from satchel.keys import handle as make_handle
from satchel.sources.outline import outline_file
from satchel.store.records import Bundle
from satchel.types import Kind

_LINES = re.compile(r"#L(\d{1,9})-(\d{1,9})$")
_TWIN = re.compile(r"~(\d{1,4})$")

Range = tuple[int, int]


def given_for(identity: str, desk: Desk) -> Given | None:
    """What the handle of this document would stand for; None for an id that nothing in the store has.

    Only what is indexed or remembered has an id, so none leads to a file that is left out or outside the root.
    """
    name, _, key = identity.partition(":")
    if name not in set(Kind) or not key:
        return None
    kind = Kind(name)
    bundle, ranges = _found(desk, kind, key)
    if bundle is None:
        return None
    path = bundle.key if bundle.content_hash else ""
    part = key.partition("::")[2] if path else ""
    handle = make_handle(identity, bundle.content_hash, ranges)
    return Given(handle, kind, identity, path, part, bundle.content_hash, ranges)


def _found(desk: Desk, kind: Kind, key: str) -> tuple[Bundle | None, tuple[Range, ...]]:
    """The bundle of a document, and its lines where it is only a part of one."""
    store = desk.store_of(kind)
    bundle = store.bundle(kind, key)
    if bundle is not None:
        return bundle, ()
    lines = _LINES.search(key)
    if lines is not None:
        start, end = int(lines[1]), int(lines[2])
        is_range = 1 <= start <= end
        return (store.bundle(kind, key[: lines.start()]) if is_range else None), ((start, end),)
    path, separator, part = key.partition("::")
    bundle = store.bundle(kind, path) if separator else None
    if bundle is None or not bundle.content_hash:
        return bundle, ()
    place = _place(path, store.text(bundle.id), part)
    return (bundle, (place,)) if place is not None else (None, ())


def _place(path: str, text: str, name: str) -> Range | None:
    """The lines of a definition; `~2` behind the name means the second one of that name."""
    twin = _TWIN.search(name)
    plain, number = (name[: twin.start()], int(twin[1])) if twin is not None else (name, 1)
    named = [part for part in outline_file(path, text)[1].parts if part.name == plain]
    return (named[number - 1].start, named[number - 1].end) if 1 <= number <= len(named) else None
