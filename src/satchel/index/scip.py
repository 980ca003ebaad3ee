"""Exact references from an index of SCIP, as language servers write it.

The file is a message of Protocol Buffers, of which a few fields are read: `Index{metadata=1, documents=2}`,
`Metadata{project_root=3}`, `Document{relative_path=1, occurrences=2, position_encoding=6}` and
`Occurrence{range=1, symbol=2, symbol_roles=3}`. What is kept of each file is a value of the store below `EXACT`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from satchel.errors import UsageError
from satchel.index.run import ScipReport
from satchel.store.protocol import EXACT
from satchel.types import Kind

if TYPE_CHECKING:
    from satchel.store.database import DatabaseStore
    from satchel.store.protocol import Store

_CODECS = {1: ("utf-8", 1), 3: ("utf-32-le", 4)}
"""How columns are counted, by `position_encoding`; UTF-16 where it is neither of these."""


class Occurrence(NamedTuple):
    """A name at a place: line from 0, columns as `encoding` counts them."""

    symbol: str
    line: int
    start: int
    end: int
    is_definition: bool
    encoding: int


def import_scip(store: DatabaseStore, path: Path, root: Path) -> ScipReport:
    """Replace the exact references of an index by those of a file; `root` is the folder of the index.

    A reference counts where its text is still the name of what it means. Raises UsageError, and changes nothing, for a
    file that cannot be read or is no whole index.
    """
    try:
        found = read_scip(path.read_bytes(), root)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, IndexError) as error:
        problem = f"{path} is not a whole index of SCIP ({error}): write it again, with scip-python for example"
        raise UsageError(problem) from error
    with store.snapshot() as snapshot:
        values, report = _values(snapshot, found)
        before = snapshot.metas(EXACT)
    with store.write() as writer:
        for key in before.keys() - values.keys():
            writer.unset_meta(key)
        for key, value in values.items():
            writer.set_meta(key, value)
    return report


def read_scip(data: bytes, root: Path) -> dict[str, list[Occurrence]]:
    """Return the occurrences of each file, by its path below `root`. Raises ValueError or IndexError for bad data."""
    found: dict[str, list[Occurrence]] = {}
    before, below = "", ""
    for number, value in _fields(data):
        if number == 1:
            uri = next((_text(one) for field, one in _fields(_bytes(value)) if field == 3), "")
            project = Path(unquote(urlsplit(uri).path))
            before = f"{project.relative_to(root).as_posix()}/" if project.is_relative_to(root) and uri else ""
            below = f"{root.relative_to(project).as_posix()}/" if root.is_relative_to(project) and uri else ""
        elif number == 2:
            fields = list(_fields(_bytes(value)))
            path = next((_text(one) for field, one in fields if field == 1), "")
            encoding = next((one for field, one in fields if field == 6 and isinstance(one, int)), 0)
            inner = f"{before.removeprefix('./')}{path}".removeprefix(below.removeprefix("./"))
            found[inner] = [_occurrence(_bytes(one), encoding) for field, one in fields if field == 2]
    if not found:
        raise ValueError("it names no file")
    return found


def _occurrence(data: bytes, encoding: int) -> Occurrence:
    symbol, roles, numbers = "", 0, list[int]()
    for number, value in _fields(data):
        if number == 1:
            numbers += [value] if isinstance(value, int) else _numbers(value)
        elif number == 2:
            symbol = _text(value)
        elif number == 3 and isinstance(value, int):
            roles = value
    if len(numbers) not in {3, 4}:
        raise ValueError("a range has three or four numbers")
    end = numbers[-1] if len(numbers) == 3 or numbers[2] == numbers[0] else numbers[1]
    return Occurrence(symbol, numbers[0], numbers[1], end, bool(roles & 1), encoding)


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and the value of each field of a message."""
    at = 0
    while at < len(data):
        tag, at = _number(data, at)
        kind, size = tag & 7, 0
        if kind == 0:
            value, at = _number(data, at)
            yield tag >> 3, value
            continue
        if kind == 2:
            size, at = _number(data, at)
        elif kind in {1, 5}:
            size = 8 if kind == 1 else 4
        if kind not in {1, 2, 5} or tag < 8 or at + size > len(data):
            raise ValueError("it ends within a field" if at + size > len(data) else "it has fields of no known kind")
        yield tag >> 3, data[at : at + size]
        at += size


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at a place, seven bits a byte, the lowest first, and the place behind it."""
    value, shift = 0, 0
    while data[at] & 128:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
    return value | data[at] << shift, at + 1


def _numbers(data: bytes) -> list[int]:
    numbers, at = [], 0
    while at < len(data):
        value, at = _number(data, at)
        numbers.append(value)
    return numbers


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError("a message is a number")
    return value


def _text(value: int | bytes) -> str:
    return _bytes(value).decode()


def _values(store: Store, found: dict[str, list[Occurrence]]) -> tuple[dict[str, str], ScipReport]:
    """Return the value of each file: its hash, what is referred to, and `[line, column in bytes, place in these]`."""
    ids = store.document_ids(Kind.CODE, found)
    documents = store.documents(ids.values())
    lines = {path: store.text(ids[path]).split("\n") for path in ids}
    defined: dict[str, tuple[str, int, str]] = {}
    for path in ids:
        for one in found[path]:
            if one.is_definition and not one.symbol.startswith("local "):
                defined.setdefault(one.symbol, (path, one.line + 1, _word(lines[path], one)[0]))
    values, count, stale = {}, 0, 0
    for path, number in ids.items():
        targets: dict[tuple[str, int], int] = {}
        places = []
        for one in found[path]:
            if one.is_definition or one.symbol.startswith("local "):
                continue
            word, column = _word(lines[path], one)
            target, line, name = defined.get(one.symbol, ("", 0, word if word in one.symbol else ""))
            if word and word == name:
                places.append([one.line + 1, column, targets.setdefault((target, line), len(targets))])
            else:
                stale += 1
        value = {"hash": documents[number].content_hash, "targets": list(targets), "places": places}
        values[f"{EXACT}{path}"] = json.dumps(value, separators=(",", ":"))
        count += len(places)
    return values, ScipReport(len(ids), count, stale)


def _word(lines: list[str], one: Occurrence) -> tuple[str, int]:
    """Return the text of an occurrence and its column in bytes; empty beyond the text."""
    codec, width = _CODECS.get(one.encoding, ("utf-16-le", 2))
    data = lines[one.line].encode(codec, "replace") if one.line < len(lines) else b""
    before, text = data[: one.start * width], data[one.start * width : one.end * width]
    return text.decode(codec, "replace"), len(before.decode(codec, "replace").encode())
