"""The history of files, status and doctor, and all operations in the order in which they are offered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from satchel.codec import record
from satchel.errors import UsageError
from satchel.operations import json
from satchel.operations.ask import (
    CONTEXT_QUERY,
    DOCUMENT,
    EXPAND,
    GRAPH_CONTEXT,
    GRAPH_EXPORT,
    NOW,
    PREMORTEM_OPERATION,
    REFRESH,
    REPLAY,
    SEARCH,
    SITUATION_CONTEXT,
    WHY,
)
from satchel.operations.operation import Answered, Operation, OperationCall, Parameter, Shape, StoppedError, text
from satchel.operations.remember import DEFAULT_ROWS, EXPERIENCE, EXPERIENCES, MEMORIES, PROPOSALS, REMEMBER, VALUES
from satchel.types import Failure, Json, Kind
from satchel.vocabulary import check_count

if TYPE_CHECKING:
    from satchel.engine import Satchel


def _history(call: OperationCall) -> Answered:
    arguments, engine = call.arguments, call.engine
    days, by_author = arguments.get("churn"), arguments.get("authors", False)
    path, limit = arguments.get("path", ""), arguments.get("limit", DEFAULT_ROWS)
    where: Json = {"path": path, "limit": limit, "refresh": False}
    if days is not None and by_author:
        raise UsageError("churn and authors are two views: give one of them", "churn", "authors")
    if "now" in arguments and days is None:
        raise UsageError("now is the moment that churn counts back from: give churn too", "now", "churn", "churn")
    notes = call.refreshed()
    rows: Any
    if days is not None:
        check_count(days, "churn")
        rows = engine.churn(days, now=arguments.get("now"), **where)
        data: Json = {"path": path, "days": days, "files": [asdict(row) for row in rows]}
    elif by_author:
        rows = engine.authors(**where)
        data = {"path": path, "authors": [asdict(row) for row in rows]}
    else:
        rows = engine.file_history(**where)
        data = asdict(rows)
    failures = json.FAILURES.data([*notes, *unread_commits(engine)])
    return Answered("", data | {"failures": failures}, subject=rows)


def unread_commits(engine: Satchel) -> Sequence[Failure]:
    """Return a note that older commits may exist that are not indexed."""
    most = engine.settings.index_commits
    if engine.store.kinds().get(Kind.COMMIT, 0) < most:
        return ()
    return (Failure("commits", f"only the newest {most:,} commits are indexed", "raise index.commits to look further"),)


def _status(call: OperationCall) -> Answered:
    engine, should_stop = call.engine, call.caller.should_stop
    status = engine.status(should_stop=should_stop)
    if should_stop():
        raise StoppedError("the call was cancelled")
    vectors, embedder = engine.vectors.state(), engine.vectors.embedder
    state = json.vector_state(vectors, embedder.id if embedder is not None else None)
    envelope = json.STATUS.data(status) | {"vectors": state, "trusted": engine.trusted}
    return Answered("", envelope, subject=(status, vectors))


def _doctor(call: OperationCall) -> Answered:
    from satchel.doctor import examine

    root = call.engine.places.root
    return Answered("", {"checks": [json.CHECK.data(check) for check in examine(root, root)]})


def _stats(call: OperationCall) -> Answered:
    days = call.arguments.get("days", STATS_DAYS)
    check_count(days, "days")
    if days > MAX_STATS_DAYS:
        raise UsageError(f"days is {days!r:.60}: give 1 to {MAX_STATS_DAYS:,}", "days")
    stats = call.engine.receipts.stats(days, now=call.arguments.get("now"))
    return Answered("", json.STATS.data(stats), subject=stats)


STATS_DAYS, MAX_STATS_DAYS = 7, 10_000
"""Days that `stats` looks back, by default and at most: ledgers of sessions are kept for two weeks."""

HISTORY = Operation(
    "history", "History of files",
    "Show the commits that touched a file or folder, which files change most, or who changed them.",
    (
        text("path", "A file or folder relative to the root, even a deleted one; all by default."),
        Parameter("churn", Shape.COUNT, "The files that changed most often in the last N days.", least=1, bare=90),
        Parameter("authors", Shape.SWITCH, "Who made the changes, most commits first.", default=False),
        Parameter("limit", Shape.COUNT, "At most this many rows.", least=1, flags=("-n", "--limit")), NOW, REFRESH,
    ),
    _history, lambda: record(failures=json.FAILURES).schema,
)  # fmt: skip

STATUS = Operation(
    "status", "State of the index", "Show what is indexed, how fresh it is and what was left out.", (), _status,
    lambda: json.STATUS.schema,
)  # fmt: skip

STATS = Operation(
    "stats", "What agents received",
    "Show what was delivered to agents: tokens against reading the files whole, lessons, and what came too late.",
    (Parameter("days", Shape.COUNT, "The last N days (7).", least=1, most=MAX_STATS_DAYS, default=STATS_DAYS), NOW),
    _stats, lambda: json.STATS.schema,
)  # fmt: skip

DOCTOR = Operation(
    "doctor", "Check the installation", "Check that everything satchel needs works, and say how to fix it.", (),
    _doctor, lambda: json.CHECKS.schema,
)  # fmt: skip

TOOLS = (CONTEXT_QUERY, GRAPH_CONTEXT, PREMORTEM_OPERATION, SITUATION_CONTEXT, SEARCH, EXPAND, REMEMBER, EXPERIENCE)
"""The tools of agents, never more than eight: a model reads every one in every session."""

_OTHERS = (
    DOCUMENT,
    GRAPH_EXPORT,
    WHY,
    STATUS,
    STATS,
    DOCTOR,
    MEMORIES,
    EXPERIENCES,
    VALUES,
    PROPOSALS,
    HISTORY,
    REPLAY,
)

OPERATIONS: Mapping[str, Operation] = {operation.name: operation for operation in (*TOOLS, *_OTHERS)}
"""Name -> operation."""
