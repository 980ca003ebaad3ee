"""Settings files of other programs, replaced atomically, and the receipts of set-up.

Links are followed, the mode is kept, and a change between reading and writing is an error.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from satchel.clients.targets import ClientFile
from satchel.errors import ClientFileError
from satchel.system import state_files

MAX_BYTES = 50_000_000
"""Size limit: the largest such file seen, with the history of all projects, has a tenth of it."""

_NEW_MODE = 0o666
"""Mode of a new file before the user's mask: other members of a project read it, too."""

FOLDER = "clients"
"""Folder of receipts below the state folder."""

_DIGEST_BYTES = 16


def read(path: Path) -> bytes | None:
    """Return the bytes of the file, None if there is none. Raises ClientFileError for anything but a regular file."""
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
    """Decode the text of the file, with its byte order mark and line ends. Raises ClientFileError."""
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
    """Create the folders above the file; returns those that are new, outermost first."""
    missing = [folder for folder in reversed(path.parents) if not folder.exists()]
    try:
        for folder in missing:
            folder.mkdir(exist_ok=True)
    except OSError as error:
        raise ClientFileError(f"{error.filename or path.parent} cannot be made: {error.strerror or error}") from error
    return missing


def remove_empty(folders: Sequence[Path]) -> None:
    """Delete these folders, the deepest first, if they are empty."""
    for folder in sorted(folders, key=lambda folder: len(folder.parts), reverse=True):
        with contextlib.suppress(OSError):
            folder.rmdir()


def check_unchanged(path: Path, before: bytes | None) -> None:
    """Raise ClientFileError if the file is not as it was read."""
    if read(path) != before:
        raise ClientFileError(f"{path} was changed by another program meanwhile and left as that wrote it: try again")


def _target(path: Path) -> Path:
    """Follow a link, also one that leads to nothing yet."""
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:
        raise ClientFileError(f"{path} cannot be written: {error}") from error


def _new_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return _NEW_MODE & ~mask


@dataclass(frozen=True, slots=True)
class Receipt:
    """The values that set-up wrote into a file, without its other contents, which may be secret.

    `wrote` are the values by their path, `created` the mappings and lists that were created for them, `added` the lines
    that were appended to TOML. `folders` were created for the file, outermost first; `is_new` says that there was none.
    """

    wrote: tuple[tuple[tuple[str, ...], Any], ...]
    created: tuple[tuple[str, ...], ...]
    folders: tuple[str, ...]
    is_new: bool
    added: str = ""


NO_RECEIPT = Receipt((), (), (), is_new=False)


def load_receipt(target: ClientFile, state: Path) -> Receipt | None:
    """Return the receipt for a target, None where there is none that can be read."""
    try:
        data = json.loads(_receipt_file(target, state).read_bytes())
        return Receipt(
            wrote=tuple((tuple(path), value) for path, value in data["wrote"]),
            created=tuple(tuple(path) for path in data["created"]),
            folders=tuple(data["folders"]),
            is_new=bool(data["is_new"]),
            added=str(data.get("added", "")),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def save_receipt(target: ClientFile, state: Path, receipt: Receipt) -> None:
    """Keep a receipt, readable for the user alone. Raises OSError."""
    file = _receipt_file(target, state)
    state_files.make_folder(file.parent)
    data = {"file": str(target.file), "name": target.name, **asdict(receipt)}
    state_files.replace(file, json.dumps(data).encode())


def forget_receipt(target: ClientFile, state: Path) -> None:
    """Delete the receipt, if there is one."""
    _receipt_file(target, state).unlink(missing_ok=True)


def files_set_up(state: Path) -> list[Path]:
    """Return the existing files that set-up wrote into and from which satchel was not removed yet."""
    files = set()
    for receipt in sorted((state / FOLDER).glob("*.json")):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            file = Path(json.loads(receipt.read_bytes())["file"])
            if file.exists():
                files.add(file)
    return sorted(files)


def _receipt_file(target: ClientFile, state: Path) -> Path:
    identity = b"\0".join((os.fsencode(target.file.absolute()), target.name.encode("utf-8", "surrogatepass")))
    return state / FOLDER / f"{blake2b(identity, digest_size=_DIGEST_BYTES).hexdigest()}.json"
