"""Equal definitions in a list of hits: the versions of a package beside each other, a copy of another's code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence

from msgspec.structs import replace

from satchel.answer.file_candidates import DECLARED
from satchel.answer.freshness import freshness_of
from satchel.answer.source_lines import FileLines, Unreadable
from satchel.types import Hit, Kind, Location


def without_copies(hits: Sequence[Hit], files: FileLines) -> list[Hit]:
    """Return the hits without definitions of code that repeat a better one in another file, which names their places.

    The best is the first. A definition has several lines; only hits whose file is as it was indexed are compared.
    """
    alike: dict[Hashable, list[Hit]] = defaultdict(list)
    for hit in hits:
        if location := _compared(hit):
            alike[hit.chunk.title.rpartition(".")[2], location.end_line - location.start_line].append(hit)
    copies: dict[str, str] = {}
    locations: dict[str, list[Location]] = defaultdict(list)
    for group in alike.values():
        best: dict[Hashable, Hit] = {}
        for hit in group if len(group) > 1 else ():
            location = hit.chunk.location
            assert location is not None
            first = best.setdefault(_text(location, files), hit)
            if first.chunk.document != hit.chunk.document:
                copies[hit.chunk.id] = first.chunk.id
                locations[first.chunk.id].append(location)
    kept = (hit for hit in hits if hit.chunk.id not in copies)
    return [replace(hit, copies=tuple(locations[hit.chunk.id])) if hit.chunk.id in locations else hit for hit in kept]


def listed(search: Callable[[int], list[Hit]], limit: int, files: FileLines) -> list[Hit]:
    """Return the hits of a search for at most so many files of a kind; files of nothing but copies take no place."""
    hits = search(limit)
    kept = without_copies(hits, files)
    missing = len(_files(hits)) - len(_files(kept))
    if not missing:
        return kept
    more = without_copies(search(limit + missing), files)
    chosen = {key for kind in Kind for key in [file for file in _files(more) if file[0] is kind][:limit]}
    return [hit for hit in more if hit.chunk.location is None or _file(hit) in chosen]


def _compared(hit: Hit) -> Location | None:
    location = hit.chunk.location
    if location is None or hit.best_line is None or freshness_of(hit.chunk.fields) is not None:
        return None
    is_definition = hit.chunk.kind is Kind.CODE and hit.chunk.role in DECLARED
    return location if is_definition and location.end_line > location.start_line else None


def _text(location: Location, files: FileLines) -> Hashable:
    """Return the lines of a place; what is equal to itself alone if they cannot be read."""
    read = files.read(location.path)
    return location if isinstance(read, Unreadable) else tuple(read.lines[location.start_line - 1 : location.end_line])


def _file(hit: Hit) -> tuple[Kind, int]:
    return hit.chunk.kind, hit.chunk.document


def _files(hits: Sequence[Hit]) -> list[tuple[Kind, int]]:
    """Return the files of the hits, each once and in their order."""
    return list(dict.fromkeys(_file(hit) for hit in hits if hit.chunk.location is not None))
