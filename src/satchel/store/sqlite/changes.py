"""The changes of a durable store since its newest copies: copy and changes together are what the store was.

A file of frames, one for each transaction: `MAGIC`, length and CRC-32 of the body, the body. A body is steps, each with
its length in four bytes before it, MessagePack compressed by zlib. A frame that cannot be read costs that transaction.
Steps name what they write by kind and key, so that steps which a copy contains already may be done again.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from satchel.store.records import NewDocument
from satchel.system.state_files import NO_LINK, read, write_all
from satchel.types import Kind

if TYPE_CHECKING:
    from satchel.store.writer import Writer

MAGIC = b"SCHG"
_HEAD = struct.Struct("<4sII")
_LENGTH = struct.Struct("<I")
_FILE_MODE = 0o600

MAX_BYTES = 4 << 20
"""Size of the changes after which the next write makes a copy, however young the newest one is."""


class ChangeStep(Struct, frozen=True):
    """One step of a transaction: documents to put, keys to remove or to hide, a `meta` value, or documents to move.

    A `name` without a `value` is removed. `shown` is as in `Writer.hide`.
    """

    put: tuple[NewDocument, ...] = ()
    kind: Kind | None = None
    keys: tuple[str, ...] = ()
    is_hidden: bool = False
    shown: tuple[str, ...] | None = None
    name: str = ""
    value: str | None = None
    moved: tuple[str, ...] = ()
    workspace: str = ""

    def encoded(self) -> bytes:
        """Return the bytes for a frame."""
        from msgspec import msgpack  # here and below, because a question writes nothing

        return zlib.compress(msgpack.encode(self), 1)

    def repeat(self, writer: Writer) -> None:
        """Do the step in another store."""
        if self.put:
            writer.put(self.put)
        if self.kind is not None and self.is_hidden:
            writer.hide(self.kind, self.keys, self.shown)
        elif self.kind is not None:
            writer.remove(self.kind, self.keys)
        if self.name and self.value is None:
            writer.unset_meta(self.name)
        elif self.name:
            writer.set_meta(self.name, self.value or "")
        if self.moved:
            writer.move(self.moved, self.workspace)


def files(path: Path) -> tuple[Path, Path]:
    """Return the changes from before the newest copy, and those since, of a store file."""
    return path.with_name(f"{path.stem}.changes-before"), path.with_name(f"{path.stem}.changes")


def append(path: Path, steps: Sequence[bytes]) -> int:
    """Add a transaction to the changes of a store, and return the size of before. Raises OSError, and then adds none.

    The caller has the write lock of the store, so that the order is that of the transactions.
    """
    body = b"".join(_LENGTH.pack(len(step)) + step for step in steps)
    target = files(path)[1]
    descriptor = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT | NO_LINK, _FILE_MODE)
    try:
        before = os.fstat(descriptor).st_size
        try:
            write_all(descriptor, _HEAD.pack(MAGIC, len(body), zlib.crc32(body)) + body)
        except OSError:
            os.ftruncate(descriptor, before)
            raise
    finally:
        os.close(descriptor)
    return before


def take_back(path: Path, size: int) -> None:
    """Remove the transaction that was added last, because it was not committed."""
    os.truncate(files(path)[1], size)


def is_due(path: Path) -> bool:
    """Return whether a copy is due: the changes are not written yet, or they are many beside the store."""
    target = files(path)[1]
    return not target.exists() or target.stat().st_size > max(MAX_BYTES, path.stat().st_size // 2)


def begin_anew(path: Path) -> None:
    """Keep the changes as those from before the newest copy, and begin with none. The caller locks the folder."""
    before, since = files(path)
    if since.exists():
        since.replace(before)


def remove(path: Path) -> None:
    """Delete the changes of a store."""
    for file in files(path):
        file.unlink(missing_ok=True)


def transactions(path: Path) -> Iterator[list[ChangeStep]]:
    """Yield the steps of each transaction that can be read, the oldest first."""
    from msgspec import DecodeError, msgpack

    decoder = msgpack.Decoder(ChangeStep)
    for file in files(path):
        for body in _frames(read(file) or b"") if file.is_file() else ():
            try:
                yield [decoder.decode(zlib.decompress(step)) for step in _steps(body)]
            except (DecodeError, zlib.error, struct.error):  # of another version of satchel
                continue


def _frames(raw: bytes) -> Iterator[bytes]:
    place = raw.find(MAGIC)
    while 0 <= place <= len(raw) - _HEAD.size:
        _, length, check = _HEAD.unpack_from(raw, place)
        body = raw[place + _HEAD.size : place + _HEAD.size + length]
        is_sound = len(body) == length and zlib.crc32(body) == check
        if is_sound:
            yield body
        place = raw.find(MAGIC, place + (_HEAD.size + length if is_sound else 1))


def _steps(body: bytes) -> Iterator[bytes]:
    place = 0
    while place < len(body):
        (length,) = _LENGTH.unpack_from(body, place)
        yield body[place + _LENGTH.size : place + _LENGTH.size + length]
        place += _LENGTH.size + length
