"""The answers of operations as JSON, and as text for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from satchel import __version__
from satchel.codec import Field, many, maybe, record
from satchel.operations.operation import Spelling
from satchel.safety import sanitize
from satchel.safety.sanitize import DATA_NOTICE, clean_field, inert, plain_name
from satchel.text import asks_nothing
from satchel.types import NO_REVISION, UNFINISHED, Context, Data, Failure, Hit, Json, Location, Omission

if TYPE_CHECKING:
    from satchel.answer.pattern import Matches
    from satchel.answer.request import AssembleRequest
    from satchel.graph.request import GraphRequest
    from satchel.index.run import VectorReport


def one_of(*records: Field) -> Json:
    """Return the schema of an answer that is one of several records."""
    return {"type": "object", "anyOf": [record.schema for record in records]}


def safe(text: str) -> str:
    """Return a stored text without secrets and hidden characters, even if another program stored it."""
    return sanitize.text(text)


def minute(moment: float) -> str:
    """`2026-05-01 10:30` (UTC)."""
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M}"


def rounded(number: float) -> float:
    """Return a share or a similarity with the digits that it is shown with."""
    return round(number, 4)


def _place(location: Location | None, spans: Sequence[tuple[int, int]]) -> Json | None:
    if location is None:
        return None
    place = {"path": location.path, "start_line": location.start_line, "end_line": location.end_line}
    return place | {"spans": [list(span) for span in spans]}


def _omission_place(omission: Omission) -> Json | None:
    place = {"path": omission.path, "start_line": omission.start, "end_line": omission.end}
    return place if omission.path else None


def _hit_metadata(hit: Hit) -> Data:
    from satchel.answer.items import record_metadata  # here, because memory commands do not need it

    chunk = hit.chunk
    if chunk.location is not None:  # moved, changed or stale
        return {"freshness": str(mark)} if (mark := chunk.fields.get("freshness")) else {}
    return record_metadata(chunk.id, chunk.fields, chunk.created)


TEXT = Field({"type": "string"})
SAFE = Field({"type": "string"}, safe)
NUMBER = Field({"type": "number"})
ROUNDED = Field({"type": "number"}, rounded)
COUNT = Field({"type": "integer"})
SWITCH = Field({"type": "boolean"})
OBJECT = Field({"type": "object"}, dict)
COUNTS = Field({"type": "object", "additionalProperties": COUNT.schema}, dict)
TEXTS = many(TEXT)
SPANS = Field({"type": "array"}, lambda spans: [list(span) for span in spans])
REST = structs.replace(SPANS, is_optional=True).of(lambda owner: owner.rest or None)
"""What is left of a long function that is shown in part, best first; absent for anything else."""

PLACE = maybe(Field(record(path=TEXT, start_line=COUNT, end_line=COUNT).schema))

PLACED = record(path=TEXT, start_line=COUNT, end_line=COUNT)
FAILURE = record(source=TEXT, message=TEXT, hint=TEXT)
FAILURES = many(FAILURE)
SIGNALS = many(record(name=TEXT, value=NUMBER, weight=NUMBER))
ITEM = record(
    id=TEXT, source=TEXT, title=TEXT, content=TEXT, relevance=NUMBER, tokens=COUNT, detail=TEXT,
    location=PLACE.of(lambda item: _place(item.location, item.spans)), metadata=OBJECT, signals=SIGNALS, handle=TEXT,
    trust=TEXT, section=TEXT,
    cuts=many(record(handle=TEXT, start_line=COUNT.of("start"), end_line=COUNT.of("end"), name=TEXT, rest=REST)),
)  # fmt: skip
SHOWN_BEFORE = record(
    id=TEXT, source=TEXT, title=TEXT, handle=TEXT,
    location=PLACE.of(lambda item: {"path": item.path, "spans": SPANS.data(item.spans)} if item.path else None),
)  # fmt: skip
OMISSION = record(
    id=TEXT, source=TEXT, title=TEXT, relevance=NUMBER, reason=TEXT, budget=COUNT, handle=TEXT,
    location=PLACE.of(_omission_place), rest=REST,
)  # fmt: skip
USAGE = record(
    limit=COUNT, used=COUNT, utilization=ROUNDED, tokenizer=TEXT, exact=SWITCH, stopped=TEXT,
)  # fmt: skip
_SHOWN = {"text": TEXT, "items": many(ITEM)}
_END = {"failures": FAILURES, "meta": OBJECT}
CONTEXT = record(
    query=TEXT, **_SHOWN,
    shown_before=structs.replace(many(SHOWN_BEFORE), is_optional=True).of(
        lambda context: context.shown_before if "session" in context.meta else None  # with a session also an empty list
    ),
    overflow=many(OMISSION), usage=USAGE, sources_used=COUNTS, **_END,
)  # fmt: skip
_EXPANDED = {**_SHOWN, "overflow": many(OMISSION), "usage": USAGE, **_END}
EXPANDED = record(handles=TEXTS, **_EXPANDED)
HIT = record(
    id=TEXT.of("chunk.id"), source=TEXT.of("chunk.kind"), title=TEXT.of("chunk.title"), relevance=NUMBER,
    score=NUMBER, location=PLACE.of(lambda hit: _place(hit.chunk.location, [(s.start, s.end) for s in hit.spans])),
    best_line=maybe(OBJECT).of(lambda hit: hit.best_line and dict(zip(("line", "text"), hit.best_line, strict=True))),
    metadata=OBJECT.of(_hit_metadata), signals=SIGNALS,
    also_at=structs.replace(many(PLACED), is_optional=True).of(lambda hit: hit.copies or None),
)  # fmt: skip
FILE = record(path=TEXT, relevance=NUMBER, parts=many(HIT))
HITS = record(query=TEXT, files=many(FILE), hits=many(HIT), **_END)
STANDING = record(
    id=TEXT, source=TEXT.of("kind"), path=TEXT, rank=COUNT, of=COUNT, place=COUNT, chunks=COUNT, relevance=NUMBER,
    signals=SIGNALS, is_shown=SWITCH, shown=SPANS, reason=TEXT, detail=TEXT, budget=COUNT,
)  # fmt: skip
STANDINGS = record(target=TEXT, question=TEXT, standings=many(STANDING))

STATUS = record(
    root=Field(TEXT.schema, str), index=Field(TEXT.schema, str), revision=TEXT, building=TEXT,
    **{
        name: OBJECT.of(f"statistics.{name}")
        for name in ("chunks", "documents", "hidden", "languages", "edges", "spans")
    },
    **{name: COUNT.of(f"statistics.{name}") for name in ("definitions", "text_bytes", "redacted", "cleaned")},
    sizes=OBJECT,
    freshness=record(
        is_fresh=SWITCH, checked=maybe(NUMBER), new=COUNT, changed=COUNT, gone=COUNT, head=TEXT, indexed_head=TEXT
    ),
    skipped=OBJECT,
    broken_links=record(count=COUNT.of("broken_links"), examples=many(OBJECT).of(
        lambda status: [{"note": note, "link": link} for note, link in status.broken_examples]
    )).of(lambda status: status),
    failures=FAILURES,
)  # fmt: skip
DRAWING = record(
    nodes=many(record(id=TEXT, name=TEXT, kind=TEXT, place=TEXT)),
    edges=many(record(source=TEXT, target=TEXT, relation=TEXT, line=COUNT)),
    warnings=TEXTS, is_reversed=SWITCH,
)  # fmt: skip
DELIVERED_LESSON = record(at=TEXT, host=TEXT, session=TEXT, event=TEXT, id=TEXT, title=TEXT)
STATS = record(
    days=COUNT, events=OBJECT, tokens=OBJECT, late=COUNT,
    read=record(sessions=COUNT, files=COUNT, shown_tokens=COUNT, whole_tokens=COUNT, gone=COUNT),
    lessons=many(DELIVERED_LESSON),
)  # fmt: skip
CHECK = record(name=TEXT, outcome=TEXT, message=TEXT, fix=TEXT)
CHECKS = record(checks=many(CHECK))


def context_envelope(context: Context, request: AssembleRequest) -> Json:
    """Return a context and the request that it answers."""
    from satchel.answer.request import request_data

    return _answer(context, request.asked.now, request_data(request))


def graph_envelope(context: Context, request: GraphRequest) -> Json:
    """Return a graph context and the request that it answers."""
    session = sanitize.line(request.session, len(request.session) + 1)
    return _answer(context, request.now, asdict(request) | {"session": session})


def _answer(context: Context, now: float, request: Json) -> Json:
    meta = {**context.meta, "version": __version__, "now": now, "request": request}
    return {**CONTEXT.data(context), "meta": meta}


def replayed_envelope(context: Context, request: AssembleRequest, saved: Data) -> Json:
    """Return a repeated context with the durations of the saved one, because they differ between runs."""
    envelope = context_envelope(context, request)
    meta = saved.get("meta", {})
    if "timings" in meta:
        envelope["meta"]["timings"] = meta["timings"]
    return envelope


def expanded_envelope(context: Context, handles: Sequence[str]) -> Json:
    """Return the content behind handles: the fields of a context without the question."""
    meta = {**context.meta, "version": __version__}
    return {"handles": list(handles), **record(**_EXPANDED).data(context), "meta": meta}


def search_envelope(query: str, hits: Sequence[Hit], failures: Sequence[Failure], revision: str) -> Json:
    """Return the hits of a search, best first within each kind, and the files among them with their parts."""
    meta = {"version": __version__, "revision": revision}
    return {
        "query": query, "files": many(FILE).data(file_entries(hits)), "hits": many(HIT).data(hits),
        "failures": FAILURES.data(failures), "meta": meta,
    }  # fmt: skip


def pattern_envelope(found: Matches, failures: Sequence[Failure], revision: str) -> Json:
    """Return the matches of a pattern, best first: all of them, though the text may show fewer."""
    meta = {"version": __version__, "revision": revision}
    counts = {"total": len(found.matches), "files": found.files, "shown": found.shown, "used_tokens": found.used}
    rows = [{**match._asdict(), "text": match.text[:1_000]} for match in found.matches]
    notes = FAILURES.data([*failures, *found.failures])
    return {**counts, "hits": [], "matches": rows, "failures": notes, "meta": meta}


def vector_state(vectors: VectorReport, embedder: str | None) -> Json:
    """Return the embedder and, for each kind, the number of chunks with a vector and in all."""
    kinds = {kind.plural: {"done": done, "total": total} for kind, (done, total) in vectors.counts.kinds.items()}
    failure = vectors.failure
    problem = None if failure is None else {"message": failure.message, "hint": failure.hint}
    return {"embedder": embedder, "kinds": kinds, "failure": problem}


NO_GUIDE = "nothing guides this: there is no context.yaml and no instruction file that applies, and nothing was asked"


def line(text: str) -> str:
    """Return a stored text on one line of a list."""
    return clean_field(safe(text), 100)  # characters of a text on a line of a list


def other_mark(newer: str, against: str) -> str:
    """Return what is behind a memory from which a newer one differs or that is against an older one, else nothing."""
    if against:
        return f"  (against the older {clean_field(against)}, which stays first)"
    return f"  (newer: {clean_field(newer)})" if newer else ""


LINE_CHARACTERS = 100
"""Characters of a line of code in a list."""

NAMED_COPIES = 3
"""Places of equal definitions that a list names; JSON has all."""


class ListedFile(Struct, frozen=True):
    """A file in a list of hits, with its best parts."""

    path: str
    relevance: float
    parts: tuple[Hit, ...]


NOTICE = f"{DATA_NOTICE}."
"""The first line of a list of names and titles that others wrote."""


def hit_list(hits: Sequence[Hit]) -> list[str]:
    """Return the lines of a list of hits below the notice that they are data; none without hits."""
    return [NOTICE, *hit_lines(hits)] if hits else []


def hit_lines(hits: Sequence[Hit]) -> Iterator[str]:
    """Yield the lines of a list: `src/a.py  0.43` and below it `  10-20  C.method: 12 return f(x)`, or a record."""
    for path, listed in groupby(hits, key=_path_of):
        parts = list(listed)
        if path:
            yield f"{inert(clean_field(path))}  {parts[0].relevance:.2f}"
        yield from map(_part_line if path else _record_line, parts)


def _path_of(hit: Hit) -> str:
    return "" if hit.chunk.location is None else hit.chunk.location.path


def _part_line(hit: Hit) -> str:
    location = hit.chunk.location
    assert location is not None
    title = "" if hit.chunk.title == location.path else f"  {inert(plain_name(clean_field(hit.chunk.title)))}"
    title = f"  {mark}{title[1:]}" if (mark := hit.chunk.fields.get("freshness")) else title
    text = (
        ""
        if hit.best_line is None
        else f": {hit.best_line[0]} {clean_field(hit.best_line[1].strip(), LINE_CHARACTERS)}"
    )
    copies = [f"{clean_field(place.path)}:{place.start_line}" for place in hit.copies[:NAMED_COPIES]]
    if len(hit.copies) > NAMED_COPIES:
        copies.append(f"{len(hit.copies) - NAMED_COPIES} more")
    also = f" (also in {', '.join(copies)})" if copies else ""
    return f"  {location.start_line}-{location.end_line}{title}{also}{text}"


def _record_line(hit: Hit) -> str:
    """`memory:3f2a  0.31  Deploy on Mondays`."""
    newer = other_mark(hit.chunk.fields.get("newer", ""), hit.chunk.fields.get("against", ""))
    return f"{clean_field(hit.chunk.id)}  {hit.relevance:.2f}  {inert(clean_field(hit.chunk.title))}{newer}"


def file_entries(hits: Iterable[Hit]) -> list[ListedFile]:
    """Return the files of hits that are listed file by file, each with its parts."""
    listed = [(path, tuple(parts)) for path, parts in groupby(hits, key=_path_of) if path]
    return [ListedFile(path, parts[0].relevance, parts) for path, parts in listed]


def no_items(context: Context, nothing: str, spelling: Spelling) -> tuple[str, ...]:
    """Return why an answer has no items: all was shown before, nothing fits, or the text `nothing`."""
    if context.items:
        return ()
    if context.shown_before:
        return (f"this session has received all of it; {spelling.expand} shows it again",)
    if not context.overflow:
        return (nothing,)
    estimates = [omission.budget for omission in context.overflow if omission.budget]
    needed = context.meta.get("needed_tokens") or min(estimates, default=0)
    more = f"the smallest item needs about {needed:,}" if needed else "give more"
    return (f"nothing fits into {context.usage.limit:,} tokens: {more}",)


def no_answer(context: Context, spelling: Spelling) -> tuple[str, ...]:
    """Return why the answer to a question has no items."""
    if context.items:
        return ()
    if not context.query.strip():
        return no_items(context, "nothing of what is included can be shown", spelling)
    if asks_nothing(context.query):
        return ("nothing to look for: the question has only everyday words; name a thing or a behaviour",)
    if not context.overflow and (nothing := _nothing_indexed(context)):
        return (nothing,)
    nothing = f"nothing here is relevant to the question; {spelling.min_score} shows even weak matches"
    # The short room of a weak answer is what nothing fits into: a larger budget is not the remedy.
    if not context.meta.get("needed_tokens") and (context.meta["weak"] or context.meta["missing_terms"]):
        return no_items(replace(context, overflow=()), nothing, spelling)
    return no_items(context, nothing, spelling)


def _nothing_indexed(context: Context) -> str:
    """Return why there is nothing to answer from, empty if anything is indexed."""
    if str(context.meta.get("revision")).split("+")[0] != NO_REVISION:  # the index, before that of the memory
        return ""
    if any(failure.source == UNFINISHED for failure in context.failures):
        return "nothing is indexed here yet, another process is at it: ask again soon"
    return "nothing is indexed here yet: run `satchel index`; `satchel status` says what is left out"


def no_walk(context: Context) -> str:
    """Return why a walk has no text."""
    if context.meta["reached"]:
        return f"{context.usage.limit:,} tokens are too few even for the frame of an answer: give 500 or more"
    if nothing := _nothing_indexed(context):
        return nothing
    return "nothing here is about that: try other words, or the id of a node (`satchel search` shows ids)"
