"""What a searcher gives back: documents with their content and what they say of themselves, in plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from satchel import outside
from satchel.assemble.items import record_metadata
from satchel.sources.experiences import shown_record
from satchel.store.protocol import Store
from satchel.types import Hit, Kind, Role, Signal

_VAGUE = frozenset({Role.RECORD, Role.TEXT, Role.GAP})
"""Roles that say less than the kind does."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a search. `score` is absolute, 0 to 1: the share of the question that it matches.

    `type` is the kind, or what the part of a file is (`function`). `file_path`, `start_line` and `end_line` are empty
    and 0 for a record. `metadata` holds what the kind defines, named as in the items of a context.
    """

    id: str
    source: str
    type: str
    name: str
    content: str
    score: float
    file_path: str = ""
    start_line: int = 0
    end_line: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    signals: tuple[Signal, ...] = ()


def finding(hit: Hit, store_of: Callable[[Kind], Store], allow: tuple[str, ...] = ()) -> Finding:
    """A hit with its content as it was indexed; an experience shows all of its sides."""
    document = hit.document
    text = store_of(document.kind).text(int(document.fields["bundle"]))
    location = document.location
    if location is None:
        content = outside.text(shown_record(document.kind, document.fields, text), allow)
        metadata = record_metadata(document.id, document.fields, document.created)
        return Finding(
            document.id, document.kind.value, document.kind.value, document.title, content, hit.relevance,
            metadata=metadata, signals=hit.signals,
        )  # fmt: skip
    lines = text.split("\n")[location.start_line - 1 : location.end_line]
    metadata = {
        "file_path": location.path,
        "start_line": location.start_line,
        "end_line": location.end_line,
        "language": document.fields.get("language", ""),
        "qualified_name": document.title,
        "signature": document.signature,
    }
    return Finding(
        document.id, document.kind.value, document.kind.value if document.role in _VAGUE else document.role.value,
        document.title, outside.text("\n".join(lines), allow), hit.relevance, location.path, location.start_line,
        location.end_line, metadata, hit.signals,
    )  # fmt: skip
