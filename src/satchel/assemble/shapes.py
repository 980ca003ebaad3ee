"""Answers in other shapes: query results, blocks and sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from satchel.assemble.items import shortened
from satchel.assemble.plans import ROLE_KINDS
from satchel.assemble.render.labels import file_path, record_body
from satchel.assemble.render.markdown import GAP_LINE
from satchel.errors import UsageError
from satchel.types import CONTEXT_TYPES, ENTITY_TYPES, Context, ContextItem, Detail, Failure, Location, Piece

PREVIEW_CHARACTERS = 200
"""Most characters of a preview, from the specification."""

CONFIDENCE_FADE = 0.7
"""Weight of each result relative to the one before it: in a plain average weak results would hide a sure one."""

CONFIDENT_RESULTS = 5

CONTEXT_LINES = 3
"""Lines before and after each entity, from the specification."""


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
    results, 0 for an empty answer. `failures` are strategies and sources that did not take part. `answer` is the full
    context.
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
    """Return the arguments of `context_query` as options of a request.

    `strategies` are of lexical, names, history, graph and dense (default: all available); `limit` is the number
    of results over all types; `include_types` are context types, or function, method, class and section, which restrict
    their own types; `min_score` is absolute (default: the calibrated floor); `options` are those of
    `assemble`. Raises UsageError.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise UsageError(f"limit is {limit!r}: give at least 1", "limit")
    names = list(include_types)
    for name in names:
        if name not in CONTEXT_TYPES and name not in ENTITY_TYPES:
            raise UsageError(f"unknown type {name!r}: choose from {', '.join((*CONTEXT_TYPES, *ENTITY_TYPES))}")
    return {
        "context_lines": CONTEXT_LINES,
        **options,
        "searches": strategies,
        "entity_limit": limit,
        "limit": limit,
        "types": types_of(names),
        "roles": tuple(ENTITY_TYPES[name] for name in names if name in ENTITY_TYPES),
        "min_score": min_score,
        "max_tokens": max_tokens,
    }


def types_of(names: Iterable[str]) -> list[str]:
    """Return the named context types, and the types of the named entities.

    An unknown name is kept so that the request refuses it: without it every type would be searched.
    """
    names = list(names)
    named = {CONTEXT_TYPES[name] for name in names if name in CONTEXT_TYPES}
    roles = [ENTITY_TYPES[name] for name in names if name in ENTITY_TYPES]
    kinds = named | {kind for role in roles if named.isdisjoint(ROLE_KINDS[role]) for kind in ROLE_KINDS[role]}
    unknown = [name for name in names if name not in CONTEXT_TYPES and name not in ENTITY_TYPES]
    return [*(plural for plural, kind in CONTEXT_TYPES.items() if kind in kinds), *unknown]


def query_result(context: Context) -> QueryResult:
    """Return the answer to a request as the result of a query."""
    blocks = as_blocks(context)
    best = sorted(blocks.blocks, key=lambda one: -one.score)
    rows = tuple(
        QueryRow(
            one.entity,
            one.score,
            one.location,
            one.code if len(one.code) <= PREVIEW_CHARACTERS else f"{one.code[:PREVIEW_CHARACTERS]}...",
        )
        for one in best
    )
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


def _confidence(relevances: Iterable[float]) -> float:
    """Return the mean relevance of the best results, each weighing less than the one before it."""
    best = sorted(relevances, reverse=True)[:CONFIDENT_RESULTS]
    weights = [CONFIDENCE_FADE**position for position in range(len(best))]
    return round(sum(w * r for w, r in zip(weights, best, strict=True)) / sum(weights), 4) if best else 0.0


@dataclass(frozen=True, slots=True)
class BlockEntity:
    """The entity of a block."""

    id: str
    name: str
    type: str
    qualified_name: str


@dataclass(frozen=True, slots=True)
class BlockContext:
    """The surroundings of a block: lines of its file outside all entities (its imports), and names of neighbours.

    Neighbours come with their places, and only on request.
    """

    imports: str = ""
    related: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """One shown entity: its real lines with those around it. `location` is None for a record."""

    entity: BlockEntity
    score: float
    location: Location | None
    code: str
    context: BlockContext


@dataclass(frozen=True, slots=True)
class BlockSummary:
    """The numbers of entities; included and excluded ones add up to all. `truncated` if one is excluded or cut."""

    entities_included: int
    entities_excluded: int
    files_read: int
    truncated: bool


@dataclass(frozen=True, slots=True)
class Blocks:
    """The shape of smart source assembly: tokens of the counted text, blocks best first, and the summary."""

    total_tokens: int
    blocks: tuple[Block, ...]
    summary: BlockSummary


@dataclass(frozen=True, slots=True)
class EntitySource:
    """Where one shown entity comes from. `file` and `line` are None for a record."""

    entity_id: str
    name: str
    type: str
    file: str | None
    line: int | None
    relevance: float


