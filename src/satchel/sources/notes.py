"""A note with its fields and links, and the tasks in it.

Tasks are lines as the Tasks and Dataview programs write them:

    - [ ] Call the bank 📅 2026-12-01 ⏫ #money
    - [/] Write the report [due:: 2026-12-01] [priority:: high]

A task has a `status` (open, doing, done, cancelled), a `text`, `tags`, and whatever fields its line has.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from msgspec import Struct, field

from satchel.errors import UsageError
from satchel.safety.sanitize import clean_field
from satchel.text import folded, pattern, word_lists
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


class Note(Struct, frozen=True):
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


class LinkTarget(Struct, frozen=True):
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


TASK_LINE = pattern(r"^\s*(?:>\s*)*(?:[-*+]|\d+[.)])\s+\[(.)\]\s")
_STATUS: Mapping[str, str] = {" ": "open", "/": "doing", "x": "done", "X": "done", "-": "cancelled"}
_DATED: Mapping[str, str] = {
    "📅": "due", "⏳": "scheduled", "🛫": "start", "\u2795": "created", "✅": "done", "❌": "cancelled",
}  # fmt: skip
_RANKED: Mapping[str, str] = {"🔺": "highest", "⏫": "high", "🔼": "medium", "🔽": "low", "⏬": "lowest"}
_PRIORITIES = ("lowest", "low", "normal", "medium", "high", "highest")
_NAMES: Mapping[str, str] = {"completion": "done"}
"""Names of Dataview for fields that Tasks writes as signs."""

_SIGN = pattern(rf"([{''.join(_DATED)}])\ufe0f?\s*(\d{{4}}-\d\d-\d\d)|([{''.join(_RANKED)}])")
_FIELD = pattern(r"[\[(]([\w -]{1,60}?)::\s*([^\[\]()\n]*)[\])]")
_TAG = pattern(r"(?:(?<=\s)|^)#([\w/-]+)")
_CLAUSE = pattern(
    r"\s*(not\s+)?([^\W\d][\w-]*)\s*(?:(<=|>=|!=|<|>|=)\s*(\"[^\"]*\"|'[^']*'|[^\s<>=!]\S*))?\s*", re.IGNORECASE
)
_DAY = pattern(r"(today|tomorrow|yesterday)(?:([+-]\d{1,4})d?)?", re.IGNORECASE)

Fields = Mapping[str, Sequence[str]]
"""The values of a task by the name of their field, in lower case."""


def fields_of(line: str) -> Fields | None:
    """Return the fields of the task on a line of a note; None if there is no task on it."""
    box = TASK_LINE.match(line)
    if box is None:
        return None
    text = line[box.end() :].strip()
    fields: dict[str, list[str]] = {"status": [_STATUS.get(box[1], box[1])], "text": [text], "tags": _TAG.findall(text)}
    for sign, day, rank in _SIGN.findall(text):
        fields.setdefault(_DATED[sign] if sign else "priority", []).append(day or _RANKED[rank])
    for name, value in _FIELD.findall(text):
        key = name.strip().lower()
        fields.setdefault(_NAMES.get(key, key), []).append(value.strip())
    return fields | {"priority": fields.get("priority", ["normal"])}


class _Clause(Struct, frozen=True):
    name: str
    sign: str
    value: str
    is_negated: bool = False

    def admits(self, fields: Fields) -> bool:
        values = fields.get(self.name, ())
        if self.sign == "!=":
            return all(_compared(self.name, value, self.value) != 0 for value in values)
        return any(self._holds(_compared(self.name, value, self.value)) for value in values) != self.is_negated

    def _holds(self, order: int | None) -> bool:
        signs = {"": (-1, 0, 1, None), "=": (0,), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}
        return order in signs[self.sign]


def _compared(name: str, value: str, other: str) -> int | None:
    """Return -1, 0 or 1 for less, equal or more; None for values that have no order, except that they differ."""
    one, two = value.casefold(), other.casefold()
    if name == "priority" and {one, two} <= set(_PRIORITIES):
        first, second = _PRIORITIES.index(one), _PRIORITIES.index(two)
        return (first > second) - (first < second)
    for read in _READERS:
        try:
            low, high = read(one), read(two)
        except ValueError:
            continue
        return (low > high) - (low < high)
    return 0 if one == two else None


_READERS: tuple[Callable[[str], float], ...] = (lambda text: date.fromisoformat(text[:10]).toordinal(), float)


class TaskFilter:
    """Tells the tasks that meet a condition, as in `due < today and priority >= high`, by their line.

    A clause compares a field with a value, or names a field that is there (`due`, `not due`); all have to be met. Days
    are `2026-12-01`, `today`, `tomorrow`, `today+7`. Without a clause about the status only open tasks and those under
    way are told. Raises UsageError.
    """

    def __init__(self, condition: str, today: date) -> None:
        self._clauses = [_clause(part, today) for part in re.split(r"\s+and\s+|,", condition, flags=re.IGNORECASE)]
        if all(clause.name != "status" for clause in self._clauses):
            self._clauses += [_Clause("status", "!=", ended) for ended in ("done", "cancelled")]

    def search(self, line: str) -> re.Match[str] | None:
        """Return the match of the box of a task that meets the condition, None for any other line."""
        fields = fields_of(line)
        return TASK_LINE.match(line) if fields and all(clause.admits(fields) for clause in self._clauses) else None


def _clause(text: str, today: date) -> _Clause:
    found = _CLAUSE.fullmatch(text)
    if found is None or (found[1] and found[3] == "!="):
        raise UsageError(
            f"the condition {clean_field(text.strip(), 60)!r} is neither a field (due, not due) nor its comparison "
            "with a value, as in due < today and priority >= high",
            "where",
        )
    value = (found[4] or "").strip("\"'")
    if day := _DAY.fullmatch(value):
        shift = {"today": 0, "tomorrow": 1, "yesterday": -1}[day[1].lower()] + int(day[2] or 0)
        value = (today + timedelta(days=shift)).isoformat()
    name = found[2].lower()
    return _Clause({"tag": "tags"}.get(name, name), found[3] or "", value, bool(found[1]))
