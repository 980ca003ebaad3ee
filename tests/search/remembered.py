"""Records written by the real writers, and asked by the real search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from satchel.memory.model import Experience, Lesson, Memory, Outcome, RootCause
from satchel.memory.portable import put_exchanges
from satchel.memory.records import document_of
from satchel.memory.scope import Notebook
from satchel.search.filters import make_filters
from satchel.search.query import analyse
from satchel.search.searcher import SearchResult, search_kind
from satchel.sources.conversations import Exchange
from satchel.store.protocol import Store
from satchel.store.sqlite import SqliteStore
from satchel.types import Hit, Kind
from satchel.vocabulary import ConfidenceTier, Domain, OutcomeStatus, RootCauseCategory, Strategy

DAY = 86_400.0
NOW = 20_000 * DAY + 3_600


def memory(identity: str, content: str, **options: Any) -> Memory:
    """A memory of a hundred days before `NOW`."""
    long_ago = NOW - 100 * DAY
    values: dict[str, Any] = {"id": identity, "content": content, "created": long_ago, "updated": long_ago}
    return Memory(**values | options)


def experience(identity: str, goal: str = "Make the upload survive a lost connection", **options: Any) -> Experience:
    """An attempt that went wrong, with everything that the four axes tell."""
    values: dict[str, Any] = {
        "id": identity,
        "domain": Domain.DEBUGGING,
        "strategy": Strategy.READ_THE_ERROR,
        "goal": goal,
        "hypothesis": "The socket is closed before the last block",
        "action": "Log every block with its number",
        "prediction": "The last number is missing",
        "created": NOW - 100 * DAY,
        "outcome": Outcome(OutcomeStatus.FALSIFIED, "All numbers were there", NOW - 99 * DAY),
        "surprise": "A proxy had swallowed the answer",
        "root_cause": RootCause(RootCauseCategory.ENVIRONMENT_ISSUE, "The proxy has a limit of a minute"),
        "lesson": Lesson("Asking without the proxy"),
        "confidence_tier": ConfidenceTier.SILVER,
    }
    return Experience(**values | options)


def confirmed(identity: str, tier: ConfidenceTier = ConfidenceTier.SILVER, **options: Any) -> Experience:
    """An attempt that went as expected."""
    outcome = Outcome(OutcomeStatus.CONFIRMED, "It was so", NOW - 99 * DAY)
    values: dict[str, Any] = {"outcome": outcome, "surprise": "", "root_cause": None, "confidence_tier": tier}
    return experience(identity, **values | options)


def put(store: SqliteStore, *records: Memory | Experience) -> None:
    """Write them as the memory file does."""
    with store.write() as writer:
        writer.put([document_of(record) for record in records])


def talk(store: SqliteStore, session: str, *turns: tuple[str, str]) -> None:
    """Write the turns (speaker and text) of a conversation, a minute apart."""
    exchanges = [
        Exchange(session, f"{place:06d}", NOW - 100 * DAY + 60 * place, text, speaker=speaker)
        for place, (speaker, text) in enumerate(turns)
    ]
    put_exchanges(exchanges, Notebook(store, ""), origin="test")


def ask(store: Store, kind: Kind, question: str, **options: Any) -> SearchResult:
    """The answer of the search; filters by name."""
    names = ("candidates", "now", "likeness")
    other = {name: options.pop(name) for name in names if name in options}
    return search_kind(store, kind, analyse(question), filters=make_filters(**options), **other)


def keys(hits: Sequence[Hit]) -> list[str]:
    """The ids of the hits without their kind."""
    return [hit.chunk.id.partition(":")[2] for hit in hits]


def signal(hit: Hit, name: str) -> float:
    """The value of a signal of a hit."""
    return next(row.value for row in hit.signals if row.name == name)
