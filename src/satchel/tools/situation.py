"""The situation of one call of a tool: its name, its parameters, and what they say of the task and of files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

LONGEST_VALUE = 4_000
"""Characters of one text among the parameters: a tool may be given a whole file, and less of it than this is shown."""

MOST_VALUES = 200
"""Values of all parameters together, those of lists and mappings inside them too."""

TASK_PARAMETERS = ("task", "query", "question", "prompt", "goal", "description")
"""Parameters that say what a call is for, the plainest first."""

WORD_PARAMETERS = ("intent", "error", "language", "agent")
"""Parameters that say the same as the field of a situation with their name."""

FILE_PARAMETERS = (
    "path", "file", "file_path", "filePath", "filename", "notebook_path", "source", "destination", "uri",
    "paths", "files", "file_paths", "filePaths",
)  # fmt: skip
"""Parameters that name the files which a call works on, one or several."""

_FILE_SCHEME = "file://"


def call_situation(tool: str, params: Mapping[str, Any], root: Path | None = None) -> dict[str, Any]:
    """The situation of a call as `Satchel.situation` takes it: tool, params, and the task, words and files in them.

    Values that no JSON can hold are named by their type. Paths below `root` become relative to it; what leads outside
    is left to the params.
    """
    room = [MOST_VALUES]
    plain = {str(name): _plain(value, room) for name, value in params.items() if name != "_context"}
    found: dict[str, Any] = {"tool": tool, "params": plain}
    tasks = (plain[name] for name in TASK_PARAMETERS if isinstance(plain.get(name), str) and plain[name].strip())
    task = next(tasks, "")
    if task:
        found["task"] = task
    found |= {name: plain[name] for name in WORD_PARAMETERS if isinstance(plain.get(name), str) and plain[name]}
    files = dict.fromkeys(_relative(path, root) for name in FILE_PARAMETERS for path in _texts(plain.get(name)))
    files.pop("", None)
    if files:
        found["files"] = [*files]
    tags = _texts(plain["tags"]) if isinstance(plain.get("tags"), list) else []
    return found | ({"tags": tags} if tags else {})


def _plain(value: object, room: list[int]) -> Any:
    """A value as plain JSON, shortened. `room` holds how many values there may still be."""
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
    """The texts that a parameter gives: itself, or those of its list."""
    if isinstance(value, str):
        return [value]
    return [one for one in value if isinstance(one, str)] if isinstance(value, Iterable) else []


def _relative(path: str, root: Path | None) -> str:
    """A path relative to the root, empty for the root itself and for what a situation cannot name."""
    given = unquote(path.removeprefix(_FILE_SCHEME)) if path.startswith(_FILE_SCHEME) else path
    if "\n" in given or "://" in given or "\0" in given:
        return ""
    if root is None or not os.path.isabs(given):  # noqa: PTH117 - a text, which may be too long for a path
        return given
    for top in dict.fromkeys((str(root), os.path.realpath(root))):
        inside = os.path.relpath(os.path.normpath(given), top)
        if not inside.startswith(".."):
            return "" if inside == "." else Path(inside).as_posix()
    return ""
