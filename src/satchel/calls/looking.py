"""Operations that look at what there is: values and their groups, the history of files, status and doctor."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from satchel.calls import shapes
from satchel.calls.operation import Answered, Call, Operation
from satchel.calls.packing import NOW, REFRESH
from satchel.calls.parameters import Parameter, Shape
from satchel.calls.state import status_data, unread_commits, vector_state
from satchel.calls.value_data import proposal_json, value_json
from satchel.envelope import failure_data
from satchel.errors import UsageError
from satchel.vocabulary import Axis, choices

DEFAULT_ROWS = 20
"""As on the command line: what fits on a screen."""

_AXIS = Parameter("axis", Shape.TEXT, "Only one axis of experiences.", choices=tuple(choices(Axis)))
_LIMIT = Parameter("limit", Shape.COUNT, "At most so many rows.", least=1)


def _values(call: Call) -> Answered:
    return Answered("", {"values": [value_json(value) for value in call.engine.values.listed(call.given.get("axis"))]})


def _proposals(call: Call) -> Answered:
    found = call.engine.values.propose(call.given.get("cluster"), call.given.get("axis"))
    return Answered("", {"proposals": [proposal_json(proposal) for proposal in found]})


def _history(call: Call) -> Answered:
    given, engine = call.given, call.engine
    path, limit, days = given.get("path", ""), given.get("limit", DEFAULT_ROWS), given.get("churn")
    if days is not None and given.get("authors", False):
        raise UsageError("churn and authors are two views: give one of them")
    if "now" in given and days is None:
        raise UsageError("now is the moment that churn counts back from: give churn too")
    notes = call.refreshed()
    if days is not None:
        rows = engine.churn(days, path=path, limit=limit, now=given.get("now"), refresh=False)
        data: dict[str, Any] = {"path": path, "days": days, "files": [asdict(row) for row in rows]}
    elif given.get("authors", False):
        people = engine.authors(path, limit=limit, refresh=False)
        data = {"path": path, "authors": [asdict(row) for row in people]}
    else:
        data = asdict(engine.file_history(path, limit=limit, refresh=False))
    found = [failure_data(note) for note in (*notes, *unread_commits(engine))]
    return Answered("", data | {"failures": found})


def _status(call: Call) -> Answered:
    engine = call.engine
    status = engine.status(should_stop=call.should_stop)
    embedder = engine.embedder
    vectors = vector_state(engine.vectors.state(), embedder.id if embedder is not None else None)
    return Answered("", status_data(status) | {"vectors": vectors, "trusted": engine.trusted})


def _doctor(call: Call) -> Answered:
    from satchel.doctor import check_data, examine

    root = call.engine.places.root
    return Answered("", {"checks": [check_data(check) for check in examine(root, root)]})


VALUES = Operation(
    "values",
    "List values",
    "List what experiences teach together, newest first.",
    (_AXIS,),
    _values,
    shapes.record(values=shapes.many(shapes.VALUE)),
)

PROPOSALS = Operation(
    "proposals",
    "List groups of experiences",
    "List the groups that experiences form, each with the lesson that could become a value.",
    (Parameter("cluster", Shape.TEXT, "Only one group, by its id."), _AXIS),
    _proposals,
    shapes.record(proposals=shapes.many(shapes.record(cluster=shapes.TEXT, size=shapes.COUNT, text=shapes.TEXT))),
)

HISTORY = Operation(
    "history",
    "History of files",
    "Show the commits that touched a file or folder, which files change most, or who changed them.",
    (
        Parameter("path", Shape.TEXT, "A file or folder relative to the root, one that is gone too; all by default."),
        Parameter("churn", Shape.COUNT, "The files that changed most often in so many days.", least=1),
        Parameter("authors", Shape.SWITCH, "Who made the changes, most commits first.", default=False),
        _LIMIT,
        NOW,
        REFRESH,
    ),
    _history,
    shapes.record(failures=shapes.FAILURES),
)

STATUS = Operation(
    "status",
    "State of the index",
    "Show what is indexed, how fresh it is and what was left out.",
    (),
    _status,
    shapes.record(
        root=shapes.TEXT, index=shapes.TEXT, revision=shapes.TEXT, documents=shapes.ANY_OBJECT,
        freshness=shapes.ANY_OBJECT, failures=shapes.FAILURES, vectors=shapes.ANY_OBJECT, trusted=shapes.SWITCH,
    ),
)  # fmt: skip

DOCTOR = Operation(
    "doctor",
    "Check the installation",
    "Check that everything satchel needs works, and say how to mend it.",
    (),
    _doctor,
    shapes.record(
        checks=shapes.many(shapes.record(name=shapes.TEXT, outcome=shapes.TEXT, message=shapes.TEXT, fix=shapes.TEXT))
    ),
)
