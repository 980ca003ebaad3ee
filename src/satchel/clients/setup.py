"""Set satchel up in a client: what each file has to become, decided before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from satchel import files
from satchel.clients import json_edits, receipts, settings_file, toml_edits
from satchel.clients.content import (
    MISSING,
    checked,
    data_of,
    encoded,
    guarded,
    own_elements,
    put,
    value_at,
    with_wants,
)
from satchel.clients.json_edits import Edited, undo
from satchel.clients.receipts import Receipt
from satchel.clients.show import entry_text
from satchel.clients.targets import Target, Want
from satchel.errors import ClientFileError


@dataclass(frozen=True, slots=True)
class FileChange:
    """What one file becomes: `after` is None where it is deleted, and equal to `before` where nothing has to be done.

    `action` is added, updated, unchanged, removed or absent. `receipt` is kept once it is written, None for nothing.
    """

    target: Target
    before: bytes | None
    after: bytes | None
    action: str
    receipt: Receipt | None = None

    @property
    def is_change(self) -> bool:
        """Whether there is anything to write."""
        return self.before != self.after


def planned(target: Target, state: Path, key: bytes, *, force: bool) -> FileChange:
    """What set-up makes of one file. Raises ClientFileError, also for an entry of this name that is not ours."""
    raw = settings_file.read(target.file)
    text = "" if raw is None else settings_file.text_of(target.file, raw)
    known = receipts.load(target, state)
    data = data_of(target, text)
    states = [_state(want, data, known) for want in target.wants]
    if "foreign" in states and not force:
        raise _foreign(
            target, next(want for want, found in zip(target.wants, states, strict=True) if found == "foreign"), data
        )
    if all(found in {"present", "kept"} for found in states):
        return FileChange(target, raw, raw, "unchanged")
    action = "added" if all(found in {"missing", "kept"} for found in states) else "updated"
    base = restored(known, raw, text, key)
    if base is not None:
        text, data = base, data_of(target, base)
        states = [_state(want, data, None) for want in target.wants]
    made = Edited(text)
    for want, found in zip(target.wants, states, strict=True):
        made = made.then(_edit(target, made.text, want, found))
    after = encoded(target, checked(target, made.text, with_wants(data, target)))
    is_exact = all(found in {"missing", "kept"} for found in states)
    was_new = known is not None and known.is_new
    receipt = Receipt(
        wrote=tuple(
            (want.path, want.value) for want, found in zip(target.wants, states, strict=True) if found != "kept"
        ),
        created=tuple(dict.fromkeys([*made.created, *(known.created if known is not None else ())])),
        folders=known.folders if known is not None and was_new else (),
        is_new=raw is None or was_new,
        after=files.content_hash(after, key),
        undo=made.edits if is_exact else None,
    )
    return FileChange(target, raw, after, action, receipt)


def _state(want: Want, data: Any, known: Receipt | None) -> str:
    """missing, present, ours (to be replaced), kept (an optional value of somebody else) or foreign."""
    found = value_at(data, want.path)
    if found is MISSING:
        return "missing"
    if want.is_element:
        if isinstance(found, list) and want.value in found:
            return "present"
        return "ours" if own_elements(found, want) else "missing"
    is_written = known is not None and known.has_written(want.path, found)
    if want.is_optional:
        return "present" if is_written else "kept"
    if found == want.value:
        return "present"
    return "ours" if is_written else "foreign"


def restored(known: Receipt | None, raw: bytes | None, text: str, key: bytes) -> str | None:
    """The text of before the last set-up, where nothing has changed since; an update then starts from there."""
    if known is None or known.undo is None or raw is None or files.content_hash(raw, key) != known.after:
        return None
    return undo(text, known.undo)


def _edit(target: Target, text: str, want: Want, found: str) -> Edited:
    if found in {"present", "kept"}:
        return Edited(text)
    if found == "missing":
        return put(target, text, want)
    if target.is_toml:
        return put(target, toml_edits.take(text, want.path), want)
    path: list[str | int] = [*want.path]
    if want.is_element:
        path.append(own_elements(value_at(data_of(target, text), want.path), want)[0])
    return guarded(target, lambda: json_edits.change(text, path, want.value))


def _foreign(target: Target, want: Want, data: Any) -> ClientFileError:
    shown = entry_text(value_at(data, want.path))
    return ClientFileError(
        f"{target.file} has an entry {'.'.join(want.path)} that set-up did not write:\n{shown}\n"
        "nothing was written; --force replaces it"
    )


def apply(changes: Sequence[FileChange], state: Path) -> None:
    """Write what was planned, file by file, each as a whole. Raises ClientFileError, OSError."""
    emptied: list[Path] = []
    try:
        for change in changes:
            if change.is_change:
                emptied += _applied(change, state)
    finally:
        settings_file.remove_empty(emptied)


def _applied(change: FileChange, state: Path) -> list[Path]:
    """Write one file and its receipt; the folders that were made for it and that it needs no more."""
    settings_file.check_unchanged(change.target.file, change.before)
    if change.after is not None:
        folders = settings_file.make_folders(change.target.file)
        settings_file.write(change.target.file, change.before, change.after)
        _keep(change, folders, state)
    elif change.before is not None:
        settings_file.remove(change.target.file, change.before)
    if change.receipt is not None:
        return []
    known = receipts.load(change.target, state)
    receipts.forget(change.target, state)
    return [*map(Path, known.folders)] if change.after is None and known is not None else []


def _keep(change: FileChange, folders: Sequence[Path], state: Path) -> None:
    if change.receipt is not None:
        made = (*change.receipt.folders, *map(str, folders))
        receipts.save(change.target, state, replace(change.receipt, folders=made))
