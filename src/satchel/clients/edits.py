"""Edits of the text of settings files: a value of JSON is changed in place, TOML gets a table at its end.

Every byte outside of the edited value remains, comments too: positions come from the text with blanks in their place.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from satchel.clients.targets import ClientFile, Want, runs_satchel, words_of
from satchel.errors import ClientFileError
from satchel.safety import sanitize
from satchel.types import Json

MISSING = object()
"""A value that does not exist: null is a value."""

LINE_CHARACTERS = 240
"""Length limit of a line that is shown: a settings file may be one line."""

_ENTRY_LINES = 20
_HIDDEN = frozenset({"env", "headers", "http_headers"})
_BYTE_ORDER_MARK = "\ufeff"
_BLANK = f"{_BYTE_ORDER_MARK} \t\r\n"

_TEXT = r'("(?:[^"\\\r\n]|\\.)*")'
_COMMENT = re.compile(_TEXT + r"|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING_COMMA = re.compile(_TEXT + r"|,(?=\s*[}\]])")
_DECODER = json.JSONDecoder()
_TOML_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)|\(at end of document\)")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def data_of(target: ClientFile, text: str) -> Any:
    """Parse a text; a blank one is an empty mapping. Raises ClientFileError that names the line."""
    try:
        if target.is_toml:
            return _parse_toml(text)
        plain = _plain(text).removeprefix(_BYTE_ORDER_MARK)
        return json.loads(plain if plain.strip() else "{}", parse_constant=_refuse, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        line, column, reason = error.lineno, error.colno, error.msg
    except tomllib.TOMLDecodeError as error:
        line, column, reason = _toml_place(str(error), text)
    except ValueError as error:
        line, column, reason = 1, 1, str(error)
    except RecursionError:
        line, column, reason = 1, 1, "too many brackets inside each other"
    raise ClientFileError(
        f"{target.file}:{line}:{column}: {reason}; fix the file and try again, nothing was written"
    ) from None


@lru_cache
def _plain(text: str) -> str:
    """Blank out comments and trailing commas, so that every other character keeps its place."""
    return _TRAILING_COMMA.sub(lambda match: match[1] or " ", _uncommented(text))


def _uncommented(text: str) -> str:
    return _COMMENT.sub(lambda match: match[1] or re.sub(r"[^\r\n]", " ", match[0]), text)


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _unique(items: list[tuple[str, Any]]) -> Json:
    if len(data := dict(items)) < len(items):
        raise ValueError("a key occurs twice in the same mapping")
    return data


class _Child(NamedTuple):
    """A member or element of a container: its key or position, and where it, its value and its end are in the text."""

    key: str | int
    start: int
    value: int
    end: int


def put_json(target: ClientFile, text: str, want: Want) -> str:
    """Put a value below its keys, or at the end of the list there.

    Another value, or a hook of satchel for the same event, is replaced. Raises ClientFileError if the file has another
    structure.
    """
    if not text.strip(_BLANK):
        text = f"{text[: len(text) - len(text.lstrip(_BYTE_ORDER_MARK))]}{{}}\n"
    start, depth = _deepest(target, plain := _plain(text), want.path)
    value, rest = want.value, want.path[depth:]
    if want.is_element and not rest:
        if text[start] != "[":
            raise _wrong_shape(target, want.path, "a list")
        children = _children(plain, start)
        own = own_elements([json.loads(plain[child.value : child.end]) for child in children], want)
        return _replaced(text, children[own[0]].value, value) if own else _inserted(text, start, None, value)
    if not rest:
        return _replaced(text, start, value)
    for key in reversed(rest[1:]):
        value = {key: [value] if want.is_element and key == rest[-1] else value}
    return _inserted(text, start, rest[0], [value] if want.is_element and len(rest) == 1 else value)


def take_json(text: str, path: Sequence[str | int]) -> str:
    """Remove the value below these keys and positions with its line, and the comma behind it or else before it."""
    children = _children(plain := _plain(text), start := _start(plain, path[:-1]))
    at = [child.key for child in children].index(path[-1])
    bare, child = _uncommented(text), children[at]
    begin, after = len(text[: child.start].rstrip(_BLANK)), skipped(bare, child.end)
    is_followed = bare[after] == ","
    rest = text[child.end : after] + text[after + is_followed :]
    if child is not children[-1]:
        return text[: child.start] + rest.lstrip(_BLANK)
    if begin == start + 1:
        return text[:begin] + rest.lstrip(_BLANK)
    in_comment = any(
        match[0].startswith("//") and match.start() < begin <= match.end() for match in _COMMENT.finditer(text)
    )
    if in_comment and not re.match(r"[ \t]*\r?\n", rest):  # what follows must not become a part of the comment
        begin = child.start
    if is_followed or not at:
        return text[:begin] + rest
    comma = skipped(bare, children[at - 1].end)
    return text[:comma] + text[comma + 1 : begin] + rest


def inside(target: ClientFile, text: str, path: Sequence[str]) -> tuple[tuple[str, ...], str] | None:
    """Return the keys and the inner text of the empty mapping or list into which a value of this path would be put."""
    if target.is_toml or not text.strip(_BLANK):
        return None
    start, depth = _deepest(target, plain := _plain(text), path)
    inner = slice(start + 1, _end(plain, start) - 1)
    return None if plain[start] not in "{[" or plain[inner].strip(_BLANK) else (tuple(path[:depth]), text[inner])


def refilled(text: str, path: Sequence[str], inner: str) -> str:
    """Give an empty mapping or list its inner text again, unless it has other comments by now."""
    start = _start(plain := _plain(text), path) + 1
    end = _end(plain, start - 1) - 1
    return text[:start] + inner + text[end:] if text[start:end].strip(_BLANK) == inner.strip(_BLANK) else text


def _start(plain: str, path: Sequence[str | int]) -> int:
    """Return where the value below these keys and positions begins."""
    start = skipped(plain, 0)
    for key in path:
        start = next(child.value for child in _children(plain, start) if child.key == key)
    return start


def _deepest(target: ClientFile, text: str, path: Sequence[str]) -> tuple[int, int]:
    """Return the start of the last existing value on the path, and the number of its keys."""
    start = skipped(text, 0)
    for depth, key in enumerate(path):
        if text[start] != "{":
            raise _wrong_shape(target, path[:depth], "a mapping in braces")
        child = next((child for child in _children(text, start) if child.key == key), None)
        if child is None:
            return start, depth
        start = child.value
    return start, len(path)


def _children(text: str, start: int) -> list[_Child]:
    """List the children of the container that begins at `start`. The text is valid JSON."""
    children: list[_Child] = []
    place = skipped(text, start + 1)
    while text[place] not in "}]":
        key, begin = len(children), place
        if text[start] == "{":
            key, place = _DECODER.raw_decode(text, place)
            place = skipped(text, skipped(text, place) + 1)
        children.append(_Child(key, begin, place, _end(text, place)))
        place = skipped(text, children[-1].end)
        if text[place] == ",":
            place = skipped(text, place + 1)
    return children


def _end(text: str, start: int) -> int:
    end: int = _DECODER.raw_decode(text, start)[1]
    return end


def members(text: str, start: int) -> dict[str, tuple[int, int]]:
    """Return the start and end of each value of the object that begins at `start`. The text is valid JSON."""
    return {str(child.key): (child.value, child.end) for child in _children(text, start)}


def skipped(text: str, place: int) -> int:
    """Return the place of the first character that is not blank."""
    while text[place] in _BLANK:
        place += 1
    return place


def _inserted(text: str, start: int, key: str | None, value: Any) -> str:
    """Insert a value as the last child of the container that begins at `start`, behind the comments there."""
    plain, bare = _plain(text), _uncommented(text)
    children, bracket = _children(plain, start), _end(plain, start) - 1
    name = "" if key is None else json.dumps(key, ensure_ascii=False)
    if children and "\n" not in text[start:bracket] == plain[start:bracket]:
        comma, colon = _separators(text[start:bracket])
        added = comma + (name and name + colon) + json.dumps(value, ensure_ascii=False, separators=(comma, colon))
        return text[: children[-1].end] + added + text[children[-1].end :]
    line_end, outer = _line_end(text), _indentation(text, start)
    inner = outer + _unit(text) if not children else _indentation(text, children[0].start)
    rows = json.dumps(value, ensure_ascii=False, indent=_unit(text)).replace("\n", f"{line_end}{inner}")
    added = f"{line_end}{inner}{name and name + ': '}{rows}"
    place = len(text[:bracket].rstrip(_BLANK))
    if not children:
        return f"{text[:place]}{added}{line_end}{outer}{text[bracket:]}"
    last = children[-1].end
    if bare[skipped(bare, last)] == ",":
        return f"{text[:place]}{added},{text[place:]}"
    return f"{text[:last]},{text[last:place]}{added}{text[place:]}"


def _replaced(text: str, start: int, value: Any) -> str:
    if "\n" in text.strip():
        line_end = _line_end(text)
        written = json.dumps(value, ensure_ascii=False, indent=_unit(text))
        written = written.replace("\n", line_end + _indentation(text, start))
    else:
        written = json.dumps(value, ensure_ascii=False, separators=_separators(text))
    return text[:start] + written + text[_end(_plain(text), start) :]


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _separators(line: str) -> tuple[str, str]:
    return (", ", ": ") if ", " in line or ": " in line else (",", ":")


def _indentation(text: str, offset: int) -> str:
    """Return the blanks at the beginning of a line."""
    line = text[text.rfind("\n", 0, offset) + 1 : offset].lstrip(_BYTE_ORDER_MARK)
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """Return the indentation of one level: that of the first child of the file, if it has a line of its own."""
    children = _children(plain := _plain(text), skipped(plain, 0))
    return (_indentation(text, children[0].start) if children else "") or "  "


def encoded(target: ClientFile, text: str) -> bytes:
    """Encode the text of a file. Raises ClientFileError for a folder whose name is not UTF-8."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ClientFileError(
            f"{target.file} cannot hold the name of this folder, which is not UTF-8; nothing was written: "
            "rename the folder, or try another --scope"
        ) from error


