"""A request: one question with everything that shapes its answer, checked once so that the pipeline can trust it.

Each field defines how its option is checked, which setting replaces a missing option, and how the value is saved.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, TypedDict

from satchel.answer import weights
from satchel.answer.pins import Pin, parse_pin
from satchel.answer.truncation import LADDER
from satchel.answer.truncation import strategy as find_strategy
from satchel.errors import InvalidContextTypeError, UsageError
from satchel.safety import sanitize
from satchel.safety.sanitize import clean_field
from satchel.search.filters import (
    NO_FILTERS,
    Filters,
    SearchStrategy,
    filters_data,
    parse_filters,
    parse_strategies,
)
from satchel.search.query import subject_of
from satchel.settings import Settings
from satchel.types import CONTEXT_TYPES, DEFAULT_WEIGHTS, Format, Kind, Role, View, type_name
from satchel.vocabulary import (
    DAY_SECONDS,
    EDIT,
    FIND,
    LARGEST_BUDGET,
    LARGEST_LIMIT,
    MAX_CONTEXT_LINES,
    MAX_PINS,
    READ,
    STALE_CHOICES,
    Moment,
    checked_names,
    checked_text,
    parse_choice,
    parse_moment,
    workspace_names,
)

if TYPE_CHECKING:
    from satchel.sources.change import Change

WHOLE_ITEM_TOKENS = {"read": 400, "find": 400, "edit": 1200}
"""A function up to this size is shown in full, by purpose: editing wants full functions."""

THEME_ITEM_TOKENS = 50
"""The same for a broad question, which asks for many short records."""

ITEM_TOKENS = 200
"""Tokens of the budget for each item where no limit is set: a large budget has room for more than the usual limit."""


MAX_NAMES, LONGEST_NAME = 30, 100
"""Most likely names of one question, and most characters of one: models are asked for four to ten."""

LONGEST_SESSION = 500
"""Most characters of a session id; hosts use 36."""


def parse_kinds(types: Iterable[str] | None) -> tuple[Kind, ...]:
    """Context types (`code`, `memory`, `memories`) as kinds, once each, in their order. Raises InvalidContextTypeError.

    One text is a list with commas, and None is no type.
    """
    listed = types.split(",") if isinstance(types, str) else checked_names("types", types or ())
    names = [type_name(name.strip()) for name in listed if name.strip()]
    for name in names:
        if name not in CONTEXT_TYPES:
            raise InvalidContextTypeError(f"unknown context type {name!r}: choose from {', '.join(CONTEXT_TYPES)}")
    return tuple(kind for name, kind in CONTEXT_TYPES.items() if name in names)


def parse_format(name: str) -> Format:
    """Return an output format by name. Raises UsageError that lists all."""
    return parse_choice(Format, name, "format")


def parse_view(name: str) -> View:
    """Return a layout by name. Raises UsageError that lists all."""
    return parse_choice(View, name, "view")


def _parse_pins(texts: Iterable[str]) -> tuple[Pin, ...]:
    pins = tuple(map(parse_pin, texts))
    if len(pins) > MAX_PINS:
        raise UsageError(f"include names {len(pins):,} places: give at most {MAX_PINS:,}", "include")
    return pins


def parse_reserves(reserves: Mapping[str, int]) -> dict[Kind, int]:
    """Tokens by context type as tokens by kind. Raises UsageError for an unknown type or an impossible number."""
    if not isinstance(reserves, Mapping):
        raise UsageError(f"reserves is {reserves!r:.60}: give tokens by type, as in {{'code': 500}}", "reserves")
    for name, tokens in reserves.items():
        if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
            raise UsageError(f"the reserve of {name} is {tokens!r}: give a whole number of tokens, 0 or more")
    return {parse_kinds([name])[0]: tokens for name, tokens in reserves.items()}


def check_context_lines(count: int) -> int:
    """Return a usable number of context lines. Raises UsageError below 0 and above `MAX_CONTEXT_LINES`."""
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= MAX_CONTEXT_LINES:
        raise UsageError(f"context_lines is {count!r}: give 0 to {MAX_CONTEXT_LINES} lines", "context_lines")
    return count


def check_strategy(name: str) -> str:
    """Return the name of a truncation strategy. Raises UsageError that lists all."""
    find_strategy(name)
    return name


def check_budget(max_tokens: int) -> int:
    """Return a usable token budget. Raises UsageError for 0, a negative number, or more than any model takes."""
    if isinstance(max_tokens, bool) or not isinstance(max_tokens, int):
        raise UsageError(f"max_tokens is {max_tokens!r}: give a whole number of tokens", "max_tokens")
    if not 0 < max_tokens <= LARGEST_BUDGET:
        raise UsageError(
            f"max_tokens is {max_tokens}: give 1 to {LARGEST_BUDGET:,} tokens (4000 is the default)", "max_tokens"
        )
    return max_tokens


def check_stale(choice: str) -> str:
    """Return the treatment of stale text. Raises UsageError that lists the choices."""
    if choice not in STALE_CHOICES:
        raise UsageError(f"stale is {choice!r}: choose from {', '.join(STALE_CHOICES)}", "stale")
    return choice


def check_session(session: str) -> str:
    """The id of a session without hidden characters; empty for none. Raises UsageError for one that is too long."""
    if not isinstance(session, str):
        raise UsageError(f"session is {session!r}: give the id of a session as text", "session")
    cleaned = clean_field(session, len(session) + 1)
    if len(session) > LONGEST_SESSION:
        raise UsageError(f"the session id has {len(session):,} characters: give at most {LONGEST_SESSION}")
    if session.strip() and not cleaned:
        raise UsageError(f"session is {session!r}, which has no visible character: give the id of a session", "session")
    return cleaned


def check_score(min_score: float | None) -> float | None:
    """Return a usable floor. Raises UsageError for anything but a number from 0 to 1."""
    if min_score is not None and not (isinstance(min_score, int | float) and 0 <= min_score <= 1):
        raise UsageError(f"min_score is {min_score!r}: it is a probability, 0 to 1", "min_score")
    return min_score


def check_limit(limit: int, name: str = "limit") -> int:
    """Return a usable number of results. Raises UsageError for anything but a whole number from 1."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= LARGEST_LIMIT:
        raise UsageError(f"{name} is {limit!r}: give 1 to {LARGEST_LIMIT:,} results", name)
    return limit


