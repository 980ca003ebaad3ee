"""Counting what a store file holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from satchel.store.statistics import StoreStatistics
from satchel.types import EdgeType, Kind

Rows = Callable[[str], Sequence[tuple[Any, ...]]]
"""Runs a query and gives all its rows."""


def count(rows: Rows, windows: Mapping[Kind, int]) -> StoreStatistics:
    """Statistics of the store that `rows` asks; `windows` are counted by its lexicons."""
    documents = "SELECT kind, sum(last_document - first_document + 1) FROM bundles WHERE NOT hidden"
    languages = "SELECT language, count(*) FROM bundles WHERE NOT hidden AND language NOT IN ('', 'commit')"
    bundles = "SELECT kind, count(*) FROM bundles WHERE"
    # Only commits are hidden, and a commit is one document.
    edges = "SELECT type, count(*) FROM edges WHERE source NOT IN (SELECT first_document FROM bundles WHERE hidden)"
    ((definitions,),) = rows("SELECT count(*) FROM definitions")
    ((text_bytes,),) = rows("SELECT coalesce(sum(length(body)), 0) FROM texts")
    removed = ", ".join(f"coalesce(sum(json_extract(fields, '$.{name}')), 0)" for name in ("redacted", "cleaned"))
    ((redacted, cleaned),) = rows(f"SELECT {removed} FROM bundles WHERE NOT hidden")
    return StoreStatistics(
        documents=_kinds(rows(_by(documents))),
        bundles=_kinds(rows(_by(f"{bundles} NOT hidden"))),
        hidden=_kinds(rows(_by(f"{bundles} hidden"))),
        languages=dict(rows(_by(languages))),
        edges={EdgeType(name): number for name, number in rows(_by(edges))},
        windows=windows,
        definitions=definitions,
        text_bytes=text_bytes,
        redacted=redacted,
        cleaned=cleaned,
    )


def _kinds(counted: Sequence[tuple[Any, ...]]) -> dict[Kind, int]:
    return {Kind(kind): number for kind, number in counted}


def _by(select: str) -> str:
    """The query grouped by its first column, the largest count first."""
    return f"{select} GROUP BY 1 ORDER BY 2 DESC, 1"
