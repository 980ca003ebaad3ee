"""Keys that a rule can inject instead of a context: the built-in ones, and those that a program registers.

Built in are `memory.CATEGORY` (`memory.errors`) and `memory.recent`, `experiences`, `values`, `commits`,
`recent.commits`, `conversations`, and `files:GLOB` (`files:docs/**/*.md`). Each accepts `query`, `filter` and `limit`.
Without a query the records are the newest ones, or for `experiences`, `values` and `conversations` those that answer
the situation.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from satchel import logs, outside
from satchel.errors import SatchelError, UsageError
from satchel.rules.context_files import RELATIVE_FILTERS, Target
from satchel.rules.paths import Globs, problem_of
from satchel.rules.situation import Situation
from satchel.search.changes import read_changes
from satchel.search.documents import document_of
from satchel.search.filters import Filters, parse_filters
from satchel.search.query import analyse
from satchel.search.searcher import CANDIDATE_WINDOWS, search_kind
from satchel.store.protocol import Store
from satchel.types import Failure, Hit, Kind, Signal
from satchel.vocabulary import MemoryCategory, choices

FILES = "files"

DEFAULT_LIMIT = 5
"""Records of one key, unless the rule asks for more."""

LONGEST_RECORD = 20_000
"""Characters of one record of a registered key."""

_SECONDS = {"last_hours": 3_600.0, "last_days": 86_400.0}
_INJECTED = Signal("injected", 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class KeyRequest:
    """The request to a registered key: the rule's target, the situation, and the time in seconds."""

    key: str
    argument: str
    query: str
    filters: Mapping[str, object]
    limit: int
    situation: Situation
    now: float


@dataclass(frozen=True, slots=True)
class Supplied:
    """One record of a registered key."""

    title: str
    text: str


Provider = Callable[[KeyRequest], Iterable[Supplied | str]]
"""Gives the records of a key, best first; a text alone is titled by the key."""


@dataclass(frozen=True, slots=True)
class RecordKey:
    """A built-in key: records of a kind, with these filters, by default the newest."""

    kind: Kind
    filters: Mapping[str, str]
    is_newest: bool


RECORD_KEYS: Mapping[str, RecordKey] = {
    **{
        f"memory.{category}s": RecordKey(Kind.MEMORY, {"category": category}, is_newest=True)
        for category in choices(MemoryCategory)
    },
    "memory.recent": RecordKey(Kind.MEMORY, {}, is_newest=True),
    "experiences": RecordKey(Kind.EXPERIENCE, {}, is_newest=False),
    "experiences.recent": RecordKey(Kind.EXPERIENCE, {}, is_newest=True),
    "values": RecordKey(Kind.VALUE, {}, is_newest=False),
    "commits": RecordKey(Kind.COMMIT, {}, is_newest=False),
    "recent.commits": RecordKey(Kind.COMMIT, {}, is_newest=True),
    "conversations": RecordKey(Kind.CONVERSATION, {}, is_newest=False),
}


class Registry:
    """The keys of one engine."""

    def __init__(self) -> None:
        self._providers: dict[str, Provider] = {}
        self._guard = threading.Lock()

    def register(self, key: str, provider: Provider) -> None:
        """Let rules inject `key`, or `key:ARGUMENT`. A later one of the same name takes its place.

        Raises UsageError for a name that is built in, or could be the path of a context.
        """
        if key in RECORD_KEYS or key == FILES:
            raise UsageError(f"{key!r} is built in: choose another name")
        if not key.strip() or any(character in key for character in "/: \\") or key.startswith("."):
            raise UsageError(f"{key!r} is no name for a key: write words and dots, as in team.contacts")
        with self._guard:
            self._providers[key] = provider

    def provider(self, reference: str) -> Provider | None:
        """The provider of this reference, None where it is no registered key."""
        return self._providers.get(reference.partition(":")[0])

    def is_key(self, target: Target) -> bool:
        """True if a target is a key and not the path of a context."""
        name, colon, _ = target.reference.partition(":")
        return name in RECORD_KEYS or name in self._providers or (name == FILES and bool(colon))

    @property
    def names(self) -> list[str]:
        """Every key."""
        return [*RECORD_KEYS, f"{FILES}:GLOB", *sorted(self._providers)]


@dataclass(slots=True)
class Supply:
    """The records of all keys. `paths` are files, `own` the records of registered keys with their key."""

    hits: list[Hit] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    own: list[tuple[str, Supplied]] = field(default_factory=list)
    notes: list[Failure] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Records, repeated ones included."""
        return len(self.hits) + len(self.paths) + len(self.own)


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of records. `store_of` gives the store of a kind, None where nothing of it is kept."""

    store_of: Callable[[Kind], Store | None]
    root: Path
    allow: tuple[str, ...]
    registry: Registry


