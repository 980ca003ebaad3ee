"""Answers in other shapes: query results, blocks, sources, and the neighbours of each shown definition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from satchel.answer.items import shortened
from satchel.answer.plans import types_of
from satchel.answer.render.labels import GAP, file_path, record_body
from satchel.answer.request import check_limit
from satchel.answer.source_lines import FileLines, Lines, Unreadable
from satchel.errors import UsageError
from satchel.search.chunks import identity_of
from satchel.sources.roles import is_secondary
from satchel.store.protocol import Store
from satchel.store.records import Document
from satchel.types import (
    CONTEXT_TYPES,
    ENTITY_TYPES,
    Chunk,
    Context,
    ContextItem,
    Detail,
    Failure,
    Kind,
    Location,
    Piece,
    type_name,
)

if TYPE_CHECKING:
    from satchel.answer.packing import Packing
    from satchel.answer.resources import Resources
    from satchel.search.relations import CallSite
    from satchel.search.resolve.code import CodeDefinition

CONFIDENCE_FACTOR = 0.7
"""Weight of each of these relative to the one before it: in a plain average weak results would hide a sure one."""

CONFIDENT_RESULTS = 5
"""Best results whose relevance is the confidence of an answer."""

RELATED = 5
"""Neighbours listed for each relation: enough for an overview, few enough to be read."""

PREVIEW_CHARACTERS = 200
"""Most characters of a preview, from the specification."""


class QueryRow(NamedTuple):
    """One result: `preview` is the beginning of the shown lines of the entity; `location` is None for a record."""

    entity: BlockEntity
    score: float
    location: Location | None
    preview: str


class QueryResult(NamedTuple):
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
    check_limit(limit)
    names = [*map(type_name, [include_types] if isinstance(include_types, str) else include_types)]
    for name in names:
        if name not in CONTEXT_TYPES and name not in ENTITY_TYPES:
            raise UsageError(f"unknown type {name!r}: choose from {', '.join((*CONTEXT_TYPES, *ENTITY_TYPES))}")
    return {
        "context_lines": 3,  # lines before and after each entity, from the specification
        **options,
        "searches": strategies,
        "entity_limit": limit,
        "limit": limit,
        "types": types_of(names),
        "roles": tuple(ENTITY_TYPES[name] for name in names if name in ENTITY_TYPES),
        "min_score": min_score,
        "max_tokens": max_tokens,
    }


def query_result(context: Context) -> QueryResult:
    """Return the answer to a request as the result of a query."""
    blocks = as_blocks(context)
    best = sorted(blocks.blocks, key=lambda block: -block.score)
    results = tuple(
        QueryRow(
            block.entity,
            block.score,
            block.location,
            code[:PREVIEW_CHARACTERS] + "..." * (len(code) > PREVIEW_CHARACTERS),
        )
        for block in best
        for code in [_own_code(block)]
    )
    return QueryResult(
        context.query,
        context.text,
        results,
        blocks.summary,
        context.token_count,
        _confidence([sent.score for sent in results]),
        context.failures,
        context,
    )


def _own_code(block: Block) -> str:
    """Return the code of a block without the lines before its entity."""
    before = block.location.start_line - block.first if block.location is not None else 0
    return "\n".join(block.code.split("\n")[max(before, 0) :])


def _confidence(relevances: Iterable[float]) -> float:
    """Return the mean relevance of the best results, each weighing less than the one before it."""
    best = sorted(relevances, reverse=True)[:CONFIDENT_RESULTS]
    factors = [CONFIDENCE_FACTOR**position for position in range(len(best))]
    return round(sum(w * r for w, r in zip(factors, best, strict=True)) / sum(factors), 4) if best else 0.0


class BlockEntity(NamedTuple):
    """The entity of a block."""

    id: str
    name: str
    type: str
    qualified_name: str


class BlockContext(NamedTuple):
    """The surroundings of a block: lines of its file outside all entities (its imports), and names of neighbours.

    Neighbours come with their places, and only on request.
    """

    imports: str = ""
    related: tuple[str, ...] = ()


class Block(NamedTuple):
    """One shown entity: its real lines with those around it, from line `first`. `location` is None for a record."""

    entity: BlockEntity
    score: float
    location: Location | None
    code: str
    context: BlockContext
    first: int = 0


class BlockSummary(NamedTuple):
    """The numbers of entities; included and excluded ones add up to all. `truncated` if one is excluded or cut."""

    entities_included: int
    entities_excluded: int
    files_read: int
    truncated: bool


class Blocks(NamedTuple):
    """The shape of smart source assembly: tokens of the counted text, blocks best first, and the summary."""

    total_tokens: int
    blocks: tuple[Block, ...]
    summary: BlockSummary


class EntitySource(NamedTuple):
    """Where one shown entity comes from. `file` and `line` are None for a record."""

    entity_id: str
    name: str
    type: str
    file: str | None
    line: int | None
    relevance: float


class Attributed(NamedTuple):
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
    sources = tuple(_source(item, entity) for item in context.items for entity in _entities(item))
    short, out = shortened(context.items), _excluded(context)
    parts = [f"{count} {what}" for count, what in ((short, "shortened"), (out, "left out")) if count]
    return Attributed(context.text, sources, context.token_count, bool(parts), ", ".join(parts) or None)


def _excluded(context: Context) -> int:
    """Return how many entities of the results are not shown, else how many omissions there are."""
    shown = {entity["id"] for item in context.items for entity in _entities(item)}
    results = context.meta.get("given")
    if results is not None:
        return int(results["entities"]) - len(shown)
    return len({omission.id for omission in context.overflow} - shown)


def _entities(item: ContextItem) -> Sequence[Mapping[str, Any]]:
    entities = item.metadata.get("entities")
    if entities:
        return list(entities)
    kind = str(item.metadata.get("type") or item.source)
    return [{"id": item.id, "name": item.title, "type": kind, "qualified_name": item.title, "score": item.relevance}]


def _source(item: ContextItem, entity: Mapping[str, Any]) -> EntitySource:
    path = file_path(item)
    line = entity.get("start_line") or (item.pieces[0].start if path else 0)
    return EntitySource(entity["id"], entity["name"], entity["type"], path or None, line or None, entity["score"])


def _blocks(item: ContextItem) -> list[Block]:
    path = file_path(item)
    entities = _entities(item)
    if not path:
        return [Block(_block_entity(entities[0]), entities[0]["score"], None, record_body(item), BlockContext())]
    lines = _shown_lines(item.pieces)
    spans = [(entity["start_line"], entity["end_line"]) for entity in entities]
    lines_around = {number for span in spans for number in _lines_around(span, lines, spans)}
    imports = _joined({number: text for number, text in lines.items() if number not in lines_around})
    blocks = []
    for entity, span in zip(entities, spans, strict=True):
        around = _lines_around(span, lines, spans)
        code = _joined({number: lines[number] for number in around})
        context = BlockContext(imports, _related(item, entity.get("title", entity["qualified_name"])))
        blocks.append(
            Block(
                _block_entity(entity), entity["score"], Location(path, *span), code, context, around[0] if around else 0
            )
        )
    return blocks


def _block_entity(entity: Mapping[str, Any]) -> BlockEntity:
    return BlockEntity(entity["id"], entity["name"], entity["type"], entity["qualified_name"])


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


def _lines_around(span: tuple[int, int], lines: Mapping[int, str], spans: Sequence[tuple[int, int]]) -> list[int]:
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
    texts: list[str] = []
    previous: int | None = None
    for number, text in lines.items():
        if previous is not None and number != previous + 1 and texts[-1].strip() != GAP:
            texts.append(GAP)
        texts.append(text)
        previous = number
    return "\n".join(texts)


def _related(item: ContextItem, name: str) -> tuple[str, ...]:
    relations = item.metadata.get("related", {}).get(name, {})
    return tuple(
        f"{relation}: {neighbour['name']} ({neighbour['path']}:{neighbour['line']})"
        for relation, neighbours in relations.items()
        for neighbour in neighbours
    )


MAX_FILES = 30
"""Files that are parsed for the callers of one shown definition: those of production code and the nearest first."""

Neighbour = dict[str, Any]
"""A definition by `name` and `path`, with the `line` that defines it, for a caller the line of its first call.

