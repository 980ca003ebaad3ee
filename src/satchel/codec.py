"""Records to JSON and back: one declaration of a field describes, writes, reads and checks it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum, StrEnum
from functools import cache
from inspect import signature
from operator import attrgetter
from typing import Any, TypeVar, cast, get_type_hints

from msgspec import Struct
from msgspec.structs import replace

from satchel.errors import UsageError
from satchel.types import Data, Json
from satchel.vocabulary import choices, is_number, is_whole, parse_choice


def json_text(value: Data, indent: int | None = None) -> str:
    """Return a JSON object as text that can be encoded as UTF-8; only with a lone surrogate are letters escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent)
    return text


MILLISECONDS = 3
"""Decimal digits of a second in JSON."""

Clean = Callable[[str], str]
"""Makes a text from elsewhere safe to store."""

Load = Callable[[str, Any, Clean | None], Any]
Record = TypeVar("Record")

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Field(Struct, frozen=True):
    """A value in JSON: its schema, how it is written, and how it is read and checked.

    `data` returns the JSON value. `load` has as arguments the name for messages, the JSON value and a cleaner; it
    returns None for the default. It is also called with None for a missing value if the field `is_required` or has no
    default. `source` takes the value from the owner, by default from the attribute of the name; a field that
    `is_optional` is left out if that is None. `key` is the name in JSON, by default that of the attribute. `limit` is
    the maximum length of a text, and `choice` the enumeration of a choice.
    """

    schema: Data
    data: Callable[[Any], Any] = lambda value: value
    source: Callable[[Any], Any] | None = None
    is_optional: bool = False
    load: Load = lambda _name, value, _clean: value
    is_required: bool = False
    key: str = ""
    label: str = ""
    limit: int = 0
    choice: type[StrEnum] | None = None

    def of(self, source: str | Callable[[Any], Any]) -> Field:
        """Return the field with another source: an attribute, which may be dotted, or a function of the owner."""
        return replace(self, source=attrgetter(source) if isinstance(source, str) else source)


def record(**fields: Field) -> Field:
    """Return an object with these fields; later versions may add some."""

    def data(owner: Any) -> Json:
        values = {name: field.source(owner) if field.source else getattr(owner, name) for name, field in fields.items()}
        return {
            name: field.data(values[name])
            for name, field in fields.items()
            if not (field.is_optional and values[name] is None)
        }

    required = [name for name, field in fields.items() if not field.is_optional]
    properties = {name: field.schema for name, field in fields.items()}
    return Field({"type": "object", "properties": properties, "required": required}, data)


def many(item: Field, most: int = 0, *, unique: bool = False) -> Field:
    """Return a list; one that is read has at most `most` entries, and `unique` drops repeated ones."""

    def load_all(name: str, value: Any, clean: Clean | None) -> tuple[Any, ...]:
        entries = value or []
        if not isinstance(entries, list):
            raise UsageError(f"{name} is {type(entries).__name__}: it must be a list")
        if len(entries) > most:
            raise UsageError(f"{name} has {len(entries):,} entries: at most {most:,}")
        loaded = [item.load(name, entry, clean) for entry in entries]
        return tuple(dict.fromkeys(loaded) if unique else loaded)

    schema = {"type": "array", "items": item.schema}
    return Field(schema, lambda values: [item.data(value) for value in values], load=load_all)


def maybe(field: Field) -> Field:
    """Return a value that may be missing, as null."""
    return Field(
        {"anyOf": [field.schema, {"type": "null"}]},
        lambda value: None if value is None else field.data(value),
        load=lambda name, value, clean: None if value is None else field.load(name, value, clean),
    )


def text(limit: int, *, required: bool = False, nullable: bool = False, key: str = "", label: str = "") -> Field:
    """Return a text of at most `limit` characters, before and after cleaning; `nullable` writes null for none."""

    def load_text(name: str, value: Any, clean: Clean | None) -> str:
        value = "" if value is None else value
        if not isinstance(value, str):
            raise UsageError(f"{name} is {type(value).__name__}: it must be a text")
        return value if clean is None else check(name, clean(check(name, value)))

    def check(name: str, value: str) -> str:
        if required and not value.strip():
            raise UsageError(f"{name} is missing or empty")
        if len(value) > limit:
            raise UsageError(f"{name} has {len(value):,} characters: at most {limit:,}")
        return value

    written = Field({"type": "string"}, str, load=load_text, is_required=required, key=key, label=label, limit=limit)
    return replace(written, schema=maybe(written).schema, data=lambda value: value or None) if nullable else written


def identifier(limit: int, *, required: bool = False) -> Field:
    """Return a text of letters, digits, dots, dashes and underscores; it is never cleaned."""
    plain_text = text(limit, required=required)

    def load_identifier(name: str, value: Any, clean: Clean | None) -> str:
        checked: str = plain_text.load(name, value, clean and str)
        if checked and _ID.fullmatch(checked) is None:
            raise UsageError(f"{name} is {checked!r}: use letters, digits, dots, dashes and underscores only")
        return checked

    return replace(plain_text, load=load_identifier)


