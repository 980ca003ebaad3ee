"""Which note a link means, among all notes of a vault.

Names are compared without case and in one Unicode form, because file systems and people differ in both. A link may name
a path, the end of a path, a file or an alias; among several the one in the same folder wins, then the one nearest to
the top, then the first by name.
"""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from satchel.sources.notes.note import SUFFIXES

_ATTACHMENT_SUFFIXES = frozenset(
    {
        ".3gp", ".avif", ".base", ".bmp", ".canvas", ".css", ".csv", ".docx", ".excalidraw", ".flac", ".gif", ".html",
        ".jpeg", ".jpg", ".js", ".json", ".m4a", ".mkv", ".mov", ".mp3", ".mp4", ".ogg", ".ogv", ".pdf", ".png",
        ".pptx", ".py", ".svg", ".txt", ".wav", ".webm", ".webp", ".xlsx", ".zip",
    }
)  # fmt: skip
"""A link to such a file is no link to a note."""


def folded(name: str) -> str:
    """A name as it is compared."""
    return unicodedata.normalize("NFC", name).casefold()


def without_suffix(path: str) -> str:
    """A path without the suffix of a note."""
    return next((path[: -len(suffix)] for suffix in SUFFIXES if path.lower().endswith(suffix)), path)


@dataclass(frozen=True, slots=True)
class Target:
    """What a link means: the path of a file and what is wanted in it (a heading, or a block after `^`), as written."""

    path: str
    fragment: str = ""


class Names:
    """The files of a vault by every name that a link may use. `aliases` are those of each path."""

    def __init__(self, aliases: Mapping[str, Sequence[str]]) -> None:
        self._paths: dict[str, list[str]] = {}
        self._stems: dict[str, list[str]] = {}
        self._aliases: dict[str, list[str]] = {}
        for path in sorted(aliases):
            bare = folded(without_suffix(path))
            self._paths.setdefault(bare, []).append(path)
            self._stems.setdefault(bare.rpartition("/")[2], []).append(path)
            for alias in aliases[path]:
                self._aliases.setdefault(folded(alias), []).append(path)

    def resolve(self, written: str, source: str, *, is_path: bool) -> Target | None:
        """What a link in the file `source` means.

        None for what is no link to a note (an attachment, a folder above the vault); a target with an empty path for
        a note that does not exist.
        """
        name, _, fragment = written.partition("#")
        name = name.strip()
        if not name:
            return Target(source, fragment.strip())
        if posixpath.splitext(name)[1].lower() in _ATTACHMENT_SUFFIXES:
            return None
        folder = posixpath.dirname(source)
        if is_path or name.startswith("."):
            relative = posixpath.normpath(posixpath.join(folder, name)) if not name.startswith("/") else name[1:]
            if relative.startswith("../") or name.endswith("/"):
                return None
            found = self._best(self._paths.get(folded(without_suffix(relative)), ()), source, relative)
            if found or name.startswith("."):
                return Target(found, fragment.strip())
        return Target(self._named(name.lstrip("/"), source), fragment.strip())

    def _named(self, name: str, source: str) -> str:
        bare = folded(without_suffix(name))
        end = f"/{bare}"
        ending = [path for path in self._stems.get(bare.rpartition("/")[2], ()) if _ends(path, end)]
        for candidates in (self._paths.get(bare, ()) if "/" in bare else (), ending, self._aliases.get(bare, ())):
            found = self._best(candidates, source, name)
            if found:
                return found
        return ""

    def _best(self, candidates: Iterable[str], source: str, name: str) -> str:
        folder, exact = posixpath.dirname(source), without_suffix(name)

        def order(path: str) -> tuple[bool, bool, int, str]:
            is_other = posixpath.dirname(path) != folder
            return is_other, not without_suffix(path).endswith(exact), path.count("/"), path

        return min(candidates, key=order, default="")


def _ends(path: str, end: str) -> bool:
    return f"/{folded(without_suffix(path))}".endswith(end)
