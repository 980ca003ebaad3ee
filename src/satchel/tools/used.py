"""What a result says of the context that went with its call."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from satchel import logs
from satchel.types import Context, ContextItem, Failure, Format, Usage

META, USED = "_meta", "contextUsed"

SITUATION_ITEM = "context:situation"
"""The id of the item that shows the situation itself: what the caller said, and nothing new to it."""


def context_used(context: object) -> dict[str, Any]:
    """What was in a context, as plain JSON values: its items, their tokens, and what went wrong.

    Of something else than a `Context`, which an assembler of your own may give, only its kind is known.
    """
    if not isinstance(context, Context):
        return {"items": [], "tokens": 0, "limit": 0, "warnings": [], "type": type(context).__name__}
    return {
        "items": [_item(item) for item in context.items if item.id != SITUATION_ITEM],
        "tokens": context.usage.used,
        "limit": context.usage.limit,
        "warnings": [f"{failure.source}: {failure.message}" for failure in context.failures],
    }


def no_context(failure: Failure, limit: int) -> Context:
    """An empty context that says why it is empty: a tool that reads its text finds none."""
    return Context("", "", Format.MARKDOWN, (), Usage(limit, 0, "", exact=True), failures=(failure,))


def with_used(result: object, used: Mapping[str, Any]) -> object:
    """A mapping with `_meta.contextUsed`, as a copy; any other result as it is.

    So is one whose `_meta` says that already or is no mapping, and one that cannot be copied.
    """
    if not isinstance(result, Mapping):
        return result
    try:
        own = result.get(META, {})
        if not isinstance(own, Mapping) or USED in own:
            return result
        copied = copy.copy(result) if isinstance(result, dict) else dict(result)
        copied[META] = {**own, USED: dict(used)}
    except Exception:  # noqa: BLE001 - a mapping of somebody else's may refuse anything, and the tool has answered
        logs.warning("a result takes no contextUsed", type=type(result).__name__, exc_info=True)
        return result
    return copied


def _item(item: ContextItem) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": item.id, "tokens": item.tokens}
    if item.location is not None:
        shown |= {"path": item.location.path, "lines": [list(span) for span in item.spans]}
    return shown