@dataclass(frozen=True, slots=True)
class Attributed:
    """The shape of search result assembly. `summary` is None where nothing was shortened or left out."""

    context: str
    sources: tuple[EntitySource, ...]
    token_count: int
    truncated: bool
    summary: str | None = None


def is_truncated(context: Context) -> bool:
    """Return whether something is shown in part or not at all."""
    return bool(shortened(context.items) or _excluded(context))


def as_blocks(context: Context) -> Blocks:
    """Return the context as blocks with a summary."""
    blocks = tuple(block for item in context.items for block in _blocks(item))
    ordered = tuple(sorted(blocks, key=lambda block: -block.score)) if "given" in context.meta else blocks
    paths = {block.location.path for block in blocks if block.location is not None}
    files_read = context.meta.get("given", {}).get("files_read", len(paths))
    summary = BlockSummary(len(blocks), _excluded(context), files_read, is_truncated(context))
    return Blocks(context.token_count, ordered, summary)


def as_sources(context: Context) -> Attributed:
    """Return the context with the source of each entity that it shows."""
    sources = tuple(_source(item, row) for item in context.items for row in _rows(item))
    short, out = shortened(context.items), _excluded(context)
    parts = [f"{count} {what}" for count, what in ((short, "shortened"), (out, "left out")) if count]
    return Attributed(context.text, sources, context.token_count, bool(parts), ", ".join(parts) or None)


def _excluded(context: Context) -> int:
    """Return how many entities of the results are not shown, else how many omissions there are."""
    shown = {row["id"] for item in context.items for row in _rows(item)}
    results = context.meta.get("given")
    if results is not None:
        return int(results["entities"]) - len(shown)
    return len({omission.id for omission in context.overflow} - shown)


def _rows(item: ContextItem) -> Sequence[Mapping[str, Any]]:
    rows = item.metadata.get("entities")
    if rows:
        return list(rows)
    kind = str(item.metadata.get("type") or item.source)
    return [{"id": item.id, "name": item.title, "type": kind, "qualified_name": item.title, "score": item.relevance}]


def _source(item: ContextItem, row: Mapping[str, Any]) -> EntitySource:
    path = file_path(item)
    line = row.get("start_line") or (item.pieces[0].start if path else 0)
    return EntitySource(row["id"], row["name"], row["type"], path or None, line or None, row["score"])


def _blocks(item: ContextItem) -> list[Block]:
    path = file_path(item)
    rows = _rows(item)
    if not path:
        return [Block(_block_entity(rows[0]), rows[0]["score"], None, record_body(item), BlockContext())]
    lines = _shown_lines(item.pieces)
    spans = [(row["start_line"], row["end_line"]) for row in rows]
    reached = {number for span in spans for number in _reach(span, lines, spans)}
    imports = _joined({number: text for number, text in lines.items() if number not in reached})
    blocks = []
    for row, span in zip(rows, spans, strict=True):
        code = _joined({number: lines[number] for number in _reach(span, lines, spans)})
        context = BlockContext(imports, _related(item, row["qualified_name"]))
        blocks.append(Block(_block_entity(row), row["score"], Location(path, *span), code, context))
    return blocks


def _block_entity(row: Mapping[str, Any]) -> BlockEntity:
    return BlockEntity(row["id"], row["name"], row["type"], row["qualified_name"])


def _shown_lines(pieces: Sequence[Piece]) -> dict[int, str]:
    """Return texts by line number; a remark is at the first of the lines that it replaces."""
    lines: dict[int, str] = {}
    for piece in pieces:
        texts = piece.text.split("\n")
        if len(texts) == piece.end - piece.start + 1:
            lines.update(enumerate(texts, piece.start))
        elif piece.detail is Detail.LINE:
            lines[piece.start] = piece.text
    return dict(sorted(lines.items()))


def _reach(span: tuple[int, int], lines: Mapping[int, str], spans: Sequence[tuple[int, int]]) -> list[int]:
    """Return the shown lines of an entity, and adjacent lines outside all others."""
    start, end = span
    others = [other for other in spans if other != span]

    def is_free(number: int) -> bool:
        return number in lines and not any(first <= number <= last for first, last in others)

    while is_free(start - 1):
        start -= 1
    while is_free(end + 1):
        end += 1
    return [number for number in lines if start <= number <= end]


def _joined(lines: Mapping[int, str]) -> str:
    """Return the lines one below the other, with a mark where some are missing."""
    rows: list[str] = []
    previous: int | None = None
    for number, text in lines.items():
        if previous is not None and number != previous + 1 and rows[-1].strip() != GAP_LINE:
            rows.append(GAP_LINE)
        rows.append(text)
        previous = number
    return "\n".join(rows)


def _related(item: ContextItem, name: str) -> tuple[str, ...]:
    relations = item.metadata.get("related", {}).get(name, {})
    return tuple(
        f"{relation}: {one['name']} ({one['path']}:{one['line']})"
        for relation, neighbours in relations.items()
        for one in neighbours
    )
