"""The same thing seen twice is one thing.

Prose of records and docs is the same when the Jaccard similarity of its 5-character shingles reaches the threshold
calibrated on 400 labelled pairs (F1 .99; a 90 % edit ratio misses a third of them). Code and one-line texts are the
same only when they are equal after white space is normalised.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from satchel.assemble.candidates import Candidate
from satchel.types import Kind

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


@dataclass(slots=True)
class Seen:
    """What was admitted so far, for one request."""

    exact: dict[str, str] = field(default_factory=dict)
    prose: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    origins: dict[str, list[str]] = field(default_factory=dict)

    def twin_of(self, candidate: Candidate, text: str) -> str | None:
        """The id of an admitted document with the same text, noted as another origin of it; else None.

        A text without a twin counts as admitted from now on.
        """
        identity = candidate.document.id
        folded = " ".join(text.split())
        twin = self.exact.get(folded)
        if twin is None and candidate.kind is not Kind.CODE and "\n" in text.strip():
            marks = shingles(text)
            twin = next((known for known, other in self.prose if similarity(marks, other) >= SAME_PROSE), None)
            if twin is None:
                self.prose.append((identity, marks))
        if twin is None or twin == identity:
            self.exact.setdefault(folded, identity)
            return None
        self.origins.setdefault(twin, []).append(identity)
        return twin
