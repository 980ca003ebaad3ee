"""Which folder a command is about, and where the files that belong to it lie."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import takewhile
from pathlib import Path

from satchel.config import PROJECT_FILE, Folders
from satchel.errors import NoIndexError
from satchel.git import find_repository

NAME_LENGTH = 40
"""Characters of a root's name in the name of its folder: enough to know it by, and far from any limit of 255 bytes."""

EXPORT_SUFFIX = ".json"
"""A file of this kind, named on purpose, is a root of its own: an export of notes."""


def find_root(start: Path, explicit: Path | None = None) -> Path:
    """Return the root for a command that runs in `start`, absolute and without links.

    `explicit` if given (a folder, or the file of an export), else the git work tree around `start`, else the nearest
    folder upwards with a `.satchel.toml`, else `start` itself. git is not asked: a folder with a usable `.git` is a
    work tree, whatever `GIT_DIR` says.
    Raises NoIndexError, with the next step, if there is no such folder, or it is `/`, the home folder or a bare
    repository. Looking upwards ends below the home folder: a repository of dotfiles is not the root of everything.
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
    """A repository keeps HEAD in `.git`; a worktree or submodule has a file of that name that leads there."""
    git = folder / ".git"
    try:
        return git.is_file() or os.path.lexists(git / "HEAD")
    except PermissionError:
        return False


def _resolved(path: Path) -> Path:
    try:
        return path.expanduser().resolve(strict=True)
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links, or `~` of nobody
        reason = getattr(error, "strerror", None) or str(error)
        raise NoIndexError(f"{path} cannot be used as a root: {reason}") from error


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
    """`/` (or a drive) and the home folder, by whatever path it was reached."""
    if folder == folder.parent:
        return True
    try:
        return folder == Path.home().resolve()
    except RuntimeError:  # no home folder
        return False


def index_path(root: Path, folders: Folders) -> Path:
    """The folder for the index of a root, derived data only; it may not exist yet."""
    return folders.cache / "index" / _own_name(root.name, root)


def extraction_cache_path(common_directory: Path, folders: Folders) -> Path:
    """The file in which all worktrees of a repository share what was extracted from their files."""
    owner = common_directory.parent if common_directory.name == ".git" else common_directory
    return folders.cache / "extraction" / f"{_own_name(owner.name, common_directory)}.db"


def memory_path(folders: Folders) -> Path:
    """The file with the user's memories, experiences and values, of all roots."""
    return folders.data / "memory.db"


def _own_name(name: str, path: Path) -> str:
    """A readable name that no other path has: `requests-3f0c9a...` with 16 hexadecimal digits of its path."""
    digest = blake2b(os.fsencode(path.resolve()), digest_size=8).hexdigest()
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:NAME_LENGTH]
    return f"{readable}-{digest}" if readable else digest


@dataclass(frozen=True, slots=True)
class Places:
    """Where everything of one root lies."""

    root: Path
    index: Path
    memory: Path
    state: Path
    cache: Path | None


def locate(path: str | os.PathLike[str], root: str | os.PathLike[str] | None, folders: Folders) -> Places:
    """Where the root that holds `path` lies, or exactly `root`, and its files; nothing is made. Raises NoIndexError."""
    found = find_root(Path(path), Path(root) if root is not None else None)
    repository = find_repository(found)
    cache = extraction_cache_path(repository.common_dir, folders) if repository is not None else None
    return Places(found, index_path(found, folders), memory_path(folders), folders.state, cache)
