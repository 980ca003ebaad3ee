"""What a request may ask of a search: filters for records, strategies, and the weights of the signals of a file.

A filter on a field that a kind does not have (the domain of a commit) does not apply to that kind. Times are seconds
since the epoch (UTC). Nothing here imports numpy, so that a request is checked without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import fields, replace

from satchel.errors import UsageError
from satchel.store.records import Document
from satchel.types import Failure, Kind
from satchel.vocabulary import (
    ACTIVE,
    FILTER_KINDS,
    Axis,
    Domain,
    MemoryCategory,
    OutcomeStatus,
    Provenance,
    Scope,
    Strategy,
    Visibility,
    checked_text,
    choices,
    parse_choice,
    parse_moment,
)

_FIELDS: Mapping[str, tuple[type[StrEnum], str]] = {
    "category": (MemoryCategory, "category"),
    "provenance": (Provenance, "provenance"),
    "scope": (Scope, "scope"),
    "domain": (Domain, "domain"),
    "strategy": (Strategy, "strategy"),
    "outcome": (OutcomeStatus, "outcome_status"),
    "axis": (Axis, "axis"),
}
"""Filter -> its choices, and the stored field that it compares."""

_PLURAL_FIELDS = {"domain": "domains", "strategy": "strategies"}
"""Fields of values with several domains or strategies, of which any may match."""


class Filters(Struct, frozen=True):
    """Conditions on records. Build it with `make_filters`, which checks the values; None and () admit all.

    `axis` chooses the side of experiences (and the axis that values come from); `author` is a part of the name, case
    ignored; `origin` is the source of an import; `since` is included, `until` is not; a record needs all of `tags`,
    and one of `workspaces`.
    """

    category: str | None = None
    domain: str | None = None
    strategy: str | None = None
    outcome: str | None = None
    axis: str | None = None
    min_importance: float | None = None
    author: str | None = None
    since: float | None = None
    until: float | None = None
    tags: tuple[str, ...] = ()
    workspaces: tuple[str, ...] | None = None
    provenance: str | None = None
    scope: str | None = None
    origin: str | None = None

    def admits(self, document: Document, part: str) -> bool:
        """Return whether a record may be returned; `part` is the name of a chunk of it (the axis of an experience)."""
        return not document.fields.get("superseded_by") and (self == NO_FILTERS or self.fits(document, part))

    def fits(self, document: Document, part: str = "") -> bool:
        """Return whether a record meets the conditions, whether or not it was replaced."""
        return (
            all(self._says(name, document, part) for name in _FIELDS)
            and self._matters(document)
            and self._is_by(document)
            and (self.origin is None or document.origin == self.origin or document.kind not in FILTER_KINDS["origin"])
            and (self.since is None or document.created >= self.since)
            and (self.until is None or document.created < self.until)
            and (self.workspaces is None or document.workspace in self.workspaces)
            and set(self.tags) <= set(document.tags)
        )

    def _matters(self, document: Document) -> bool:
        if self.min_importance is None or document.kind not in FILTER_KINDS["min_importance"]:
            return True
        return document.importance is not None and document.importance >= self.min_importance

    def _is_by(self, document: Document) -> bool:
        if self.author is None or document.kind not in FILTER_KINDS["author"]:
            return True
        return self.author.casefold() in str(document.fields.get("author", "")).casefold()

    def _says(self, name: str, document: Document, part: str) -> bool:
        """Return whether a record has the value of one of the choices, or is of a kind without that field."""
        value = getattr(self, name)
        field = _FIELDS[name][1]
        if value is None or document.kind not in FILTER_KINDS[name]:
            return True
        if name == "axis" and document.kind is Kind.EXPERIENCE:
            return bool(part == value)
        if document.kind is Kind.VALUE and name in _PLURAL_FIELDS:
            return value in document.fields.get(_PLURAL_FIELDS[name], ())
        if name == "scope":
            return bool(_scope_of(document.fields) == value)
        return bool(document.fields.get(field) == value)


NO_FILTERS = Filters()


def _scope_of(fields: Mapping[str, Any]) -> Scope:
    if fields.get("visibility") == Visibility.TEAM:
        return Scope.TEAM
    return Scope.AGENT if fields.get("provenance") == Provenance.AGENT else Scope.USER


def make_filters(**values: Any) -> Filters:
    """Return checked filters; the names are those of the fields of `Filters`.

    Raises UsageError for an unknown choice (the message lists all), an importance outside 0 to 1, or a time span that
    ends before it begins.
    """
    times = {name: parse_moment(values[name], name) for name in ("since", "until") if values.get(name) is not None}
    filters = Filters(**values | times)
    choices_made: dict[str, Any] = {name: _choice(name, getattr(filters, name)) for name in _FIELDS}
    minimum = filters.min_importance
    if minimum is not None and not (isinstance(minimum, int | float) and 0 <= minimum <= 1):
        raise UsageError(f"min_importance is {minimum!r}: give 0 to 1", "min_importance")
    if filters.author is not None:
        checked_text("author", filters.author)
    if filters.since is not None and filters.until is not None and filters.until <= filters.since:
        raise UsageError(
            f"since ({filters.since:g}) is not before until ({filters.until:g}): nothing lies between them"
        )
    if isinstance(filters.tags, str):
        raise UsageError(f"tags is {filters.tags!r}: give a list, as in tags=[{filters.tags!r}]")
    workspaces = tuple(filters.workspaces) if filters.workspaces is not None else None
    return replace(
        filters, **choices_made, author=filters.author or None, tags=tuple(filters.tags), workspaces=workspaces
    )


def _choice(name: str, value: str | None) -> str | None:
    if value is None:
        return None
    values = _FIELDS[name][0]
    if values is OutcomeStatus and value == ACTIVE:
        return ACTIVE
    if values is OutcomeStatus and value not in choices(values):
        raise UsageError(f"unknown outcome {value!r}: choose from {', '.join([*choices(values), ACTIVE])}")
    return str(parse_choice(values, value, name))


def parse_filters(filters: Mapping[str, Any] | Filters) -> Filters:
    """Return filters by name, as in `{"category": "error"}`. Raises UsageError, which lists all names, for others."""
    if isinstance(filters, Filters):
        return filters
    names = [field.name for field in fields(Filters)]
    for name in filters:
        if name not in names:
            raise UsageError(f"unknown filter {name!r}: choose from {', '.join(names)}")
    return make_filters(**filters)


def filters_data(filters: Filters) -> dict[str, Any]:
    """Return the filters that are set, as plain values that `parse_filters` takes."""
    values = {field.name: getattr(filters, field.name) for field in fields(Filters)}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value not in (None, ())
    }


class SearchStrategy(StrEnum):
    """One way of searching.

    `lexical` counts the words of a text, `names` looks up names in the question (files, symbols, frames of a trace),
    `history` lets commits vote for the files they touched, `graph` follows calls, `dense` compares meanings.
    """

    LEXICAL = "lexical"
    NAMES = "names"
    HISTORY = "history"
    GRAPH = "graph"
    DENSE = "dense"


def parse_strategies(names: Iterable[str]) -> tuple[SearchStrategy, ...]:
    """Return strategies by name, each once, in their order; none means all. Raises UsageError that lists all."""
    listed = list(names)
    for name in listed:
        if name not in set(SearchStrategy):
            raise UsageError(f"unknown search strategy {name!r}: choose from {', '.join(SearchStrategy)}")
    return tuple(strategy for strategy in SearchStrategy if strategy in listed)


def silent(strategies: Sequence[SearchStrategy]) -> frozenset[SearchStrategy]:
    """Return the strategies that take no part; none if none was asked for by name."""
    return frozenset(SearchStrategy) - frozenset(strategies) if strategies else frozenset()


def unavailable(strategies: Iterable[SearchStrategy], *, has_vectors: bool, has_history: bool) -> list[Failure]:
    """Return a failure for each named strategy that cannot be used here."""
    missing = {
        SearchStrategy.HISTORY: (has_history, "no commits are indexed here", "it needs a git history"),
        SearchStrategy.DENSE: (
            has_vectors,
            "no vectors are set up here",
            "install satchel[embed] or set embed.endpoint, then run `satchel index`",
        ),
    }
    return [
        Failure(f"strategy {strategy}", missing[strategy][1], missing[strategy][2])
        for strategy in strategies
        if strategy in missing and not missing[strategy][0]
    ]