def check_entity_limit(limit: int | None) -> int | None:
    """Return a usable number of chunks, None for any. Raises UsageError as `check_limit`."""
    return None if limit is None else check_limit(limit, "entity_limit")


def check_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return likely names, each once, redacted and without line ends. Raises UsageError for too many or too long ones.

    A text may be a list with commas.
    """
    listed = (names,) if isinstance(names, str) else checked_names("names", names or ())
    every = (name for text in listed for name in text.split(","))
    cleaned = dict.fromkeys(filter(None, (sanitize.line(name, LONGEST_NAME + 1).strip() for name in every)))
    if len(cleaned) > MAX_NAMES or any(len(name) > LONGEST_NAME for name in cleaned):
        raise UsageError(f"names: give at most {MAX_NAMES} names of {LONGEST_NAME} characters", "names")
    return tuple(cleaned)


def check_now(now: Moment | None) -> float:
    """Return a time in seconds; nothing is the start of the day. Raises UsageError."""
    return parse_moment(now or 0) or start_of_day()


def start_of_day() -> float:
    """Return the start of the day (UTC): equal questions of one day get equal answers."""
    return time.time() // DAY_SECONDS * DAY_SECONDS


def _plain(value: Any) -> Any:
    """Return tuples as lists and enums as their values, so that the data survives a round trip through JSON."""
    if isinstance(value, Enum):
        return value.value
    return [_plain(part) for part in value] if isinstance(value, tuple | list) else value


def _by_type(amounts: Mapping[Kind, float]) -> dict[str, float]:
    return {kind.plural: amount for kind, amount in amounts.items()}


def _by_kind(amounts: Mapping[str, float]) -> dict[Kind, float]:
    return {CONTEXT_TYPES[plural]: amount for plural, amount in amounts.items()}


def _check_change(change: Change | None) -> Change | None:
    from satchel.sources.change import Change  # here, because what reads changes is large, and few answers do

    if change is not None and not isinstance(change, Change):
        raise UsageError(f"change is {change!r:.60}: give what Satchel.change() returns", "change")
    return change


def _change_data(change: Change | None) -> dict[str, Any] | None:
    if change is None:
        return None
    from satchel.sources.change import change_data  # here, because what reads changes is large, and few answers do

    return change_data(change)


def _change_from(data: Any) -> Change | None:
    from satchel.sources.change import change_from

    return change_from(data) if data is not None else None


def _option(check: Callable[[Any], Any] | None = None, **rest: Any) -> dict[str, Any]:
    """Return how an option sets a field.

    `check` makes the value from that of the option, whose `name` is only needed where it is not the field's. A missing
    option has the value of a `setting`; with `adds` the option adds to the setting. `dump` and `load` convert the value
    to plain JSON and back; without `load` it must have the type of the default.
    """
    return {"check": check, **rest}


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked: the question, and what the caller gives beside it.

    `names` are likely names in the answer. `change` is the edit under way: the answer shows the code that it concerns,
    and the changed code by signatures only. `pins` are shown in any case. `now` is in seconds.
    """

    query: str = ""
    names: tuple[str, ...] = field(default=(), metadata=_option(check_names, load=check_names))
    change: Change | None = field(default=None, metadata=_option(_check_change, dump=_change_data, load=_change_from))
    pins: tuple[Pin, ...] = field(
        default=(),
        metadata=_option(
            _parse_pins,
            name="include",
            setting="context_include",
            adds=True,
            dump=lambda pins: [sanitize.text(str(pin)) for pin in pins],
            load=_parse_pins,
        ),
    )
    now: float = field(default=0.0, metadata=_option(check_now))


