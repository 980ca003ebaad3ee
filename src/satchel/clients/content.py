"""The text of one settings file with its values, whatever it is written in, and the edits that it takes."""

from __future__ import annotations

import copy
import os
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from satchel.clients import json_edits, toml_edits
from satchel.clients.json_edits import Edited, StructureError
from satchel.clients.json_text import JsonTextError, parse
from satchel.clients.launch import runs_satchel
from satchel.clients.targets import Target, Want
from satchel.clients.toml_edits import TomlTextError
from satchel.errors import ClientFileError

MISSING = object()
"""In place of a value that is not there: null is one."""


def data_of(target: Target, text: str) -> Any:
    """The values of a text; one without any holds none. Raises ClientFileError that names the line."""
    try:
        if target.is_toml:
            return toml_edits.parse(text)
        return parse(text).data if text.strip("\ufeff \t\r\n") else {}
    except (JsonTextError, TomlTextError) as error:
        raise ClientFileError(
            f"{target.file}:{error.line}:{error.column}: {error}; mend the file and try again, nothing was written"
        ) from error


def value_at(data: Any, path: tuple[str, ...]) -> Any:
    """What stands below these keys, MISSING where nothing does."""
    for key in path:
        if not isinstance(data, Mapping) or key not in data:
            return MISSING
        data = data[key]
    return data


def guarded(target: Target, edit: Callable[[], Edited]) -> Edited:
    """What an edit gives. Raises ClientFileError where the file is built in another way than it has to be."""
    try:
        return edit()
    except StructureError as error:
        raise ClientFileError(f"{target.file}: {error}; nothing was written") from error


def put(target: Target, text: str, want: Want) -> Edited:
    """The text with this value put in."""
    if target.is_toml:
        return guarded(target, lambda: toml_edits.put(text, want.path, want.value))
    return guarded(target, lambda: json_edits.put(text, want.path, want.value, append=want.is_element))


def checked(target: Target, text: str, expected: Any) -> str:
    """The text, if it holds exactly these values. An edit that does anything else is a fault, and is not written."""
    if data_of(target, text) != expected:
        raise ClientFileError(f"{target.file} could not be edited without changing something else; nothing was written")
    return text


def encoded(target: Target, text: str) -> bytes:
    """The text as it is written. Raises ClientFileError for a folder whose name these files cannot hold."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ClientFileError(
            f"{target.file} cannot hold the name of this folder, which is not UTF-8; nothing was written: "
            "rename the folder, or try another --scope"
        ) from error


def with_wants(data: Any, target: Target) -> Any:
    """The values as they have to be after set-up."""
    data = copy.deepcopy(data)
    for want in target.wants:
        inner = data
        for key in want.path[:-1]:
            inner = inner.setdefault(key, {})
        if want.is_element:
            elements = inner.setdefault(want.path[-1], [])
            own = own_elements(elements, want)
            if want.value in elements:
                continue
            if own:
                elements[own[0]] = want.value
            else:
                elements.append(want.value)
        elif not (want.is_optional and want.path[-1] in inner):
            inner[want.path[-1]] = want.value
    return data


def own_elements(elements: Any, want: Want) -> list[int]:
    """Which elements of a list are hooks of satchel for the same event of its own."""
    event = _hook_event(want.value)
    if event is None or not isinstance(elements, list):
        return []
    return [at for at, element in enumerate(elements) if _hook_event(element) == event]


def _hook_event(element: Any) -> str | None:
    """The event of an element that starts `satchel hook EVENT` and nothing else, else None."""
    if not isinstance(element, Mapping):
        return None
    entries = element.get("hooks", [element])
    if not isinstance(entries, list) or not entries:
        return None
    events = {_command_event(entry) for entry in entries}
    return events.pop() if len(events) == 1 else None


def _command_event(entry: Any) -> str | None:
    """The event for which this hook starts satchel, None where it starts something else."""
    command = entry.get("command") if isinstance(entry, Mapping) else None
    if not isinstance(command, str):
        return None
    try:
        words = [*shlex.split(command), *map(str, entry.get("args") or ())]
    except ValueError:
        return None
    return words[-1] if len(words) >= 3 and runs_satchel(words[:-1], "hook") else None


def is_own_server(value: Any) -> bool:
    """Whether an entry starts the server of satchel."""
    if not isinstance(value, Mapping):
        return False
    arguments = value.get("args")
    words = [str(value.get("command", "")), *(map(str, arguments) if isinstance(arguments, list) else ())]
    return runs_satchel(words, "mcp")


def display(file: Path) -> str:
    """A path as people write it: from the current folder on, else from the home folder on, where it lies in there."""
    for prefix, folder in (("", Path.cwd()), ("~/", Path(os.environ.get("HOME") or "/nowhere"))):
        if file.is_relative_to(folder):
            return f"{prefix}{file.relative_to(folder)}"
    return str(file)
