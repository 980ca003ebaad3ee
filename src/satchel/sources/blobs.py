"""What git holds of files: the entries of a tree or of the staging area, and the contents behind them.

Paths are those of the repository, from the top of its work tree, with forward slashes. The work tree is not looked at.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from satchel.errors import GitError
from satchel.git import Repository, run, stream

SUBMODULE = "160000"
"""The mode of an entry that is another repository."""

_ENTRY = re.compile(rb"(\d{6}) (?:blob |commit )?([0-9a-f]{40}(?:[0-9a-f]{24})?)(?: (\d))?")
_MODIFIED = re.compile(rb"\s+mtime: (\d+):(\d+)\n")
_SIZE = re.compile(rb"\s+size: (\d+)\t")
_RAW = re.compile(rb":\d{6} \d{6} ([0-9a-f]+) ([0-9a-f]+) [A-Z]\d*")


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a tree or of the staging area. `stamp` is (size, mtime_ns) when it was staged, None for a tree."""

    mode: str
    blob: str
    stamp: tuple[int, int] | None = None


def tree_entries(repository: Repository, tree: str) -> dict[str, Entry]:
    """All files of a tree or commit, by path. Raises GitError for what is none."""
    listed = run(repository, "ls-tree", "-r", "-z", "--full-tree", "--end-of-options", tree)
    entries = {}
    for record in listed.split(b"\0"):
        meta, _, path = record.partition(b"\t")
        found = _ENTRY.match(meta)
        if found is not None:
            entries[os.fsdecode(path)] = Entry(found[1].decode(), found[2].decode())
    return entries


def staged_entries(repository: Repository) -> dict[str, Entry]:
    """All files of the staging area, by path; of a path in conflict the side that is ours. Raises GitError."""
    listed = run(repository, "ls-files", "--stage", "--debug", "-z", "--full-name")
    entries: dict[str, Entry] = {}
    # An entry is `MODE SHA STAGE TAB PATH NUL`, and lines of what was known of the file when it was staged.
    position = 0
    while (found := _ENTRY.match(listed, position)) is not None:
        end = listed.index(b"\0", found.end())
        path = os.fsdecode(listed[found.end() + 1 : end])
        following = listed.find(b"\0", end + 1)
        known = listed[end + 1 : following if following >= 0 else len(listed)]
        position = end + 1 + _debug_length(known)
        if found[3] in (b"0", b"2") or path not in entries:
            entries[path] = Entry(found[1].decode(), found[2].decode(), _stamp(known))
    return entries


def _debug_length(known: bytes) -> int:
    """Bytes of the indented lines at the beginning."""
    length = 0
    while known.startswith(b"  ", length):
        length = known.index(b"\n", length) + 1
    return length


def _stamp(known: bytes) -> tuple[int, int] | None:
    modified, size = _MODIFIED.search(known), _SIZE.search(known)
    if modified is None or size is None:
        return None
    return int(size[1]), int(modified[1]) * 1_000_000_000 + int(modified[2])


def blob(repository: Repository, identity: str, limit: int) -> bytes | None:
    """The contents of a blob; None if it has more than `limit` bytes or is not in this clone."""
    parts: list[bytes] = []
    size = 0
    try:
        with stream(repository, "cat-file", "blob", identity) as chunks:
            for chunk in chunks:
                parts.append(chunk)
                size += len(chunk)
                if size > limit:
                    return None
    except GitError:  # a partial clone lacks it, and nothing is fetched
        return None
    return b"".join(parts)


def earlier_blobs(repository: Repository, path: str, most: int) -> Iterator[str]:
    """The blobs that a path had, from HEAD backwards, each once, at most `most` commits deep. Raises GitError."""
    arguments = ("--raw", "-z", "--no-renames", "--no-abbrev", "--format=", f"-n{most}", "--end-of-options", "HEAD")
    listed = run(repository, "log", *arguments, "--", path)
    seen: set[str] = set()
    for found in _RAW.finditer(listed):
        for identity in (found[2].decode(), found[1].decode()):
            if identity not in seen and identity.strip("0"):
                seen.add(identity)
                yield identity


def resolve(repository: Repository, revision: str) -> str:
    """The id of the commit that a revision names. Raises GitError where there is none."""
    if "\0" in revision:  # no argument of a process can hold it
        raise GitError("a revision holds no NUL")
    return run(repository, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}").decode().split()[-1]
