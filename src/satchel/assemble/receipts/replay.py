"""Ask a saved question again, and name what keeps the answer from being the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from satchel import __version__, outside
from satchel.assemble.pins import parse_pin
from satchel.assemble.request import AssembleRequest, check_budget, check_file_weights, check_score, parse_kinds
from satchel.clean import clean_field
from satchel.errors import UsageError
from satchel.search.filters import filters_data, parse_filters
from satchel.settings import Settings
from satchel.types import CONTEXT_TYPES, Context, Kind

if TYPE_CHECKING:
    from satchel.sources.change import Change

SHAPING_SETTINGS = ("index_", "redact_")
"""Prefixes of settings that shape answers and are not in a request: what is indexed, and what counts as a secret."""

HARMLESS_SETTINGS = frozenset({"index_workers", "index_lock_wait_s"})
"""Settings of the index that change its speed and never its content."""

CHANGES_NAMED = 10


def request_data(request: AssembleRequest) -> dict[str, Any]:
    """Every field of a request as plain JSON values, named as the options that give them."""
    data: dict[str, Any] = {}
    for field in fields(request):
        value = getattr(request, field.name)
        match field.name:
            case "kinds":
                data["types"] = [kind.plural for kind in value]
            case "pins":
                data["include"] = [str(pin) for pin in value]
            case "weights" | "reserves":
                data[field.name] = {kind.plural: amount for kind, amount in value.items()}
            case "change":
                data["change"] = _change_data(value)
            case "filters":
                data["filters"] = filters_data(value)
            case "session":
                data["session"] = outside.line(value, len(value) + 1) if value else ""
            case _:
                data[field.name] = _plain(value)
    return data


def _change_data(change: Change | None) -> dict[str, Any] | None:
    if change is None:
        return None
    from satchel.sources.change import change_data  # here, because it is large, and few answers are about a change

    return change_data(change)


def _change_from(data: Any) -> Change | None:
    if data is None:
        return None
    from satchel.sources.change import change_from

    return change_from(data)


def _plain(value: Any) -> Any:
    """Tuples as lists and enums as their values, so that the data is equal after a round trip through JSON."""
    if isinstance(value, Enum):
        return value.value
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value


def request_from(data: Mapping[str, Any]) -> AssembleRequest:
    """The request that `request_data` described. Raises UsageError for what this version cannot ask."""
    rest = dict(data)
    defaults = {field.name: field.default for field in fields(AssembleRequest)}
    try:
        values: dict[str, Any] = {
            "kinds": parse_kinds(rest.pop("types")),
            "pins": tuple(map(parse_pin, rest.pop("include", ()))),
        }
        if rest.pop("soft", False):
            raise UsageError("the saved request has a soft budget, which is no longer offered: ask again without it")
        unknown = sorted(rest.keys() - defaults.keys())
        if unknown:
            raise UsageError(f"the saved request has {', '.join(map(clean_field, unknown))}, which this version lacks")
        values |= {name: _field(name, value, defaults[name]) for name, value in rest.items()}
        if not isinstance(values["query"], str):
            raise TypeError("query is no text")
        return AssembleRequest(**values)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"the saved request is damaged ({error}): save it again with `satchel context --json`"
        ) from None


_CHECKED: Mapping[str, Callable[[Any], Any]] = {
    "max_tokens": check_budget,
    "min_score": check_score,
    "filters": parse_filters,
    "file_weights": check_file_weights,
}


def _field(name: str, value: Any, default: Any) -> Any:
    if name in _CHECKED:
        return _CHECKED[name](value)
    match name:
        case "weights" | "reserves":
            return {CONTEXT_TYPES[plural]: amount for plural, amount in value.items()}
        case "change":
            return _change_from(value)
        case "lead":
            return Kind(value) if value is not None else None
    if isinstance(value, list):
        return tuple(value)
    if isinstance(default, Enum):
        return type(default)(value)
    if isinstance(default, bool | int | str) and type(value) is not type(default):
        raise TypeError(f"{name} is {value!r}")
    return value


def settings_mark(settings: Settings) -> dict[str, str]:
    """A short hash of each setting that shapes answers and is not at its default, by name: enough to name a difference.

    Hashes, because a pattern of allowed secrets belongs to nobody who reads the answer.
    """
    plain = Settings()
    marks = {}
    for field in fields(settings):
        value = getattr(settings, field.name)
        shapes = field.name.startswith(SHAPING_SETTINGS) and field.name not in HARMLESS_SETTINGS
        if shapes and value != getattr(plain, field.name):
            marks[field.name.replace("_", ".", 1)] = blake2b(repr(value).encode(), digest_size=4).hexdigest()
    return marks


@dataclass(frozen=True, slots=True)
class Replay:
    """A saved question asked again. `differences` is empty where the answer is the same byte for byte."""

    request: AssembleRequest
    context: Context
    differences: tuple[str, ...]


def saved_request(saved: Mapping[str, Any]) -> AssembleRequest:
    """The request of a saved envelope. Raises UsageError for anything else."""
    meta = saved.get("meta")
    request = meta.get("request") if isinstance(meta, Mapping) else None
    if not isinstance(request, Mapping) or not isinstance(saved.get("text"), str) or "items" not in saved:
        raise UsageError("this is no saved context: save one with `satchel context QUESTION --json > FILE`")
    if "lens" in request:
        raise UsageError("this is a saved graph context: it is not replayed, ask again with `satchel graph`")
    asked = request_from(request)
    return replace(asked, ledger=str(saved["meta"].get("ledger", ""))) if asked.session else asked


def is_of_the_tree(saved: Mapping[str, Any]) -> bool:
    """Whether a saved answer looked at the tree first; briefs and premortems only look at the memory."""
    from satchel.assemble import brief, premortem

    meta = saved.get("meta")
    request = meta.get("request") if isinstance(meta, Mapping) else None
    return not isinstance(request, Mapping) or request.get("plan") not in {premortem.PLAN, brief.PLAN}


def differences(saved: Mapping[str, Any], context: Context) -> tuple[str, ...]:
    """The differences, a line each: first those of what the answer depends on, then those of the answer itself."""
    meta = saved["meta"]
    lines = [
        _moved("version of satchel", meta.get("version"), __version__),
        _moved("store revision", meta.get("revision"), context.meta.get("revision")),
        _moved("ledger of the session", meta.get("ledger"), context.meta.get("ledger")),
        *_settings(meta.get("settings") or {}, context.meta.get("settings") or {}),
        *_items(saved["items"], context),
        _failures(saved.get("failures") or [], context),
    ]
    if saved["text"] != context.text and not any(lines):
        lines.append("text: other bytes from the same items")
    return tuple(line for line in lines if line)


def _moved(what: str, before: object, now: object) -> str:
    return "" if before == now else f"{what}: {clean_field(str(before))} then, {now} now"


def _settings(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    changed = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    return [f"setting {clean_field(name)}: has another value now" for name in changed]


def _items(saved: Sequence[Mapping[str, Any]], context: Context) -> list[str]:
    before = {str(item.get("id")): item for item in saved}
    now = {item.id: item for item in context.items}
    gone = [f"not shown any more: {clean_field(identity)}" for identity in before if identity not in now]
    fresh = [f"shown now: {clean_field(identity)}" for identity in now if identity not in before]
    both = [identity for identity in before if identity in now]
    changed = [
        f"changed: {clean_field(identity)}"
        for identity in both
        if (before[identity].get("content"), before[identity].get("handle"))
        != (now[identity].content, now[identity].handle)
    ]
    order = [] if gone or fresh or list(before) == list(now) else ["the same items stand in another order"]
    lines = [*changed, *gone, *fresh, *order]
    more = len(lines) - CHANGES_NAMED
    return [*lines[:CHANGES_NAMED], f"and {more} more items"] if more > 0 else lines


def _failures(saved: Sequence[Mapping[str, Any]], context: Context) -> str:
    before = [(row.get("source"), row.get("message")) for row in saved]
    now = [(failure.source, failure.message) for failure in context.failures]
    return "" if before == now else f"notes: {len(before)} then, {len(now)} now"
