"""What is indexed, as plain JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.types import Failure, Kind

if TYPE_CHECKING:
    from satchel.engine import Satchel
    from satchel.index.report import VectorReport
    from satchel.index.status import Status


def status_data(status: Status) -> dict[str, Any]:
    """The state as plain JSON values."""
    held, fresh = status.statistics, status.freshness
    return {
        "root": str(status.root),
        "index": str(status.index),
        "revision": status.revision,
        "building": status.building,
        "documents": dict(held.documents),
        "bundles": dict(held.bundles),
        "hidden": dict(held.hidden),
        "languages": dict(held.languages),
        "edges": dict(held.edges),
        "windows": dict(held.windows),
        "definitions": held.definitions,
        "text_bytes": held.text_bytes,
        "redacted": held.redacted,
        "cleaned": held.cleaned,
        "sizes": dict(status.sizes),
        "freshness": {
            "is_fresh": fresh.is_fresh,
            "checked": fresh.checked,
            "new": fresh.new,
            "changed": fresh.changed,
            "gone": fresh.gone,
            "head": fresh.head,
            "indexed_head": fresh.indexed_head,
        },
        "skipped": dict(status.skipped),
        "broken_links": {
            "count": status.broken_links,
            "examples": [{"note": note, "link": link} for note, link in status.broken_examples],
        },
        "failures": [{"source": f.source, "message": f.message, "hint": f.hint} for f in status.failures],
    }


def vector_state(vectors: VectorReport, embedder: str | None) -> dict[str, Any]:
    """The embedder, and for each kind how many documents have a vector of it, of how many."""
    kinds = {kind.plural: {"done": done, "total": total} for kind, (done, total) in vectors.counts.kinds.items()}
    failure = vectors.failure
    said = None if failure is None else {"message": failure.message, "hint": failure.hint}
    return {"embedder": embedder, "kinds": kinds, "failure": said}


def unread_commits(satchel: Satchel) -> list[Failure]:
    """Says that older commits exist that are not indexed, or may."""
    most = satchel.settings.index_commits
    if satchel.store.kinds().get(Kind.COMMIT, 0) < most:
        return []
    return [Failure("commits", f"only the newest {most:,} commits are indexed", "raise index.commits to look further")]