def value_at(data: Any, path: Sequence[str]) -> Any:
    """Return the value below these keys, or MISSING."""
    for key in path:
        if not isinstance(data, Mapping) or key not in data:
            return MISSING
        data = data[key]
    return data


def _wrong_shape(target: ClientFile, path: Sequence[str], shape: str) -> ClientFileError:
    return ClientFileError(f"{target.file}: {'.'.join(path) or 'the file'} is not {shape}; nothing was written")


def own_elements(elements: Any, want: Want) -> list[int]:
    """Return the positions of the hooks of satchel for the same event."""
    event = _hook_event(want.value)
    if event is None or not isinstance(elements, list):
        return []
    return [at for at, element in enumerate(elements) if _hook_event(element) == event]


def _hook_event(element: Any) -> str | None:
    """Return the event of an element that starts `satchel hook EVENT` and nothing else, else None."""
    if not isinstance(element, Mapping):
        return None
    entries = element.get("hooks", [element])
    if not isinstance(entries, list) or not entries:
        return None
    events = {_command_event(entry) for entry in entries}
    return events.pop() if len(events) == 1 else None


def _command_words(entry: Any) -> list[str]:
    """Return the words that a hook starts, none where they cannot be told."""
    command = entry.get("command") if isinstance(entry, Mapping) else None
    if not isinstance(command, str):
        return []
    try:
        return [*shlex.split(command), *map(str, entry.get("args") or ())]
    except ValueError:
        return []