@dataclass(frozen=True, slots=True)
class SearchScope:
    """What is searched, and what of it may answer.

    `kinds` is empty for "every kind that has chunks"; `plan` names a plan in their place (`satchel.answer.plans`),
    empty for the kinds themselves. `first_kind` is the kind whose section comes first. `limit` is the most items of a
    kind, `entity_limit` the most chunks over all kinds. `filters` say which records may answer; `searches` are the ways
    of searching (all if empty), `roles` the roles of chunks (any if empty). `min_score` is absolute (0 to 1); None
    takes the calibrated floor. With `callers` the functions that answer come with the lines that call them.
    """

    kinds: tuple[Kind, ...] = field(
        default=(),
        metadata=_option(
            parse_kinds, name="types", dump=lambda kinds: [kind.plural for kind in kinds], load=parse_kinds
        ),
    )
    weights: Mapping[Kind, float] = field(
        default_factory=lambda: dict(DEFAULT_WEIGHTS),
        metadata=_option(setting="context_weights", dump=_by_type, load=_by_kind),
    )
    plan: str = ""
    first_kind: Kind | None = field(
        default=None, metadata=_option(name="lead", load=lambda name: Kind(name) if name is not None else None)
    )
    limit: int = 20
    entity_limit: int | None = field(default=None, metadata=_option(check_entity_limit, load=check_entity_limit))
    filters: Filters = field(default=NO_FILTERS, metadata=_option(parse_filters, dump=filters_data, load=parse_filters))
    searches: tuple[SearchStrategy, ...] = field(default=(), metadata=_option(parse_strategies))
    roles: tuple[Role, ...] = ()
    paths: tuple[str, ...] = ()
    exclude: tuple[str, ...] = field(default=(), metadata=_option(setting="context_exclude", adds=True))
    min_score: float | None = field(
        default=None, metadata=_option(check_score, setting="context_min_score", load=check_score)
    )
    callers: bool = False
    deadline_seconds: float = field(default=5.0, metadata=_option(setting="context_gather_deadline_s"))

    @property
    def shares_budget(self) -> bool:
        """Whether each kind has its share of the budget: only where the caller or a plan named several."""
        return len(self.kinds) > 1 or bool(self.plan)


@dataclass(frozen=True, slots=True)
class Budget:
    """How much is packed, and in which pieces.

    `whole_item_tokens` is the size up to which a function or section is kept whole. With `fill` the full budget is
    used, even for items of little value. `reserves` are tokens that a kind gets before the rest is shared. With
    `places` the answer is for a reader with tools (`is_for_tools`), and names so many other places by their best line.
    `stale` is one of `STALE_CHOICES`, `strategy` names the truncation strategy. `context_lines` are shown before and
    after each match, and with `imports` the import lines that it needs. With `related`, shown definitions name their
    container, callees, callers and tests.
    """

    max_tokens: int = field(
        default=4000, metadata=_option(check_budget, setting="budget_max_tokens", load=check_budget)
    )
    tokenizer: str = field(default="o200k_base", metadata=_option(setting="budget_tokenizer"))
    whole_item_tokens: int = field(default_factory=lambda: WHOLE_ITEM_TOKENS[READ])
    fill: bool = False
    reserves: Mapping[Kind, int] = field(
        default_factory=dict, metadata=_option(parse_reserves, dump=_by_type, load=_by_kind)
    )
    places: int = 0
    stale: str = field(default=STALE_CHOICES[0], metadata=_option(check_stale, setting="context_stale"))
    strategy: str = field(default=LADDER, metadata=_option(check_strategy))
    context_lines: int = field(default=0, metadata=_option(check_context_lines))
    imports: bool = True
    related: bool = False

    @property
    def is_for_tools(self) -> bool:
        """Whether the reader can open files: the answer shows only what is sure, with line numbers, and ends early."""
        return self.places > 0


