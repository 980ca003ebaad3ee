"""Records to JSON and back: one declaration of a field reads, checks and writes it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum, StrEnum
from functools import cache
from typing import Any, TypeVar, cast, get_type_hints

from satchel.errors import UsageError
from satchel.vocabulary import parse_choice


def json_text(value: Mapping[str, Any], indent: int | None = None) -> str:
    """Return a JSON object as text that can be encoded as UTF-8; only with a lone surrogate are letters escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent)
    return text


MILLISECONDS = 3
"""Decimal digits of a second in JSON."""

CHOICE_CHARACTERS = 100
"""Maximum length of a text that is compared with the values of a choice."""

Clean = Callable[[str], str]
"""Makes a text from elsewhere safe to store."""

Data = Mapping[str, Any]
Record = TypeVar("Record")

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Codec:
    """The reader and writer of one field in JSON.

    `load` has as arguments the name for messages, the JSON value and a cleaner; it returns None for the default. It is
    also called with None for a missing value if the field is `required` or has no default. `key` is the JSON key,
    by default the name of the attribute.
    """

    load: Callable[[str, Any, Clean | None], Any]
    dump: Callable[[Any], Any] = lambda value: value
    required: bool = False
    key: str = ""


def text(limit: int, *, required: bool = False, nullable: bool = False) -> Codec:
    """Return the codec of a text of at most `limit` characters, before and after cleaning.

    `nullable` writes an empty text as null.
    """

    def load(name: str, value: Any, clean: Clean | None) -> str:
        value = "" if value is None else value
        if not isinstance(value, str):
            raise UsageError(f"{name} is {type(value).__name__}: it is a text")
        return value if clean is None else check(name, clean(check(name, value)))

    def check(name: str, value: str) -> str:
        if required and not value.strip():
            raise UsageError(f"{name} is missing or empty")
        if len(value) > limit:
            raise UsageError(f"{name} has {len(value):,} characters: at most {limit:,}")
        return value

    return Codec(load, (lambda value: value or None) if nullable else str, required)


def identifier(limit: int, *, required: bool = False) -> Codec:
    """Return the codec of a text of letters, digits, dots, dashes and underscores; it is never cleaned."""
    plain_text = text(limit, required=required)

    def load(name: str, value: Any, clean: Clean | None) -> str:
        checked: str = plain_text.load(name, value, clean and str)
        if checked and _ID.fullmatch(checked) is None:
            raise UsageError(f"{name} is {checked!r}: it has letters, digits, dots, dashes and underscores only")
        return checked

    return Codec(load, required=required)


def choice(kind: type[StrEnum], *, required: bool = True, label: str = "") -> Codec:
    """Return the codec of an enumeration; `label` replaces the name of the field in messages."""
    plain_text = text(CHOICE_CHARACTERS)

    def load(name: str, value: Any, clean: Clean | None) -> StrEnum | None:
        checked: str = plain_text.load(name, value, clean and str)
        return parse_choice(kind, checked, label or name) if checked or required else None

    return Codec(load, lambda member: None if member is None else member.value, required)


def _checked(is_valid: Callable[[Any], bool], meaning: str, read: Callable[[Any], Any]) -> Codec:
    def load(name: str, value: Any, _clean: Clean | None) -> Any:
        if not is_valid(value):
            raise UsageError(f"{name} is {value!r}: {meaning}")
        return read(value)

    return Codec(load)


def share() -> Codec:
    """Return the codec of a number from 0 to 1."""
    return _checked(lambda value: type(value) in (int, float) and 0 <= value <= 1, "it is 0 to 1", float)


def count(least: int, meaning: str) -> Codec:
    """Return the codec of a whole number from `least`; `meaning` ends the message about another value."""
    return _checked(lambda value: type(value) is int and value >= least, meaning, int)


def flag() -> Codec:
    """Return the codec of a boolean."""
    return _checked(lambda value: type(value) is bool, "it is true or false", bool)


def moment(key: str) -> Codec:
    """Return the codec of seconds since the epoch, in JSON an ISO time in UTC."""

    def load(name: str, value: Any, _clean: Clean | None) -> float:
        try:
            return read_time(value)
        except (TypeError, ValueError, OverflowError, OSError):
            raise UsageError(f"{name} is {value!r}: give a time such as 2026-05-01T10:30:00Z") from None

    return Codec(load, iso_time, required=True, key=key)


