"""Resources: documents and handles by URI. Nothing is read by path: an id or a handle is known, or it is not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from mcp import types

from satchel.operations.ask import DOCUMENT, EXPAND
from satchel.operations.operation import Operation

MIME_TYPE = "text/markdown"

LONGEST_URI = 4_000
"""Characters: a path of an index has at most 4,096 bytes, and hardly one is near that."""

TEMPLATES = types.ListResourceTemplatesResult(
    resource_templates=[
        types.ResourceTemplate(
            name="document",
            title="A document",
            uri_template="satchel://document/{+id}",
            description="All of a file, definition, commit, memory, experience or note, by the id that `search` gives.",
            mime_type=MIME_TYPE,
        ),
        types.ResourceTemplate(
            name="handle",
            title="What a handle stands for",
            uri_template="satchel://handle/{handle}",
            description="All of what an answer showed in part or left out, by its 8-character handle.",
            mime_type=MIME_TYPE,
        ),
    ]
)

RESOURCE_TOKENS = 20_000
"""Of a resource: below what hosts take. What is longer is cut, with a handle for the rest."""

_URI = re.compile(r"satchel://(document|handle)/(.+)", re.DOTALL)


def parsed(uri: str) -> tuple[Operation, Mapping[str, Any]] | None:
    """The operation that reads a URI, with its arguments; None for a URI that is none of ours."""
    found = _URI.fullmatch(uri) if len(uri) <= LONGEST_URI else None
    if found is None:
        return None
    named = unquote(found[2])
    operation, asked = (DOCUMENT, {"id": named}) if found[1] == "document" else (EXPAND, {"handles": [named]})
    return operation, {**asked, "max_tokens": RESOURCE_TOKENS}


def not_found(uri: str) -> str:
    """The same for what is missing, what is forbidden and what is no URI of ours."""
    shown = uri if len(uri) <= 100 else f"{uri[:100]}..."
    return f"there is no resource {shown!r}: `search` gives ids for satchel://document/ID, answers give handles"


def contents(uri: str, text: str) -> types.ReadResourceResult:
    """The text of a resource."""
    return types.ReadResourceResult(
        contents=[types.TextResourceContents(uri=uri, mime_type=MIME_TYPE, text=text)], ttl_ms=0, cache_scope="private"
    )
