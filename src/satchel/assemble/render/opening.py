"""What stands above the items: what everything is, what was not found, and which files are the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from satchel.assemble.render.labels import SECTION_SEPARATOR, line_range, quote
from satchel.assemble.render.layout import Note, file_path, fitted, notice
from satchel.assemble.render.request import RenderRequest
from satchel.clean import clean_field
from satchel.types import ContextItem, View

WEAK = "nothing here answers this well; the best few are shown"

LEAST_FILES = 3
"""Fewer files are seen at a glance, and a list that has room for fewer is left out."""

FILES_LISTED = 8
"""The others are a number: nobody reads on in a list whose best entries did not help."""

LIST_SHARE = 0.01
"""Of the budget, what the list may take: a quarter of what all headings and labels may take in 4,000 tokens."""

CHARACTERS_PER_TOKEN = 3.6
"""Of paths, names and reasons, in round numbers."""

WORD_CHARACTERS = 40
"""Of a word that was not found: what is longer is not a word that somebody would want to read again."""

REASONS_SHOWN = 1

_REASONS: Mapping[str, tuple[str, float]] = {
    "trace": ("trace", 0.0),
    "pin": ("pinned", 0.0),
    "given": ("given", 0.0),
    "change": ("changed", 0.0),
    "path mention": ("path named", 0.0),
    "symbol mention": ("names it", 0.0),
    "name": ("name", 0.5),
    "calls": ("calls", 0.5),
    "history": ("history", 0.5),
    "likeness": ("meaning", 0.5),
}
"""Signal -> how it is called in the list, and from which value it is a reason; the most telling first."""

_USUAL_REASON = "words"


def head_notes(request: RenderRequest) -> list[Note]:
    """What the notice is followed by: words that occur nowhere, that nothing answers well, and the call sites."""
    words = tuple(quote(clean_field(word, WORD_CHARACTERS)) for word in request.not_found)
    every = (
        Note("not_found", "Not found here", words, separator=", "),
        Note("weak_match", "Weak match", (WEAK,) if request.weak else (), is_single=True),
        Note("call_sites", "", request.call_sites, is_listed=True),
    )
    return [note for note in every if note.entries]


def head_lines(request: RenderRequest, items: Sequence[ContextItem]) -> list[str]:
    """The lines below the title: notice, what was not found, the call sites, the best files."""
    noted = [f"{note.label}: {line}." if note.label else line for note in head_notes(request) for line in note.lines]
    best = overview_lines(request, items)
    return [notice(request), *noted, *(["Best first:", *best] if best else [])]


def overview_lines(request: RenderRequest, items: Sequence[ContextItem]) -> list[str]:
    """The best files, one a line: `1 src/a.py: Reader.read (10-24), name, history`; the last line counts the others.

    Files keep the order of the items. Where the budget is small, later files are named by their paths alone.
    """
    files = [item for item in items if file_path(item)]
    if not request.overview or request.view is not View.SECTIONS or len(files) < LEAST_FILES:
        return []
    entries = [_entry(rank, item) for rank, item in enumerate(files[:FILES_LISTED], 1)]
    rows = fitted(entries, request.limit * LIST_SHARE * CHARACTERS_PER_TOKEN if request.limit else float("inf"))
    if len(rows) < LEAST_FILES:
        return []
    more = len(files) - len(rows)
    return [*rows, f"and {more} more"] if more else rows


def _entry(rank: int, item: ContextItem) -> tuple[str, str]:
    short = f"{rank} {quote(file_path(item))}"
    best = set(item.metadata.get("names", ())[:1])
    pieces = [one for one in item.pieces if one.name in best] or item.pieces
    piece = max(pieces, key=lambda one: one.end - one.start)
    name = piece.name.rpartition(SECTION_SEPARATOR)[2]
    place = f"{quote(name)} ({line_range(piece)})" if name else line_range(piece)
    return short, f"{short}: {place}, {_reason(item)}"


def _reason(item: ContextItem) -> str:
    strength = {signal.name: signal.value for signal in item.signals}
    reasons = [word for name, (word, least) in _REASONS.items() if strength.get(name, -1.0) >= least]
    return ", ".join(reasons[:REASONS_SHOWN]) or _USUAL_REASON