def texts(most: int, limit: int, *, unique: bool = False) -> Codec:
    """Return the codec of at most `most` texts, none of them empty; `unique` drops repeated ones."""
    entry = text(limit, required=True)

    def load(name: str, value: Any, clean: Clean | None) -> tuple[str, ...]:
        rows = value or []
        if not isinstance(rows, list):
            raise UsageError(f"{name} is {type(rows).__name__}: it is a list")
        _check_count(name, rows, most)
        checked = [entry.load(name, row, clean) for row in rows]
        return tuple(dict.fromkeys(checked) if unique else checked)

    return Codec(load, list)


def nested(kind: type[Any]) -> Codec:
    """Return the codec of another dataclass or None."""

    def load_inner(name: str, value: Any, clean: Clean | None) -> Any:
        if value is not None and not isinstance(value, Mapping):
            raise UsageError(f"{name} is {type(value).__name__}: it is an object")
        return None if value is None else load(kind, value, clean)

    return Codec(load_inner, lambda record: None if record is None else dump(record))


def nested_list(kind: type[Any], most: int) -> Codec:
    """Return the codec of at most `most` objects of another dataclass."""

    def load_inner(name: str, value: Any, clean: Clean | None) -> tuple[Any, ...]:
        rows = value or []
        if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
            raise UsageError(f"{name} is not a list of objects")
        _check_count(name, rows, most)
        return tuple(load(kind, row, clean) for row in rows)

    return Codec(load_inner, lambda records: [dump(record) for record in records])


def _check_count(name: str, rows: list[Any], most: int) -> None:
    if len(rows) > most:
        raise UsageError(f"{name} has {len(rows):,} entries: at most {most:,}")


@cache
def _table(kind: Hashable) -> tuple[tuple[str, str, Codec, bool], ...]:
    """Return attribute, JSON key, codec, and whether to read a missing value, for each field of a dataclass."""
    hints = get_type_hints(kind, include_extras=True)
    rows = []
    for row in fields(cast("type[Any]", kind)):
        codec: Codec = hints[row.name].__metadata__[0]
        has_default = row.default is not MISSING or row.default_factory is not MISSING
        rows.append((row.name, codec.key or row.name, codec, codec.required or not has_default))
    return tuple(rows)


def dump(record: Any) -> dict[str, Any]:
    """Return a dataclass as plain JSON values, in the order of its fields."""
    return {key: codec.dump(getattr(record, name)) for name, key, codec, _ in _table(cast("Hashable", type(record)))}


def load(kind: type[Record], data: Data, clean: Clean | None = str) -> Record:
    """Read a dataclass from plain JSON values. Raises UsageError.

    `clean` None is for values that satchel stored: texts are neither cleaned nor measured, because a redaction mark
    may be longer than the secret that it replaces.
    """
    values = {
        name: codec.load(key, data.get(key), clean)
        for name, key, codec, is_read in _table(cast("Hashable", kind))
        if is_read or key in data
    }
    return kind(**{name: value for name, value in values.items() if value is not None})


def plain(value: Any) -> Any:
    """Return plain JSON values for any value: dataclasses by fields, enumerations by their values, tuples as lists."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {row.name: plain(getattr(value, row.name)) for row in fields(value)}
    if isinstance(value, Mapping):
        return {plain(key): plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def json_line(data: Data) -> str:
    """Return a JSON object on one line, without blanks; letters as they are."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def json_object(line: bytes, most_bytes: int) -> dict[str, Any]:
    """Return the JSON object on a line. Raises UsageError for anything else, or more than `most_bytes` bytes."""
    if len(line) > most_bytes:
        raise UsageError(f"the line has {len(line):,} bytes: at most {most_bytes:,}")
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not JSON: {error}") from None
    if not isinstance(data, dict):
        raise UsageError(f"not a JSON object but {type(data).__name__}")
    return data


def iso_time(seconds: float) -> str:
    """Return seconds since the epoch as ISO 8601 in UTC, cut to milliseconds: `2026-05-01T10:30:00.250Z`."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def read_time(iso: str) -> float:
    """Return the seconds since the epoch of an ISO time, UTC if it has no zone. Raises ValueError if out of range."""
    parsed = datetime.fromisoformat(iso)
    aware = parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
    try:
        return round(aware.astimezone(UTC).timestamp(), MILLISECONDS)
    except OverflowError as error:
        raise ValueError(str(error)) from error
