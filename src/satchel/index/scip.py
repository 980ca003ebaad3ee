"""Exact references from an index of SCIP, as language servers write it.

The file is a message of Protocol Buffers, of which a few fields are read: `Index{metadata=1, documents=2}`,
`Metadata{project_root=3}`, `Document{relative_path=1, occurrences=2, symbols=3, position_encoding=6}`,
`Occurrence{range=1, symbol=2, symbol_roles=3}`, `SymbolInformation{symbol=1, relationships=4}` and
`Relationship{symbol=1, is_implementation=3}`. What is kept of each file is a value of the store below `EXACT`.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from satchel.errors import UsageError
from satchel.index.run import ScipReport
from satchel.store.protocol import EXACT
from satchel.system import state_files
from satchel.system.locations import as_listed
from satchel.types import Kind

if TYPE_CHECKING:
    from satchel.store.database import DatabaseStore
    from satchel.store.protocol import Store

_CODECS = {1: ("utf-8", 1), 3: ("utf-32-le", 4)}
"""How columns are counted, by `position_encoding`; UTF-16 where it is neither of these."""


MOST_BYTES = 2 << 30
"""Bytes of the largest index that is read: one of ten million lines of code has a third of it."""


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
        data = state_files.read(
            Path(os.path.realpath(path)), MOST_BYTES
        )  # not of a pipe or a device, which may have no end
        if data is None:
            raise UsageError(f"cannot read {path}: there is no such file")
        found, implemented = read_scip(data, root)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, IndexError) as error:
        problem = f"{path} is not a whole index of SCIP ({error}): write it again, with scip-python for example"
        raise UsageError(problem) from error
    with store.snapshot() as snapshot:
        values, report = _values(snapshot, found, implemented)
        before = snapshot.metas(EXACT)
    with store.write() as writer:
        for key in before.keys() - values.keys():
            writer.unset_meta(key)
        for key, value in values.items():
            writer.set_meta(key, value)
    return report


def read_scip(data: bytes, root: Path) -> tuple[dict[str, list[Occurrence]], list[tuple[str, str]]]:
    """Return the occurrences of each file, by its path below `root`, and each symbol with one that it implements.

    Raises ValueError or IndexError for bad data.
    """
    found: dict[str, list[Occurrence]] = {}
    implemented = list[tuple[str, str]]()
    _, parts = _message(data)
    uris = [uri.decode() for metadata in parts[1] for uri in _message(metadata)[1][3]]
    project = as_listed(Path(unquote(urlsplit(uris[0]).path))) if uris else root
    for document in parts[2]:
        numbers, inner = _message(document)
        path = Path(b"".join(inner[1]).decode())
        if project.is_relative_to(root) or (project / path).is_relative_to(root):
            path = (project / path).relative_to(root)
        found[path.as_posix()] = [_occurrence(one, sum(numbers[6])) for one in inner[2]]
        implemented += chain.from_iterable(map(_implemented, inner[3]))
    if not found:
        raise ValueError("it names no file")
    return found, implemented


def _implemented(data: bytes) -> Iterator[tuple[str, str]]:
    _, symbol = _message(data)
    for flags, base in map(_message, symbol[4]):
        if any(flags[3]):
            yield b"".join(symbol[1]).decode(), b"".join(base[1]).decode()


def _occurrence(data: bytes, encoding: int) -> Occurrence:
    numbers, parts = _message(data)
    line, start, *ends = numbers[1] + [one for part in parts[1] for one in _numbers(part)]
    end = ends[-1] if len(ends) == 1 or ends[0] == line else start
    return Occurrence(b"".join(parts[2]).decode(), line, start, end, bool(sum(numbers[3]) & 1), encoding)


def _message(data: bytes) -> tuple[dict[int, list[int]], dict[int, list[bytes]]]:
    """Return the fields of a message by their numbers: those that are numbers, and those of several bytes."""
    numbers, parts = defaultdict[int, list[int]](list), defaultdict[int, list[bytes]](list)
    at = 0
    while at < len(data):
        tag, at = _number(data, at)
        kind, size = tag & 7, {1: 8, 5: 4}.get(tag & 7, 0)
        if kind in {0, 2}:
            size, at = _number(data, at)
        if kind not in {0, 1, 2, 5} or (kind and at + size > len(data)):
            raise ValueError("it ends within a field" if kind in {1, 2, 5} else "it has fields of no known kind")
        if kind == 0:
            numbers[tag >> 3].append(size)
            continue
        parts[tag >> 3].append(data[at : at + size])
        at += size
    return numbers, parts


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at a place, seven bits a byte, the lowest first, and the place behind it."""
    value, shift = 0, 0
    while data[at] & 128:
        if shift > 56:
            raise ValueError("it has a number of more than ten bytes")
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
    return value | data[at] << shift, at + 1


