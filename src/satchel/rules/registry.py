"""Keys that a rule can inject instead of a context: what is built in, and what a program registers.

Built in are `memory.CATEGORY` (`memory.errors`) and `memory.recent`, `experiences`, `values`, `commits`,
`recent.commits`, `conversations`, and `files:GLOB` (`files:docs/**/*.md`). Each takes `query`, `filter` and `limit`.
Without a query the records are the newest ones, or for `experiences`, `values` and `conversations` those that answer
the situation.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from satchel.errors import UsageError
from satchel.rules.rule import Target
from satchel.rules.situation import Situation
from satchel.types import Kind
from satchel.vocabulary import MemoryCategory, choices

FILES = "files"

DEFAULT_LIMIT = 5
"""Records of one key: a rule that wants more says so."""


@dataclass(frozen=True, slots=True)
class KeyRequest:
    """What a registered key is asked: the rule's target, the situation, and the time in seconds."""

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


def _plural(category: str) -> str:
    return f"{category[:-1]}ies" if category.endswith("y") else f"{category}s"


RECORD_KEYS: Mapping[str, RecordKey] = {
    **{
        f"memory.{_plural(category)}": RecordKey(Kind.MEMORY, {"category": category}, is_newest=True)
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
        """Who supplies this reference, None where it is no registered key."""
        return self._providers.get(reference.partition(":")[0])

    def is_key(self, target: Target) -> bool:
        """Whether a target is a key and not the path of a context."""
        name, colon, _ = target.reference.partition(":")
        return name in RECORD_KEYS or name in self._providers or (name == FILES and bool(colon))

    @property
    def names(self) -> list[str]:
        """Every key there is."""
        return [*RECORD_KEYS, f"{FILES}:GLOB", *sorted(self._providers)]
