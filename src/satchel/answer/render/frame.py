"""The frame of a context: the notice, call sites and the best files above its items, the footer below."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import chain, groupby
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from satchel.answer import weights
from satchel.answer.render.labels import (
    SECTION_SEPARATOR,
    file_path,
    line_range,
    listed_title,
    quote,
    quoted,
    quoted_path,
)
from satchel.answer.request import TextForm
from satchel.answer.truncation import CHARACTERS_PER_TOKEN
from satchel.safety.sanitize import DATA_NOTICE, clean_field, plain_name
from satchel.text import pattern
from satchel.types import (
    CONTEXT_TYPES,
    UNFINISHED,
    ContextItem,
    Cut,
    Detail,
    Failure,
    Kind,
    Omission,
    ShownBefore,
    View,
)

DEFAULT_TITLE = "Context"

NOTICE = f"{DATA_NOTICE}."

GUIDED_NOTICE = f"{DATA_NOTICE}, except in records titled Guidance."
"""The notice of an answer that shows instruction files of a workspace that the user trusts."""

WEAK = "nothing here answers this well; the best few are shown"

MIN_FILES = 3
"""Fewest listed files: fewer are seen at a glance, and a list with room for fewer is left out."""

SOURCES_SHOWN = 10
"""Entries of the sources footer, from the first specification; the others are counted."""

OMISSIONS_SHOWN = 1
"""Omissions that are named with their handles, the best first; the others are counted."""

CONTINUED = "more of"
"""Marks a place in a long function that is shown in part: its handle leads to what is left of the function."""

PLACES = "places"
"""The key of the note that names places besides what is shown."""

OMITTED_LABEL = "Left out"
HANDLED_LABEL = "Left out (satchel expand HANDLE)"

ALSO_SHOWN = 5
"""Other places named for one definition: enough to see their pattern; the others are counted."""

QUERY_SHOWN = 200
"""Most characters of a question that is repeated: a longer one is a report, whose tokens would count twice."""

NO_HANDLE = "-"
"""Replaces the handle of an item that cannot be expanded, such as a situation that the caller described."""

_REASONS: Mapping[str, str] = {
    "trace": "trace",
    "pin": "pinned",
    "given": "given",
    "change": "changed",
    "path mention": "path named",
    "symbol mention": "names it",
    "name": "name",
    "file name": "file name",
    "calls": "calls",
    "history": "history",
    "likeness": "meaning",
}
"""Signal -> its name in the list; the most distinctive first."""

_GRADUAL = frozenset({"name", "file name", "calls", "history", "likeness"})
"""Signals that are a reason only if they are strong (`weights.REASON_FLOOR`)."""

_USUAL_REASON = "words"

_PLACE_END = pattern(r":\d+-\d+(?:,\d+-\d+)*\Z", re.ASCII)


class Stop(StrEnum):
    """The reason why an answer has no more items, in the words of its footer."""

    NOT_WORTH_IT = "the rest was not worth it"
    NAMED = "more matches are listed under Places"
    FULL = "full"
    WEAK = "kept short: weak match"
    ABSENT = "kept short, as words of the question were not found"
    TESTS = "kept short, as words of the question are only in tests and examples"
    HISTORY = "kept short, as words of the question are only in the history"
    UNFINISHED = "the index is not finished"
    COMPLETE = "everything relevant is shown"


class RenderRequest(Struct, frozen=True):
    """The frame of one answer. Every part of it costs tokens and is therefore counted.

    With `overview` three
    or more files are listed first, best first; `limit`, the budget in tokens, bounds that list. The best of `overflow`
    are named with their handles, the others and `overflow_more` are counted. All `failures` share one line, and
    `failures_more` others are counted; `summary` is one line. With a `tokenizer` (its name as the footer shows it) the
    footer also counts the items of each type. `query` appears in JSON only, and only if it is short.
    `first_kind` is the kind whose section comes first; with `has_guidance` the notice says that records titled Guidance
    are to be followed. With `based_on` the footer counts only items of that kind: `Based on 3 past experiences`.
    `shown_before` are the references to what a session has already, one line each, and `shown_before_more` the number
    of those not named. `not_found` are distinctive words of the question that no file has, `past` those of them that a
    commit has, `of_tests` words that only tests have, `left_out` notes on files that are not indexed; `weak` means that
    nothing shown answers it well; `call_sites` are lines that list the callers of the definition in question. With
    `used` (the tokens of the text itself, see `render_with_usage`) the footer says how much of `limit` was used and why
    it `stopped` there. The first `related` shown definitions with neighbours are listed. `workspaces` answer together.
    `hunks` are the lines of the change in question, for one block with its nonce.
    With `is_numbered` lines of files have their numbers in Markdown and plain text; `places` are lines that name other
    places.
    """

    query: str = ""
    form: TextForm = TextForm()
    overflow: tuple[Omission, ...] = ()
    overflow_more: int = 0
    failures: tuple[Failure, ...] = ()
    failures_more: int = 0
    truncated: bool = False
    summary: str = ""
    tokenizer: str = ""
    first_kind: Kind | None = None
    has_guidance: bool = False
    title: str = DEFAULT_TITLE
    based_on: Kind | None = None
    shown_before: tuple[ShownBefore, ...] = ()
    shown_before_more: int = 0
    overview: bool = True
    not_found: tuple[str, ...] = ()
    past: tuple[str, ...] = ()
    of_tests: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    weak: bool = False
    call_sites: tuple[str, ...] = ()
    related: int = 0
    limit: int = 0
    used: int = 0
    stopped: str = ""
    workspaces: tuple[str, ...] = ()
    is_numbered: bool = False
    places: tuple[str, ...] = ()
    hunks: tuple[str, ...] = ()
    hunks_nonce: str = ""


class FooterNote(Struct, frozen=True):
    """One line of the frame: its name in structured formats, its label in text, its entries, and how many more.

    With `is_listed` every entry has a line of its own, with `is_single` there is at most one. Without a label only the
    entries are written.
    """

    key: str
    label: str
    entries: tuple[str, ...]
    more: int = 0
    is_listed: bool = False
    is_single: bool = False
    separator: str = "; "

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of text after the label."""
        entries = (*self.entries, f"and {self.more} more") if self.more else self.entries
        return entries if self.is_listed else (self.separator.join(entries),)


