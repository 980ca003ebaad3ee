"""The root of a question, the paths of its index, memory and state, and named workspaces."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from hashlib import blake2b
from itertools import takewhile
from pathlib import Path

from msgspec import Struct

from satchel.config import PROJECT_FILE, Folders
from satchel.errors import NoIndexError, StoreError, UsageError
from satchel.system import state_files
from satchel.system.files import Skipped, SkipReason, escape_name, read_bytes
from satchel.system.git import find_repository
from satchel.text import folded, pattern

EXPORT_SUFFIX = ".json"
"""The suffix of an export of notes, which is a root of its own if it is named explicitly."""


def find_root(start: Path, explicit: Path | None = None) -> Path:
    """Return the root for a command that runs in `start`, absolute and without links.

    `explicit` if it is set (a folder, or the file of an export), else the git work tree around `start`, else the
    nearest folder upwards with a `.satchel.toml`, else `start` itself. git does not run: a
    folder with a usable `.git` is a
    work tree, whatever the value of `GIT_DIR`.
    Raises NoIndexError, with the next step, if there is no such folder, or it is `/`, the home folder or a bare
    repository. The search upwards ends below the home folder, so that a repository of dotfiles is not
    the root of everything.
    """
    if explicit is not None:
        return _checked(_resolved(explicit))
    folder = _resolved(start)
    if not folder.is_dir():
        folder = folder.parent
    above = list(takewhile(lambda candidate: not _is_everything(candidate), (folder, *folder.parents)))
    return _checked(next(_roots(above), folder))


def _roots(candidates: list[Path]) -> Iterator[Path]:
    yield from (folder for folder in candidates if _is_work_tree(folder))
    yield from (folder for folder in candidates if (folder / PROJECT_FILE).is_file())


def _is_work_tree(folder: Path) -> bool:
    """Return whether `.git` contains HEAD (a repository) or is a file (a worktree or submodule)."""
    git = folder / ".git"
    try:
        return git.is_file() or os.path.lexists(git / "HEAD")
    except PermissionError:
        return False


def _resolved(path: Path) -> Path:
    try:
        return as_listed(path.expanduser().resolve(strict=True))
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links, or `~` of nobody
        reason = getattr(error, "strerror", None) or str(error)
        raise NoIndexError(f"{path} cannot be used as a root: {reason}") from error


def as_listed(path: Path) -> Path:
    """Return an absolute path with the names that its folders list: a disk that ignores case opens others too."""
    listed = Path(path.anchor)
    for name in path.parts[1:]:
        names = {name}
        with contextlib.suppress(OSError):  # a folder that may not be listed
            if not name.isascii() or os.path.lexists(listed / name.swapcase()):
                names = {entry.name for entry in listed.iterdir()}
        listed /= (
            name if name in names else next((other for other in sorted(names) if folded(other) == folded(name)), name)
        )
    return listed


def _checked(root: Path) -> Path:
    if root.suffix.lower() == EXPORT_SUFFIX and root.is_file():
        return root
    if not root.is_dir():
        raise NoIndexError(f"{root} is not a folder: give --root the folder that you want to ask about")
    if _is_everything(root):
        raise NoIndexError(f"{root} is too much to index: change into a project, or name one with --root")
    if (root / "HEAD").is_file() and (root / "objects").is_dir() and (root / "refs").is_dir():
        raise NoIndexError(f"{root} is a git repository without files: give --root a work tree of it")
    return root


def _is_everything(folder: Path) -> bool:
    """Return whether a folder is `/` (or a drive) or the home folder, by any path."""
    if folder == folder.parent:
        return True
    try:
        return folder == Path.home().resolve()
    except RuntimeError:  # no home folder
        return False


def index_path(root: Path, folders: Folders) -> Path:
    """Return the folder for the index of a root (derived data only); it may not exist yet."""
    return folders.cache / "index" / _own_name(root.name, root)


def index_beside(folder: Path, root: Path) -> Path:
    """Return the folder for the index of another root in the same cache."""
    return folder.with_name(_own_name(root.name, root))


def repository_name(common_directory: Path) -> str:
    """Return the name that all work trees of a repository share."""
    return _own_name(_owner(common_directory).name, common_directory)


def _owner(common_directory: Path) -> Path:
    return common_directory.parent if common_directory.name == ".git" else common_directory


def workspaces_at(path: Path) -> set[str]:
    """Return the names that a folder, which may be gone, has as a workspace: with a repository in it, and without."""
    return {repository_name(path / ".git"), _own_name(path.name, path)}


def memory_path(folders: Folders) -> Path:
    """Return the file with the user's memories, experiences and values, of all roots."""
    return folders.data / "memory.db"


def _own_name(name: str, path: Path) -> str:
    """Return a readable, unique name for a path: `requests-3f0c9a...` with 16 hexadecimal digits of its path."""
    digest = blake2b(os.fsencode(path.resolve()), digest_size=8).hexdigest()
    # Maximum characters of a root's name in the name of its folder: recognisable, and far below the limit of 255
    # bytes.
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:40]
    return f"{readable}-{digest}" if readable else digest


class Places(Struct, frozen=True):
    """The paths of one root, and the name of its repository, which is empty without git."""

    root: Path
    index: Path
    memory: Path
    state: Path
    repository: str


