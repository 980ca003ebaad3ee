"""What is asked of the assembler, checked once so that the stream can trust it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from satchel.errors import InvalidContextTypeError, UsageError
from satchel.settings import Settings
from satchel.types import CONTEXT_TYPES, Format, Kind

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


@dataclass(frozen=True, slots=True)
class AssembleRequest:
    """One question with everything that shapes its answer. Build it with `make_request`, which checks the values.

    `kinds` is empty for "every kind that has documents". `min_score` is absolute (0 to 1); None takes the calibrated
    floor. `whole_item_tokens` is the size up to which a function or section is kept whole.
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
    show_sources: bool = False
    show_code: bool = True
    group_by_type: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    deadline_seconds: float = 5.0
    now: float = 0.0


def make_request(question: str, settings: Settings, options: Mapping[str, Any]) -> AssembleRequest:
    """A checked request: options by name, and the settings for what no option says. Raises UsageError."""
    given = dict(options)
    purpose = given.pop("purpose", "find")
    if purpose not in WHOLE_ITEM_TOKENS:
        raise UsageError(f"unknown purpose {purpose!r}: choose from {', '.join(WHOLE_ITEM_TOKENS)}")
    whole = {"find": settings.context_item_tokens_find, "edit": settings.context_item_tokens_edit}
    request = AssembleRequest(
        query=question,
        kinds=parse_kinds(given.pop("types", ())),
        max_tokens=check_budget(given.pop("max_tokens", settings.budget_max_tokens)),
        format=parse_format(given.pop("format", settings.context_format)),
        limit=given.pop("limit", settings.context_limit),
        tokenizer=given.pop("tokenizer", settings.budget_tokenizer),
        min_score=check_score(given.pop("min_score", settings.context_min_score)),
        whole_item_tokens=whole[purpose],
        show_sources=given.pop("show_sources", settings.context_sources),
        exclude=(*settings.context_exclude, *given.pop("exclude", ())),
        include=(*settings.context_include, *given.pop("include", ())),
        deadline_seconds=settings.context_gather_deadline_s,
        weights=settings.context_weights,
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


def check_budget(max_tokens: int) -> int:
    """A usable token budget. Raises UsageError for 0, a negative number, or more than any model takes."""
    if isinstance(max_tokens, bool) or not isinstance(max_tokens, int):
        raise UsageError(f"max_tokens is {max_tokens!r}: give a whole number of tokens")
    if not 0 < max_tokens <= LARGEST_BUDGET:
        raise UsageError(f"max_tokens is {max_tokens}: give 1 to {LARGEST_BUDGET:,} tokens (4000 is the default)")
    return max_tokens


def check_score(min_score: float | None) -> float | None:
    """A usable floor. Raises UsageError outside 0 to 1."""
    if min_score is not None and not 0 <= min_score <= 1:
        raise UsageError(f"min_score is {min_score}: it is a share of the question's words, 0 to 1")
    return min_score
