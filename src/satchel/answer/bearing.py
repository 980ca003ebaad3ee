"""Lessons: records that an answer gives unasked, because they bear on what is about to be done; their order and number.

`satchel.search.lessons` decides whether a record bears on a request, and how much. Here it is told which of those come
first: somebody said that one matters, and one that tells what to do, or what failed, changes more than a mere fact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from satchel.answer import weights
from satchel.search.filters import NO_FILTERS
from satchel.search.lessons import BEARS, FILE, WORK, behind_newer
from satchel.search.query import Query
from satchel.text import wording
from satchel.tokens import first_within
from satchel.types import LESSON_KINDS, Hit, Kind, Signal
from satchel.vocabulary import DEFAULT_IMPORTANCE, MemoryCategory, OutcomeStatus

if TYPE_CHECKING:
    from satchel.answer.request import Asked, SearchScope

LESSON_FRAME, LONGEST_LESSON, CHARACTERS_PER_TOKEN = 6, 240, 4.5
"""Tokens around a lesson, the most characters that one has where others follow, and characters of a token."""

MAX_RULING_WORDS = 3
"""Words of a record by which it rules something out, from which on more make no difference."""

_RULES_OUT = wording("rules something out")
_FACTS = frozenset({MemoryCategory.FACT, MemoryCategory.EVENT})


def gives_lessons(asked: Asked, scope: SearchScope, query: Query, kind: Kind) -> bool:
    """Return whether records of a kind are shown unasked: those that bear on the question, in their own share.

    They are asked for where a kind is named, except by a situation, which never asks for records by kind.
    """
    names_kinds = bool(scope.kinds) and scope.first_kind is not Kind.CONTEXT
    is_asked = names_kinds or scope.plan or asked.change or query.is_broad or scope.filters != NO_FILTERS
    return kind in LESSON_KINDS and not is_asked and scope.min_score is None


def in_order(hits: Sequence[Hit]) -> list[Hit]:
    """Return lessons of all kinds with those first that bear most on the request.

    Of two that differ the one that comes first is known: the older one is behind its newer one, what is against a
    decision behind that.
    """
    return behind_newer(sorted(hits, key=lambda hit: (-bears(hit), hit.chunk.id)))


def bears(hit: Hit) -> float:
    """Return how much a lesson bears on the request, more if somebody said that it matters or it tells what to do."""
    values = {signal.name: signal.value for signal in hit.signals}
    return (
        values.get(BEARS, 0.0)
        + weights.LESSON_IMPORTANCE * values.get("importance", DEFAULT_IMPORTANCE)
        + weights.LESSON_TELLING * _tells_what_to_do(hit.chunk.kind, hit.chunk.fields)
        + weights.LESSON_RULE * _ruling_share(hit)
    )


def _tells_what_to_do(kind: Kind, fields: Any) -> bool:
    """Return whether a record is more than a fact or an event: a decision, a preference, an error, a failed attempt.

    What replaced another record tells it, too: who knows the older one has to act differently.
    """
    if kind is Kind.EXPERIENCE:
        return bool(fields.get("outcome_status") == OutcomeStatus.FALSIFIED)
    return bool(fields.get("supersedes")) or fields.get("category") not in _FACTS


def _ruling_share(hit: Hit) -> float:
    """Return how far a record rules something out by its words ("never", "until", "instead"), 0 to 1.

    What replaced another record rules that one out.
    """
    if hit.chunk.fields.get("supersedes"):
        return 1.0
    return min(len(_RULES_OUT.findall(hit.chunk.body)), MAX_RULING_WORDS) / MAX_RULING_WORDS


def lesson_tokens(max_tokens: int) -> int:
    """Return how many tokens of a budget are for lessons: what they do not need is for everything else."""
    return max(min(weights.LESSON_TOKENS, int(max_tokens * weights.LESSON_SHARE)), 1)


def fitting(hits: Sequence[Hit], max_tokens: int) -> list[Hit]:
    """Return as many of the best lessons as their share of a budget has room for, at least one."""
    ordered = in_order(hits)
    sizes = (math.ceil(estimated(hit.chunk.body)) + LESSON_FRAME for hit in ordered)
    return ordered[: max(first_within(sizes, lesson_tokens(max_tokens)), 1)]


def estimated(text: str) -> float:
    """Return about how many tokens a record has as a lesson."""
    return min(len(text), LONGEST_LESSON) / CHARACTERS_PER_TOKEN


def evidence_of(signals: Iterable[Signal]) -> dict[str, float]:
    """Return the kinds of evidence that a record bears on a request, each as its part of the sum."""
    told = {BEARS: "all", "words": "words", "vectors": "meaning", FILE: FILE, WORK: WORK}
    return {told[signal.name]: round(signal.value * signal.weight, 3) for signal in signals if signal.name in told}
