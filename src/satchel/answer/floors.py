"""The least relevance with which a hit is shown, and the hits of a search that are listed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from satchel.answer import weights
from satchel.answer.findings import Gathered
from satchel.search import weights as search_weights
from satchel.search.searcher import SearchResult
from satchel.search.strength import answer_strength, relevance_of
from satchel.types import RECORD_KINDS, Hit, Kind


def is_weak(strength: float, min_score: float | None) -> bool:
    """Return whether an answer is a weak match: by its strength, unless the caller has a floor of their own."""
    return min_score is None and strength < search_weights.WEAK_FLOOR


def floor_of(kind: Kind, best: float, strength: float, min_score: float | None) -> float | None:
    """Return the least relevance of a hit of a kind whose best has `best`; None where the kind does not answer.

    `strength` is that of the whole answer (`answer_strength`). A `min_score` is absolute and replaces all other
    floors. Beside a kind that matches well, one that hardly does is left out. A weak answer shows the hits near its
    best, so that it is never empty.
    """
    if min_score is not None:
        return min_score
    of_all = relevance_of(strength)
    bar = min(relevance_of(search_weights.WEAK_FLOOR), weights.KIND_FLOOR * of_all)
    if best <= 0 or (best < bar and not is_weak(strength, min_score)):
        return None
    minimum = 0.0 if kind is Kind.CODE else min(weights.ITEM_FLOOR, weights.RELATIVE_FLOOR * of_all)
    return max(minimum, _relative_floor(kind) * best)


def _relative_floor(kind: Kind) -> float:
    if kind is Kind.CODE:
        return 0.0
    return weights.COMMIT_FLOOR if kind is Kind.COMMIT else weights.RELATIVE_FLOOR


def admitted(results: Mapping[Kind, SearchResult], limit: int, min_score: float | None) -> list[Hit]:
    """Return the best hits of each kind: at most `limit` records, or parts of `limit` files; of a weak answer a few.

    A hit is not left out because another is better.
    """
    strength = answer_strength({kind: result.strength for kind, result in results.items()})
    hits: list[Hit] = []
    for kind, result in results.items():
        best = max((hit.relevance for hit in result.hits), default=0.0)
        minimum = floor_of(kind, best, strength, min_score)
        if minimum is not None:
            lowest = minimum if min_score is not None else min(minimum, search_weights.MIN_LISTED)
            good = [hit for hit in result.hits if hit.relevance >= lowest]
            hits += good[:limit] if kind in RECORD_KINDS else by_file(good, limit)
    if not is_weak(strength, min_score):
        return hits
    kept = sorted(hits, key=lambda hit: -hit.relevance)[: search_weights.WEAK_ITEMS]
    return [hit for hit in hits if hit in kept]


def by_file(hits: Sequence[Hit], limit: int) -> list[Hit]:
    """Return the best parts of the best files: file by file, the best first, and so the parts of each.

    `limit` counts files; those of a pasted trace come first, in the order of its frames. The relevances of files
    keep their places, so the first has the largest; a part has at most that of its file.
    """
    files: dict[int, list[Hit]] = {}
    for hit in hits:
        files.setdefault(hit.chunk.document, []).append(hit)
    best = sorted(files.values(), key=lambda parts: -min(parts[0].file_score, 1.0) - _is_framed(parts[0]))[:limit]
    relevances = sorted((parts[0].relevance for parts in best), reverse=True)
    return [
        replace(hit, relevance=relevance if hit is parts[0] else min(hit.relevance, relevance))
        for parts, relevance in zip(best, relevances, strict=True)
        for hit in _listed_parts(parts)
    ]


def _is_framed(hit: Hit) -> bool:
    return hit.file_score > 1.0


def _listed_parts(parts: Sequence[Hit]) -> list[Hit]:
    """Return the parts of a file that are listed: frames of a trace, and a few that are nearly as good."""
    minimum = parts[0].score - search_weights.LISTED_DROP
    others = [part for part in parts if not _is_framed(part) and part.score >= minimum]
    return [*filter(_is_framed, parts), *others[: search_weights.LISTED_PARTS]]


def section_floor(gathered: Gathered, min_score: float | None, strength: float) -> float | None:
    """Return the least relevance of hits of a section: None if it does not answer, 0 if it is not searched.

    Of a section with a question of its own, a weak match is no answer.
    """
    if gathered.section.ranked_by is not None:
        return 0.0
    best = max([hit.relevance for hit in gathered.result.hits], default=0.0)
    if gathered.section.question and min_score is None:
        is_answer = best >= relevance_of(search_weights.WEAK_FLOOR)
        return max(weights.ITEM_FLOOR, _relative_floor(gathered.section.kind) * best) if is_answer else None
    return floor_of(gathered.section.kind, best, strength, min_score)
