"""What a store holds, counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from satchel.types import EdgeType, Kind


@dataclass(frozen=True, slots=True)
class StoreStatistics:
    """Counts of what search can see, most first. `hidden` are bundles of a kind that are kept but out of sight.

    `documents` are parts of files, and records; `bundles` are files and records; `languages` counts files. `windows`
    are the units that words are counted in. `redacted` secrets and `cleaned` characters are those that were replaced or
    removed before files and commits were stored.
    """

    documents: Mapping[Kind, int]
    bundles: Mapping[Kind, int]
    hidden: Mapping[Kind, int]
    languages: Mapping[str, int]
    edges: Mapping[EdgeType, int]
    windows: Mapping[Kind, int]
    definitions: int
    text_bytes: int
    redacted: int = 0
    cleaned: int = 0