def locate(path: str | os.PathLike[str], root: str | os.PathLike[str] | None, folders: Folders) -> Places:
    """Return the paths of the root that contains `path`, or of `root`; creates nothing. Raises NoIndexError."""
    top = find_root(Path(path), Path(root) if root is not None else None)
    repository = find_repository(top)
    name = repository_name(repository.common_dir) if repository is not None else ""
    return Places(top, index_path(top, folders), memory_path(folders), folders.state, name)


def home_of(places: Places) -> Path:
    """Return the folder whose path names the workspace: that of the repository, else the root."""
    repository = find_repository(places.root) if places.repository else None
    return _owner(repository.common_dir).resolve() if repository is not None else places.root


REGISTRY_NAME = "workspaces.json"

_ALIAS = pattern(r"[^\W_][\w.-]{0,63}")
_VAULT_MARK = ".obsidian"
_EXPORT_KEYS = (b'"docs"', b'"storeData"', b'"formatVersion"')


class WorkspaceType(StrEnum):
    """The type of a workspace. The value is the name used in commands."""

    REPOSITORY = "repository"
    VAULT = "vault"
    TANA = "tana"


class Workspace(Struct, frozen=True):
    """A root with a name. `path` is absolute and without links."""

    name: str
    path: Path
    type: WorkspaceType


class Registry:
    """The workspaces of a user. Every call reads the file again, so that several processes agree."""

    def __init__(self, folders: Folders) -> None:
        self._folder = folders.data
        self._path = folders.data / REGISTRY_NAME

    def all(self) -> list[Workspace]:
        """Return every workspace, by name. Raises StoreError for a file that cannot be read."""
        return [workspace for _, workspace in sorted(self._read().items())]

    def get(self, name: str) -> Workspace:
        """Return the workspace of this name. Raises UsageError that lists those that exist."""
        workspaces = self._read()
        if name in workspaces:
            return workspaces[name]
        exist = f"there are {', '.join(sorted(workspaces))}" if workspaces else "there is none yet"
        raise UsageError(f"unknown workspace {name!r}: {exist}; `satchel workspace add {name} PATH` adds it")

    def at(self, root: Path) -> Workspace:
        """Return the workspace of a root, the first by name; for an unnamed root one with the name of its folder."""
        kind = WorkspaceType.REPOSITORY
        if root.suffix.lower() == EXPORT_SUFFIX and root.is_file():
            kind = WorkspaceType.TANA
        unnamed = Workspace(root.stem if kind is WorkspaceType.TANA else root.name, root, kind)
        return next((workspace for workspace in self.all() if workspace.path == root), unnamed)

    def add(self, name: str, path: Path, kind: WorkspaceType | None = None) -> Workspace:
        """Name the root at `path`; without `kind` its type is guessed. A repeated call changes nothing.

        Raises UsageError for an impossible or taken name, a type that the path cannot have, or a path that has another
        type already, and NoIndexError for a path that cannot be a root.
        """
        if _ALIAS.fullmatch(name) is None:
            raise UsageError(
                f"{name!r} is not a valid name: use at most 64 letters, digits, '.', '_' and '-', a letter first"
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
        """Remove a name, and nothing else. Raises UsageError that lists the names that exist."""
        with self._locked():
            gone = self.get(name)
            self._write({other: workspace for other, workspace in self._read().items() if other != name})
        return gone

    def _read(self) -> Mapping[str, Workspace]:
        try:
            # Maximum size of the registry: a thousand workspaces with paths of the greatest length.
            raw = read_bytes(self._folder, REGISTRY_NAME, limit=4_000_000).raw
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
        rows = {
            name: {"path": str(workspace.path), "type": workspace.type.value}
            for name, workspace in sorted(workspaces.items())
        }
        state_files.replace(self._path, json.dumps({"workspaces": rows}, indent=1).encode())

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock the folder while names change."""
        state_files.make_folder(self._folder)
        with state_files.locked(self._folder):
            yield


def guess_type(root: Path) -> WorkspaceType:
    """Return the probable type of a root: a vault has a folder `.obsidian`, a file is an export."""
    if root.is_file():
        return WorkspaceType.TANA
    return WorkspaceType.VAULT if (root / _VAULT_MARK).is_dir() else WorkspaceType.REPOSITORY


def _checked_type(root: Path, kind: WorkspaceType | None) -> WorkspaceType:
    type_ = kind or guess_type(root)
    if (type_ is WorkspaceType.TANA) != root.is_file():
        expected = "the file of an export (.json)" if type_ is WorkspaceType.TANA else "a folder"
        raise UsageError(f"{escape_name(str(root))} cannot be a {type_}: that is {expected}")
    if type_ is WorkspaceType.TANA and not _looks_like_export(root):
        raise UsageError(f"{escape_name(str(root))} is not a Tana export: it has neither 'docs' nor 'storeData'")
    return type_


def _looks_like_export(path: Path) -> bool:
    """Return whether a file begins with one of the keys of an export."""
    with path.open("rb") as file:
        # Bytes of a JSON file that are searched for the keys of an export, which are before its nodes.
        head = file.read(4_096)
    return any(key in head for key in _EXPORT_KEYS)
