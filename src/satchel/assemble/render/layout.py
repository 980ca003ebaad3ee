"""What the formats share: which sections there are, what a file and a record are, what the footer counts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Protocol

from satchel.assemble.render.labels import quote, quoted
from satchel.assemble.render.records import record_title
from satchel.assemble.render.request import RenderRequest
from satchel.clean import DATA_NOTICE
from satchel.types import CONTEXT_TYPES, ContextItem, Detail, Failure, Kind, Omission, ShownBefore, View

NOTICE = f"{DATA_NOTICE}."

GUIDED_NOTICE = f"{DATA_NOTICE}, except in records titled Guidance."
"""The same where instruction files of a workspace that the user trusts are shown."""

SOURCES_SHOWN = 10
"""Entries of the sources footer, as the first specification has it; the others are a number."""

OMISSIONS_SHOWN = 1
"""Of what was left out, the best that are named with their handles; the others are a number."""

OMISSIONS_ROOM = 60
"""Characters of those that are named: with label, handles and number 60 tokens at most for ordinary paths."""

OMITTED_LABEL = "Left out"
HANDLED_LABEL = "Left out (satchel expand HANDLE)"

ALSO_SHOWN = 5
"""Other places named of one definition: enough to see the pattern that they follow; the others are a number."""

QUERY_SHOWN = 200
"""Characters: a longer question is somebody's whole report, which would be paid for twice."""

NO_HANDLE = "-"
"""Stands for the handle of what cannot be asked for again: a situation is what the caller said."""

_PLACE_END = re.compile(r":\d+-\d+(?:,\d+-\d+)*\Z", re.ASCII)

_GROUP_TITLES = {
    "code": "Relevant Code",
    "documentation": "Related Documentation",
    "conversation": "Previous Conversations",
    "other": "Other Context",
}
_GROUP_OF_TYPE = {
    **dict.fromkeys(("function", "method", "class", "interface", "type", "file", "module", "code"), "code"),
    **dict.fromkeys(("variable", "constant", "property", "enum", "namespace", "struct", "trait", "gap"), "code"),
    **dict.fromkeys(("document", "section", "requirement", "feature", "doc", "user-story"), "documentation"),
    **dict.fromkeys(("session", "message", "decision", "question", "conversation", "commit"), "conversation"),
}


class Writer(Protocol):
    """One format. The text is head, sections, tail; a section is its opening, its items and its closing.

    `ITEM_JOIN` stands between the items of a section, `SECTION_JOIN` between sections.
    """

    ITEM_JOIN: str
    SECTION_JOIN: str

    def head(self, request: RenderRequest, items: Sequence[ContextItem]) -> str:
        """Everything before the first section."""
        ...

    def section(self, title: str, *, grouped: bool) -> tuple[str, str]:
        """Opening and closing of the section with this title. `grouped`: the sections are groups by type."""
        ...

    def item(self, item: ContextItem, *, show_code: bool) -> str:
        """One item with its frame."""
        ...

    def tail(self, request: RenderRequest, items: Sequence[ContextItem]) -> str:
        """Everything after the last section."""
        ...


