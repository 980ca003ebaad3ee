"""The tools as a client sees them: made from the operations, the same bytes in every process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp import types

from satchel.operations.operation import Operation
from satchel.operations.registry import TOOLS

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
    """An operation as a tool."""
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
    """All tools, in their fixed order, on one page."""
    return types.ListToolsResult(tools=[tool(operation) for operation in TOOLS])
