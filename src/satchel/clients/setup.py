"""Set satchel up in a client or remove it: all changes are planned before a file is written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from satchel.clients import settings_file
from satchel.clients.edits import (
    MISSING,
    data_of,
    encoded,
    entry_text,
    is_editable,
    is_own_server,
    own_elements,
    put_json,
    take_json,
    toml_table,
    value_at,
    without_toml_table,
)
from satchel.clients.settings_file import NO_RECEIPT, Receipt
from satchel.clients.targets import ClientFile, Want
from satchel.errors import ClientFileError


@dataclass(frozen=True, slots=True)
class FileChange:
    """The change of one file: `after` is None if it is deleted, and equal to `before` without a change.

    `action` is added, updated, unchanged, removed or absent. `receipt` is kept once the file is written.
    """

    target: ClientFile
    before: bytes | None
    after: bytes | None
    action: str
    receipt: Receipt | None = None

    @property
    def is_change(self) -> bool:
        """True if there is anything to write."""
        return self.before != self.after


def planned(target: ClientFile, state: Path, *, force: bool) -> FileChange:
    """Plan the set-up in one file. Raises ClientFileError, also for an entry of our name that set-up did not write."""
    raw = settings_file.read(target.file)
    text = "" if raw is None else settings_file.text_of(target.file, raw)
    receipt = settings_file.load_receipt(target, state) or NO_RECEIPT
    data = data_of(target, text)
    states = [(want, _state(want, data, receipt)) for want in target.wants]
    words = {state for _, state in states}
    foreign = next((want for want, state in states if state == "foreign"), None)
    if foreign is not None and not force:
        raise ClientFileError(
            f"{target.file} has an entry {'.'.join(foreign.path)} that set-up did not write:\n"
            f"{entry_text(value_at(data, foreign.path))}\nnothing was written; --force replaces it"
        )
    if words <= {"present", "kept"}:
        return FileChange(target, raw, raw, "unchanged")
    after, created, added = _with_entries(target, text, states, receipt)
    new = Receipt(
        wrote=tuple((want.path, want.value) for want, state in states if state != "kept"),
        created=tuple(dict.fromkeys([*created, *receipt.created])),
        folders=receipt.folders if receipt.is_new else (),
        is_new=raw is None or receipt.is_new,
        added=added,
    )
    action = "added" if words <= {"missing", "kept"} else "updated"
    return FileChange(target, raw, encoded(target, after), action, new)


def _state(want: Want, data: Any, receipt: Receipt) -> str:
    """Classify a value: missing, present, ours (to be replaced), kept (optional, and not ours) or foreign."""
    value = value_at(data, want.path)
    if value is MISSING:
        return "missing"
    if want.is_element:
        if isinstance(value, list) and want.value in value:
            return "present"
        return "ours" if own_elements(value, want) else "missing"
    is_written = (want.path, value) in receipt.wrote
    if want.is_optional:
        return "present" if is_written else "kept"
    if value == want.value:
        return "present"
    return "ours" if is_written else "foreign"


def _with_entries(
    target: ClientFile, text: str, states: Sequence[tuple[Want, str]], receipt: Receipt
) -> tuple[str, tuple[tuple[str, ...], ...], str]:
    """Return the text after set-up, the paths that were created in JSON, and the lines that were added to TOML."""
    wants = [want for want, state in states if state not in {"present", "kept"}]
    if target.is_toml:
        for want, state in states:
            if state in {"ours", "foreign"}:
                text = without_toml_table(text, want.path, receipt.added)
        added = "".join(toml_table(target, text, want) for want in wants)
        return text + added, (), added
    snippet, _ = _put_all(target, "", wants)
    _check_editable(target, text, f"add this to it yourself:\n{snippet}")
    return *_put_all(target, text, wants), ""


def _put_all(target: ClientFile, text: str, wants: Sequence[Want]) -> tuple[str, tuple[tuple[str, ...], ...]]:
    created: tuple[tuple[str, ...], ...] = ()
    for want in wants:
        text, containers = put_json(target, text, want)
        created += containers
    return text, created


def _check_editable(target: ClientFile, text: str, advice: str) -> None:
    if not is_editable(target, text):
        raise ClientFileError(
            f"{target.file} has comments, trailing commas or a key that occurs twice, which would be lost; "
            f"nothing was written; {advice.rstrip()}"
        )


def removals(targets: Iterable[ClientFile], state: Path, *, force: bool) -> list[FileChange]:
    """Plan the removal from these files, in this order: several targets may share a file.

    Raises ClientFileError, also for an entry of our name that is not ours.
    """
    contents: dict[str, bytes | None] = {}
    changes = []
    for target in targets:
        place = os.path.realpath(target.file)
        raw = contents[place] if place in contents else settings_file.read(target.file)
        changes.append(_removal(target, raw, state, force=force))
        contents[place] = changes[-1].after
    return changes


def _removal(target: ClientFile, raw: bytes | None, state: Path, *, force: bool) -> FileChange:
    if raw is None:
        return FileChange(target, raw, raw, "absent")
    text = settings_file.text_of(target.file, raw)
    receipt = settings_file.load_receipt(target, state)
    data = data_of(target, text)
    own = [want for want in target.wants if _is_ours(target, want, data, receipt or NO_RECEIPT, force=force)]
    if all(want.is_optional for want in own):
        return FileChange(target, raw, raw, "absent")
    if target.is_toml:
        for want in own:
            text = without_toml_table(text, want.path, receipt.added if receipt else "")
    else:
        names = ", ".join(dict.fromkeys(".".join(want.path) for want in own))
        _check_editable(target, text, f"remove the entries of satchel from it yourself: {names}")
        text = _without_entries(target, text, own, receipt)
    if receipt is not None and receipt.is_new and not text.strip("\ufeff \t\r\n{}"):
        return FileChange(target, raw, None, "removed")
    return FileChange(target, raw, encoded(target, text), "removed")


def _is_ours(target: ClientFile, want: Want, data: Any, receipt: Receipt, *, force: bool) -> bool:
    """Return whether a value came from set-up. Raises ClientFileError for a foreign entry of our name."""
    value = value_at(data, want.path)
    if value is MISSING:
        return False
    if want.is_element:
        return bool(own_elements(value, want))
    is_written = (want.path, value) in receipt.wrote
    if want.is_optional:
        return is_written
    if not (is_written or is_own_server(value) or force):
        raise ClientFileError(
            f"{target.file} has an entry {'.'.join(want.path)} that does not start satchel:\n{entry_text(value)}\n"
            "nothing was written; --force removes it"
        )
    return True


def _without_entries(target: ClientFile, text: str, own: Sequence[Want], receipt: Receipt | None) -> str:
    """Remove values, and the mappings and lists that were created for them and are empty."""
    for want in sorted(own, key=lambda want: want.is_frame):
        data = data_of(target, text)
        if want.is_frame and len(data) > 1:
            continue
        if want.is_element:
            for position in reversed(own_elements(value_at(data, want.path), want)):
                text = take_json(text, [*want.path, position])
        else:
            text = take_json(text, want.path)
        for end in range(len(want.path) - (not want.is_element), 0, -1):
            is_created = receipt is None or want.path[:end] in receipt.created
            if not is_created or value_at(data_of(target, text), want.path[:end]):
                break
            text = take_json(text, want.path[:end])
    return text


def apply(changes: Sequence[FileChange], state: Path) -> None:
    """Write what was planned, file by file. Raises ClientFileError, OSError."""
    emptied: list[Path] = []
    try:
        for change in changes:
            if change.is_change:
                emptied += _applied(change, state)
    finally:
        settings_file.remove_empty(emptied)


def _applied(change: FileChange, state: Path) -> list[Path]:
    """Write one file and its receipt; returns the folders that were created for it and are no longer needed."""
    target = change.target
    settings_file.check_unchanged(target.file, change.before)
    folders: list[Path] = []
    if change.after is not None:
        folders = settings_file.make_folders(target.file)
        settings_file.write(target.file, change.before, change.after)
    elif change.before is not None:
        settings_file.remove(target.file, change.before)
    if change.receipt is not None:
        receipt = replace(change.receipt, folders=(*change.receipt.folders, *map(str, folders)))
        settings_file.save_receipt(target, state, receipt)
        return []
    receipt = settings_file.load_receipt(target, state) or NO_RECEIPT
    settings_file.forget_receipt(target, state)
    return [*map(Path, receipt.folders)] if change.after is None else []
