"""One settings file of somebody else: read whole, written whole or not at all.

A link is followed, the mode is kept, and what changed between reading and writing is noticed.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from satchel import state_files
from satchel.errors import ClientFileError

MAX_BYTES = 50_000_000
"""The largest such file seen, with the history of all projects, has a tenth of it."""

_NEW_MODE = 0o666
"""Of a file that is made, less what the user's mask takes away: others of a project read it too."""


def read(path: Path) -> bytes | None:
    """The bytes of the file, None where there is none. Raises ClientFileError for anything but a regular file."""
    try:
        target = path.resolve(strict=True)
    except FileNotFoundError:
        return None
    except (OSError, RuntimeError) as error:
        raise ClientFileError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    try:
        status = target.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ClientFileError(f"{path} is not a file: move it away and try again")
        if status.st_size > MAX_BYTES:
            raise ClientFileError(f"{path} has {status.st_size:,} bytes, more than the {MAX_BYTES:,} that are read")
        return target.read_bytes()
    except OSError as error:
        raise ClientFileError(f"{path} cannot be read: {error.strerror or error}") from error


def text_of(path: Path, raw: bytes) -> str:
    """The text of the file, its byte order mark and line ends as they are. Raises ClientFileError."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ClientFileError(
            f"{path}:{line}: byte {raw[error.start]:#04x} is not UTF-8; nothing was written"
        ) from None


def write(path: Path, before: bytes | None, after: bytes) -> None:
    """Put the file in place as a whole. Raises ClientFileError where it changed since `before` or may not be written.

    The folder has to exist.
    """
    target = _target(path)
    mode = None
    if before is not None:
        mode = stat.S_IMODE(target.stat().st_mode)
        if not mode & stat.S_IWUSR:
            raise ClientFileError(f"{path} is read-only: allow writing (chmod u+w) and try again")
    check_unchanged(path, before)
    try:
        state_files.replace(target, after, mode=_new_mode() if mode is None else mode, durable=True)
    except OSError as error:
        raise ClientFileError(f"{path} cannot be written: {error.strerror or error}") from error


def remove(path: Path, before: bytes) -> None:
    """Delete the file. Raises ClientFileError where it changed since `before` or may not be deleted."""
    check_unchanged(path, before)
    try:
        _target(path).unlink()
    except OSError as error:
        raise ClientFileError(f"{path} cannot be deleted: {error.strerror or error}") from error


def make_folders(path: Path) -> list[Path]:
    """Make the folders above the file; those that are new, outermost first."""
    missing = [folder for folder in reversed(path.parents) if not folder.exists()]
    try:
        for folder in missing:
            folder.mkdir(exist_ok=True)
    except OSError as error:
        raise ClientFileError(f"{error.filename or path.parent} cannot be made: {error.strerror or error}") from error
    return missing


def remove_empty(folders: Sequence[Path]) -> None:
    """Delete these folders, the deepest first, as far as nothing else is in them."""
    for folder in sorted(folders, key=lambda folder: len(folder.parts), reverse=True):
        with contextlib.suppress(OSError):
            folder.rmdir()


def check_unchanged(path: Path, before: bytes | None) -> None:
    """Raises ClientFileError where the file is not as it was read."""
    if read(path) != before:
        raise ClientFileError(f"{path} was changed by another program meanwhile and left as that wrote it: try again")


def _target(path: Path) -> Path:
    """Where the bytes lie: a link leads there also when it leads to nothing yet."""
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:
        raise ClientFileError(f"{path} cannot be written: {error}") from error


def _new_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return _NEW_MODE & ~mask