def _numbers(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = _number(data, at)
        yield value


def _values(
    store: Store, found: dict[str, list[Occurrence]], implemented: list[tuple[str, str]]
) -> tuple[dict[str, str], ScipReport]:
    """Return the value of each file: its hash, what is referred to, and `[line, column in bytes, place in these]`.

    `implements` are pairs of definitions, one of them of the file: what implements, and what it implements.
    """
    ids = store.document_ids(Kind.CODE, found)
    hashes = {one.key: one.content_hash for one in store.documents(ids.values()).values()}
    known = {path: list(_named(store.text(number), found[path])) for path, number in ids.items()}
    places = ((path, one, word) for path, row in known.items() for one, word, _ in row if one.is_definition)
    defined = {one.symbol: (path, one.line + 1, word) for path, one, word in places}
    implements = _implementations(implemented, defined)
    values, count, stale = {}, 0, 0
    for path, row in known.items():
        uses = [use for use in row if not use[0].is_definition]
        value = {"hash": hashes[path], **_references(uses, defined), "implements": implements[path]}
        values[f"{EXACT}{path}"] = json.dumps(value, separators=(",", ":"))
        count += len(value["places"])
        stale += len(uses) - len(value["places"])
    return values, ScipReport(len(ids), count, stale)


_Read = tuple[Occurrence, str, int]
"""An occurrence, its text, and its column in bytes."""

_Place = tuple[str, int, str]
"""Path, line and name of a definition."""


def _named(text: str, occurrences: list[Occurrence]) -> Iterator[_Read]:
    lines = text.split("\n")
    for one in occurrences:
        # The descriptor of a module ends in a slash or a colon: what refers to one is a path, not a name.
        if not one.symbol.startswith("local ") and one.symbol[-1:] not in "/:":
            yield one, *_word(lines, one)


def _implementations(implemented: list[tuple[str, str]], defined: dict[str, _Place]) -> dict[str, list[list[_Place]]]:
    pairs = defaultdict[str, list[list[_Place]]](list)
    for both in ([defined[one] for one in symbols if one in defined] for symbols in implemented):
        for path in {path for path, _, _ in both} if len(both) > 1 else ():
            pairs[path].append(both)
    return pairs


def _references(uses: list[_Read], defined: dict[str, _Place]) -> dict[str, list[tuple[int | str, ...]]]:
    """Return the places whose text is the name of their target, and the targets: path and line, none from outside."""
    targets: dict[tuple[str, int], int] = {}
    places = list[tuple[int | str, ...]]()
    for one, word, column in uses:
        path, line, name = defined.get(one.symbol, ("", 0, word if word in one.symbol else ""))
        if word and word == name:
            places.append((one.line + 1, column, targets.setdefault((path, line), len(targets))))
    return {"targets": list(targets), "places": places}


def _word(lines: list[str], one: Occurrence) -> tuple[str, int]:
    """Return the text of an occurrence and its column in bytes; empty beyond the text."""
    codec, width = _CODECS.get(one.encoding, ("utf-16-le", 2))
    data = lines[one.line].encode(codec, "replace") if one.line < len(lines) else b""
    before, text = data[: one.start * width], data[one.start * width : one.end * width]
    return text.decode(codec, "replace"), len(before.decode(codec, "replace").encode())
