"""JSON schemas of the envelopes. Fields are only ever added, so none of them forbids more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer"}
SWITCH: Schema = {"type": "boolean"}
ANY_OBJECT: Schema = {"type": "object"}


def record(**fields: Schema) -> dict[str, Any]:
    """The schema of an object that has all of these fields, and perhaps more."""
    return {"type": "object", "properties": {**fields}, "required": list(fields)}


def many(of: Schema) -> dict[str, Any]:
    """The schema of a list."""
    return {"type": "array", "items": of}


def maybe(schema: Schema) -> dict[str, Any]:
    """The schema of a value that may be missing, as null."""
    return {"anyOf": [schema, {"type": "null"}]}


PLACE = maybe(record(path=TEXT, start_line=COUNT, end_line=COUNT))
SIGNAL = record(name=TEXT, value=NUMBER, weight=NUMBER)
FAILURE = record(source=TEXT, message=TEXT, hint=TEXT)
FAILURES = many(FAILURE)
CUT = record(handle=TEXT, start_line=COUNT, end_line=COUNT, name=TEXT)
ITEM = record(
    id=TEXT, source=TEXT, title=TEXT, content=TEXT, relevance=NUMBER, tokens=COUNT, detail=TEXT, location=PLACE,
    metadata=ANY_OBJECT, signals=many(SIGNAL), handle=TEXT, trust=TEXT, section=TEXT, cuts=many(CUT),
)  # fmt: skip
OMISSION = record(
    id=TEXT, source=TEXT, title=TEXT, relevance=NUMBER, reason=TEXT, budget=COUNT, handle=TEXT,
    location=PLACE,
)  # fmt: skip
USAGE = record(limit=COUNT, used=COUNT, utilization=NUMBER, tokenizer=TEXT, exact=SWITCH, stopped=TEXT)
EXPANDED = record(
    handles=many(TEXT), text=TEXT, items=many(ITEM), overflow=many(OMISSION), usage=USAGE, failures=FAILURES,
    meta=ANY_OBJECT,
)  # fmt: skip
CONTEXT = record(
    query=TEXT, text=TEXT, items=many(ITEM), overflow=many(OMISSION), usage=USAGE,
    sources_used={"type": "object", "additionalProperties": COUNT}, failures=FAILURES, meta=ANY_OBJECT,
)  # fmt: skip
HIT = record(
    id=TEXT, source=TEXT, title=TEXT, relevance=NUMBER, score=NUMBER, location=PLACE, metadata=ANY_OBJECT,
    signals=many(SIGNAL),
)  # fmt: skip
HITS = record(query=TEXT, hits=many(HIT), failures=FAILURES, meta=ANY_OBJECT)
STANDING = record(
    id=TEXT, source=TEXT, path=TEXT, rank=COUNT, of=COUNT, relevance=NUMBER, signals=many(SIGNAL), is_shown=SWITCH,
    reason=TEXT, detail=TEXT, budget=COUNT,
)  # fmt: skip
STANDINGS = record(target=TEXT, question=TEXT, standings=many(STANDING))
MEMORY = record(
    id=TEXT, content=TEXT, category=TEXT, importance=NUMBER, tags=many(TEXT), provenance=TEXT, origin=TEXT,
    workspace=TEXT, created_at=TEXT, updated_at=TEXT, supersedes=TEXT, superseded_by=TEXT,
)  # fmt: skip
MEMORIES = record(memories=many(MEMORY))
EXPERIENCE = record(
    status=TEXT, id=TEXT, session_id=TEXT, domain=TEXT, strategy=TEXT, goal=TEXT, hypothesis=TEXT, action=TEXT,
    prediction=TEXT, history=many(ANY_OBJECT), iteration_count=COUNT, notes=many(TEXT), created_at=TEXT,
    updated_at=TEXT,
)  # fmt: skip
EXPERIENCES = record(experiences=many(EXPERIENCE), orphans=many(TEXT))
VALUE = record(
    id=TEXT, text=TEXT, axis=TEXT, cluster_id=TEXT, cluster_size=COUNT, member_ids=many(TEXT), created=TEXT,
)  # fmt: skip


def one_of(*schemas: Schema) -> dict[str, Any]:
    """The schema of an answer that depends on what was asked for."""
    return {"type": "object", "anyOf": [*schemas]}
