"""The work tree of an earlier commit in a separate folder, made from git's objects.

The folder is a repository, too: it uses the objects of the real one, and its HEAD is the commit. So its index has the
history up to that commit and nothing later.
"""

from __future__ import annotations

import io
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from satchel.errors import GitError
from satchel.sources.change import Entry, tree_entries
from satchel.system.git import Repository, stream

_REGULAR = frozenset({"100644", "100755", "100664"})
"""Modes of files. Links and submodules are not written: they are not indexed either."""

_SHA256_LENGTH = 64

_SHA256_CONFIG = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n"


class Snapshot:
    """A folder with the files of one commit after the other; moving to a near one writes only what differs."""

    def __init__(self, folder: Path, repository: Repository, *, most_bytes: int) -> None:
        self.folder = folder
        self._repository = repository
        self._most_bytes = most_bytes
        self._blobs: dict[str, str] = {}

    def move_to(self, commit: str, should_stop: Callable[[], bool] | None = None) -> None:
        """Write the files of this commit. Raises GitError, OSError. After a stop the folder may be incomplete."""
        if not (self.folder / ".git").is_dir():
            self._make(commit)
        entries = tree_entries(self._repository, commit)
        files = {path: entry.blob for path, entry in entries.items() if _is_file(path, entry)}
        for path in self._blobs.keys() - files.keys():
            (self.folder / path).unlink(missing_ok=True)
            del self._blobs[path]
        places: defaultdict[str, list[str]] = defaultdict(list)
        for path, blob in files.items():
            if self._blobs.get(path) != blob:
                places[blob].append(path)
        for blob, content in contents(self._repository, places, should_stop):
            for path in places[blob]:
                self._write(path, content)
                self._blobs[path] = blob
        (self.folder / ".git" / "HEAD").write_text(f"{commit}\n")

    def _make(self, commit: str) -> None:
        git = self.folder / ".git"
        (git / "objects" / "info").mkdir(parents=True)
        (git / "refs").mkdir()
        (git / "HEAD").write_text(f"{commit}\n")
        objects = os.fsencode(self._repository.common_dir.resolve() / "objects")
        (git / "objects" / "info" / "alternates").write_bytes(objects + b"\n")
        (git / "config").write_text(_SHA256_CONFIG if len(commit) == _SHA256_LENGTH else "")
        shallow = self._repository.common_dir / "shallow"
        if self._repository.shallow:
            (git / "shallow").write_bytes(shallow.read_bytes())

    def _write(self, path: str, content: bytes) -> None:
        """Write a file. Anything in its way (such as a file that is a folder now) is removed first."""
        target = self.folder / path
        if len(content) > self._most_bytes:
            target.unlink(missing_ok=True)
            return
        for above in reversed(target.relative_to(self.folder).parents[:-1]):
            if (self.folder / above).is_file():
                (self.folder / above).unlink()
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir():
            shutil.rmtree(target)
        target.write_bytes(content)


def _is_file(path: str, entry: Entry) -> bool:
    """Return whether to write a file. A tree may contain paths that no work tree can have."""
    parts = path.split("/")
    is_odd = any(part in ("", ".", "..") or part.lower().rstrip(" .") == ".git" for part in parts)
    return entry.mode in _REGULAR and not is_odd and "\0" not in path


def contents(
    repository: Repository, blobs: Iterable[str], should_stop: Callable[[], bool] | None = None
) -> Iterator[tuple[str, bytes]]:
    """Yield each blob with its bytes, from one process, without those that a partial clone lacks. Raises GitError."""
    ids = list(blobs)
    if not ids:
        return
    feed = "".join(f"{blob}\n" for blob in ids).encode("ascii")
    with stream(repository, "cat-file", "--batch", feed=feed, should_stop=should_stop) as chunks:
        reader = io.BufferedReader(_Chunks(chunks))
        for blob in ids:
            head = reader.readline()
            if not head.endswith(b"\n"):
                return
            if head.endswith(b" missing\n"):
                continue
            size = int(head.rpartition(b" ")[2])
            content = reader.read(size + 1)
            if len(content) <= size:
                return
            yield blob, content[:size]
        if reader.readline().endswith(b"\n"):
            raise GitError("git cat-file said more than it was asked")


class _Chunks(io.RawIOBase):
    """A stream of chunks as a file."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._rest = self._rest or next(self._chunks, b"")
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count