def notice(request: RenderRequest) -> str:
    """Return the notice that items are data and not instructions."""
    return GUIDED_NOTICE if request.has_guidance else NOTICE


def head_notes(request: RenderRequest) -> list[FooterNote]:
    """Return the notes after the notice: an unfinished index, workspaces, words that occur nowhere, and so on."""
    # Most characters of a word that is listed as not found.
    words, past = (
        tuple(quote(clean_field(word, 40)) for word in request.not_found if (word in request.past) is is_past)
        for is_past in (False, True)
    )
    unfinished = tuple(failure_text(failure) for failure in request.failures if failure.source == UNFINISHED)
    every = (
        FooterNote("unfinished", UNFINISHED.capitalize(), unfinished),
        FooterNote("workspaces", "Paths begin with their workspace", request.workspaces, separator=", "),
        FooterNote("not_found", "Not found here", words, separator=", "),
        FooterNote("past", "Only in the history", past, separator=", "),
        FooterNote("of_tests", "Only in tests and examples", request.of_tests, separator=", "),
        FooterNote("left_out", "Left out", request.left_out),
        FooterNote("weak_match", "Weak match", (WEAK,) if request.weak else (), is_single=True),
        FooterNote("call_sites", "", request.call_sites, is_listed=True),
    )
    return [note for note in every if note.entries]


def head_lines(request: RenderRequest, items: Sequence[ContextItem]) -> list[str]:
    """Return the lines below the title: notice, words that were not found, the call sites, the best files."""
    noted = [f"{note.label}: {line}." if note.label else line for note in head_notes(request) for line in note.lines]
    best = overview_lines(request, items)
    return [notice(request), *noted, *(["Best first:", *best] if best else [])]