The line is 0 where the file has changed too much to tell. A caller outside any definition is named by its path.
"""

Neighbours = dict[str, list[Neighbour]]
"""`container`, `callees` in the order of their calls, `implementations` (heirs of a class, overriding methods),
`callers` and `tests`, the nearest first."""


def with_related(items: Sequence[ContextItem], packing: Packing, resources: Resources) -> tuple[ContextItem, ...]:
    """Return the items with `metadata["related"]`: the neighbours of each shown definition by its qualified name."""
    chunks = (candidate.chunk for candidate, _ in packing.picks)
    shown = {chunk.id: chunk for chunk in chunks if chunk.location is not None}
    neighbours: dict[str, Neighbours] = {}
    for workspace in resources.every:
        own_chunks = [chunk for chunk in shown.values() if _location(chunk).path.startswith(workspace.prefix)]
        neighbours |= _Surroundings(workspace.store, workspace.lines, workspace.prefix).around(own_chunks)
    related = [
        {shown[origin].title: neighbours[origin] for origin in item.origins if origin in neighbours} for item in items
    ]
    return tuple(
        replace(item, metadata={**item.metadata, "related": related_of_item}) if related_of_item else item
        for item, related_of_item in zip(items, related, strict=True)
    )


def _location(chunk: Chunk) -> Location:
    assert chunk.location is not None  # records have no neighbours
    return chunk.location


class _Surroundings:
    """The relations of some chunks, with present lines; a file with its indexed stamp is not read."""

    def __init__(self, store: Store, lines: FileLines, prefix: str = "") -> None:
        from satchel.search.relations import Relations  # here, because few questions ask for neighbours

        self._prefix, self._relations, self._store, self._lines = prefix, Relations(store), store, lines
        self._code = self._relations.code
        self._current: dict[int, Lines | None] = {}
        self._stamped: set[int] = set()

    def around(self, chunks: Sequence[Chunk]) -> dict[str, Neighbours]:
        """Return the neighbours of these chunks by id; a chunk without a name has none.

        A chunk that is not of this store, such as an entity from elsewhere, is found by the path and name of its place.
        """
        document_keys = {
            chunk.id: (str(chunk.kind), _location(chunk).path.removeprefix(self._prefix)) for chunk in chunks
        }
        documents = {
            document_key: self._store.document(Kind(document_key[0]), document_key[1])
            for document_key in sorted({*document_keys.values()})
        }
        rows_of = {document_key: document.rows for document_key, document in documents.items() if document is not None}
        self._code.load(row for rows in rows_of.values() for row in rows)
        neighbours = {}
        for chunk in chunks:
            named = [row for row in rows_of.get(document_keys[chunk.id], ()) if self._code.part(row).name]
            exact = [row for row in named if identity_of(self._code.document_of(row), self._code.part(row)) == chunk.id]
            alike = exact or [row for row in named if self._code.part(row).name == chunk.title]
            if alike:
                start = _location(chunk).start_line
                neighbours[chunk.id] = self._around(min(alike, key=lambda row: abs(self._code.part(row).start - start)))
        return neighbours

    def _around(self, row: int) -> Neighbours:
        own_definition = self._relations.definition(row)
        called = [call.definition for call in self._relations.callees(row)]
        if not self._code.document_of(row).secondary:
            called = [definition for definition in called if not is_secondary(definition.path)]
        owner = self._relations.owner(own_definition) if own_definition is not None else None
        every = self._relations.callers(own_definition, MAX_FILES).sites if own_definition is not None else ()
        sites = {(site.row, site.secondary): site for site in reversed(every) if site.row != row}
        calling = list(sites.values())[::-1]
        return {
            "container": self._defined([owner] if owner is not None else []),
            "callees": self._defined(called),
            "implementations": self._defined(
                self._relations.heirs(own_definition) if own_definition is not None else []
            ),
            "callers": [self._caller(site) for site in calling if not site.secondary][:RELATED],
            "tests": [self._caller(site) for site in calling if site.secondary][:RELATED],
        }

    def _defined(self, definitions: Sequence[CodeDefinition]) -> list[Neighbour]:
        return [
            {
                "name": definition.qualified,
                "path": f"{self._prefix}{definition.path}",
                "line": self._line_of(definition),
            }
            for definition in definitions[:RELATED]
        ]

    def _caller(self, site: CallSite) -> Neighbour:
        path = f"{self._prefix}{site.path}"
        return {"name": site.name or path, "path": path, "line": self._call_line(site)}

    def _line_of(self, definition: CodeDefinition) -> int:
        """Return the present line of a definition; 0 if it is unknown."""
        document = self._code.document_of(definition.row)
        if self._is_stamped(document):
            return definition.line
        current = self._current[document.id]
        parts = self._lines.outline(current).parts if current is not None else ()
        defined = [other for part in parts for other in part.definitions if other.name == definition.name]
        lines = [other.line for other in defined if other.owner == definition.owner]
        return lines[0] if len(lines) == 1 else 0

    def _call_line(self, site: CallSite) -> int:
        """Return the present line of a call; 0 if it is gone or occurs several times."""
        document = self._code.document_of(site.row)
        if self._is_stamped(document):
            return site.line
        file, current = self._code.file(site.path), self._current[document.id]
        text = file.lines(site.line, site.line).rstrip("\n") if file is not None else ""
        lines = [number for number, line in enumerate(current.lines if current else (), 1) if line == text]
        return lines[0] if len(lines) == 1 else 0

    def _is_stamped(self, document: Document) -> bool:
        if document.id in self._current or document.id in self._stamped:
            return document.id in self._stamped
        if self._lines.is_stamped(document.key, document.size, document.mtime_ns, document.changed_ns):
            self._stamped.add(document.id)
            return True
        read = self._lines.read(document.key)
        self._current[document.id] = None if isinstance(read, Unreadable) else read
        return False
