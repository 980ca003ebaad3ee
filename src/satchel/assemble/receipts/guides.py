"""The handles of contexts and instruction files: they lead to the file as it was when it guided.

What guides without a file (the situation itself, records of registered keys) has no handle: there is nothing behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from satchel import files
from satchel.assemble.receipts.ledger import Given, handles_of
from satchel.types import Context, ContextItem, Kind, Omission, ShownBefore


def with_guide_handles(
    context: Context, paths: Mapping[str, str], root: Path, key: bytes, limit: int
) -> tuple[Context, list[Given]]:
    """The context with handles only where something is behind them, and what these stand for.

    `paths` are the files of what guides, by the id of its item. A file that cannot be read any more is behind nothing.
    """
    given: list[Given] = []
    leads: set[str] = set()
    rows: list[ContextItem | Omission | ShownBefore] = [*context.items, *context.overflow, *context.shown_before]
    for row in rows:
        if row.source != Kind.CONTEXT or row.id not in paths:
            continue
        try:
            raw = files.read_bytes(root, paths[row.id], limit=limit).raw
        except files.Skipped:
            continue
        leads.add(row.id)
        given.append(Given(row.handle, Kind.CONTEXT, row.id, paths[row.id], "", files.content_hash(raw, key)))

    def is_empty(source: str, identity: str) -> bool:
        return source == Kind.CONTEXT and identity not in leads

    items = tuple(replace(one, handle="") if is_empty(one.source, one.id) else one for one in context.items)
    overflow = tuple(replace(row, handle="") if is_empty(row.source, row.id) else row for row in context.overflow)
    stored = replace(
        context,
        items=tuple(one for one in items if one.source != Kind.CONTEXT),
        overflow=tuple(row for row in overflow if row.source != Kind.CONTEXT),
    )
    return replace(context, items=items, overflow=overflow), [*given, *handles_of(stored)]
