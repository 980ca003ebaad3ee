"""The changed lines of the commits that are shown, beside their other metadata.

They are counted after the text is fixed and never part of it: what git can tell right now must not change what an
answer says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from satchel.sources.line_counts import Counted
from satchel.types import ContextItem, Failure, Hit, Kind

CountLines = Callable[[Iterable[str]], Counted]
"""Commit ids -> their counts."""

_PREFIX = f"{Kind.COMMIT}:"


def counted_items(items: Sequence[ContextItem], count: CountLines) -> tuple[tuple[ContextItem, ...], list[Failure]]:
    """The items, commits with `insertions` and `deletions` (None where unknown), and what could not be counted."""
    counted = _counted((item.id for item in items), count)
    shown = tuple(replace(item, metadata={**item.metadata, **_fields(counted, item.id)}) for item in items)
    return shown, list(counted.failures)


def counted_hits(hits: Sequence[Hit], count: CountLines) -> tuple[list[Hit], list[Failure]]:
    """The hits, commits with `insertions` and `deletions` among their fields, and what could not be counted."""
    counted = _counted((hit.document.id for hit in hits), count)
    found = []
    for hit in hits:
        fields = {**hit.document.fields, **_fields(counted, hit.document.id)}
        found.append(replace(hit, document=replace(hit.document, fields=fields)))
    return found, list(counted.failures)


def _counted(ids: Iterable[str], count: CountLines) -> Counted:
    shas = [identity.removeprefix(_PREFIX) for identity in ids if identity.startswith(_PREFIX)]
    return count(shas) if shas else Counted({})


def _fields(counted: Counted, identity: str) -> dict[str, int | None]:
    if not identity.startswith(_PREFIX):
        return {}
    insertions, deletions = counted.lines.get(identity.removeprefix(_PREFIX)) or (None, None)
    return {"insertions": insertions, "deletions": deletions}
