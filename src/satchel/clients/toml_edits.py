"""Edits of TOML text: a table put at the end of the file, taken out again, and nothing else touched.

A table is added as text, which leaves every other byte alone. To take one out of a file that changed meanwhile is the
work of tomlkit, which keeps comments and order.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from satchel.clients.json_edits import Edit, Edited, StructureError

_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)|\(at end of document\)")

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


class TomlTextError(ValueError):
    """The text is no TOML: what is wrong, and where (1-based)."""

    def __init__(self, error: tomllib.TOMLDecodeError, text: str) -> None:
        said = str(error)
        place = _PLACE.search(said)
        super().__init__(_PLACE.sub("", said).strip())
        is_known = place is not None and place.group(1) is not None
        self.line = int(place.group(1)) if place is not None and is_known else text.count("\n") + 1
        self.column = int(place.group(2)) if place is not None and is_known else 1


def parse(text: str) -> Mapping[str, Any]:
    """The tables of a text. Raises TomlTextError."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise TomlTextError(error, text) from error


def put(text: str, path: Sequence[str], table: Mapping[str, Any]) -> Edited:
    """Put a table with this name at the end. Raises StructureError where the file has no place for it."""
    before = parse(text)
    line_end = "\r\n" if "\r\n" in text else "\n"
    is_empty = not text.strip("\ufeff \t\r\n")
    gap = "" if is_empty else line_end if text.endswith("\n") else line_end * 2
    lines = [f"[{'.'.join(map(_key, path))}]", *(f"{_key(key)} = {_value(value)}" for key, value in table.items())]
    added = gap + "".join(f"{line}{line_end}" for line in lines)
    try:
        found = parse(text + added)
    except TomlTextError:  # `mcp_servers = { ... }` is closed: a table cannot be added to it from outside
        raise StructureError(path[:-1], "an open table: write it as [table] headers first") from None
    for key in path[:-1]:
        before, found = before.get(key, {}), found[key]
    if {key: value for key, value in found.items() if key != path[-1]} != dict(before):
        raise StructureError(path[:-1], "a table that takes another one")
    return Edited(text + added, (Edit(len(text), "", added),))


def take(text: str, path: Sequence[str]) -> str:
    """The text without this table and what is below it; an enclosing table that is then empty goes as well."""
    import tomlkit

    mark = "\ufeff" if text.startswith("\ufeff") else ""
    document = tomlkit.parse(text.removeprefix("\ufeff"))
    containers: list[Any] = [document]
    for key in path[:-1]:
        containers.append(containers[-1][key])
    for key, container in zip(reversed(path), reversed(containers), strict=True):
        del container[key]
        if len(container):
            break
    return mark + tomlkit.dumps(document)


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else json.dumps(name)


def _value(value: Any) -> str:
    """A value on one line; the texts of TOML are written as those of JSON, apart from DEL, which no command holds."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(key)} = {_value(inner)}' for key, inner in value.items())} }}"
    return json.dumps(value, ensure_ascii=False)
