"""Contexts of the results of a foreign searcher, section by section.

A result is a mapping or an object with the names of the first specification (`content`, `category`, `importance`;
`goal`, `hypothesis` ... of an experience; `sha`, `author`, `message` of a commit), there or in its `metadata`, or one
of our own findings.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from satchel.assemble.pack import FillPolicy, Marking, answer, fit
from satchel.assemble.plans import Plan, PlannedSection
from satchel.assemble.render.labels import group_of
from satchel.assemble.request import AssembleRequest, start_of_day
from satchel.assemble.source_lines import FileLines
from satchel.results.candidates import supply
from satchel.results.entities import Entity, read_results, value_of
from satchel.safety import sanitize
from satchel.search.rank_records import beside_words
from satchel.sources.experiences import shown_text
from satchel.types import Context, Failure, Kind

_CONTENT = ("content", "text", "message", "body", "code", "signature")
"""Names of the text of a result, in the first specification and its implementations."""

_FIELDS: Mapping[Kind, tuple[str, ...]] = {
    Kind.MEMORY: ("category", "importance", "created_at", "tags"),
    Kind.EXPERIENCE: (
        "domain", "strategy", "goal", "hypothesis", "action", "prediction", "outcome_status", "outcome_result",
        "surprise", "root_cause", "lesson", "confidence_tier", "iteration_count", "created_at",
    ),
    Kind.VALUE: ("axis", "cluster_id", "cluster_size", "similarity_to_centroid", "member_ids"),
    Kind.COMMIT: ("author", "timestamp", "insertions", "deletions", "file_count"),
    Kind.CONVERSATION: ("created_at", "branch"),
}  # fmt: skip
"""Fields of each kind besides its text; the metadata of the items."""

_IDS: Mapping[Kind, tuple[str, ...]] = {
    Kind.COMMIT: ("sha", "id"),
    Kind.EXPERIENCE: ("id", "ghap_id"),
}

_TIMES = ("timestamp", "committed_at", "created_at", "created")
"""Names of the time of a result."""

SMALLEST_SCORE = 1e-6
"""The score of a result without one: the logarithm needs a positive value."""

Rows = Sequence[tuple[PlannedSection, Iterable[object]]]


def searched_context(
    request: AssembleRequest,
    plan: Plan,
    rows: Rows,
    marking: Marking,
    root: Path,
    files: FileLines,
    failures: Sequence[Failure] = (),
) -> Context:
    """Return the context of results by section, best first in each; problems become notes.

    In a plan that shows each record once, a record of several sections is in the first of them.
    """
    sections, notes = [], [*failures]
    seen: set[str] = set()
    for planned, results in rows:
        entities, problems = _entities(planned.kind, results, marking.allow, request.now)
        notes += problems
        if plan.unique:
            entities = [entity for entity in entities if entity.id not in seen]
            seen |= {entity.id for entity in entities}
        supplied = supply(entities, request, root, files)
        notes += supplied.notes
        supplied.candidates += supplied.whole_files
        whole = supplied.section((), imports=request.imports)
        if whole.candidates:
            sections.append(
                replace(whole, kind=planned.kind, weight=planned.weight, item_limit=planned.limit, title=planned.title)
            )
    fitted = fit(request, marking, sections, notes, plan, policy=FillPolicy(shares=True, is_strict=False))
    return answer(request, sections, fitted, notes, {"view": request.view})


def _entities(
    kind: Kind, results: Iterable[object], allow: Sequence[str], now: float
) -> tuple[list[Entity], list[Failure]]:
    """Return the results of a kind as entities of that kind, best first, with its fields."""
    named = [(_identity(kind, result, number), result) for number, result in enumerate(results, 1)]
    read, notes = read_results([_renamed(kind, identity, result) for identity, result in named], allow)
    defined = {identity: _defined(kind, result, allow) for identity, result in named}
    entities = [replace(entity, fields=defined.get(entity.id, {})) for entity in read]
    moment = now or start_of_day()
    entities.sort(key=lambda entity: -_rank(kind, entity, moment))
    return entities, [replace(note, source=kind.plural) for note in notes]


def _rank(kind: Kind, entity: Entity, now: float) -> float:
    """Return the rank of a result (log): its score and the other signals of a record, as in our search."""
    fields = entity.fields
    importance = fields.get("importance")
    is_number = isinstance(importance, int | float) and math.isfinite(importance)
    moment = seconds(fields.get("timestamp"))
    signals = beside_words(kind, fields.get("confidence_tier"), importance if is_number else None, moment, now)
    return math.log(max(entity.score, SMALLEST_SCORE)) + sum(signal.value * signal.weight for signal in signals)


def seconds(moment: object) -> float:
    """Return a number or an ISO 8601 text as seconds since the epoch; 0 for anything else."""
    if isinstance(moment, int | float):
        return float(moment)
    try:
        read = datetime.fromisoformat(str(moment))
    except ValueError:
        return 0.0
    return (read if read.tzinfo is not None else read.replace(tzinfo=UTC)).timestamp()


def _identity(kind: Kind, result: object, number: int) -> str:
    """Return the id of a result in our form: `commit:1a2b3c`; its number if it has none."""
    identity = next((value for name in _IDS.get(kind, ("id",)) if (value := value_of(result, name))), number)
    written = str(identity).partition("::")[0] if kind is Kind.EXPERIENCE else str(identity)
    return written if written.startswith(f"{kind}:") else f"{kind}:{written}"


def _renamed(kind: Kind, identity: str, result: object) -> Mapping[str, Any]:
    """Return a result with the names of `read_results`."""
    content = next((value for name in _CONTENT if isinstance(value := value_of(result, name), str) and value), "")
    if kind is Kind.EXPERIENCE and value_of(result, "goal"):
        content = shown_text({name: _plain(value_of(result, name)) for name in _FIELDS[kind]})
    type_ = str(value_of(result, "type") or value_of(result, "unit_type") or "").lower()
    is_code = kind is Kind.CODE and group_of(type_) == "code"
    entity = {
        "id": identity,
        "type": type_ if is_code else kind.value,
        "name": value_of(result, "name") or value_of(result, "title") or "",
        "qualified_name": value_of(result, "qualified_name") or "",
        "content": content,
        "file_path": value_of(result, "file_path"),
        "start_line": value_of(result, "start_line") or value_of(result, "line_start"),
        "end_line": value_of(result, "end_line") or value_of(result, "line_end"),
    }
    return {"entity": entity, "score": value_of(result, "score", "relevance")}


def _defined(kind: Kind, result: object, allow: Sequence[str]) -> dict[str, Any]:
    fields = {name: value for name in _FIELDS.get(kind, ()) if (value := value_of(result, name)) is not None}
    if kind is Kind.COMMIT:
        fields["files"] = list(value_of(result, "files_changed", "files") or ())
    if kind in _FIELDS:
        fields["timestamp"] = seconds(
            next((one for name in _TIMES if (one := value_of(result, name)) is not None), None)
        )
    cleaned: dict[str, Any] = sanitize.value({name: _plain(value) for name, value in fields.items()}, allow)
    return cleaned


def _plain(value: Any) -> Any:
    """Return a part of a result as plain values: a root cause may be an object, a time a date."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in value]
    parts = {name: value_of(value, name) for name in ("category", "description", "what_worked", "takeaway")}
    values = {name: _plain(inner) for name, inner in parts.items() if inner is not None}
    return values or str(value)
