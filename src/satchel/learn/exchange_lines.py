"""An exchange of a conversation as one line of an export, and back.

What was said is kept as it is shown, so the transcript that it came from is not needed any more.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from satchel.errors import UsageError
from satchel.learn.times import iso_time, read_time
from satchel.sources.conversations import searched_terms
from satchel.store.extract import extract, extract_record
from satchel.store.records import Bundle, NewBundle
from satchel.types import Kind, Outline, Part, Role

LONGEST_TEXT = 200_000
"""Characters of one exchange; a transcript gives far less, because long prompts and replies are shortened."""

NAME_CHARACTERS = 300

_DIGEST_BYTES = 8
_KEY = re.compile(r"[^\s\x00-\x1f]+")
_TEXTS = ("session", "exchange", "created_at", "speaker", "branch")
_FLAGS = ("compaction", "sidechain", "asks")

Clean = Callable[[str], str]
Data = Mapping[str, Any]


def exchange_data(bundle: Bundle, text: str) -> dict[str, Any]:
    """A stored exchange as plain values, in a fixed order."""
    return {
        "type": "conversation",
        "id": bundle.key,
        "title": bundle.title,
        "text": text,
        "fields": dict(bundle.fields),
        "origin": bundle.origin,
        "workspace": bundle.workspace,
        "created_at": iso_time(bundle.created),
        "updated_at": iso_time(bundle.updated),
    }


def exchange_from(data: Data, clean: Clean) -> NewBundle:
    """The exchange that these values are, to be written. Raises UsageError."""
    key = _text(data, "id", NAME_CHARACTERS)
    if _KEY.fullmatch(key) is None:
        raise UsageError(f"id is {key!r}: it has no blanks")
    text = clean(_text(data, "text", LONGEST_TEXT))
    if not text:
        raise UsageError("text is missing or empty")
    fields = _fields(data, clean)
    speaker = fields.get("speaker", "")
    created = _time(data, "created_at")
    part = Part(Role.RECORD, "", 1, text.count("\n") + 1, speaker)
    return NewBundle(
        kind=Kind.CONVERSATION,
        key=key,
        text=text,
        extraction=extract(text, Outline(Kind.CONVERSATION, (part,)))
        if speaker
        else extract_record(text, Kind.CONVERSATION),
        path_terms=searched_terms(created, fields.get("branch", ""), asks=fields.get("asks", False)),
        content_hash=hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest(),
        title=clean(_text(data, "title", NAME_CHARACTERS)),
        fields=fields,
        created=created,
        updated=_time(data, "updated_at") if "updated_at" in data else created,
        origin=clean(_text(data, "origin", NAME_CHARACTERS)),
        workspace=clean(_text(data, "workspace", NAME_CHARACTERS)),
    )


def _fields(data: Data, clean: Clean) -> dict[str, Any]:
    """What is known of an exchange beside its text; anything else on the line is left out."""
    given = data.get("fields") or {}
    if not isinstance(given, Mapping):
        raise UsageError(f"fields is {type(given).__name__}: it is an object")
    tools = given.get("tools") or {}
    if not isinstance(tools, Mapping):
        raise UsageError(f"tools is {type(tools).__name__}: it is an object")
    kept: dict[str, Any] = {}
    for name in given:  # in the order of the line, so that an export of it is the same line
        if name in _TEXTS:
            kept[name] = clean(_text(given, name, NAME_CHARACTERS))
        elif name == "tools":
            kept[name] = {clean(str(tool)): _count(tools, tool) for tool in tools}
        elif name == "failed_tools":
            kept[name] = _count(given, name)
        elif name in _FLAGS:
            kept[name] = given[name] is True
    return kept


def _text(data: Data, name: str, limit: int) -> str:
    text = data.get(name) or ""
    if not isinstance(text, str):
        raise UsageError(f"{name} is {type(text).__name__}: it is a text")
    if len(text) > limit:
        raise UsageError(f"{name} has {len(text):,} characters: at most {limit:,}")
    return text


def _count(data: Data, name: str) -> int:
    count = data[name]
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise UsageError(f"{name} is {count!r}: it is a number of times")
    return count


def _time(data: Data, name: str) -> float:
    try:
        return read_time(str(data.get(name)))
    except ValueError:
        raise UsageError(f"{name} is {data.get(name)!r}: give a time such as 2026-05-01T10:30:00Z") from None
