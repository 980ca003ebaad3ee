"""Matches as lines: one a place or record, as editors and terminals link places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.clean import clean_field

if TYPE_CHECKING:
    from satchel.types import Hit


def hit_line(hit: Hit) -> str:
    """`src/a.py:10-20  0.83  C.method`; a record has its id first."""
    document = hit.document
    location = document.location
    if location is None:
        return f"{clean_field(document.id)}  {hit.relevance:.2f}  {clean_field(document.title)}"
    title = clean_field(document.title)
    place = f"{clean_field(location.path)}:{location.start_line}-{location.end_line}  {hit.relevance:.2f}"
    return place if title == location.path else f"{place}  {title}"
