"""What was delivered to agents: tokens beside those of the whole files, lessons with their moments, late events.

Read from the log of editor hooks and the ledgers of sessions, which have ids and lines but no text.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

from satchel.answer.session import Ledger
from satchel.answer.source_lines import joined
from satchel.safety import sanitize
from satchel.store.protocol import Store
from satchel.system import telemetry
from satchel.system.locations import Places
from satchel.tokens import counter
from satchel.types import LESSON_KINDS, LINE_KINDS, Json, Kind, Range


class DeliveredLesson(NamedTuple):
    """A memory or an experience that a hook gave to a session: the moment (UTC), the event and who received it.

    `title` is empty for one that is forgotten by now.
    """

    at: str
    host: str
    session: str
    event: str
    id: str
    title: str


class ReadFiles(NamedTuple):
    """Files of which sessions received lines, each once per session.

    `shown_tokens` are those of the distinct lines, `whole_tokens` those of the files, both as the files are now;
    `gone` is the number of files that cannot be read any more, which are not counted.
    """

    sessions: int
    files: int
    shown_tokens: int
    whole_tokens: int
    gone: int


class DeliveryStats(NamedTuple):
    """What was delivered in the last `days`.

    `events` has how many hook events ended how, `tokens` those that hooks delivered by event. `late` events were not
    answered in time, in any folder: those are noted without one.
    """

    days: int
    events: Mapping[str, int]
    tokens: Mapping[str, int]
    late: int
    read: ReadFiles
    lessons: tuple[DeliveredLesson, ...]


def delivery_stats(
    places: Places, memory: Store | None, ledgers: Iterable[Ledger], tokenizer: str, days: int, since: float
) -> DeliveryStats:
    """Return what agents in this root received in the last `days` days, which began at `since` (seconds).

    `ledgers` are those of the sessions of that time, `memory` has the titles of lessons.
    """
    earliest = f"{datetime.fromtimestamp(max(since, 0.0), UTC):%Y-%m-%dT%H:%M:%SZ}"
    entries = [
        other
        for other in telemetry.hook_entries(places.state)
        if str(other.get("at", "")) >= earliest and _is_in(other, places.root)
    ]
    tokens: Counter[str] = Counter()
    for entry in entries:
        tokens[str(entry.get("event", ""))] += int(entry.get("tokens", 0))
    return DeliveryStats(
        days,
        Counter(str(entry.get("outcome", "")) for entry in entries),
        +tokens,
        sum(at >= earliest for at in telemetry.late_events(places.state)),
        _read_files(ledgers, places.root, tokenizer),
        tuple(_lessons(entries, memory)),
    )


def _is_in(entry: Json, root: Path) -> bool:
    folder = str(entry.get("folder", ""))
    return bool(folder) and Path(folder).is_relative_to(root)


def _lessons(entries: Iterable[Json], memory: Store | None) -> Iterator[DeliveredLesson]:
    """Yield the records that were learned and delivered, oldest first."""

    @cache
    def title(kind: Kind, key: str) -> str:
        document = memory.document(kind, key) if memory is not None else None
        return sanitize.line(document.title, 120) if document is not None else ""

    for entry in entries:
        for item in entry.get("items", ()):
            identity = str(item.get("id", ""))
            kind, _, key = identity.partition(":")
            if kind in LESSON_KINDS:
                at, host, session, event = (str(entry.get(name, "")) for name in ("at", "host", "session", "event"))
                yield DeliveredLesson(at, host, session, event, identity, title(Kind(kind), key))


def _read_files(ledgers: Iterable[Ledger], root: Path, tokenizer: str) -> ReadFiles:
    """Count the lines that sessions received, and the files that they are from."""
    count = counter(tokenizer).count
    prefix = tuple(f"{kind}:" for kind in LINE_KINDS)

    @cache
    def lines_of(path: str) -> tuple[str, ...]:
        try:
            raw = (root / path).read_bytes()
        except OSError:
            return ()
        return tuple(raw.decode("utf-8", "replace").splitlines(keepends=True))

    @cache
    def whole(path: str) -> int:
        return count("".join(lines_of(path)))

    sessions = files = shown_tokens = whole_tokens = gone = 0
    for ledger in ledgers:
        shown: dict[str, list[Range]] = defaultdict(list)
        for sent in ledger.items:
            if sent.lines and not sent.places and sent.key.startswith(prefix):
                shown[sent.key.partition(":")[2]] += [(line.start, line.end) for line in sent.lines]
        sessions += bool(shown)
        for path, ranges in shown.items():
            lines = lines_of(path)
            if not lines:
                gone += 1
                continue
            files += 1
            whole_tokens += whole(path)
            parts = ("".join(lines[start - 1 : end]) for start, end in joined(ranges))
            shown_tokens += min(sum(map(count, parts)), whole(path))
    return ReadFiles(sessions, files, shown_tokens, whole_tokens, gone)
