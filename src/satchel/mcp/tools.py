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
"""Largest structured content as it is sent, in tokens; it comes on top of the text."""

SPARE_TOKENS = 20
"""Reserve for the numbers that are written last, so that they never exceed the limit."""

NOTE_TOKENS = 150
"""Tokens that failures and notes may use: half remains for ids and handles."""

LINE_CHARACTERS = 160
"""Length of a failure or a note; its beginning names the event."""

MOST_CUTS = 3
"""Handles of cuts shown per item: one long file must not use the room of the others."""

_USAGE = ("limit", "used", "tokenizer", "exact", "stopped")


def structured(answered: Answered) -> dict[str, Any]:
    """Return ids, handles and usage of an answer. `more` counts the items that did not fit; the text shows them all."""
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
    """Return the tokens of a value as it is sent."""
    return counter().count(json.dumps(content, ensure_ascii=False, separators=(",", ":")))


def _fill(content: Mapping[str, Any], into: list[Any], rows: Sequence[Any], most: int) -> int:
    """Append rows while `content` has at most `most` tokens; returns how many were appended."""
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
    """Return the ids, handles and cuts of the rows of an envelope."""
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
"""Schema of the structured content of every tool: ids and handles of the text, without the text itself."""


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