@dataclass(frozen=True, slots=True)
class TextForm:
    """How the text is written. `view` names the layout.

    `show_sources` adds the list of the first ten sources, `show_handles` the handles of what is shown in part. Without
    `show_code` a file is shown as locations and names. `group_by_type` puts the items under the four titles by type
    instead of one section per kind. With `show_meta` the footer tells how the answer was made.
    """

    format: Format = field(default=Format.MARKDOWN, metadata=_option(parse_format, setting="context_format"))
    view: View = field(default=View.SECTIONS, metadata=_option(parse_view))
    group_by_type: bool = False
    show_code: bool = True
    show_sources: bool = field(default=False, metadata=_option(setting="context_sources"))
    show_handles: bool = False
    show_meta: bool = False


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks. Items that `session` received before are only named.

    `ledger` is the state of the session's ledger to answer from, empty for the latest. `workspaces` are the names of
    those that answer together, empty for the root that is asked.
    """

    session: str = field(
        default="", metadata=_option(check_session, dump=lambda session: sanitize.line(session, len(session) + 1))
    )
    ledger: str = ""
    workspaces: tuple[str, ...] = field(
        default=(), metadata=_option(workspace_names, name="workspace", dump=",".join, load=workspace_names)
    )


@dataclass(frozen=True, slots=True)
class AssembleRequest:
    """One question with everything that shapes its answer, one value for each stage.

    `make_request` builds it from options and checks the values; options are named as the fields of the parts.
    """

    asked: Asked
    scope: SearchScope
    budget: Budget
    form: TextForm
    asker: Asker

    def within(self, max_tokens: int) -> AssembleRequest:
        """Return the request with another budget."""
        return replace(self, budget=replace(self.budget, max_tokens=max_tokens))


PARTS: Mapping[str, type] = {"asked": Asked, "scope": SearchScope, "budget": Budget, "form": TextForm, "asker": Asker}
"""Field of a request -> its class."""


def request_fields() -> dict[str, Field[Any]]:
    """Return the fields of all parts of a request, by the name of the option that sets them."""
    return {
        request_field.metadata.get("name", request_field.name): request_field
        for part in PARTS.values()
        for request_field in fields(part)
    }


def request_with(**values: Any) -> AssembleRequest:
    """Return a request with these values of fields, which are not checked, whatever part they are in."""
    parts = {
        name: part(
            **{
                request_field.name: values.pop(request_field.name)
                for request_field in fields(part)
                if request_field.name in values
            }
        )
        for name, part in PARTS.items()
    }
    assert not values, f"no part of a request has {', '.join(values)}"
    return AssembleRequest(**parts)


class SearchOptions(TypedDict, total=False):
    """Options of `Satchel.search`, which explains them."""

    types: Iterable[str]
    names: Iterable[str]
    limit: int
    filters: Mapping[str, Any] | None
    searches: Iterable[str]
    now: Moment | None
    min_score: float | None
    workspace: str | Sequence[str]


class PackingOptions(TypedDict, total=False):
    """Options of every packed answer. A missing one has its default from the settings."""

    max_tokens: int
    limit: int
    format: str
    tokenizer: str
    session: str
    now: Moment
    exclude: str | Iterable[str]
    show_handles: bool


class QuestionOptions(PackingOptions, total=False):
    """All options of a question; `Satchel.assemble` explains them."""

    types: str | Iterable[str]
    entity_limit: int
    searches: Iterable[str]
    names: Iterable[str]
    filters: Mapping[str, Any]
    paths: str | Iterable[str]
    include: str | Iterable[str]
    change: Change | None
    workspace: str | Sequence[str]
    min_score: float | None
    fill: bool
    reserves: Mapping[str, int]
    weights: Mapping[Kind, float]
    purpose: str
    stale: str
    related: bool
    context_lines: int
    imports: bool
    strategy: str
    view: str
    group_by_type: bool
    show_code: bool
    show_sources: bool
    show_meta: bool


WITHDRAWN = {"soft": "a soft budget", "file_weights": "changed weights of signals"}
"""Fields of requests that earlier versions saved; an empty one changes nothing."""

_TEXTS = frozenset({"include", "exclude", "paths"})
"""Options that are lists of texts without a check of their own."""


def make_request(question: str, settings: Settings, options: Mapping[str, Any]) -> AssembleRequest:
    """Return a checked request from options by name, and settings for missing options. Raises UsageError.

    Here the question is made safe: later stages trust it.
    """
    remaining = dict(options)
    purpose = remaining.pop("purpose", READ)
    if purpose not in WHOLE_ITEM_TOKENS:
        raise UsageError(f"unknown purpose {purpose!r}: choose from {', '.join(WHOLE_ITEM_TOKENS)}")
    values: dict[str, Any] = {
        "query": sanitize.text(checked_text("the question", question), settings.redact_allow),
        "whole_item_tokens": WHOLE_ITEM_TOKENS[purpose],
        "places": weights.PLACES if purpose == FIND else 0,
        "callers": purpose == EDIT,
        "imports": purpose != FIND,
        "now": start_of_day(),
    }
    fields_by_name = request_fields()
    for name, request_field in fields_by_name.items():
        option = request_field.metadata
        check, usual = option.get("check"), ()
        if "setting" in option:
            usual = getattr(settings, option["setting"])
        elif name not in remaining:
            continue
        value = remaining.pop(name, () if "adds" in option else usual)
        if isinstance(value, str) and isinstance(request_field.default, tuple):
            value = (value,)
        if isinstance(request_field.default, bool) and not isinstance(value, bool):
            raise UsageError(f"{name} is {value!r}: give true or false", name)
        if name in _TEXTS:
            value = checked_names(name, value)
        value = (*usual, *value) if "adds" in option else value
        values[request_field.name] = check(value) if check is not None else value
    if remaining:
        names = sorted(fields_by_name.keys() | {"purpose"})
        raise UsageError(f"unknown option {', '.join(sorted(remaining))}: choose from {', '.join(names)}")
    is_broad = bool(subject_of(str(values.get("query", ""))))
    tokens_each = THEME_ITEM_TOKENS if is_broad else ITEM_TOKENS
    values.setdefault("limit", max(settings.context_limit, values["max_tokens"] // tokens_each))
    check_limit(values["limit"])
    return request_with(**values)


def request_data(request: AssembleRequest) -> dict[str, Any]:
    """Return every field of a request as plain JSON values, named as the options that give them."""
    return {
        request_field.metadata.get("name", request_field.name): request_field.metadata.get("dump", _plain)(
            getattr(getattr(request, part), request_field.name)
        )
        for part, type_ in PARTS.items()
        for request_field in fields(type_)
    }


def request_from(data: Mapping[str, Any], allow: Sequence[str] = ()) -> AssembleRequest:
    """Return the request of `request_data`, its question made safe. Raises UsageError for unknown and damaged fields.

    `allow` are patterns of texts that look like secrets but are not.
    """
    fields_by_name = request_fields()
    for name, meaning in WITHDRAWN.items():
        if data.get(name):
            raise UsageError(f"the saved request has {meaning}, which is no longer offered: ask again without it")
    unknown = sorted(data.keys() - fields_by_name.keys() - WITHDRAWN.keys())
    if unknown:
        raise UsageError(f"the saved request has {', '.join(map(clean_field, unknown))}, which this version lacks")
    try:
        if not isinstance(data["query"], str):
            raise TypeError("query is not a text")
        named = {"types": data["types"], **data, "query": sanitize.text(data["query"], allow)}
        return request_with(
            **{
                request_field.name: _loaded(request_field, named[name])
                for name, request_field in fields_by_name.items()
                if name in named
            }
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"the saved request is damaged ({error}): save it again with `satchel context --json`"
        ) from None


def _loaded(request_field: Field[Any], value: Any) -> Any:
    if "load" in request_field.metadata:
        return request_field.metadata["load"](value)
    if isinstance(value, list):
        return tuple(value)
    if isinstance(request_field.default, Enum):
        return type(request_field.default)(value)
    usual = request_field.default if request_field.default_factory is MISSING else request_field.default_factory()
    if isinstance(usual, bool | int | str) and type(value) is not type(usual):
        raise TypeError(f"{request_field.name} is {value!r}")
    return value