def supplied(targets: Sequence[tuple[Target, str]], situation: Situation, sources: Sources, now: float) -> Supply:
    """The records of these targets (each with the rule that wants it); a target without any is noted."""
    supply = Supply()
    for target, rule in targets:
        before, problem = supply.size, "nothing is there"
        try:
            _add(target, situation, sources, now, supply)
        except SatchelError as error:
            problem = str(error)
        if supply.size == before:
            supply.notes.append(Failure("injected", f"{outside.line(target.reference)}: {problem}", rule))
    supply.hits = list({hit.document.id: hit for hit in reversed(supply.hits)}.values())[::-1]
    supply.paths = list(dict.fromkeys(supply.paths))
    return supply


def _add(target: Target, situation: Situation, sources: Sources, now: float, supply: Supply) -> None:
    name, _, argument = target.reference.partition(":")
    limit = target.limit or DEFAULT_LIMIT
    provider = sources.registry.provider(target.reference)
    if provider is not None:
        request = KeyRequest(name, argument, target.query, target.filters, limit, situation, now)
        records = _provided(provider, request, sources.allow, supply.notes)
        supply.own += [(target.reference, record) for record in records]
    elif name == FILES:
        supply.paths += _matching_files(argument, sources, target.query)[:limit]
    else:
        supply.hits += _records(RECORD_KEYS[name], target, situation, sources, now)[:limit]


def _provided(provider: Provider, request: KeyRequest, allow: Sequence[str], notes: list[Failure]) -> list[Supplied]:
    """The records of a registered key, clean; whatever somebody else's function raises is noted."""
    try:
        records = [*provider(request)][: request.limit]
    except Exception as error:  # noqa: BLE001 - a function of the user's: whatever it raises must not take the answer down
        logs.warning("registered key failed", key=request.key, exc_info=True)
        problem = f"{request.key}: {type(error).__name__}: {outside.line(str(error))}"
        notes.append(Failure("injected", problem, "it is left out"))
        return []
    rows = [one if isinstance(one, Supplied) else Supplied(request.key, str(one)) for one in records]
    return [
        Supplied(outside.line(row.title, allow=allow), outside.text(row.text[:LONGEST_RECORD], allow)) for row in rows
    ]


def _matching_files(glob: str, sources: Sources, query: str) -> list[str]:
    problem = problem_of(glob)
    if problem:
        raise UsageError(f"the pattern {problem}")
    globs = Globs((glob,))
    paths: dict[str, None] = {}
    for kind in (Kind.DOC, Kind.CODE):
        store = sources.store_of(kind)
        if store is None:
            continue
        if query:
            hits = search_kind(store, kind, analyse(query), candidates=CANDIDATE_WINDOWS).hits
            listed = [hit.document.location.path for hit in hits if hit.document.location is not None]
        else:
            listed = sorted(store.iterate_keys(kind))
        paths |= dict.fromkeys(path for path in listed if globs.matching(path))
    return [*paths]


def _records(key: RecordKey, target: Target, situation: Situation, sources: Sources, now: float) -> list[Hit]:
    store = sources.store_of(key.kind)
    if store is None:
        return []
    filters = _filters({**key.filters, **target.filters}, now)
    question = target.query or ("" if key.is_newest else situation.question)
    if question:
        query = analyse(outside.text(question, sources.allow))
        hits = search_kind(store, key.kind, query, candidates=CANDIDATE_WINDOWS, filters=filters).hits
        return [replace(hit, signals=(*hit.signals, _INJECTED)) for hit in hits]
    return _newest(store, key.kind, filters, target.limit or DEFAULT_LIMIT, sources)


def _newest(store: Store, kind: Kind, filters: Filters, limit: int, sources: Sources) -> list[Hit]:
    """The newest records, with the first side of each: nobody searched, so each is fully relevant."""
    if kind is Kind.COMMIT:
        changes = read_changes(store, sources.root, sources.allow).history("", limit).changes
        ids = store.bundle_ids(kind, [change.sha for change in changes])
    else:
        ids = store.bundle_ids(kind, store.iterate_keys(kind))
    hits: list[Hit] = []
    for bundle in sorted(store.bundles(ids.values()).values(), key=lambda bundle: (-bundle.created, bundle.key)):
        part = store.parts([bundle.first_document])[bundle.first_document]
        if len(hits) < limit and filters.admits(bundle, part.name):
            hits.append(Hit(document_of(bundle, part), 1.0, 0.0, signals=(_INJECTED,)))
    return hits


def _filters(written: Mapping[str, Any], now: float) -> Filters:
    """Filters by name, with those that count back from now as times. Raises UsageError."""
    plain = {name: value for name, value in written.items() if name not in RELATIVE_FILTERS}
    for name in RELATIVE_FILTERS & written.keys():
        amount = written[name]
        if isinstance(amount, bool) or not isinstance(amount, int | float) or amount <= 0:
            raise UsageError(f"{name} is {amount!r}: give a number above 0")
        plain["since"] = max(plain.get("since") or 0.0, now - amount * _SECONDS[name])
    return parse_filters(plain)
