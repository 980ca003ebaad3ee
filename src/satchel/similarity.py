"""How much two texts say the same: the share of the 5-character shingles that they have in common.

Prose is the same when the Jaccard similarity of its shingles reaches the threshold calibrated on 400 labelled pairs
(F1 .99; a 90 % edit ratio misses a third of them).
"""

from __future__ import annotations

SHINGLE_CHARACTERS = 5
SAME_PROSE = 0.42

_LONGEST_COMPARED = 4_000


def shingles(text: str) -> frozenset[str]:
    """All runs of 5 characters of a text, white space folded, case ignored."""
    folded = " ".join(text.lower().split())[:_LONGEST_COMPARED]
    return frozenset(folded[i : i + SHINGLE_CHARACTERS] for i in range(max(len(folded) - SHINGLE_CHARACTERS + 1, 1)))


def similarity(first: frozenset[str], second: frozenset[str]) -> float:
    """Jaccard similarity, 0 to 1."""
    union = len(first | second)
    return len(first & second) / union if union else 1.0
