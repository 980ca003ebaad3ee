"""Explain answers: what ranks one file, definition or record, what keeps it out, and what a replay changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import filterfalse
from typing import Any, NamedTuple

from satchel import __version__
from satchel.answer.floors import floor_of
from satchel.answer.inputs import is_wanted
from satchel.answer.packing import BUDGET, LIMIT, VALUE
from satchel.answer.request import AssembleRequest, request_from
from satchel.embed import Embedder
from satchel.errors import UsageError
from satchel.safety.sanitize import clean_field
from satchel.search.dense import Meaning, scores
from satchel.search.named import with_defined_names
from satchel.search.query import Query, analyse
from satchel.search.references import with_commits
from satchel.search.relations import definitions_named, files_named
from satchel.search.resolve.code import Code
from satchel.search.searcher import FileStanding, SearchResult, chunk_of, file_standing, search_kind
from satchel.search.votes import Votes
from satchel.store.protocol import Store
from satchel.types import LINE_KINDS, Chunk, Context, ContextItem, Data, Hit, Kind, Signal
from satchel.vocabulary import checked_text

EVERYTHING = 1_000_000
"""Number of spans to search, so that low ranks are included."""

_RECORD_ORDER = (Kind.COMMIT, *(kind for kind in Kind if kind not in (*LINE_KINDS, Kind.COMMIT)))

Ask = Callable[[AssembleRequest], Context]


class WhyTarget(NamedTuple):
    """The meaning of a name: a file (no `chunk`), one of its chunks, or a record (no path)."""

    kind: Kind
    id: str
    path: str = ""
    chunk: Chunk | None = None


class Standing(NamedTuple):
    """The rank of a target for a question.

    `rank` counts from 1 among the matching files of its kind (records among the records) and is 0 if it does not
    match; `of` is the number of matches. `place` is the rank among all chunks of the kind. If it is not shown,
    `reason` says why, and `budget` is about the budget that would show it, 0 if none would.
    """

    id: str
    kind: Kind
    path: str
    rank: int
    of: int
    place: int
    chunks: int
    relevance: float
    signals: tuple[Signal, ...]
    shown: tuple[tuple[int, int], ...]
    is_shown: bool
    reason: str = ""
    detail: str = ""
    budget: int = 0


def why(
    target: str,
    request: AssembleRequest,
    store: Store,
    store_of: Callable[[Kind], Store],
    ask: Ask,
    embedder: Embedder | None = None,
) -> list[Standing]:
    """Return the standing of each target of a name, shown ones first, then by rank. Raises UsageError.

    `store` is the index in one published state, `ask` answers a request without keeping the answer.
    """
    query = with_defined_names(with_commits(analyse(request.asked.query), store), store)
    votes = Votes(query, store)
    context = ask(request)
    targets = resolve(target, store, store_of)
    meaning = Meaning(embedder, query.text) if embedder is not None else None
    lines = [
        # Targets of the same name that are explained; a longer name selects one of them.
        _standing(why_target, store_of(why_target.kind), request, context, query, votes, meaning)
        for why_target in targets[:5]
    ]
    return sorted(
        lines, key=lambda standing: (not standing.is_shown, standing.rank or len(lines) + EVERYTHING, standing.id)
    )


def resolve(target: str, store: Store, store_of: Callable[[Kind], Store]) -> list[WhyTarget]:
    """Return the targets of a path, the end of a path, a symbol or a chunk id. Raises UsageError if there is none."""
    identifier = checked_text("the target", target).strip().removeprefix("./")
    if targets := _by_path(identifier, store) or _by_symbol(identifier, store) or _records(identifier, store_of):
        return targets
    raise UsageError(f"nothing here is called {clean_field(identifier)!r}{_near(identifier, store)}")


def _by_path(identifier: str, store: Store) -> list[WhyTarget]:
    kind, _, rest = identifier.partition(":")
    path, _, symbol = (rest if kind in {other.value for other in LINE_KINDS} else identifier).partition("::")
    path = path.partition("#")[0]
    if symbol:
        return []
    return [
        WhyTarget(document.kind, f"{document.kind}:{document.key}", document.key)
        for document in files_named(store, path)
    ]


def _by_symbol(identifier: str, store: Store) -> list[WhyTarget]:
    """Return definitions by their name, by the end of their qualified name, or by path and name."""
    code = Code(store)
    targets: dict[str, WhyTarget] = {}
    for definition in definitions_named(code, identifier):
        chunk = chunk_of(code.document_of(definition.row), code.part(definition.row))
        targets.setdefault(chunk.id, WhyTarget(chunk.kind, chunk.id, definition.path, chunk))
    return list(targets.values())


def _records(identifier: str, store_of: Callable[[Kind], Store]) -> list[WhyTarget]:
    """Return a record by its id, with or without its kind; a commit also by the beginning of its hash."""
    kind, _, key = identifier.partition(":")
    for record_kind in _RECORD_ORDER:
        name = key if kind == record_kind.value else identifier
        store = store_of(record_kind)
        document = store.document(record_kind, name)
        if document is None and record_kind is Kind.COMMIT and len(name) >= 7:
            matches = [sha for sha in store.keys(record_kind) if sha.startswith(name.lower())]
            document = store.document(record_kind, matches[0]) if len(matches) == 1 else None
        if document is not None:
            return [WhyTarget(record_kind, f"{record_kind}:{document.key}")]
    return []


def _near(identifier: str, store: Store) -> str:
    names: dict[str, str] = {}
    for kind in LINE_KINDS:
        for path in store.iterate_keys(kind):
            names.setdefault(path.rpartition("/")[2], path)
    close = get_close_matches(identifier.rpartition("/")[2], names, n=3, cutoff=0.6)
    if close:
        return f": did you mean {' or '.join(clean_field(names[name]) for name in close)}?"
    return ": give a path below the root, the name of a function or class, or the hash of a commit"


def _standing(
    target: WhyTarget,
    store: Store,
    request: AssembleRequest,
    context: Context,
    query: Query,
    votes: Votes,
    meaning: Meaning | None,
) -> Standing:
    """Return the rank of a target, and why `context`, the answer to the question, does not show it."""
    likeness = scores(store, target.kind, meaning, query)
    result = search_kind(store, target.kind, query, votes=votes, candidates=EVERYTHING, likeness=likeness)
    hits = result.hits
    own_hits = [hit for hit in hits if _is_of(hit, target)]
    index = hits.index(own_hits[0]) + 1 if own_hits else 0
    if target.path:
        file = file_standing(query, store, target.kind, target.path, votes, likeness)
    else:
        file = FileStanding(index, len(hits), 0.0, ())
    shown = _shown(target, own_hits[0] if own_hits else None, context.items)
    reason, detail, budget = "", "", 0
    if shown is None:
        reason, detail, budget = _reason(target, file.rank, request, result, own_hits, context)
    return Standing(
        id=target.id,
        kind=target.kind,
        path=target.path,
        rank=file.rank,
        of=file.of,
        place=index,
        chunks=len(hits),
        relevance=own_hits[0].relevance if own_hits else file.relevance,
        signals=own_hits[0].signals if own_hits else file.signals,
        shown=shown or (),
        is_shown=shown is not None,
        reason=reason,
        detail=detail,
        budget=budget,
    )


def _group(hit: Hit) -> str:
    return hit.chunk.location.path if hit.chunk.location is not None else hit.chunk.id


def _is_of(hit: Hit, target: WhyTarget) -> bool:
    if target.chunk is not None:
        return hit.chunk.id == target.chunk.id
    is_own = hit.chunk.id == target.id or hit.chunk.id.startswith(f"{target.id}::")
    return is_own or _group(hit) == (target.path or target.id)


def _shown(target: WhyTarget, best: Hit | None, items: Sequence[ContextItem]) -> tuple[tuple[int, int], ...] | None:
    """Return the shown lines of a target, () for a record, None if it is not shown."""
    if not target.path:
        ids = {identity for item in items for identity in (item.id, *item.origins)}
        return () if target.id in ids or (best is not None and best.chunk.id in ids) else None
    for item in items:
        if item.location is not None and item.location.path == target.path and item.source == target.kind:
            return _spans_of(target, item)
    return None


def _spans_of(target: WhyTarget, item: ContextItem) -> tuple[tuple[int, int], ...] | None:
    if target.chunk is None or target.chunk.location is None:
        return item.spans
    first, last = target.chunk.location.start_line, target.chunk.location.end_line
    return tuple((max(a, first), min(b, last)) for a, b in item.spans if a <= last and first <= b) or None


def _reason(
    target: WhyTarget, rank: int, request: AssembleRequest, result: SearchResult, hits: Sequence[Hit], context: Context
) -> tuple[str, str, int]:
    """Return the first stage that leaves a target out: its name, a sentence, and a sufficient budget."""
    kind = target.kind
    if request.scope.kinds and kind not in request.scope.kinds:
        return "filter", f"only {', '.join(other.plural for other in request.scope.kinds)} were asked for", 0
    if not hits:
        return "no match", _no_match(rank, target), 0
    if not is_wanted(hits[0], request.scope):
        return "filter", "--path or --exclude leaves it out", 0
    best = max(hit.relevance for hit in result.hits)
    floor = floor_of(kind, best, result.strength, request.scope.min_score)
    if floor is None:
        return "floor", f"nothing of {kind.plural} is relevant enough: the best has {best:.2f}", 0
    if hits[0].relevance < floor:
        return "floor", f"its relevance is {hits[0].relevance:.2f}, and {floor:.2f} is needed beside the best", 0
    return _packing_reason(hits[0], target, context)


def _no_match(rank: int, target: WhyTarget) -> str:
    if not rank:
        return "no word of the question is in it"
    if target.chunk is not None:
        return "its file matches, but none of its lines is among those looked at"
    return "other files have so many better lines that none of its own is looked at"


def _packing_reason(hit: Hit, target: WhyTarget, context: Context) -> tuple[str, str, int]:
    for item in context.items:
        if hit.chunk.id in item.origins:
            return "duplicate", f"the same text is shown as {clean_field(item.id)}", 0
    for failure in context.failures:
        if target.path and failure.message.startswith(f"{target.path}:"):
            return "unreadable", failure.message, 0
    listed = next(filter(lambda omission: omission.id == hit.chunk.id, context.overflow), None)
    if listed is None:
        return _unlisted_reason(hit, context)
    if listed.reason == LIMIT:
        return LIMIT, f"{hit.chunk.kind.plural} have all the items that they may have; --limit allows more", 0
    if listed.reason == VALUE:
        return VALUE, "it is worth too little beside the best; --fill shows it if there is room", 0
    if not listed.budget:
        return BUDGET, "such answers show the best and name the rest; `satchel expand` or --fill shows it", 0
    return BUDGET, f"about {listed.budget:,} tokens would show it, or --fill", listed.budget


def _unlisted_reason(hit: Hit, context: Context) -> tuple[str, str, int]:
    lessons = context.meta.get("lessons", ())
    needed = next((lesson["reason"] for lesson in lessons if lesson["id"] == hit.chunk.id), "")
    if needed:
        return "evidence", f"as a lesson it did not come: {needed}", 0
    return "rank", "too much ranks before it", 0


CHANGES_NAMED = 10


class Replay(NamedTuple):
    """A saved question asked again. `differences` is empty where the answer is the same byte for byte."""

    request: AssembleRequest
    context: Context
    differences: tuple[str, ...]


def saved_request(saved: Data, allow: Sequence[str] = ()) -> AssembleRequest:
    """Return the request of a saved envelope; `allow` as in `request_from`. Raises UsageError for anything else."""
    meta = saved.get("meta")
    data = meta.get("request") if isinstance(meta, Mapping) else None
    if not isinstance(data, Mapping) or not isinstance(saved.get("text"), str) or "items" not in saved:
        raise UsageError("this is not a saved context: save one with `satchel context QUESTION --json > FILE`")
    if "lens" in data:
        raise UsageError("this is a saved graph context: it is not replayed, ask again with `satchel graph`")
    request = request_from(data, allow)
    if not request.asker.session:
        return request
    return replace(request, asker=replace(request.asker, ledger=str(saved["meta"].get("ledger", ""))))


def is_of_the_tree(saved: Data) -> bool:
    """Return whether a saved answer looked at the tree first; briefs and premortems only look at the memory."""
    from satchel.answer.plans import BRIEF, PREMORTEM

    meta = saved.get("meta")
    request = meta.get("request") if isinstance(meta, Mapping) else None
    return not isinstance(request, Mapping) or request.get("plan") not in {PREMORTEM, BRIEF}


def differences(saved: Data, context: Context) -> tuple[str, ...]:
    """Return the differences, one line each: first those of the inputs, then those of the answer itself."""
    meta = saved["meta"]
    lines = [
        _moved("version of satchel", meta.get("version"), __version__),
        _moved("store revision", meta.get("revision"), context.meta.get("revision")),
        _moved("ledger of the session", meta.get("ledger"), context.meta.get("ledger")),
        *_settings(meta.get("settings") or {}, context.meta.get("settings") or {}),
        *_items(saved["items"], context),
        _failures(saved.get("failures") or [], context),
    ]
    if saved["text"] != context.text and not any(lines):
        lines.append("text: other bytes from the same items")
    return tuple(line for line in lines if line)


def _moved(what: str, before: object, now: object) -> str:
    return "" if before == now else f"{what}: {clean_field(str(before))} then, {now} now"


def _settings(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    changed = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    return [f"setting {clean_field(name)}: has another value now" for name in changed]


def _items(saved: Sequence[Data], context: Context) -> list[str]:
    before = {str(item.get("id")): (item.get("content"), item.get("handle")) for item in saved}
    now: Mapping[str, tuple[Any, Any]] = {item.id: (item.content, item.handle) for item in context.items}
    lines = [f"changed: {clean_field(item)}" for item in before if before[item] != now.get(item, before[item])]
    lines += [f"not shown any more: {clean_field(item)}" for item in filterfalse(now.__contains__, before)]
    lines += [f"shown now: {clean_field(item)}" for item in filterfalse(before.__contains__, now)]
    if before.keys() == now.keys() and [*before] != [*now]:
        lines.append("the same items are in another order")
    more = len(lines) - CHANGES_NAMED
    return [*lines[:CHANGES_NAMED], f"and {more} more items"] if more > 0 else lines


def _failures(saved: Sequence[Data], context: Context) -> str:
    before = [(saved_failure.get("source"), saved_failure.get("message")) for saved_failure in saved]
    now = [(failure.source, failure.message) for failure in context.failures]
    return "" if before == now else f"notes: {len(before)} then, {len(now)} now"