def started_words(target: ClientFile, data: Any) -> Iterator[list[str]]:
    """Yield the words of each entry that starts satchel, a server or a hook, from the data of a client's file."""
    for want in target.wants:
        value = value_at(data, want.path)
        if want.is_element:
            for at in own_elements(value, want):
                yield from map(_command_words, value[at].get("hooks", [value[at]]))
        elif is_own_server(value):
            yield words_of(value)


def _command_event(entry: Any) -> str | None:
    """Return the event for which this hook starts satchel, None where it starts something else."""
    words = _command_words(entry)
    return words[-1] if len(words) >= 3 and runs_satchel(words[:-1], "hook") else None


def is_own_server(value: Any) -> bool:
    """Return whether an entry starts the server of satchel."""
    return isinstance(value, Mapping) and runs_satchel(words_of(value), "mcp")


def _parse_toml(text: str) -> Json:
    return tomllib.loads(text.removeprefix(_BYTE_ORDER_MARK).replace("\r\n", "\n"))


def _toml_place(message: str, text: str) -> tuple[int, int, str]:
    place = _TOML_PLACE.search(message)
    reason = _TOML_PLACE.sub("", message).strip()
    if place is None or place[1] is None:
        return text.count("\n") + 1, 1, reason
    return int(place[1]), int(place[2]), reason


