"""The same thing seen twice is one thing.

Prose of records and docs is the same when the Jaccard similarity of its 5-character shingles reaches the threshold
calibrated on 400 labelled pairs (F1 .99; a 90 % edit ratio misses a third of them). Code and one-line texts are the
same only when they are equal after white space is normalised.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from satchel.assemble.candidates import Candidate
from satchel.similarity import SAME_PROSE, shingles, similarity
from satchel.types import Kind


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
