"""A question with its answer in the shape of a search: the formatted context, and what was found, with previews."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from satchel.assemble.plans import ROLE_KINDS
from satchel.assemble.views import BlockEntity, BlockSummary, as_blocks
from satchel.errors import UsageError
from satchel.types import CONTEXT_TYPES, Context, Failure, Location, Role

PREVIEW_CHARACTERS = 200
"""Of a preview, as the specification has it."""

CONFIDENCE_FADE = 0.7
"""Each further result counts this much of the one before it: an average over ten lets weak ones hide a sure one."""

CONFIDENT_RESULTS = 5

CONTEXT_LINES = 3
"""Lines before and after each entity, as the specification has it."""

ENTITY_TYPES = {"function": Role.FUNCTION, "method": Role.METHOD, "class": Role.CLASS, "section": Role.SECTION}


@dataclass(frozen=True, slots=True)
class QueryRow:
    """One result: `preview` is the beginning of what is shown; `location` is None for a record."""

    entity: BlockEntity
    score: float
    location: Location | None
    preview: str


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The answer to `context_query`.

    `context` is the formatted text, `token_count` its tokens. `confidence` (0 to 1) is the relevance of the best
    results, 0 for an empty answer. `failures` are strategies and sources that did not take part. `answer` holds the
    rest.
    """

    query: str
    context: str
    results: tuple[QueryRow, ...]
    summary: BlockSummary
    token_count: int
    confidence: float
    failures: tuple[Failure, ...]
    answer: Context


def query_options(
    *,
    strategies: Iterable[str] = (),
    limit: int = 10,
    include_types: Iterable[str] = (),
    min_score: float | None = None,
    max_tokens: int = 4000,
    **options: Any,
) -> dict[str, Any]:
    """The arguments of `context_query` as options of a request.

    `strategies` are of lexical, names, history, graph and dense (default: all that can be had); `limit` is the number
    of results over all types; `include_types` are context types, or function, method, class and section, which say what
    of their own types is meant; `min_score` is absolute (default: the calibrated floor); `options` are those of
    `assemble`. Raises UsageError.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise UsageError(f"limit is {limit!r}: give at least 1")
    asked = list(include_types)
    for name in asked:
        if name not in CONTEXT_TYPES and name not in ENTITY_TYPES:
            raise UsageError(f"unknown type {name!r}: choose from {', '.join((*CONTEXT_TYPES, *ENTITY_TYPES))}")
    return {
        "context_lines": CONTEXT_LINES,
        **options,
        "searches": strategies,
        "entity_limit": limit,
        "limit": limit,
        "types": types_of(asked),
        "roles": tuple(ENTITY_TYPES[name] for name in asked if name in ENTITY_TYPES),
        "min_score": min_score,
        "max_tokens": max_tokens,
    }


def types_of(asked: Iterable[str]) -> list[str]:
    """The context types that are named, and those of the entities that are: of such a type nothing else is meant.

    A name that is neither is kept for the request to refuse it: without it every type would be searched.
    """
    asked = list(asked)
    named = {CONTEXT_TYPES[name] for name in asked if name in CONTEXT_TYPES}
    roles = [ENTITY_TYPES[name] for name in asked if name in ENTITY_TYPES]
    kinds = named | {kind for role in roles if named.isdisjoint(ROLE_KINDS[role]) for kind in ROLE_KINDS[role]}
    unknown = [name for name in asked if name not in CONTEXT_TYPES and name not in ENTITY_TYPES]
    return [*(plural for plural, kind in CONTEXT_TYPES.items() if kind in kinds), *unknown]


def query_result(context: Context) -> QueryResult:
    """The answer to a request as the result of a query."""
    blocks = as_blocks(context)
    best = sorted(blocks.blocks, key=lambda one: -one.score)
    rows = tuple(QueryRow(one.entity, one.score, one.location, _preview(one.code)) for one in best)
    return QueryResult(
        context.query,
        context.text,
        rows,
        blocks.summary,
        context.token_count,
        _confidence([row.score for row in rows]),
        context.failures,
        context,
    )


def _preview(code: str) -> str:
    return code if len(code) <= PREVIEW_CHARACTERS else f"{code[:PREVIEW_CHARACTERS]}..."


def _confidence(relevances: Iterable[float]) -> float:
    """The mean relevance of the best results, each weighing less than the one before it."""
    best = sorted(relevances, reverse=True)[:CONFIDENT_RESULTS]
    weights = [CONFIDENCE_FADE**position for position in range(len(best))]
    return round(sum(w * r for w, r in zip(weights, best, strict=True)) / sum(weights), 4) if best else 0.0


def query_data(result: QueryResult) -> Mapping[str, Any]:
    """The result as plain JSON values."""
    return {
        "query": result.query,
        "context": result.context,
        "results": [
            {
                "entity": {
                    "id": row.entity.id,
                    "name": row.entity.name,
                    "type": row.entity.type,
                    "qualified_name": row.entity.qualified_name,
                },
                "score": row.score,
                "location": None
                if row.location is None
                else {
                    "path": row.location.path,
                    "start_line": row.location.start_line,
                    "end_line": row.location.end_line,
                },
                "preview": row.preview,
            }
            for row in result.results
        ],
        "summary": {
            "entities_included": result.summary.entities_included,
            "entities_excluded": result.summary.entities_excluded,
            "files_read": result.summary.files_read,
            "truncated": result.summary.truncated,
        },
        "token_count": result.token_count,
        "confidence": result.confidence,
        "failures": [{"source": one.source, "message": one.message, "hint": one.hint} for one in result.failures],
    }
