"""An answer as one JSON object, the same at every edge.

Fields are only ever added. The envelope itself is not counted; its `text` is the counted rendering. `meta` holds
everything that the answer depends on, so that the same request can be asked again: version, request, time, store
revision. How long it took stands in `meta.timings` and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from satchel import __version__, outside
from satchel.assemble.items import record_metadata
from satchel.assemble.request import AssembleRequest, request_data
from satchel.types import Context, ContextItem, Failure, Hit, Location, Omission, Signal, Usage

if TYPE_CHECKING:
    from satchel.assemble.graph.request import GraphRequest
    from satchel.assemble.receipts.why import Standing


def context_envelope(context: Context, request: AssembleRequest) -> dict[str, Any]:
    """A context and the request that it answers, as plain JSON values."""
    return {
        "query": context.query,
        "text": context.text,
        "items": [_item(item) for item in context.items],
        **_shown_before(context),
        "overflow": [_omission(omission) for omission in context.overflow],
        "usage": _usage(context.usage),
        "sources_used": dict(context.sources_used),
        "failures": [failure_data(failure) for failure in context.failures],
        "meta": {**context.meta, "version": __version__, "now": request.now, "request": request_data(request)},
    }


def graph_envelope(context: Context, request: GraphRequest) -> dict[str, Any]:
    """A graph context and the request that it answers, as plain JSON values."""
    asked = asdict(request) | {"session": outside.line(request.session, len(request.session) + 1)}
    return {
        "query": context.query,
        "text": context.text,
        "items": [_item(item) for item in context.items],
        **_shown_before(context),
        "overflow": [_omission(omission) for omission in context.overflow],
        "usage": _usage(context.usage),
        "sources_used": dict(context.sources_used),
        "failures": [failure_data(failure) for failure in context.failures],
        "meta": {**context.meta, "version": __version__, "now": request.now, "request": asked},
    }


def replayed_envelope(context: Context, request: AssembleRequest, saved: Mapping[str, Any]) -> dict[str, Any]:
    """A context that was asked for again, with the durations of the saved one: no two runs take the same time."""
    envelope = context_envelope(context, request)
    meta = saved.get("meta", {})
    if "timings" in meta:
        envelope["meta"]["timings"] = meta["timings"]
    return envelope


def standing_data(row: Standing) -> dict[str, Any]:
    """How something stands for a question, as plain JSON values."""
    return {
        "id": row.id,
        "source": row.kind.value,
        "path": row.path,
        "rank": row.rank,
        "of": row.of,
        "place": row.place,
        "documents": row.documents,
        "relevance": row.relevance,
        "signals": [_signal(signal) for signal in row.signals],
        "is_shown": row.is_shown,
        "shown": [list(span) for span in row.shown],
        "reason": row.reason,
        "detail": row.detail,
        "budget": row.budget,
    }


def expanded_envelope(context: Context, handles: Sequence[str]) -> dict[str, Any]:
    """What was found behind handles, as plain JSON values: the fields of a context, without a question."""
    return {
        "handles": list(handles),
        "text": context.text,
        "items": [_item(item) for item in context.items],
        "overflow": [_omission(omission) for omission in context.overflow],
        "usage": _usage(context.usage),
        "failures": [failure_data(failure) for failure in context.failures],
        "meta": {**context.meta, "version": __version__},
    }


def search_envelope(query: str, hits: list[Hit], failures: list[Failure], revision: str) -> dict[str, Any]:
    """The hits of a search, best first within each kind, as plain JSON values."""
    return {
        "query": query,
        "hits": [_hit(hit) for hit in hits],
        "failures": [failure_data(failure) for failure in failures],
        "meta": {"version": __version__, "revision": revision},
    }


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "limit": usage.limit,
        "used": usage.used,
        "utilization": round(usage.utilization, 4),
        "tokenizer": usage.tokenizer,
        "exact": usage.exact,
        "stopped": usage.stopped,
    }


def failure_data(failure: Failure) -> dict[str, Any]:
    """Something that did not work, as plain JSON values."""
    return {"source": failure.source, "message": failure.message, "hint": failure.hint}


def _item(item: ContextItem) -> dict[str, Any]:
    return {
        "id": item.id,
        "source": item.source,
        "title": item.title,
        "content": item.content,
        "relevance": item.relevance,
        "tokens": item.tokens,
        "detail": item.detail.value,
        "location": _place(item.location, item.spans),
        "metadata": dict(item.metadata),
        "signals": [_signal(signal) for signal in item.signals],
        "handle": item.handle,
        "trust": item.trust.value,
        "section": item.section,
        "cuts": [
            {"handle": cut.handle, "start_line": cut.start, "end_line": cut.end, "name": cut.name} for cut in item.cuts
        ],
    }


def _hit(hit: Hit) -> dict[str, Any]:
    document = hit.document
    return {
        "id": document.id,
        "source": document.kind.value,
        "title": document.title,
        "relevance": hit.relevance,
        "score": hit.score,
        "location": _place(document.location, [(span.start, span.end) for span in hit.spans]),
        "metadata": dict(record_metadata(document.id, document.fields, document.created))
        if document.location is None
        else {},
        "signals": [_signal(signal) for signal in hit.signals],
    }


def _omission(omission: Omission) -> dict[str, Any]:
    return {
        "id": omission.id,
        "source": omission.source,
        "title": omission.title,
        "relevance": omission.relevance,
        "reason": omission.reason,
        "budget": omission.budget,
        "handle": omission.handle,
        "location": {"path": omission.path, "start_line": omission.start, "end_line": omission.end}
        if omission.path
        else None,
    }


def _shown_before(context: Context) -> dict[str, Any]:
    """What the session has already, as a list; only where there is a session."""
    if "session" not in context.meta:
        return {}
    rows = [
        {
            "id": one.id,
            "source": one.source,
            "title": one.title,
            "handle": one.handle,
            "location": {"path": one.path, "spans": [list(span) for span in one.spans]} if one.path else None,
        }
        for one in context.shown_before
    ]
    return {"shown_before": rows}


def _place(location: Location | None, spans: Sequence[tuple[int, int]]) -> dict[str, Any] | None:
    if location is None:
        return None
    return {
        "path": location.path,
        "start_line": location.start_line,
        "end_line": location.end_line,
        "spans": [list(span) for span in spans],
    }


def _signal(signal: Signal) -> dict[str, Any]:
    return {"name": signal.name, "value": signal.value, "weight": signal.weight}
