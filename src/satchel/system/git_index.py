"""The paths that git tracks, read from the index file of a work tree without running git.

The formats are those of `gitformat-index`: versions 2 and 3 have full names, version 4 names that share a beginning
with the one before. A split index is read together with the file that it shares. What cannot be understood counts as
an index without paths: then the rules of ignore files decide alone.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from satchel.system.files import Skipped, read_bytes, stamp
from satchel.system.git import Repository
from satchel.text import pattern

LARGEST_INDEX = 1 << 28
"""Bytes of the largest index that is read: two million paths."""

_HEAD, _STATS = 12, 40
"""Bytes before the first entry, and before the object id of an entry."""

_EXTENDED, _NAME_LENGTH = 0x4000, 0xFFF
_LINK_MODE, _FILE_TYPE, _SKIPPED_IN_TREE = 0o160000, 0o170000, 0x4000
_SHA256 = pattern(r"^[ \t]*objectformat[ \t]*=[ \t]*\"?sha256", re.MULTILINE | re.IGNORECASE)


class Tracked(Struct, frozen=True):
    """Paths from the top of the work tree, sorted. `absent` are those that a sparse checkout leaves out."""

    paths: tuple[bytes, ...] = ()
    submodules: frozenset[bytes] = frozenset()
    absent: tuple[bytes, ...] = ()

    def has(self, path: str, *, is_folder: bool) -> bool:
        """Return whether a file is tracked, or a folder has a tracked file in it."""
        wanted = os.fsencode(f"{path}/" if is_folder else path)
        position = bisect_left(self.paths, wanted)
        following = self.paths[position] if position < len(self.paths) else b""
        return following.startswith(wanted) if is_folder else following == wanted


def tracked(repository: Repository) -> Tracked:
    """Return what the index of a work tree lists; kept until that file changes."""
    if repository.refusal:
        return Tracked()
    return _tracked(repository, stamp(repository.git_dir, "index"))


@lru_cache(maxsize=8)
def _tracked(repository: Repository, index_stamp: tuple[int, int, int] | None) -> Tracked:
    if index_stamp is None:
        return Tracked()
    width = 32 if _SHA256.search(_text(repository.common_dir / "config")) else 20
    paths: list[bytes] = []
    submodules: set[bytes] = set()
    absent: list[bytes] = []
    raw = _raw(repository.git_dir, "index")
    for part in (raw, _shared(repository.git_dir, raw, width)):
        for path, mode, is_absent in _entries(part, width):
            if mode & _FILE_TYPE == _LINK_MODE:
                submodules.add(path)
            elif is_absent:
                absent.append(path)
            else:
                paths.append(path)
    paths.sort()  # as git writes them, so this is quick
    return Tracked(tuple(paths), frozenset(submodules), tuple(sorted(absent)))


def _entries(raw: bytes, width: int) -> Iterator[tuple[bytes, int, bool]]:
    """Yield (path, mode, whether it is left out of the work tree); ends where the bytes make no sense."""
    version = int.from_bytes(raw[4:8], "big")
    if raw[:4] != b"DIRC" or version not in (2, 3, 4):
        return
    fixed = _STATS + width + 2
    position, previous = _HEAD, b""
    for _ in range(int.from_bytes(raw[8:12], "big")):
        start = position + fixed
        if start > len(raw):
            return
        flags = raw[start - 2] << 8 | raw[start - 1]
        is_absent = False
        if flags & _EXTENDED and version > 2:
            is_absent = bool((raw[start] << 8 | raw[start + 1]) & _SKIPPED_IN_TREE)
            start += 2
        if version == 4:
            shortened, start = _number(raw, start)
            previous = previous[: len(previous) - shortened]
        length = flags & _NAME_LENGTH
        if version == 4 or length == _NAME_LENGTH:
            end = raw.find(b"\0", start)
            if end < 0:
                return
        else:
            end = start + length
        path = previous + raw[start:end] if version == 4 else raw[start:end]
        mode = int.from_bytes(raw[position + 24 : position + 28], "big")
        # Between one and eight NUL bytes make the length of an entry a multiple of eight.
        position, previous = (end + 1, path) if version == 4 else (position + (end - position + 8) // 8 * 8, b"")
        if path:  # an entry of a split index that replaces one of the shared file has no name
            yield path, mode, is_absent


def _number(raw: bytes, position: int) -> tuple[int, int]:
    """Return a number of variable length (7 bits in a byte, as offsets of packs), and the position after it."""
    byte = raw[position]
    value = byte & 0x7F
    while byte & 0x80 and position + 1 < len(raw):
        position += 1
        byte = raw[position]
        value = (value + 1) << 7 | byte & 0x7F
    return value, position + 1


def _shared(folder: Path, raw: bytes, width: int) -> bytes:
    """Return the index that a split index shares, empty for any other."""
    # The extension has four letters, its length in four bytes, and begins with the id of the shared file.
    place = raw.rfind(b"link", _HEAD)
    name = raw[place + 8 : place + 8 + width].hex()
    return _raw(folder, f"sharedindex.{name}") if place >= 0 and stamp(folder, f"sharedindex.{name}") else b""


def _raw(folder: Path, name: str) -> bytes:
    try:
        return read_bytes(folder, name, limit=LARGEST_INDEX).raw
    except Skipped:
        return b""


def _text(path: Path) -> str:
    return _raw(path.parent, path.name).decode("utf-8", "replace")


def global_ignore_file() -> Path | None:
    """Return the ignore file of the user for all repositories, if there is one.

    It is what `core.excludesFile` in the user's own settings of git names, else `git/ignore` in the folder of
    settings. The settings of a repository are not asked: somebody else may have written them.
    """
    home = os.path.expanduser("~")  # noqa: PTH111 - each question does this, and a Path takes ten times as long
    settings = f"{os.environ.get('XDG_CONFIG_HOME') or f'{home}/.config'}/git"
    own = os.environ.get("GIT_CONFIG_GLOBAL")
    # The later file wins, as in git.
    configs = [own] if own else [f"{settings}/config", f"{home}/.gitconfig"]
    there = [config for config in configs if os.path.isfile(config)]  # noqa: PTH113
    named = [name for config in there for name in _excludes(_text(Path(config).resolve()))]
    path = os.path.expanduser(named[-1]) if named else f"{settings}/ignore"  # noqa: PTH111
    return Path(path).resolve() if os.path.isfile(path) else None  # noqa: PTH113


_SECTION = pattern(r"\s*\[\s*([\w.-]+)[^\]]*\]\s*")
_EXCLUDES = pattern(r"\s*excludesfile\s*=\s*\"?([^\"\n]+?)\"?\s*", re.IGNORECASE)


def _excludes(text: str) -> Iterator[str]:
    section = ""
    for line in text.split("\n"):
        # A value may follow on the same line.
        if (head := _SECTION.match(line)) is not None:
            section, line = head[1].lower(), line[head.end() :]
        if section == "core" and (match := _EXCLUDES.fullmatch(line)) is not None:
            yield match[1]