def choice(
    kind: type[StrEnum], *, required: bool = True, label: str = "", nullable: bool = False, newer: StrEnum | None = None
) -> Field:
    """Return the member of an enumeration; `label` replaces the name of the field in messages.

    `newer` is read for a stored value that only a newer version knows; without it, that is an error. `nullable` is for
    one that may be None.
    """
    plain_text = text(100)  # maximum length of a text that is compared with the values of a choice

    def load_choice(name: str, value: Any, clean: Clean | None) -> StrEnum | None:
        checked: str = plain_text.load(name, value, clean and str)
        if clean is None and newer is not None and checked not in choices(kind):
            return newer
        return parse_choice(kind, checked, label or name) if checked or required else None

    written = Field({"type": "string"}, str, load=load_choice, is_required=required, label=label, choice=kind)
    return replace(written, schema=maybe(written).schema, data=maybe(written).data) if nullable else written


def _checked(type_name: str, is_valid: Callable[[Any], bool], meaning: str, read: Callable[[Any], Any]) -> Field:
    def load_checked(name: str, value: Any, _clean: Clean | None) -> Any:
        if not is_valid(value):
            raise UsageError(f"{name} is {value!r}: {meaning}")
        return read(value)

    return Field({"type": type_name}, load=load_checked)


def share() -> Field:
    """Return a number from 0 to 1."""
    return _checked("number", lambda value: is_number(value) and 0 <= value <= 1, "it is 0 to 1", float)


def count(least: int, meaning: str) -> Field:
    """Return a whole number from `least`; `meaning` ends the message about another value."""
    return _checked("integer", lambda value: is_whole(value) and value >= least, meaning, int)


def flag() -> Field:
    """Return a boolean."""
    return _checked("boolean", lambda value: isinstance(value, bool), "it is true or false", bool)


def counts() -> Field:
    """Return an object of counts by name, which is read as it is."""
    return Field({"type": "object", "additionalProperties": {"type": "integer"}}, dict)


def moment(key: str) -> Field:
    """Return seconds since the epoch, in JSON an ISO time in UTC; a stored one may be in seconds."""

    def load_moment(name: str, value: Any, clean: Clean | None) -> float:
        if clean is None and isinstance(value, float):
            return value
        try:
            return read_time(value)
        except (TypeError, ValueError, OverflowError, OSError):
            raise UsageError(f"{name} is {value!r}: give a time such as 2026-05-01T10:30:00Z") from None

    return Field({"type": "string"}, iso_time, load=load_moment, is_required=True, key=key)


def texts(most: int, limit: int, *, unique: bool = False) -> Field:
    """Return at most `most` texts, none of them empty; `unique` drops repeated ones."""
    return many(text(limit, required=True), most, unique=unique)


def fields_of(kind: type[Any]) -> Mapping[str, Field]:
    """Return the fields that the annotations of a value class declare, by attribute."""
    return _fields_of(cast("Hashable", kind))


@cache
def _fields_of(kind: Hashable) -> Mapping[str, Field]:
    hints = get_type_hints(kind, include_extras=True)
    declared = {}
    for name, parameter in signature(cast("Callable[..., Any]", kind)).parameters.items():
        field: Field = hints[name].__metadata__[0]
        is_required = field.is_required or parameter.default is parameter.empty
        declared[name] = replace(field.of(name), key=field.key or name, is_required=is_required)
    return declared


def record_of(kind: type[Any]) -> Field:
    """Return the object of a dataclass, with the fields that its annotations declare in their order."""
    return _record_of(cast("Hashable", kind))


@cache
def _record_of(kind: Hashable) -> Field:
    declared = _fields_of(kind)
    make = cast("Callable[..., Any]", kind)

    def load_record(name: str, value: Any, clean: Clean | None) -> Any:
        if not isinstance(value, Mapping):
            raise UsageError(f"{name} is {type(value).__name__}: it must be an object")
        values = {
            attribute: field.load(field.key, value.get(field.key), clean)
            for attribute, field in declared.items()
            if field.is_required or field.key in value
        }
        return make(**{attribute: loaded for attribute, loaded in values.items() if loaded is not None})

    return replace(record(**{field.key: field for field in declared.values()}), load=load_record)


def dump(owner: Any) -> Json:
    """Return a dataclass as plain JSON values, in the order of its fields."""
    data: Json = record_of(type(owner)).data(owner)
    return data


def load(kind: type[Record], data: Data, clean: Clean | None = str) -> Record:
    """Read a dataclass from plain JSON values. Raises UsageError.

    `clean` None is for values that satchel stored: texts are neither cleaned nor measured, because a redaction mark
    may be longer than the secret that it replaces.
    """
    return cast("Record", record_of(kind).load("the record", data, clean))


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


def json_object(line: bytes, max_bytes: int) -> Json:
    """Return the JSON object on a line. Raises UsageError for anything else, or more than `max_bytes` bytes."""
    if len(line) > max_bytes:
        raise UsageError(f"the line has {len(line):,} bytes: at most {max_bytes:,}")
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
