"""Operations as MCP tools, with the structured part of their answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mcp import types

from satchel.operations.operation import Answered, Operation, without_home
from satchel.operations.registry import TOOLS
from satchel.tokens import counter

MOST_TOKENS = 300
"""Of the structured content as it is sent. The text is what was asked for; this is what it costs beside it."""

SPARE_TOKENS = 20
"""Kept free for the numbers that are written last, so that they never lead over the limit."""

NOTE_TOKENS = 150
"""Up to here failures and notes may fill it: half stays for ids and handles."""

LINE_CHARACTERS = 160
"""Of a failure or a note: what happened stands at its beginning."""

MOST_CUTS = 3
"""Handles of the parts of one item: one long file must not take the room of the others."""

_USAGE = ("limit", "used", "tokenizer", "exact", "stopped")


def structured(answered: Answered) -> dict[str, Any]:
    """What a program wants of an answer. `more` counts the items that did not fit in here; the text shows them all."""
    envelope = answered.envelope
    content: dict[str, Any] = {"items": [], "more": 0}
    if "usage" in envelope:
        content["usage"] = {name: envelope["usage"][name] for name in _USAGE}
    failures = [f"{one['source']}: {one['message']}" for one in envelope.get("failures", ())]
    for name, lines in (("failures", failures), ("notes", answered.notes)):
        if lines:
            content[name] = []
            _fill(content, content[name], [_short(line) for line in lines], NOTE_TOKENS)
    overflow = envelope.get("overflow", ())
    if overflow:
        content["left_out"] = {"count": len(overflow), "handles": []}
    rows = _rows(envelope)
    content["more"] = len(rows) - _fill(content, content["items"], rows, MOST_TOKENS - SPARE_TOKENS)
    if overflow:
        handles = [row["handle"] for row in overflow]
        _fill(content, content["left_out"]["handles"], handles, MOST_TOKENS - SPARE_TOKENS)
    return content


def cost(content: Mapping[str, Any]) -> int:
    """Return tokens of a value as it is sent."""
    return counter().count(json.dumps(content, ensure_ascii=False, separators=(",", ":")))


def _fill(content: Mapping[str, Any], into: list[Any], rows: Sequence[Any], most: int) -> int:
    """Put in as many rows as there is room for while all of it has `most` tokens; returns how many that are."""
    for count, row in enumerate(rows):
        into.append(row)
        if cost(content) > most:
            into.pop()
            return count
    return len(rows)


def _short(line: str) -> str:
    text = without_home(line)
    return text if len(text) <= LINE_CHARACTERS else f"{text[: LINE_CHARACTERS - 1]}…"


def _rows(envelope: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what an envelope lists, each by its id and what else leads on from there."""
    for name in ("items", "hits", "memories", "experiences"):
        if name in envelope:
            return [_row(one) for one in envelope[name]]
    return [_row(envelope.get("memory", envelope))]


def _row(one: Mapping[str, Any]) -> dict[str, Any]:
    ids = {name: one[name] for name in ("id", "handle", "status") if one.get(name)}
    cuts = [cut["handle"] for cut in one.get("cuts", ())[:MOST_CUTS]]
    return ids | ({"cuts": cuts} if cuts else {})


TOOLS_BY_NAME: Mapping[str, Operation] = {operation.name: operation for operation in TOOLS}

_OBJECT: Mapping[str, Any] = {"type": "object"}

OUTPUT_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "items": {
            "type": "array",
            "items": {"type": "object", "properties": {"id": {"type": "string"}, "handle": {"type": "string"}}},
        },
        "more": {"type": "integer"},
        "usage": _OBJECT,
        "left_out": _OBJECT,
        "failures": {"type": "array"},
        "notes": {"type": "array"},
    },
    "required": ["items", "more"],
}
"""What the structured content of every tool has: what the text shows, by id and handle. The text is not in it again."""


def tool(operation: Operation) -> types.Tool:
    """Return an operation as a tool."""
    hints = operation.hints
    return types.Tool(
        name=operation.name,
        title=operation.title,
        description=operation.description,
        input_schema=operation.json_schema(rare=False),
        output_schema=dict(OUTPUT_SCHEMA),
        annotations=types.ToolAnnotations(
            title=operation.title,
            read_only_hint=hints.is_read_only,
            destructive_hint=hints.is_destructive,
            idempotent_hint=hints.is_idempotent,
            open_world_hint=hints.is_open,
        ),
    )


def listed() -> types.ListToolsResult:
    """Return all tools, in their fixed order, on one page."""
    return types.ListToolsResult(tools=[tool(operation) for operation in TOOLS])
