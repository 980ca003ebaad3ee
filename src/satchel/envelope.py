"""An answer as one JSON object, the same at every edge.

Fields are only ever added. The envelope itself is not counted; its `text` is the counted rendering. `meta` holds
everything that the answer depends on, so that the same request can be asked again: version, request, time, store
revision. How long it took stands in `meta.timings` and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from satchel import __version__
from satchel.assemble.request import AssembleRequest
from satchel.types import Context, ContextItem, Failure, Hit, Location, Omission, Signal


def context_envelope(context: Context, request: AssembleRequest) -> dict[str, Any]:
    """A context and the request that it answers, as plain JSON values."""
    usage = context.usage
    return {
        "query": context.query,
        "text": context.text,
        "items": [_item(item) for item in context.items],
        "overflow": [_omission(omission) for omission in context.overflow],
        "usage": {
            "limit": usage.limit,
            "used": usage.used,
            "utilization": round(usage.utilization, 4),
            "tokenizer": usage.tokenizer,
            "exact": usage.exact,
        },
        "sources_used": dict(context.sources_used),
        "failures": [failure_data(failure) for failure in context.failures],
        "meta": {**context.meta, "version": __version__, "now": request.now, "request": request_data(request)},
    }


def request_data(request: AssembleRequest) -> dict[str, Any]:
    """Every field of a request as plain JSON values; kinds by the context types that ask for them."""
    return {
        "query": request.query,
        "types": [kind.plural for kind in request.kinds],
        "max_tokens": request.max_tokens,
        "limit": request.limit,
        "format": request.format.value,
        "tokenizer": request.tokenizer,
        "whole_item_tokens": request.whole_item_tokens,
        "min_score": request.min_score,
        "weights": {kind.plural: weight for kind, weight in request.weights.items()},
        "show_sources": request.show_sources,
        "show_code": request.show_code,
        "group_by_type": request.group_by_type,
        "include": list(request.include),
        "exclude": list(request.exclude),
        "paths": list(request.paths),
        "deadline_seconds": request.deadline_seconds,
        "now": request.now,
    }


def search_envelope(query: str, hits: list[Hit], failures: list[Failure], revision: str) -> dict[str, Any]:
    """The hits of a search, best first within each kind, as plain JSON values."""
    return {
        "query": query,
        "hits": [_hit(hit) for hit in hits],
        "failures": [failure_data(failure) for failure in failures],
        "meta": {"version": __version__, "revision": revision},
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
        "location": {"path": omission.path, "start_line": omission.start, "end_line": omission.end}
        if omission.path
        else None,
    }


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
