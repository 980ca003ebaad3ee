"""What is asked of the assembler, checked once so that the stream can trust it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from satchel.assemble.pins import Pin, parse_pin
from satchel.assemble.strategies import LADDER
from satchel.assemble.strategies import strategy as find_strategy
from satchel.clean import clean_field
from satchel.errors import InvalidContextTypeError, UsageError
from satchel.search.filters import NO_FILTERS, Filters, parse_filters
from satchel.search.retrievers import FILE_WEIGHTS, FileWeights, SearchStrategy, parse_strategies
from satchel.settings import Settings
from satchel.types import CONTEXT_TYPES, Format, Kind, Role, View

if TYPE_CHECKING:
    from satchel.sources.change import Change

DEFAULT_WEIGHTS: Mapping[Kind, float] = {
    Kind.EXPERIENCE: 3.0,
    Kind.CODE: 2.0,
    Kind.COMMIT: 2.0,
    Kind.DOC: 2.0,
    Kind.NOTE: 2.0,
    Kind.VALUE: 1.0,
    Kind.MEMORY: 1.0,
    Kind.CONVERSATION: 1.0,
    Kind.CONTEXT: 1.0,
}
"""How the budget is shared between kinds: rich records get more than one-line ones."""

WHOLE_ITEM_TOKENS = {"find": 400, "edit": 1200}
"""A function up to this size is shown whole. Finding wants many places, editing wants whole functions."""

LARGEST_BUDGET = 10_000_000

TOKENS_PER_ITEM = 200
"""A large budget has room for more items than the usual limit where nobody gave one: one for so many tokens."""

SECONDS_A_DAY = 86_400

MOST_CONTEXT_LINES = 100
"""Lines around a shown range; whoever wants more wants the file, which a pin shows."""

LONGEST_SESSION = 500
"""Characters of a session id: hosts give 36, and no honest one is near this."""

STALE_CHOICES = ("mark", "withhold")
"""What becomes of text that its file has no more: it is shown and marked, or left out with a note."""


@dataclass(frozen=True, slots=True)
class AssembleRequest:
    """One question with everything that shapes its answer. Build it with `make_request`, which checks the values.

    `kinds` is empty for "every kind that has documents". `min_score` is absolute (0 to 1); None takes the calibrated
    floor. `whole_item_tokens` is the size up to which a function or section is kept whole. `stale` is one of
    `STALE_CHOICES`. With `fill` the budget is spent to its end, also on what is hardly worth it.
    `context_lines` are shown before and after what answers, and with `imports` the import lines that it needs.
    `reserves` are tokens that a kind gets before the rest is shared. `now` is in seconds. With `related`, shown
    definitions name their container, callees, callers and tests. `change` is what is being edited: the answer shows
    what it concerns, and of the change itself only signatures. `filters` say which records may answer.
    `searches` are the ways of searching (all if empty), `roles` the roles of documents (any if empty), `entity_limit`
    the most documents over all kinds. `strategy` names how what is too large is shortened, `view` the layout; with
    `show_meta` the footer says how the answer came about. `lead` is the kind whose section comes first.
    `plan` names what is asked for in place of the kinds (`satchel.assemble.plans`), empty for the kinds themselves.
    `session` is whom the answer is for: what it received before is only named. `ledger` is the state of the session's
    ledger to answer from, empty for the latest. With `callers` the functions that answer bring the lines that call
    them. `file_weights` are those signals of files whose weight is another one.
    """

    query: str
    kinds: tuple[Kind, ...] = ()
    max_tokens: int = 4000
    limit: int = 20
    format: Format = Format.MARKDOWN
    tokenizer: str = "o200k_base"
    whole_item_tokens: int = WHOLE_ITEM_TOKENS["find"]
    min_score: float | None = None
    weights: Mapping[Kind, float] = field(default_factory=lambda: dict(DEFAULT_WEIGHTS))
    searches: tuple[SearchStrategy, ...] = ()
    roles: tuple[Role, ...] = ()
    entity_limit: int | None = None
    strategy: str = LADDER
    view: View = View.SECTIONS
    show_meta: bool = False
    show_sources: bool = False
    show_code: bool = True
    group_by_type: bool = False
    exclude: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    deadline_seconds: float = 5.0
    now: float = 0.0
    stale: str = "mark"
    related: bool = False
    fill: bool = False
    context_lines: int = 0
    imports: bool = True
    reserves: Mapping[Kind, int] = field(default_factory=dict)
    pins: tuple[Pin, ...] = ()
    change: Change | None = None
    show_handles: bool = False
    filters: Filters = NO_FILTERS
    lead: Kind | None = None
    plan: str = ""
    session: str = ""
    ledger: str = ""
    callers: bool = False
    file_weights: FileWeights = ()


def make_request(question: str, settings: Settings, options: Mapping[str, Any]) -> AssembleRequest:
    """A checked request: options by name, and the settings for what no option says. Raises UsageError."""
    given = dict(options)
    purpose = given.pop("purpose", "find")
    if purpose not in WHOLE_ITEM_TOKENS:
        raise UsageError(f"unknown purpose {purpose!r}: choose from {', '.join(WHOLE_ITEM_TOKENS)}")
    whole = {"find": settings.context_item_tokens_find, "edit": settings.context_item_tokens_edit}
    budget = check_budget(given.pop("max_tokens", settings.budget_max_tokens))
    request = AssembleRequest(
        query=question,
        kinds=parse_kinds(given.pop("types", ())),
        max_tokens=budget,
        view=parse_view(given.pop("view", View.SECTIONS)),
        searches=parse_strategies(given.pop("searches", ())),
        strategy=check_strategy(given.pop("strategy", LADDER)),
        format=parse_format(given.pop("format", settings.context_format)),
        limit=given.pop("limit", max(settings.context_limit, budget // TOKENS_PER_ITEM)),
        tokenizer=given.pop("tokenizer", settings.budget_tokenizer),
        min_score=check_score(given.pop("min_score", settings.context_min_score)),
        whole_item_tokens=whole[purpose],
        callers=purpose == "edit",
        show_sources=given.pop("show_sources", settings.context_sources),
        exclude=(*settings.context_exclude, *given.pop("exclude", ())),
        pins=tuple(map(parse_pin, (*settings.context_include, *given.pop("include", ())))),
        context_lines=check_context_lines(given.pop("context_lines", 0)),
        reserves=parse_reserves(given.pop("reserves", {})),
        now=given.pop("now", None) or start_of_day(),
        filters=parse_filters(given.pop("filters", {})),
        deadline_seconds=settings.context_gather_deadline_s,
        weights=settings.context_weights,
        file_weights=check_file_weights(settings.search_weights.items()),
        stale=check_stale(given.pop("stale", settings.context_stale)),
        session=check_session(given.pop("session", "")),
    )
    if request.limit < 1:
        raise UsageError(f"limit is {request.limit}: give at least 1")
    return replace(request, **given)


def parse_kinds(types: Iterable[str]) -> tuple[Kind, ...]:
    """Context types (`code`, `memories`) as kinds, each once, in section order. Raises InvalidContextTypeError."""
    asked = [name.strip() for name in types if name.strip()]
    for name in asked:
        if name not in CONTEXT_TYPES:
            raise InvalidContextTypeError(f"unknown context type {name!r}: choose from {', '.join(CONTEXT_TYPES)}")
    return tuple(kind for name, kind in CONTEXT_TYPES.items() if name in asked)


def parse_format(name: str) -> Format:
    """An output format by name. Raises UsageError that lists all."""
    try:
        return Format(name)
    except ValueError:
        raise UsageError(f"unknown format {name!r}: choose from {', '.join(Format)}") from None


def parse_reserves(reserves: Mapping[str, int]) -> dict[Kind, int]:
    """Tokens by context type as tokens by kind. Raises UsageError for an unknown type or an impossible number."""
    for name, tokens in reserves.items():
        if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
            raise UsageError(f"the reserve of {name} is {tokens!r}: give a whole number of tokens, 0 or more")
    return {parse_kinds([name])[0]: tokens for name, tokens in reserves.items()}


def check_context_lines(count: int) -> int:
    """A usable number of lines around what is shown. Raises UsageError below 0 and above `MOST_CONTEXT_LINES`."""
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= MOST_CONTEXT_LINES:
        raise UsageError(f"context_lines is {count!r}: give 0 to {MOST_CONTEXT_LINES} lines")
    return count


def start_of_day() -> float:
    """Now, cut to the day (UTC): equal questions of one day get equal answers."""
    return time.time() // SECONDS_A_DAY * SECONDS_A_DAY


def parse_view(name: str) -> View:
    """A layout by name. Raises UsageError that lists all."""
    try:
        return View(name)
    except ValueError:
        raise UsageError(f"unknown view {name!r}: choose from {', '.join(View)}") from None


def check_strategy(name: str) -> str:
    """The name of a truncation strategy. Raises UsageError that lists all."""
    find_strategy(name)
    return name


def check_budget(max_tokens: int) -> int:
    """A usable token budget. Raises UsageError for 0, a negative number, or more than any model takes."""
    if isinstance(max_tokens, bool) or not isinstance(max_tokens, int):
        raise UsageError(f"max_tokens is {max_tokens!r}: give a whole number of tokens")
    if not 0 < max_tokens <= LARGEST_BUDGET:
        raise UsageError(f"max_tokens is {max_tokens}: give 1 to {LARGEST_BUDGET:,} tokens (4000 is the default)")
    return max_tokens


def check_stale(choice: str) -> str:
    """What becomes of text that its file has no more. Raises UsageError that lists the choices."""
    if choice not in STALE_CHOICES:
        raise UsageError(f"stale is {choice!r}: choose from {', '.join(STALE_CHOICES)}")
    return choice


def check_session(session: str) -> str:
    """The id of a session without hidden characters; empty for none. Raises UsageError for one that is too long."""
    if not isinstance(session, str):
        raise UsageError(f"session is {session!r}: give the id of a session as text")
    cleaned = clean_field(session, len(session) + 1)
    if len(session) > LONGEST_SESSION:
        raise UsageError(f"the session id has {len(session):,} characters: give at most {LONGEST_SESSION}")
    if session.strip() and not cleaned:
        raise UsageError(f"session is {session!r}, which has no visible character: give the id of a session")
    return cleaned


def check_file_weights(weights: Iterable[tuple[str, float]]) -> FileWeights:
    """The weights of signals that differ from the usual ones. Raises ValueError for a signal that there is none of."""
    given = {str(name): float(weight) for name, weight in weights}
    unknown = given.keys() - FILE_WEIGHTS.keys()
    if unknown:
        raise ValueError(f"there is no signal {', '.join(sorted(unknown))}")
    return tuple(
        (name, given[name]) for name in FILE_WEIGHTS if given.get(name, FILE_WEIGHTS[name]) != FILE_WEIGHTS[name]
    )


def check_score(min_score: float | None) -> float | None:
    """A usable floor. Raises UsageError outside 0 to 1."""
    if min_score is not None and not 0 <= min_score <= 1:
        raise UsageError(f"min_score is {min_score}: it is a share of the question's words, 0 to 1")
    return min_score