def overview_lines(request: RenderRequest, items: Sequence[ContextItem]) -> list[str]:
    """Return the best files, one per line: `1 src/a.py: Reader.read (10-24), name, history`.

    The last line counts the others. Files keep the order of the items. Where the budget is small, later files are named
    by their paths alone.
    """
    files = [item for item in items if file_path(item)]
    is_list = request.form.view is not View.SECTIONS
    if not request.overview or request.is_numbered or is_list or len(files) < MIN_FILES:
        return []
    entries = [_file_entry(rank, item) for rank, item in enumerate(files[: weights.OVERVIEW_FILES], 1)]
    lines = _fitted(
        entries, request.limit * weights.LIST_SHARE * CHARACTERS_PER_TOKEN if request.limit else float("inf")
    )
    if len(lines) < MIN_FILES:
        return []
    more = len(files) - len(lines)
    return [*lines, f"and {more} more"] if more else lines


def _file_entry(rank: int, item: ContextItem) -> tuple[str, str]:
    short = f"{rank} {quoted_path(file_path(item))}"
    best = set(item.metadata.get("names", ())[:1])
    pieces = [piece for piece in item.pieces if piece.name in best] or item.pieces
    piece = max(pieces, key=lambda other: other.end - other.start)
    name = plain_name(piece.name.rpartition(SECTION_SEPARATOR)[2])
    location = f"{quote(name)} ({line_range(piece)})" if name else line_range(piece)
    return short, f"{short}: {location}, {_reason(item)}"


def _reason(item: ContextItem) -> str:
    strength = {signal.name: signal.value for signal in item.signals}
    floor = weights.REASON_FLOOR
    reasons = [
        word for name, word in _REASONS.items() if strength.get(name, -1.0) >= (floor if name in _GRADUAL else 0.0)
    ]
    return ", ".join(reasons[:1]) or _USUAL_REASON  # reasons shown


def _fitted(entries: Sequence[tuple[str, str]], room: float) -> list[str]:
    """Return as many entries (short form, long form) as fit into `room` characters, in long form where possible."""
    lines: list[str] = []
    for forms in entries:
        entry = next((form for form in reversed(forms) if len(form) <= room), None)
        if entry is None:
            break
        lines.append(entry)
        room -= len(entry)
    return lines


def counts_line(request: RenderRequest, items: Sequence[ContextItem]) -> str:
    """`7 items from 2 sources; 2,310 of 4,000 tokens; full`: a source is a kind.

    `Based on 3 past experiences` where only one kind counts.
    """
    if request.based_on is None:
        line = f"{counted(len(items), 'item')} from {counted(len({item.source for item in items}), 'source')}"
    else:
        number = sum(item.source == request.based_on for item in items)
        line = f"Based on {counted(number, f'past {request.based_on}')}"
    line = f"{line}, truncated" if request.truncated else line
    if not request.used:
        return line
    line = f"{line}; {request.used:,} of {request.limit:,} tokens"
    return f"{line}; {request.stopped}" if request.stopped else line


