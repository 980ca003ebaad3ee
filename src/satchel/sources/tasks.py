"""Tasks of notes, a line each, as the Tasks and Dataview programs write them, and conditions on their fields.

    - [ ] Call the bank 📅 2026-12-01 ⏫ #money
    - [/] Write the report [due:: 2026-12-01] [priority:: high]

A task has a `status` (open, doing, done, cancelled), a `text`, `tags`, and whatever fields its line has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from satchel.errors import UsageError
from satchel.safety.sanitize import clean_field

TASK_LINE = re.compile(r"^\s*(?:>\s*)*(?:[-*+]|\d+[.)])\s+\[(.)\]\s")
_STATUS: Mapping[str, str] = {" ": "open", "/": "doing", "x": "done", "X": "done", "-": "cancelled"}
_DATED: Mapping[str, str] = {
    "📅": "due", "⏳": "scheduled", "🛫": "start", "\u2795": "created", "✅": "done", "❌": "cancelled",
}  # fmt: skip
_RANKED: Mapping[str, str] = {"🔺": "highest", "⏫": "high", "🔼": "medium", "🔽": "low", "⏬": "lowest"}
_PRIORITIES = ("lowest", "low", "normal", "medium", "high", "highest")
_NAMES: Mapping[str, str] = {"completion": "done"}
"""Names of Dataview for fields that Tasks writes as signs."""

_SIGN = re.compile(rf"([{''.join(_DATED)}])\ufe0f?\s*(\d{{4}}-\d\d-\d\d)|([{''.join(_RANKED)}])")
_FIELD = re.compile(r"[\[(]([\w -]{1,60}?)::\s*([^\[\]()\n]*)[\])]")
_TAG = re.compile(r"(?:(?<=\s)|^)#([\w/-]+)")
_CLAUSE = re.compile(
    r"\s*(not\s+)?([^\W\d][\w-]*)\s*(?:(<=|>=|!=|<|>|=)\s*(\"[^\"]*\"|'[^']*'|[^\s<>=!]\S*))?\s*", re.IGNORECASE
)
_DAY = re.compile(r"(today|tomorrow|yesterday)(?:([+-]\d{1,4})d?)?", re.IGNORECASE)

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


class _Clause(NamedTuple):
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
        if all(one.name != "status" for one in self._clauses):
            self._clauses += [_Clause("status", "!=", ended) for ended in ("done", "cancelled")]

    def search(self, line: str) -> re.Match[str] | None:
        """Return the match of the box of a task that meets the condition, None for any other line."""
        fields = fields_of(line)
        return TASK_LINE.match(line) if fields and all(one.admits(fields) for one in self._clauses) else None


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
