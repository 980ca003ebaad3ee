"""Workspaces: roots that have a name and a type.

    registry = Registry(folders)
    registry.add("main", Path("vault"))
    registry.root("main")

The names belong to the user and are in one file of the data folder. A workspace is a repository (any folder of code and
documents), a vault (a folder of Markdown notes) or the file of a Tana export; that decides how its files are read.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from satchel import state_files
from satchel.config import Folders
from satchel.errors import StoreError, UsageError
from satchel.files import Skipped, SkipReason, escape_name, read_bytes
from satchel.roots import EXPORT_SUFFIX, find_root

REGISTRY_NAME = "workspaces.json"

REGISTRY_BYTES = 4_000_000
"""The size of a thousand workspaces with paths of the greatest length."""

HEAD_BYTES = 4_096
"""Bytes of a JSON file that are searched for the keys of an export, which come before its nodes."""

_ALIAS = re.compile(r"[^\W_][\w.-]{0,63}")
_VAULT_MARK = ".obsidian"
_EXPORT_KEYS = (b'"docs"', b'"storeData"', b'"formatVersion"')


class WorkspaceType(StrEnum):
    """The type of a workspace. The value is the name used in commands."""

    REPOSITORY = "repository"
    VAULT = "vault"
    TANA = "tana"


@dataclass(frozen=True, slots=True)
class Workspace:
    """A root with a name. `path` is absolute and without links."""

    name: str
    path: Path
    type: WorkspaceType


class Registry:
    """The workspaces of a user. Every call reads the file anew, so that several processes agree."""

    def __init__(self, folders: Folders) -> None:
        self._folder = folders.data
        self._path = folders.data / REGISTRY_NAME

    def all(self) -> list[Workspace]:
        """Every workspace, by name. Raises StoreError for a file that cannot be read."""
        return [workspace for _, workspace in sorted(self._read().items())]

    def get(self, name: str) -> Workspace:
        """The workspace of this name. Raises UsageError that lists those that exist."""
        workspaces = self._read()
        if name in workspaces:
            return workspaces[name]
        exist = f"there are {', '.join(sorted(workspaces))}" if workspaces else "there is none yet"
        raise UsageError(f"unknown workspace {name!r}: {exist}; `satchel workspace add {name} PATH` adds it")

    def type_of(self, root: Path) -> WorkspaceType:
        """The type that the root was added with, else a Tana export for a file and a repository for a folder."""
        if root.suffix.lower() == EXPORT_SUFFIX and root.is_file():
            return WorkspaceType.TANA
        types = (workspace.type for workspace in self._read().values() if workspace.path == root)
        return next(types, WorkspaceType.REPOSITORY)

    def add(self, name: str, path: Path, kind: WorkspaceType | None = None) -> Workspace:
        """Give the root at `path` a name; without `kind` its type is guessed. The same once more changes nothing.

        Raises UsageError for an impossible or taken name, a type that the path cannot be, or a path that has another
        type already, and NoIndexError for a path that can be no root.
        """
        if _ALIAS.fullmatch(name) is None:
            raise UsageError(
                f"{name!r} can be no name: use at most 64 letters, digits, '.', '_' and '-', a letter first"
            )
        root = find_root(path, path)
        added = Workspace(name, root, _checked_type(root, kind))
        with self._locked():
            workspaces = self._read()
            if workspaces.get(name, added) != added:
                there = f"{escape_name(str(workspaces[name].path))} ({workspaces[name].type})"
                raise UsageError(f"{name!r} is {there}: `satchel workspace remove {name}` frees the name")
            for other in workspaces.values():
                if other.path == root and other.type is not added.type:
                    raise UsageError(
                        f"{escape_name(str(root))} is the {other.type} {other.name!r} already: remove that name first"
                    )
            self._write({**workspaces, name: added})
        return added

    def remove(self, name: str) -> Workspace:
        """Forget a name. Nothing else is removed. Raises UsageError that lists the names that exist."""
        with self._locked():
            gone = self.get(name)
            self._write({other: workspace for other, workspace in self._read().items() if other != name})
        return gone

    def _read(self) -> Mapping[str, Workspace]:
        try:
            raw = read_bytes(self._folder, REGISTRY_NAME, limit=REGISTRY_BYTES).raw
        except Skipped as skipped:
            if skipped.reason is SkipReason.VANISHED:
                return {}
            raise StoreError(f"{self._path} cannot be read: {skipped}") from skipped
        try:
            return {
                str(name): Workspace(str(name), Path(row["path"]), WorkspaceType(row["type"]))
                for name, row in json.loads(raw)["workspaces"].items()
            }
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(f"{self._path} is damaged: remove it, and add your workspaces again") from error

    def _write(self, workspaces: Mapping[str, Workspace]) -> None:
        rows = {name: {"path": str(one.path), "type": one.type.value} for name, one in sorted(workspaces.items())}
        state_files.replace(self._path, json.dumps({"workspaces": rows}, indent=1).encode())

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock the folder while names change."""
        state_files.make_folder(self._folder)
        with state_files.locked(self._folder):
            yield


def guess_type(root: Path) -> WorkspaceType:
    """The type that a root seems to have: a vault has a folder `.obsidian`, a file is an export."""
    if root.is_file():
        return WorkspaceType.TANA
    return WorkspaceType.VAULT if (root / _VAULT_MARK).is_dir() else WorkspaceType.REPOSITORY


def _checked_type(root: Path, kind: WorkspaceType | None) -> WorkspaceType:
    type_ = kind or guess_type(root)
    if (type_ is WorkspaceType.TANA) != root.is_file():
        wanted = "the file of an export (.json)" if type_ is WorkspaceType.TANA else "a folder"
        raise UsageError(f"{escape_name(str(root))} cannot be a {type_}: that is {wanted}")
    if type_ is WorkspaceType.TANA and not _looks_like_export(root):
        raise UsageError(f"{escape_name(str(root))} is no Tana export: it has neither 'docs' nor 'storeData'")
    return type_


def _looks_like_export(path: Path) -> bool:
    """Whether a file begins with one of the keys of an export."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    return any(key in head for key in _EXPORT_KEYS)
