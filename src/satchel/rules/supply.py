"""What the injected keys stand for: hits of the stores, files to be shown, and records of registered keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from satchel import logs, outside
from satchel.errors import SatchelError, UsageError
from satchel.rules.document import RELATIVE_FILTERS
from satchel.rules.paths import Globs, problem_of
from satchel.rules.registry import (
    DEFAULT_LIMIT,
    FILES,
    RECORD_KEYS,
    KeyRequest,
    Provider,
    RecordKey,
    Registry,
    Supplied,
)
from satchel.rules.rule import Target
from satchel.rules.situation import Situation
from satchel.search.changes import read_changes
from satchel.search.documents import document_of
from satchel.search.filters import Filters, parse_filters
from satchel.search.query import analyse
from satchel.search.searcher import CANDIDATE_WINDOWS, search_kind
from satchel.store.protocol import Store
from satchel.store.records import Bundle
from satchel.types import Failure, Hit, Kind, Signal

KEYS = "injected"
"""The source that notes about keys name."""

LONGEST_RECORD = 20_000
"""Characters of one record of a registered key."""

_SECONDS = {"last_hours": 3_600.0, "last_days": 86_400.0}


@dataclass(slots=True)
class Supply:
    """What was found for all keys. `paths` are files, `own` the records of registered keys with their key."""

    hits: list[Hit] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    own: list[tuple[str, Supplied]] = field(default_factory=list)
    notes: list[Failure] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Sources:
    """Where records come from. `store_of` gives the store of a kind, None where nothing of it is kept."""

    store_of: Callable[[Kind], Store | None]
    root: Path
    allow: tuple[str, ...]
    registry: Registry


def supplied(targets: Sequence[tuple[Target, str]], situation: Situation, sources: Sources, now: float) -> Supply:
    """What these targets (each with the rule that wants it) stand for; what cannot be had is noted."""
    found = Supply()
    for target, wanted_by in targets:
        before = len(found.hits) + len(found.paths) + len(found.own)
        try:
            _take(target, situation, sources, now, found)
        except SatchelError as error:
            found.notes.append(Failure(KEYS, f"{outside.line(target.reference)}: {error}", wanted_by))
            continue
        if len(found.hits) + len(found.paths) + len(found.own) == before:
            found.notes.append(Failure(KEYS, f"{outside.line(target.reference)}: nothing is there", wanted_by))
    found.hits = list({hit.document.id: hit for hit in reversed(found.hits)}.values())[::-1]
    found.paths = list(dict.fromkeys(found.paths))
    return found


def _take(target: Target, situation: Situation, sources: Sources, now: float, found: Supply) -> None:
    name, _, argument = target.reference.partition(":")
    limit = target.limit or DEFAULT_LIMIT
    provider = sources.registry.provider(target.reference)
    if provider is not None:
        request = KeyRequest(name, argument, target.query, target.filters, limit, situation, now)
        found.own += [(target.reference, one) for one in _provided(provider, request, sources.allow, found.notes)]
    elif name == FILES:
        found.paths += _matching_files(argument, sources, target, limit)
    else:
        found.hits += _records(RECORD_KEYS[name], target, situation, sources, now)[:limit]


def _provided(
    provider: Provider, request: KeyRequest, allow: Sequence[str], notes: list[Failure]
) -> Iterator[Supplied]:
    """The records of a registered key, clean; somebody else's function may do anything, so it is fenced."""
    try:
        given = [*provider(request)][: request.limit]
    except Exception as error:  # noqa: BLE001 - a function of the user's: whatever it raises must not take the answer down
        logs.warning("registered key failed", key=request.key, exc_info=True)
        notes.append(
            Failure(KEYS, f"{request.key}: {type(error).__name__}: {outside.line(str(error))}", "it is left out")
        )
        return
    for one in given:
        title, text = (one.title, one.text) if isinstance(one, Supplied) else (request.key, str(one))
        yield Supplied(outside.line(title, allow=allow), outside.text(text[:LONGEST_RECORD], allow))


def _matching_files(glob: str, sources: Sources, target: Target, limit: int) -> list[str]:
    problem = problem_of(glob)
    if problem:
        raise UsageError(f"the pattern {problem}")
    globs = Globs((glob,))
    paths: dict[str, None] = {}
    for kind in (Kind.DOC, Kind.CODE):
        store = sources.store_of(kind)
        if store is None:
            continue
        if target.query:
            hits = search_kind(store, kind, analyse(target.query), candidates=CANDIDATE_WINDOWS).hits
            listed = [hit.document.location.path for hit in hits if hit.document.location is not None]
        else:
            listed = sorted(store.iterate_keys(kind))
        paths |= dict.fromkeys(path for path in listed if globs.matching(path))
    return [*paths][:limit]


def _records(key: RecordKey, target: Target, situation: Situation, sources: Sources, now: float) -> list[Hit]:
    store = sources.store_of(key.kind)
    if store is None:
        return []
    filters = _filters({**key.filters, **target.filters}, now)
    question = target.query or ("" if key.is_newest else situation.question)
    if question:
        text = outside.text(question, sources.allow)
        found = search_kind(store, key.kind, analyse(text), candidates=CANDIDATE_WINDOWS, filters=filters).hits
        return [replace(hit, signals=(*hit.signals, Signal("injected", 1.0, 1.0))) for hit in found]
    limit = target.limit or DEFAULT_LIMIT
    if key.kind is Kind.COMMIT:
        changes = read_changes(store, sources.root, sources.allow).history("", limit).changes
        ids = store.bundle_ids(Kind.COMMIT, [change.sha for change in changes])
    else:
        ids = store.bundle_ids(key.kind, store.iterate_keys(key.kind))
    bundles = sorted(store.bundles(ids.values()).values(), key=lambda bundle: (-bundle.created, bundle.key))
    return [hit for bundle in bundles if (hit := _newest_hit(store, bundle, filters)) is not None][:limit]


def _newest_hit(store: Store, bundle: Bundle, filters: Filters) -> Hit | None:
    """A record that nobody searched for: its first side, relevant because a rule wants it."""
    part = store.parts([bundle.first_document])[bundle.first_document]
    if not filters.admits(bundle, part.name):
        return None
    return Hit(document_of(bundle, part), 1.0, 0.0, signals=(Signal("injected", 1.0, 1.0),))


def _filters(given: Mapping[str, Any], now: float) -> Filters:
    """Filters by name, with those that count back from now as times. Raises UsageError."""
    plain = {name: value for name, value in given.items() if name not in RELATIVE_FILTERS}
    for name in RELATIVE_FILTERS & given.keys():
        amount = given[name]
        if isinstance(amount, bool) or not isinstance(amount, int | float) or amount <= 0:
            raise UsageError(f"{name} is {amount!r}: give a number above 0")
        plain["since"] = max(plain.get("since") or 0.0, now - amount * _SECONDS[name])
    return parse_filters(plain)
