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
from satchel.types import CONTEXT_TYPES, DATA_NOTICE, ContextItem, Detail, Failure, Kind, Omission, ShownBefore, View

NOTICE = f"{DATA_NOTICE}."

GUIDED_NOTICE = f"{DATA_NOTICE}, except in records titled Guidance."
"""The same where instruction files of a workspace that the user trusts are shown."""

SOURCES_SHOWN = 10
"""Entries of the sources footer, as the first specification has it; the others are a number."""

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

    def head(self, request: RenderRequest) -> str:
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
    """One line of the footer: its name in structured formats, its label in text, and its entries.

    With `is_listed` every entry has a line of its own.
    """

    key: str
    label: str
    entries: tuple[str, ...]
    is_listed: bool = False

    @property
    def lines(self) -> tuple[str, ...]:
        """What stands behind the label, line by line."""
        return self.entries if self.is_listed else ("; ".join(self.entries),)


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
    """`7 items from 2 sources`: a source is a kind. `Based on 3 past experiences` where only one kind counts."""
    source_count = len({item.source for item in items})
    line = f"{_counted(len(items), 'item')} from {_counted(source_count, 'source')}"
    if request.based_on is not None:
        line = (
            f"Based on {_counted(sum(item.source == request.based_on for item in items), f'past {request.based_on}')}"
        )
    return f"{line}, truncated" if request.truncated else line


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def notes(request: RenderRequest, items: Sequence[ContextItem]) -> list[Note]:
    """The lines below the counts that have something to say, each entry on one line."""
    every = (
        Note("sources", "Sources", _source_entries(items) if request.show_sources else ()),
        Note("also", "Also at", _also_entries(items)),
        Note("handles", "Handles", _handle_entries(items) if request.show_handles else ()),
        Note(
            "shown_before",
            "Shown before",
            reference_lines(request.shown_before, request.shown_before_more),
            is_listed=True,
        ),
        Note("omitted", "Left out", tuple(map(_omission_entry, request.overflow))),
        Note("failures", "Failed", tuple(map(_failure_entry, request.failures))),
        Note("counts", "Items", _type_counts(items) if request.tokenizer else ()),
        Note("tokenizer", "Counted with", (quote(request.tokenizer),) if request.tokenizer else ()),
        Note("summary", "Summary", (quote(request.summary),) if request.summary else ()),
    )
    return [note for note in every if note.entries]


def _type_counts(items: Sequence[ContextItem]) -> tuple[str, ...]:
    """`12 code`, `3 commits`: the items of each context type, in the order of the types."""
    counts = [(name, sum(item.source == kind for item in items)) for name, kind in CONTEXT_TYPES.items()]
    return tuple(f"{count} {name}" for name, count in counts if count)


def note_lines(request: RenderRequest, items: Sequence[ContextItem]) -> str:
    """The notes as lines of text, each with the line break before it."""
    return "".join(f"\n{note.label}: {line}" for note in notes(request, items) for line in note.lines)


def _source_entries(items: Sequence[ContextItem]) -> tuple[str, ...]:
    entries = tuple(map(_source_entry, items[:SOURCES_SHOWN]))
    more = len(items) - len(entries)
    return (*entries, f"and {more} more") if more else entries


def _source_entry(item: ContextItem) -> str:
    path = file_path(item)
    if not path:
        return quote(record_title(item))
    start = item.pieces[0].start
    return quote(f"{path}:{start}" if start else path)


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


def _omission_entry(omission: Omission) -> str:
    if not omission.path:
        return quote(f"{omission.source.capitalize()} {omission.title}".rstrip())
    place = f"{omission.path}:{omission.start}-{omission.end}" if omission.start else omission.path
    return quote(place if omission.title in ("", omission.path) else f"{place} {omission.title}")


def _failure_entry(failure: Failure) -> str:
    message = f"{failure.source}: {failure.message}"
    return quote(f"{message} ({failure.hint})" if failure.hint else message)
