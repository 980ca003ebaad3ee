"""One record that several sections found stands in one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from satchel.assemble.gather import Gathered
from satchel.types import Hit

Identity = tuple[str, int]

SPARE = 4
"""Records that a section gets beyond those it may show: some turn out too large, or say what another one says. Each
costs a third of a millisecond to prepare."""


def dealt(gathered: Sequence[Gathered]) -> list[Gathered]:
    """The sections with each record in one of them.

    The sections choose in turn, in their order, each the best that is left of what it found: so every section has its
    best, and a record that stands alone goes to the first section that it fits. Files stay where they are.
    """
    waiting = [list(reversed(row.result.hits)) for row in gathered]
    chosen: list[list[Hit]] = [[] for _ in gathered]
    taken: set[Identity] = set()
    while any(waiting):
        for row, hits, own in zip(gathered, waiting, chosen, strict=True):
            if len(own) == row.section.limit + SPARE and own[0].document.location is None:
                hits.clear()
            while hits:
                hit = hits.pop()
                identity = _identity(hit)
                if identity is None or identity not in taken:
                    own.append(hit)
                    taken |= {identity} if identity is not None else set()
                    break
    return [
        replace(row, result=replace(row.result, hits=tuple(own))) for row, own in zip(gathered, chosen, strict=True)
    ]


def _identity(hit: Hit) -> Identity | None:
    """What is equal for all sides of one record; None for a part of a file."""
    if hit.document.location is not None:
        return None
    return hit.document.kind.value, int(hit.document.fields["bundle"])
