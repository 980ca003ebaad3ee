"""A note with its fields and links."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from satchel.text import folded, word_lists
from satchel.types import EdgeType

_ATTACHMENTS = frozenset(word_lists("file_names.txt")["attachments"])
SUFFIXES = (".md", ".markdown")
"""Files of a vault with one of these endings are notes."""


CANVAS = ".canvas"
"""Suffix of a board of notes: JSON with nodes and edges."""


def is_note(path: str) -> bool:
    """Return whether a file of a vault is a note."""
    return path.lower().endswith((*SUFFIXES, CANVAS))


Link = tuple[EdgeType, str]
"""A relation: its type, and the key of a note, or the name that the text used where there is no such note."""


@dataclass(frozen=True, slots=True)
class Note:
    """One note of an export. `key` is its natural key, as it is used by links.

    `tags` are all, `inherited` those of them that come from a tag that another one extends. `fields` holds lists of
    values by name: a text, or `{"name": ..., "id": ...}` for a note. `type` says what it is besides a note,
    empty for an ordinary one. Times are in seconds (UTC), 0 where unknown.
    """

    key: str
    title: str
    body: str
    tags: tuple[str, ...] = ()
    inherited: tuple[str, ...] = ()
    fields: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    type: str = ""
    created: float = 0.0
    updated: float = 0.0


def value_text(value: Any) -> str:
    """Return a value of a field as text, a reference as its name."""
    return str(value.get("name") or value.get("id") or "") if isinstance(value, Mapping) else str(value)


def field_lines(fields: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return one line per field, such as `Status: done`."""
    return [f"{name}: {', '.join(map(value_text, values))}" for name, values in fields.items()]


def without_suffix(path: str) -> str:
    """Return a path without the suffix of a note."""
    return next((path[: -len(suffix)] for suffix in SUFFIXES if path.lower().endswith(suffix)), path)


class LinkTarget(NamedTuple):
    """The target of a link: the path of a file and a fragment (a heading, or a block after `^`), as written."""

    path: str
    fragment: str = ""


class NoteNames:
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

    def resolve(self, written: str, source: str, *, is_path: bool) -> LinkTarget | None:
        """Return the target of a link in the file `source`.

        None for a link to something else (an attachment, a folder above the vault); a target with an empty path for
        a note that does not exist.
        """
        name, _, fragment = written.partition("#")
        name = name.strip()
        if not name:
            return LinkTarget(source, fragment.strip())
        if posixpath.splitext(name)[1].lower() in _ATTACHMENTS:
            return None
        folder = posixpath.dirname(source)
        if is_path or name.startswith("."):
            relative = posixpath.normpath(posixpath.join(folder, name)) if not name.startswith("/") else name[1:]
            if relative.startswith("../") or name.endswith("/"):
                return None
            path = self._best(self._paths.get(folded(without_suffix(relative)), ()), source, relative)
            if path or name.startswith("."):
                return LinkTarget(path, fragment.strip())
        return LinkTarget(self._named(name.lstrip("/"), source), fragment.strip())

    def _named(self, name: str, source: str) -> str:
        bare = folded(without_suffix(name))
        end = f"/{bare}"
        ending = [path for path in self._stems.get(bare.rpartition("/")[2], ()) if _ends(path, end)]
        for candidates in (self._paths.get(bare, ()) if "/" in bare else (), ending, self._aliases.get(bare, ())):
            path = self._best(candidates, source, name)
            if path:
                return path
        return ""

    def _best(self, candidates: Iterable[str], source: str, name: str) -> str:
        folder, exact = posixpath.dirname(source), without_suffix(name)

        def order(path: str) -> tuple[bool, bool, int, str]:
            is_other = posixpath.dirname(path) != folder
            return is_other, not without_suffix(path).endswith(exact), path.count("/"), path

        return min(candidates, key=order, default="")


def _ends(path: str, end: str) -> bool:
    return f"/{folded(without_suffix(path))}".endswith(end)
