"""Whether a prompt is about this project: what hooks inject unasked has to be right, or nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel.errors import SatchelError
from satchel.text import STOP_WORDS, terms_of, words
from satchel.types import Context, Kind

if TYPE_CHECKING:
    from satchel.engine import Satchel

USUAL_WORDS = Path(__file__).with_name("usual_words.txt")
"""Stems by the share of pieces of other projects that contain them, as powers of 1/2; `benchmarks/usual_words.py`."""

STRENGTH, MISSING, SUBJECT, BIAS = 0.47, -5.3, 1.19, -2.25
"""Weights of the evidence, fitted on 210 titles of issues and 109 questions about eleven repositories against 550
titles of other repositories, small talk and questions about other worlds. With a table and a floor that have not seen
the repository, .92 of the own titles are answered and .08 of the foreign ones (`benchmarks/hooks.py`); with the
relevance alone it was .91 and .21."""

RARE = 0.001
"""Share of a word that no other project uses, so that one occurrence here is not infinitely telling."""

SHORTEST = 3
_LIMIT = 0.001


@cache
def usual_shares() -> Mapping[str, float]:
    """Return the share of pieces of other projects, by stem."""
    rows = (line.split() for line in USUAL_WORDS.read_text(encoding="utf-8").splitlines())
    return {stem: 0.5 ** int(power) for power, *stems in rows for stem in stems}


def peculiarity(prompt: str, engine: Satchel) -> float:
    """Return how much more often than in other projects a word of the prompt occurs here: the largest log ratio.

    Commits do not count, because they are about everything once.
    """
    of_index = _peculiarity(prompt, engine.store)
    try:
        return max(of_index, _peculiarity(prompt, engine.memory_store))
    except SatchelError:  # a memory that cannot be read: the packed context reports it
        return of_index


def _peculiarity(prompt: str, store: Any) -> float:
    terms = sorted({
        # Characters of a prompt that name its subject: a long issue has words of every project.
        terms_of(word)[0] for word in words(prompt[:300])
        if len(word) >= SHORTEST and word.lower() not in STOP_WORDS
    })  # fmt: skip
    lexicons = [store.lexicon(kind) for kind in store.kinds() if kind is not Kind.COMMIT]
    pieces = sum(lexicon.chunk_count for lexicon in lexicons)
    if not pieces:
        return 0.0
    count = dict.fromkeys(terms, 0)
    for lexicon in lexicons:
        for term, row in zip(terms, lexicon.postings(terms), strict=True):
            count[term] += len(row.body[0]) + len(row.name[0])
    usual = usual_shares()
    ratios = ((count[term] / pieces + RARE) / (usual.get(term, 0.0) + RARE) for term in terms)
    return math.log(max(ratios, default=1.0))


def certainty(prompt: str, telling: int, context: Context, engine: Satchel) -> float:
    """Return the probability, 0 to 1, that a prompt with so many telling words is about what the context shows."""
    if not context.items:
        return 0.0
    strength = min(max(float(context.meta["strength"]), _LIMIT), 1 - _LIMIT)
    missing = len(context.meta["missing_terms"]) / max(telling, 1)
    subject = SUBJECT * peculiarity(prompt, engine)
    log_odds = STRENGTH * math.log(strength / (1 - strength)) + MISSING * missing + subject + BIAS
    return 1 / (1 + math.exp(-log_odds))