@dataclass(frozen=True, slots=True)
class Section:
    """A titled run of items; never empty."""

    title: str
    items: tuple[ContextItem, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """One line of the frame: its name in structured formats, its label in text, its entries, and how many more.

    With `is_listed` every entry has a line of its own, with `is_single` there is one at most. Without a label the
    entries speak for themselves.
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
        """What stands behind the label, line by line."""
        entries = (*self.entries, f"and {self.more} more") if self.more else self.entries
        return entries if self.is_listed else (self.separator.join(entries),)


def notice(request: RenderRequest) -> str:
    """What everything below is, and what of it is to be followed."""
    return GUIDED_NOTICE if request.has_guidance else NOTICE


def sections(
    items: Sequence[ContextItem], *, group_by_type: bool, view: View = View.SECTIONS, lead: Kind | None = None
) -> list[Section]:
    """The items by kind in the order of the context types, `lead` first, or by type in the order of the four groups.

    Items keep their order inside a section; empty sections are left out. Sections that items name themselves come last,
    in the order of their first items. Blocks have no sections unless grouped.
    """
    if view is View.BLOCKS and not group_by_type:
        return [Section("", tuple(items))] if items else []
    kinds = sorted(CONTEXT_TYPES.values(), key=lambda kind: kind is not lead)
    titles = _GROUP_TITLES.values() if group_by_type else (kind.heading for kind in kinds)
    members: dict[str, list[ContextItem]] = {title: [] for title in titles}
    for item in items:
        title = _GROUP_TITLES[_group(item)] if group_by_type else item.section or Kind(item.source).heading
        members.setdefault(title, []).append(item)
    return [Section(title, tuple(chosen)) for title, chosen in members.items() if chosen]


def group_of(entity_type: str) -> str | None:
    """`code`, `documentation` or `conversation` for a type of entity that belongs there, None for any other."""
    return _GROUP_OF_TYPE.get(entity_type.lower())


def _group(item: ContextItem) -> str:
    """The group of an item: by its finer type where it has one, else by its kind."""
    return group_of(str(item.metadata.get("type", ""))) or group_of(item.source) or "other"


def file_path(item: ContextItem) -> str:
    """The path of an item that shows lines of a file, empty for a record."""
    return item.location.path if item.location is not None and item.pieces else ""


def counts_line(request: RenderRequest, items: Sequence[ContextItem]) -> str:
    """`7 items from 2 sources; 2,310 of 4,000 tokens; full`: a source is a kind.

    `Based on 3 past experiences` where only one kind counts.
    """
    source_count = len({item.source for item in items})
    line = f"{_counted(len(items), 'item')} from {_counted(source_count, 'source')}"
    if request.based_on is not None:
        line = (
            f"Based on {_counted(sum(item.source == request.based_on for item in items), f'past {request.based_on}')}"
        )
    line = f"{line}, truncated" if request.truncated else line
    if not request.used:
        return line
    line = f"{line}; {request.used:,} of {request.limit:,} tokens"
    return f"{line}; {request.stopped}" if request.stopped else line


def fitted(entries: Sequence[tuple[str, str]], room: float) -> list[str]:
    """Of entries in a short and a long form as many as fit into so many characters, each as long as it can be."""
    rows: list[str] = []
    for forms in entries:
        row = next((form for form in reversed(forms) if len(form) <= room), None)
        if row is None:
            break
        rows.append(row)
        room -= len(row)
    return rows


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def notes(request: RenderRequest, items: Sequence[ContextItem]) -> list[Note]:
    """The lines below the counts that have something to say, each entry on one line."""
    sources, more_sources = _source_entries(items) if request.show_sources else ((), 0)
    omitted = _omission_entries(request.overflow)
    every = (
        Note("sources", "Sources", sources, more_sources),
        Note("also", "Also at", _also_entries(items)),
        Note("merged", "Also", _merged_entries(items)),
        Note("handles", "Handles", _handle_entries(items) if request.show_handles else ()),
        Note(
            "shown_before",
            "Shown before",
            reference_lines(request.shown_before, request.shown_before_more),
            is_listed=True,
        ),
        Note(
            "omitted",
            HANDLED_LABEL if any(one.handle for one in request.overflow) else OMITTED_LABEL,
            omitted,
            len(request.overflow) - len(omitted),
        ),
        Note("failures", "Failed", tuple(map(_failure_entry, request.failures))),
        Note("counts", "Items", _type_counts(items) if request.tokenizer else ()),
        Note("tokenizer", "Counted with", (quote(request.tokenizer),) if request.tokenizer else ()),
        Note("summary", "Summary", (quote(request.summary),) if request.summary else (), is_single=True),
    )
    return [note for note in every if note.entries]


def _type_counts(items: Sequence[ContextItem]) -> tuple[str, ...]:
    """`12 code`, `3 commits`: the items of each context type, in the order of the types."""
    counts = [(name, sum(item.source == kind for item in items)) for name, kind in CONTEXT_TYPES.items()]
    return tuple(f"{count} {name}" for name, count in counts if count)


def note_lines(request: RenderRequest, items: Sequence[ContextItem]) -> str:
    """The notes as lines of text, each with the line break before it."""
    return "".join(f"\n{note.label}: {line}" for note in notes(request, items) for line in note.lines)


def _source_entries(items: Sequence[ContextItem]) -> tuple[tuple[str, ...], int]:
    """The first ten sources, and how many more there are."""
    return tuple(map(_source_entry, items[:SOURCES_SHOWN])), max(len(items) - SOURCES_SHOWN, 0)


def _source_entry(item: ContextItem) -> str:
    path = file_path(item)
    if not path:
        return quote(record_title(item))
    start = _entity_line(item)
    return quote(f"{path}:{start}" if start else path)


def _entity_line(item: ContextItem) -> int:
    """Where the best entity of a file begins; what has no name, as its imports, only if there is nothing else."""
    for row in item.metadata.get("entities", ()):
        if row["start_line"] and any(piece.name == row["qualified_name"] for piece in item.pieces):
            return int(row["start_line"])
    return next((piece.start for piece in item.pieces if piece.name), item.pieces[0].start)


def _also_entries(items: Sequence[ContextItem]) -> tuple[str, ...]:
    """Where shown code stands word for word as well: `src/a.js:3 = src/b.js:3-9, src/c.js:4-10`."""
    return tuple(
        f"{quote(f'{file_path(item)}:{line}')} = {_places(tuple(rows))}"
        for item in items
        for line, rows in groupby(item.metadata.get("also_at", ()), key=lambda row: row["of_line"])
    )


def _places(rows: Sequence[Mapping[str, Any]]) -> str:
    shown = [quote(f"{row['path']}:{row['start_line']}-{row['end_line']}") for row in rows[:ALSO_SHOWN]]
    more = len(rows) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _merged_entries(items: Sequence[ContextItem]) -> tuple[str, ...]:
    """Which records say the same as one that is shown: `memory mem_a = mem_b, note n_1 and 2 more`."""
    return tuple(_merged_entry(item, item.metadata["merged"]) for item in items if item.metadata.get("merged"))


def _merged_entry(item: ContextItem, rows: Sequence[Mapping[str, str]]) -> str:
    shown = [
        quote(row["id"] if row["source"] == item.source else f"{row['source']} {row['id']}")
        for row in rows[:ALSO_SHOWN]
    ]
    more = len(rows) - len(shown)
    own = quote(f"{item.source} {item.metadata['id']}")
    return f"{own} = {', '.join(shown)}" + (f" and {more} more" if more else "")


def _handle_entries(items: Sequence[ContextItem]) -> tuple[str, ...]:
    """Where the rest of what is shown in part lies: `src/a.py:10-40 a2b3c4d5`."""
    cuts = [f"{quote(f'{file_path(item)}:{cut.start}-{cut.end}')} {cut.handle}" for item in items for cut in item.cuts]
    records = [
        f"{quote(record_title(item))} {item.handle}"
        for item in items
        if not file_path(item) and item.detail is not Detail.FULL and item.handle
    ]
    return (*cuts, *records)


def reference_lines(known: Sequence[ShownBefore], more: int) -> tuple[str, ...]:
    """A line for each, and one for the number of those that are not named."""
    return (*map(shown_before_entry, known), *((f"and {more} more",) if more else ()))


def shown_before_entry(one: ShownBefore) -> str:
    """What a session has already, and the handle that gives it again: `src/a.py:10-40,60-71 a2b3c4d5`."""
    if one.path:
        return f"{quote(one.path)}:{','.join(f'{start}-{end}' for start, end in one.spans)} {one.handle or NO_HANDLE}"
    # A title that ends as a place does cannot be taken for one in quotes.
    return f"{quoted(one.title) if _PLACE_END.search(one.title) else quote(one.title)} {one.handle or NO_HANDLE}"


def _omission_entries(overflow: Sequence[Omission]) -> tuple[str, ...]:
    """The best few, each with the handle that brings it: `src/a.py:10-24 Reader.read a2b3c4d5`, or without its name."""
    entries = list(map(_omission_entry, overflow[:OMISSIONS_SHOWN]))
    return tuple(fitted(entries, OMISSIONS_ROOM) or (entries[0][:1] if entries else ()))


def _omission_entry(omission: Omission) -> tuple[str, str]:
    handle = f" {omission.handle}" if omission.handle else ""
    if not omission.path:
        entry = quote(f"{omission.source.capitalize()} {omission.title}".rstrip()) + handle
        return entry, entry
    place = f"{omission.path}:{omission.start}-{omission.end}" if omission.start else omission.path
    has_name = omission.title not in ("", omission.path)
    return quote(place) + handle, quote(f"{place} {omission.title}" if has_name else place) + handle


def _failure_entry(failure: Failure) -> str:
    message = f"{failure.source}: {failure.message}"
    return quote(f"{message} ({failure.hint})" if failure.hint else message)
