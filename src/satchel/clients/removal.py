"""Take satchel out of a client again: the very bytes of before where nothing else changed, else only what is ours."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from satchel.clients import json_edits, receipts, settings_file, toml_edits
from satchel.clients.content import MISSING, checked, data_of, encoded, guarded, is_own_server, own_elements, value_at
from satchel.clients.json_edits import Edited
from satchel.clients.json_text import parse
from satchel.clients.receipts import Receipt
from satchel.clients.setup import FileChange, restored
from satchel.clients.show import entry_text
from satchel.clients.targets import Target, Want
from satchel.errors import ClientFileError


def planned(targets: Iterable[Target], state: Path, key: bytes, *, force: bool) -> list[FileChange]:
    """What removal makes of the files, to be applied in this order: several targets may share one of them.

    Raises ClientFileError, also for an entry of our name that is not ours.
    """
    become: dict[str, bytes | None] = {}
    changes = []
    for target in targets:
        place = os.path.realpath(target.file)
        raw = become[place] if place in become else settings_file.read(target.file)
        changes.append(_planned(target, raw, state, key, force=force))
        become[place] = changes[-1].after
    return changes


def _planned(target: Target, raw: bytes | None, state: Path, key: bytes, *, force: bool) -> FileChange:
    if raw is None:
        return FileChange(target, raw, raw, "absent")
    text = settings_file.text_of(target.file, raw)
    known = receipts.load(target, state)
    before = restored(known, raw, text, key)
    if known is not None and before is not None:
        return FileChange(target, raw, None if known.is_new else before.encode(), "removed")
    data = data_of(target, text)
    own = [want for want in target.wants if _is_ours(target, want, data, known, force=force)]
    if not any(not want.is_optional for want in own):
        return FileChange(target, raw, raw, "absent")
    text = _taken_toml(target, text, own) if target.is_toml else _taken_json(target, text, own, known)
    if known is not None and known.is_new and not text.strip("\ufeff \t\r\n{}"):
        return FileChange(target, raw, None, "removed")
    return FileChange(target, raw, encoded(target, text), "removed")


def _is_ours(target: Target, want: Want, data: Any, known: Receipt | None, *, force: bool) -> bool:
    """Whether what stands there came from set-up. Raises ClientFileError where something else has our name."""
    found = value_at(data, want.path)
    if found is MISSING:
        return False
    if want.is_element:
        return bool(own_elements(found, want))
    is_written = known is not None and known.has_written(want.path, found)
    if want.is_optional:
        return is_written
    if not (is_written or is_own_server(found) or force):
        raise ClientFileError(
            f"{target.file} has an entry {'.'.join(want.path)} that does not start satchel:\n{entry_text(found)}\n"
            "nothing was written; --force removes it"
        )
    return True


def _taken_toml(target: Target, text: str, own: list[Want]) -> str:
    expected = copy.deepcopy(dict(data_of(target, text)))
    for want in own:
        text = toml_edits.take(text, want.path)
        _without(expected, want.path, prune=True)
    return checked(target, text, expected)


def _taken_json(target: Target, text: str, own: list[Want], known: Receipt | None) -> str:
    """The text without what is ours, and without what was made to hold it, as far as that is empty now."""
    expected = copy.deepcopy(data_of(target, text))
    created = (
        set(known.created)
        if known is not None
        else {want.path[:end] for want in own for end in range(1, len(want.path) + 1)}
    )
    for want in sorted(own, key=lambda want: want.is_frame):
        if want.is_frame and len(expected) > 1:
            continue
        paths: list[list[str | int]] = [[*want.path]]
        if want.is_element:
            elements = value_at(expected, want.path)
            paths = [[*want.path, at] for at in reversed(own_elements(elements, want))]
        for path in paths:
            text = _taken(target, text, path)
            _without(expected, path, prune=False)
        for end in range(len(want.path) - (0 if want.is_element else 1), 0, -1):
            path = [*want.path[:end]]
            if (
                tuple(path) not in created
                or value_at(expected, want.path[:end]) not in ({}, [])
                or not _is_bare(text, path)
            ):
                break
            text = _taken(target, text, path)
            _without(expected, path, prune=False)
    return checked(target, text, expected)


def _taken(target: Target, text: str, path: list[str | int]) -> str:
    def edit() -> Edited:
        return json_edits.take(text, path)

    return guarded(target, edit).text


def _is_bare(text: str, path: list[str | int]) -> bool:
    """Whether nothing at all, not even a comment, stands between the brackets."""
    node = parse(text).get(path)
    return node is not None and not text[node.start + 1 : node.end - 1].strip()


def _without(data: Any, path: Any, *, prune: bool) -> None:
    """Take a value out of mappings and lists; with `prune` the mappings that are then empty too."""
    holders = [data]
    for step in path[:-1]:
        holders.append(holders[-1][step])
    for holder, step in zip(reversed(holders), reversed(path), strict=True):
        del holder[step]
        if not prune or (isinstance(holder, Mapping) and holder):
            break
