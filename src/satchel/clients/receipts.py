"""What set-up wrote into a file, kept in the state folder so that removal gives the very bytes of before.

A receipt holds what was put in, never what the file held besides: such files may hold secrets.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from satchel import state_files
from satchel.clients.json_edits import Edit
from satchel.clients.targets import Target

FOLDER = "clients"

_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Receipt:
    """`wrote` are the values by their path, `created` the mappings and lists that were made for them.

    `undo` gives the text of before as long as the file has the hash `after`; None where set-up also replaced something.
    `folders` were made for the file, outermost first; `is_new` means that there was no file.
    """

    wrote: tuple[tuple[tuple[str, ...], Any], ...]
    created: tuple[tuple[str, ...], ...]
    folders: tuple[str, ...]
    is_new: bool
    after: str
    undo: tuple[Edit, ...] | None

    def has_written(self, path: tuple[str, ...], value: Any) -> bool:
        """Whether this value below this path came from set-up."""
        return (path, value) in self.wrote


def load(target: Target, state: Path) -> Receipt | None:
    """The receipt for a target, None where there is none that can be read."""
    try:
        data = json.loads(_file(target, state).read_bytes())
        return Receipt(
            wrote=tuple((tuple(path), value) for path, value in data["wrote"]),
            created=tuple(tuple(path) for path in data["created"]),
            folders=tuple(data["folders"]),
            is_new=bool(data["is_new"]),
            after=str(data["after"]),
            undo=None if data["undo"] is None else tuple(Edit(at, "", added) for at, added in data["undo"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def save(target: Target, state: Path, receipt: Receipt) -> None:
    """Keep the receipt, readable for the user alone. Raises OSError."""
    file = _file(target, state)
    state_files.make_folder(file.parent)
    data: Mapping[str, Any] = {
        "file": str(target.file),
        "name": target.name,
        "wrote": receipt.wrote,
        "created": receipt.created,
        "folders": receipt.folders,
        "is_new": receipt.is_new,
        "after": receipt.after,
        "undo": None if receipt.undo is None else [(edit.offset, edit.added) for edit in receipt.undo],
    }
    state_files.replace(file, json.dumps(data).encode())


def forget(target: Target, state: Path) -> None:
    """Delete the receipt, if there is one."""
    _file(target, state).unlink(missing_ok=True)


def standing(state: Path) -> list[Path]:
    """The files that set-up wrote into and that removal was not asked about yet, as far as they still exist."""
    found = set()
    for receipt in sorted((state / FOLDER).glob("*.json")):
        try:
            file = Path(json.loads(receipt.read_bytes())["file"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if file.exists():
            found.add(file)
    return sorted(found)


def _file(target: Target, state: Path) -> Path:
    identity = b"\0".join((os.fsencode(target.file.absolute()), target.name.encode("utf-8", "surrogatepass")))
    return state / FOLDER / f"{blake2b(identity, digest_size=_DIGEST_BYTES).hexdigest()}.json"