def toml_table(target: ClientFile, text: str, want: Want) -> str:
    """Return the lines that add a table to the end of a text. Raises ClientFileError if it cannot be added."""
    line_end = _line_end(text)
    gap = "" if not text.strip(_BLANK) else line_end if text.endswith("\n") else line_end * 2
    head = f"[{'.'.join(map(_toml_key, want.path))}]"
    lines = [head, *(f"{_toml_key(key)} = {_toml_value(value)}" for key, value in want.value.items())]
    added = gap + "".join(f"{line}{line_end}" for line in lines)
    try:
        after = _parse_toml(text + added)
    except tomllib.TOMLDecodeError:  # `mcp_servers = { ... }` is closed: a table cannot be added to it from outside
        raise _wrong_shape(target, want.path[:-1], "an open table: write it as [table] headers first") from None
    if value_at(after, want.path) != want.value:
        raise _wrong_shape(target, want.path[:-1], "a table that takes another one")
    return added


def without_toml_table(text: str, path: Sequence[str]) -> str:
    """Remove a table, and enclosing tables that are then empty."""
    import tomlkit

    body = text.removeprefix(_BYTE_ORDER_MARK)
    document = tomlkit.parse(body)
    containers: list[Any] = [document]
    for key in path[:-1]:
        containers.append(containers[-1][key])
    for key, container in zip(reversed(path), reversed(containers), strict=True):
        del container[key]
        if len(container):
            break
    rest = tomlkit.dumps(document).rstrip(_BLANK)
    return text[: len(text) - len(body)] + rest + (_line_end(text) if rest else "")


def _toml_key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else json.dumps(name)


def _toml_value(value: Any) -> str:
    """Write a value on one line; texts are as in JSON, apart from DEL, which no command contains."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_toml_key(key)} = {_toml_value(inner)}' for key, inner in value.items())} }}"
    return json.dumps(value, ensure_ascii=False)


def display(file: Path) -> str:
    """Shorten a path: relative to the current folder, else to the home folder, if it is below one of them."""
    for prefix, folder in (("", Path.cwd()), ("~/", Path(os.environ.get("HOME") or "/nowhere"))):
        if file.is_relative_to(folder):
            return f"{prefix}{file.relative_to(folder)}"
    return str(file)


def entry_text(value: Any) -> str:
    """Show an entry as a few lines of indented JSON, cleaned and redacted; variables and headers only by name."""
    if isinstance(value, dict):
        value = {key: dict.fromkeys(inner, "…") if key in _HIDDEN and isinstance(inner, dict) else inner
                 for key, inner in value.items()}  # fmt: skip
    lines = json.dumps(sanitize.value(value), ensure_ascii=False, indent=2).split("\n")
    shown = lines[:_ENTRY_LINES] + (["…"] if len(lines) > _ENTRY_LINES else [])
    return "\n".join(_shortened(line, "") for line in shown)


def diff(name: str, before: bytes | None, after: bytes | None) -> str:
    """Return a unified diff, cleaned and redacted; None means no file. Empty if the contents are equal."""
    old, new = _lines(before), _lines(after)
    heads = ("/dev/null" if before is None else name), ("/dev/null" if after is None else name)
    rows = [row.rstrip("\r\n") for row in unified_diff(old, new, *heads, n=2)]
    # Redaction comes first: half a secret is not recognised any more.
    return "\n".join(_cut_rows(sanitize.text("\n".join(rows)).split("\n")))


def _lines(content: bytes | None) -> list[str]:
    text = (content or b"").decode("utf-8", "replace").removeprefix(_BYTE_ORDER_MARK)
    return text.split("\n")[:-1] if text.endswith("\n") else text.split("\n") if text else []


def _cut_rows(rows: list[str]) -> list[str]:
    """Cut each row to the width; of two long ones that replace each other, show the part that differs."""
    shown = []
    for at, row in enumerate(rows):
        other = rows[at + 1] if row[:1] == "-" and at + 1 < len(rows) else rows[at - 1] if row[:1] == "+" else ""
        shown.append(_shortened(row, other))
    return shown


def _shortened(row: str, other: str) -> str:
    if len(row) <= LINE_CHARACTERS:
        return row
    start = next((at for at, (a, b) in enumerate(zip(row[1:], other[1:], strict=False), 1) if a != b), 1)
    begin = max(1, start - LINE_CHARACTERS // 4)
    part = row[begin : begin + LINE_CHARACTERS]
    return f"{row[:1]}{'… ' if begin > 1 else ''}{part}{' …' if begin + LINE_CHARACTERS < len(row) else ''}"