def counted(number: int, noun: str) -> str:
    """Return `1 file`, `2 files`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def notes(request: RenderRequest, items: Sequence[ContextItem]) -> list[FooterNote]:
    """Return the notes below the counts that have entries."""
    sources = tuple(entry for item in items for entry in _source_entries(item)) if request.form.show_sources else ()
    omitted = _omission_entries(request.overflow)
    omitted_label = HANDLED_LABEL if any(omission.handle for omission in request.overflow) else OMITTED_LABEL
    references = reference_lines(request.shown_before, request.shown_before_more)
    every = (
        FooterNote(PLACES, "Place", request.places, is_listed=True),
        FooterNote("sources", "Sources", sources[:SOURCES_SHOWN], max(len(sources) - SOURCES_SHOWN, 0)),
        FooterNote("summaries", "Given summary", _summary_entries(request, items), is_listed=True),
        FooterNote("related", "Related", related_entries(items)[: request.related], is_listed=True),
        FooterNote("also", "Also at", _also_entries(items)),
        FooterNote("merged", "Also", tuple(_merged_entry(item) for item in items if item.metadata.get("merged"))),
        FooterNote("handles", "Handles", _handle_entries(items) if request.form.show_handles else ()),
        FooterNote("shown_before", "Shown before", references, is_listed=True),
        FooterNote("omitted", omitted_label, omitted, len(request.overflow) - len(omitted) + request.overflow_more),
        FooterNote("failures", "Incomplete", *_failure_entries(request)),
        FooterNote("counts", "Items", _type_counts(items) if request.tokenizer else (), separator=", "),
        FooterNote("tokenizer", "Counted with", (quote(request.tokenizer),) if request.tokenizer else ()),
        FooterNote("summary", "Summary", (quote(request.summary),) if request.summary else (), is_single=True),
    )
    return [note for note in every if note.entries]


def note_lines(request: RenderRequest, items: Sequence[ContextItem]) -> str:
    """Return the notes except the places as lines of text, each with the line break before it."""
    shown = (note for note in notes(request, items) if note.key != PLACES)
    return "".join(f"\n{note.label}: {line}" for note in shown for line in note.lines)


def place_lines(request: RenderRequest) -> str:
    """Return the places as lines of text. The dash keeps a path from looking like a mark of the layout."""
    return "".join(f"{line}\n" for line in request.places)


def _type_counts(items: Sequence[ContextItem]) -> tuple[str, ...]:
    """`12 code`, `1 commit`: the items of each context type, in the order of the types."""
    counts = [(name, kind, sum(item.source == kind for item in items)) for name, kind in CONTEXT_TYPES.items()]
    return tuple(f"{count} {kind if count == 1 else name}" for name, kind, count in counts if count)


def _source_entries(item: ContextItem) -> list[str]:
    """Return the title of a record, the place of a file, or name and place of each given entity that a file shows."""
    path = file_path(item)
    if not path:
        return [quote(listed_title(item))]
    if any(signal.name == "given" for signal in item.signals):
        entities = sorted(item.metadata.get("entities", ()), key=lambda entity: -entity["score"])
        return [quote(f"{entity['name']} ({path}:{entity['start_line']})") for entity in entities]
    start = _entity_line(item)
    return [quote(f"{path}:{start}" if start else path)]


def _entity_line(item: ContextItem) -> int:
    """Return the first line of the best entity of a file, of nameless lines (imports) only if none has a name."""
    for entity in item.metadata.get("entities", ()):
        if entity["start_line"] and any(
            piece.name == entity.get("title", entity["qualified_name"]) for piece in item.pieces
        ):
            return int(entity["start_line"])
    return next((piece.start for piece in item.pieces if piece.name), item.pieces[0].start)


def _summary_entries(request: RenderRequest, items: Sequence[ContextItem]) -> tuple[str, ...]:
    """Return the summaries that came with results; the other views have them beside each entity."""
    entities = chain.from_iterable(item.metadata.get("entities", ()) for item in items)
    summaries = [(entity["name"], entity["summary"]) for entity in entities if entity.get("summary")]
    summaries += [(item.title, str(item.metadata.get("given_summary", ""))) for item in items]
    listed = [f"{quote(name)}: {quote(summary)}" for name, summary in summaries if summary]
    return tuple(listed) if request.form.view is View.SECTIONS else ()


_RELATION_WORDS = {
    "container": "in", "callees": "calls", "implementations": "implemented by", "callers": "called by",
    "tests": "tested by",
}  # fmt: skip


def _neighbour(neighbour: Mapping[str, Any]) -> str:
    line = f":{neighbour['line']}" if neighbour["line"] else ""
    return quote(f"{neighbour['name']} ({neighbour['path']}{line})")


def related_entries(items: Sequence[ContextItem]) -> tuple[str, ...]:
    """Return the neighbours of each definition: `send: calls backoff (client.py:26); tested by test_send (t.py:3)`."""
    entries = []
    for item in items:
        for name, relations in item.metadata.get("related", {}).items():
            parts = [
                f"{_RELATION_WORDS[relation]} {', '.join(map(_neighbour, neighbours))}"
                for relation, neighbours in relations.items()
                if neighbours
            ]
            entries += [f"{quote(name)}: {'; '.join(parts)}"] if parts else []
    return tuple(entries)


def _also_entries(items: Sequence[ContextItem]) -> tuple[str, ...]:
    """Return other places with the same code: `src/a.js:3 = src/b.js:3-9, src/c.js:4-10`."""
    return tuple(
        f"{quote(f'{file_path(item)}:{line}')} = "
        + _first_few([f"{copy['path']}:{copy['start_line']}-{copy['end_line']}" for copy in copies])
        for item in items
        for line, copies in groupby(item.metadata.get("also_at", ()), key=lambda copy: copy["of_line"])
    )


def _merged_entry(item: ContextItem) -> str:
    """Return the records with the text of a shown one: `memory mem_a = mem_b, note n_1 and 2 more`."""
    merged: Sequence[Mapping[str, Any]] = item.metadata["merged"]
    names = [
        record["id"] if record["source"] == item.source else f"{record['source']} {record['id']}" for record in merged
    ]
    own_name = f"{item.source} {item.metadata['id']}"
    return f"{quote(own_name)} = {_first_few(names)}"


def _first_few(entries: Sequence[str]) -> str:
    more = len(entries) - ALSO_SHOWN
    return ", ".join(map(quote, entries[:ALSO_SHOWN])) + (f" and {more} more" if more > 0 else "")


def _handle_entries(items: Sequence[ContextItem]) -> tuple[str, ...]:
    """Return the handles of items that are shown in part: `src/a.py:10-40 a2b3c4d5`."""
    cuts = [f"{_cut_place(item, cut)} {cut.handle}" for item in items for cut in item.cuts]
    records = [
        f"{quote(listed_title(item))} {item.handle}"
        for item in items
        if not file_path(item) and item.detail is not Detail.FULL and item.handle
    ]
    return (*cuts, *records)


def _cut_place(item: ContextItem, cut: Cut) -> str:
    location = f"{file_path(item)}:{cut.start}-{cut.end}"
    return quote(f"{location} {CONTINUED} {plain_name(cut.name)}" if cut.rest else location)


def reference_lines(references: Sequence[ShownBefore], more: int) -> tuple[str, ...]:
    """Return a line for each reference, and one that counts those that are not named."""
    return (*map(shown_before_entry, references), *((f"and {more} more",) if more else ()))


def shown_before_entry(before: ShownBefore) -> str:
    """Return a reference to an item that a session has, with its handle: `src/a.py:10-40,60-71 a2b3c4d5`."""
    if before.path:
        spans = ",".join(f"{start}-{end}" for start, end in before.spans)
        return f"{quote(before.path)}:{spans} {before.handle or NO_HANDLE}"
    # A title in quotes cannot be taken for a place, even if it ends like one.
    title = quoted(before.title) if _PLACE_END.search(before.title) else quote(before.title)
    return f"{title} {before.handle or NO_HANDLE}"


def _omission_entries(overflow: Sequence[Omission]) -> tuple[str, ...]:
    """Return the best few with their handles: `src/a.py:10-24 Reader.read a2b3c4d5`, or without the name."""
    entries = list(map(_omission_entry, overflow[:OMISSIONS_SHOWN]))
    # Characters of the named omissions: with label, handles and number at most 60 tokens for ordinary paths.
    return tuple(_fitted(entries, 60) or (entries[0][:1] if entries else ()))


def _omission_entry(omission: Omission) -> tuple[str, str]:
    handle = f" {omission.handle}" if omission.handle else ""
    title = plain_name(omission.title)
    if not omission.path:
        entry = quote(f"{omission.source.capitalize()} {title}".rstrip()) + handle
        return entry, entry
    location = f"{omission.path}:{omission.start}-{omission.end}" if omission.start else omission.path
    if omission.rest:
        return quote(f"{location} {CONTINUED} this function") + handle, quote(
            f"{location} {CONTINUED} {title}"
        ) + handle
    has_name = omission.title not in ("", omission.path)
    return quote(location) + handle, quote(f"{location} {title}" if has_name else location) + handle


def _failure_entries(request: RenderRequest) -> tuple[tuple[str, ...], int]:
    """Return the entries of the failures, and how many more there are; where none has room, their number alone."""
    if request.failures or not request.failures_more:
        entries = tuple(failure_entry(failure) for failure in request.failures if failure.source != UNFINISHED)
        return entries, request.failures_more
    return (counted(request.failures_more, "problem"),), 0


def failure_entry(failure: Failure) -> str:
    """Return `contexts: client/context.yaml:3: ... (the rest of it counts)`."""
    return failure_text(replace(failure, message=f"{failure.source}: {failure.message}"))


def failure_text(failure: Failure) -> str:
    """Return what happened and, in brackets, what to do about it."""
    return quote(f"{failure.message} ({failure.hint})" if failure.hint else failure.message)
