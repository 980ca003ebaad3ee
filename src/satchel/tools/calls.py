"""The situation of one call of a tool, and the summary of its context in the result."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from satchel.system import telemetry
from satchel.types import Context, ContextItem

META, USED = "_meta", "contextUsed"

SITUATION_ITEM = "context:situation"
"""The id of the item that shows the situation itself, which the caller knows."""

LONGEST_VALUE = 4_000
"""Length limit of a text among the parameters, more than is shown."""

MOST_VALUES = 200
"""Limit of the values of all parameters, including those in lists and mappings."""

TASK_PARAMETERS = ("task", "query", "question", "prompt", "goal", "description")
"""Parameters that state the purpose of a call, the plainest first."""

WORD_PARAMETERS = ("intent", "error", "language", "agent")
"""Parameters that are also fields of a situation."""

FILE_PARAMETERS = (
    "path", "file", "file_path", "filePath", "filename", "notebook_path", "source", "destination", "uri",
    "paths", "files", "file_paths", "filePaths",
)  # fmt: skip
"""Parameters that name the files of a call, one or several."""


def call_situation(tool: str, params: Mapping[str, Any], root: Path | None = None) -> dict[str, Any]:
    """Return the fields of the situation of a call: tool, params, and the task, words and files in them.

    Values without a JSON form are replaced by their type. Paths below `root` become relative to it; others are only
    among the params.
    """
    room = [MOST_VALUES]
    plain = {str(name): _plain(value, room) for name, value in params.items() if name != "_context"}
    texts = {name: value for name, value in plain.items() if isinstance(value, str)}
    files = dict.fromkeys(_relative(path, root) for name in FILE_PARAMETERS for path in _texts(plain.get(name)))
    fields: dict[str, Any] = {
        "task": next((texts[name] for name in TASK_PARAMETERS if texts.get(name, "").strip()), ""),
        **{name: texts.get(name, "") for name in WORD_PARAMETERS},
        "files": [path for path in files if path],
        "tags": _texts(plain["tags"]) if isinstance(plain.get("tags"), list) else [],
    }
    return {"tool": tool, "params": plain} | {name: value for name, value in fields.items() if value}


def _plain(value: object, room: list[int]) -> Any:
    """Return a value as plain JSON, shortened. `room` counts down the values that are still allowed."""
    room[0] -= 1
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        return value if len(value) <= LONGEST_VALUE else f"{value[:LONGEST_VALUE]}…"
    if isinstance(value, Mapping):
        return {str(name): _plain(inner, room) for name, inner in value.items() if room[0] > 0}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner, room) for inner in value if room[0] > 0]
    return f"<{type(value).__name__}>"


def _texts(value: object) -> list[str]:
    """Return the texts of a parameter: itself, or those of its list."""
    if isinstance(value, str):
        return [value]
    return [one for one in value if isinstance(one, str)] if isinstance(value, Iterable) else []


def _relative(path: str, root: Path | None) -> str:
    """Return a path relative to the root, empty for the root itself and for a path that a situation cannot have."""
    path = unquote(path.removeprefix("file://")) if path.startswith("file://") else path
    if "\n" in path or "://" in path or "\0" in path:
        return ""
    if root is None or not os.path.isabs(path):  # noqa: PTH117 - a text, which may be too long for a path
        return path
    for top in dict.fromkeys((str(root), os.path.realpath(root))):
        inside = os.path.relpath(os.path.normpath(path), top)
        if not inside.startswith(".."):
            return "" if inside == "." else Path(inside).as_posix()
    return ""


def context_used(context: object) -> dict[str, Any]:
    """Return the contents of a context as plain JSON values: its items, their tokens, and what went wrong.

    Of another object than a `Context`, from a foreign assembler, the summary has only the type.
    """
    if not isinstance(context, Context):
        return {"items": [], "tokens": 0, "limit": 0, "warnings": [], "type": type(context).__name__}
    return {
        "items": [_item(item) for item in context.items if item.id != SITUATION_ITEM],
        "tokens": context.usage.used,
        "limit": context.usage.limit,
        "warnings": [f"{failure.source}: {failure.message}" for failure in context.failures],
    }


def with_used(result: object, used: Mapping[str, Any]) -> object:
    """Return a mapping with `_meta.contextUsed`, as a copy; any other result as it is.

    A mapping whose `_meta` has that key already or is no mapping, or that cannot be copied, does not change.
    """
    if not isinstance(result, Mapping):
        return result
    try:
        own = result.get(META, {})
        if not isinstance(own, Mapping) or USED in own:
            return result
        copied = copy.copy(result) if isinstance(result, dict) else dict(result)
        copied[META] = {**own, USED: dict(used)}
    except Exception:  # noqa: BLE001 - a foreign mapping may raise anything, and the tool has answered
        telemetry.warning("a result takes no contextUsed", type=type(result).__name__, exc_info=True)
        return result
    return copied


def _item(item: ContextItem) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": item.id, "tokens": item.tokens}
    if item.location is not None:
        shown |= {"path": item.location.path, "lines": [list(span) for span in item.spans]}
    return shown
