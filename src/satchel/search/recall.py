"""Broad questions about records: "everything we know about deployments", "lessons about encoding".

Such a question asks for a theme, and most records of a theme share no word with its name. So the best matches of the
subject lend their words (Rocchio's feedback, in rounds over more and more of the best): what is near to their
mean is of the theme. Each record counts by how near it is, never by its place in the list.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from satchel import lazy_numpy as np
from satchel.search import weights
from satchel.search.bm25 import FloatArray
from satchel.store.protocol import Store
from satchel.store.segments import Lexicon
from satchel.text import EXACT_MARK, is_meaningful, pattern, terms_of, words
from satchel.types import Kind

THEME_LITERAL = 0.99
"""Records that match the subject this well, in parts of the best one, have its name if it is one."""

MOST_COMPARED = 2_000
"""Documents that are compared with the mean in every round. Of a name only those are read that have it."""

_CODED = pattern(r"\d|_|\w[./-]\w|[a-z][A-Z]")


def names(subject: str, texts: Iterable[str]) -> bool:
    """Return whether a subject is a name (a person, a service, a file, an error code), as it or the texts write it."""
    told = [token for token in subject.split() if any(map(is_meaningful, words(token)))]
    joined = "\n".join(texts)
    return bool(told) and all(
        _CODED.search(token) or all(re.search(_written(word), joined) for word in words(token)) for token in told
    )


def _written(word: str) -> str:
    """Return the expression of a name: in capitals, or with one inside a sentence."""
    return rf"\b{re.escape(word.upper())}\b|(?<=[\w,;:(] ){re.escape(word.capitalize())}\b"


def gathered(
    store: Store, lexicon: Lexicon, kind: Kind, subject: str, ranked: FloatArray, matched: FloatArray
) -> FloatArray:
    """Return how near each document of a lexicon is to the theme of a subject, 0 to 1; 0 where it is not of it.

    `ranked` is the rank of each document for the subject by itself, and `matched` the share of the subject in it;
    without a match there is no theme. Of a name only the records count that have it.
    """
    columns = lexicon.columns
    near = np.zeros(len(columns.document_id))
    live = np.unique(columns.chunk_document[lexicon.live_chunk]).tolist()
    if not ranked.any():
        return near
    literal = np.flatnonzero(matched >= THEME_LITERAL * matched.max()).tolist()
    if names(subject, store.texts(columns.document_id[literal].tolist()).values()):
        near[literal] = 1.0
        return near
    if len(live) > MOST_COMPARED:
        live = _compared(live, ranked)
        rows = _rows(store, lexicon, kind, live)
    else:
        rows = lexicon.derived(("recall", weights.THEME_FIELD), lambda: _rows(store, lexicon, kind, live))
    nearness = _nearness(rows, dict.fromkeys(_terms(subject), 1.0), {place: float(ranked[place]) for place in live})
    top = sorted(nearness.values(), reverse=True)[: weights.THEME_NEAREST]
    largest = sum(top) / len(top)
    for place, value in nearness.items():
        near[place] = min(value / largest, 1.0) if value >= weights.THEME_LEAST * largest else 0.0
    return near


def _compared(live: Sequence[int], ranked: FloatArray) -> list[int]:
    """Return the documents that are compared: half are those that match the subject best, half are spread evenly.

    The spread ones keep the words of the subject rare, and may be of its theme, too.
    """
    best = sorted(live, key=lambda place: (-float(ranked[place]), place))
    half = MOST_COMPARED // 2
    others = best[half:]
    return best[:half] + others[:: math.ceil(len(others) / half)]


def _nearness(
    rows: Mapping[int, Mapping[str, float]], subject: Mapping[str, float], nearness: dict[int, float]
) -> dict[int, float]:
    """Return how near each row is to the mean of the nearest ones and of the subject, round after round."""
    own = _unit(subject)
    for number in range(1, weights.THEME_ROUNDS + 1):
        best = sorted(filter(nearness.__getitem__, rows), key=lambda place: (-nearness[place], place))
        feedback = _unit(_sum((rows[place], nearness[place]) for place in best[: weights.THEME_SEEDS * number]))
        mean = _sum(((own, 1.0), (feedback, 1.0)))
        nearness = {
            place: sum(mean.get(term, 0.0) * weight for term, weight in row.items()) for place, row in rows.items()
        }
    return nearness


def _sum(rows: Iterable[tuple[Mapping[str, float], float]]) -> dict[str, float]:
    total = dict[str, float]()
    for row, factor in rows:
        for term, weight in row.items():
            total[term] = total.get(term, 0.0) + weight * factor
    return total


def _rows(store: Store, lexicon: Lexicon, kind: Kind, places: Iterable[int]) -> dict[int, dict[str, float]]:
    """Return the weighted terms of each document, of length 1, with its domain or category."""
    ids = {place: int(lexicon.columns.document_id[place]) for place in places}
    texts, documents = store.texts(ids.values()), store.documents(ids.values())
    counts = {place: _terms(texts.get(number, "")) for place, number in ids.items()}
    frequency = Counter(term for terms in counts.values() for term in terms)
    rows = {}
    for place, terms in counts.items():
        told = {
            term: (1 + math.log(count)) * math.log(1 + len(counts) / frequency[term])
            for term, count in terms.items()
            if frequency[term] < max(len(counts) / 2, 2)  # most records have a common word
        }
        field = documents[ids[place]].fields.get("domain" if kind is Kind.EXPERIENCE else "category")
        own = {term: weight * math.sqrt(1 - weights.THEME_FIELD) for term, weight in _unit(told).items()}
        rows[place] = {**own, f"={field}": math.sqrt(weights.THEME_FIELD)}
    return rows


def _terms(text: str) -> Counter[str]:
    told = (word for word in words(text) if is_meaningful(word))
    return Counter(term for word in told for term in terms_of(word) if not term.startswith(EXACT_MARK))


def _unit(terms: Mapping[str, float]) -> dict[str, float]:
    length = math.sqrt(sum(weight * weight for weight in terms.values())) or 1.0
    return {term: weight / length for term, weight in terms.items()}
