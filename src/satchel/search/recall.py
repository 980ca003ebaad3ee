"""Broad questions about records: "everything we know about deployments", "lessons about encoding".

Such a question asks for a theme, and most records of a theme share no word with its name. So the best matches of the
subject lend their words (Rocchio's feedback, in rounds over more and more of the best), and their vectors by the table
of words: what is near to their mean is of the theme. Each record counts by how near it is, never by its place in the
list.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from satchel import lazy_numpy as np
from satchel.embed.static import StaticTable
from satchel.search import weights
from satchel.search.bm25 import FloatArray
from satchel.search.periods import Period
from satchel.store.protocol import Store
from satchel.store.segments import Lexicon, distinct
from satchel.text import EXACT_MARK, is_meaningful, pattern, terms_of, words
from satchel.types import Kind

THEME_LITERAL = 0.99
"""Records that match the subject this well, in parts of the best one, have its name if it is one."""

MAX_COMPARED = 2_000
"""Documents that are compared with the mean in every round. Of a name only those are read that have it."""

_CODED = pattern(r"\d|_|\w[./-]\w|[a-z][A-Z]")


def names(subject: str, texts: Iterable[str]) -> bool:
    """Return whether a subject is a name (a person, a service, a file, an error code), as it or the texts write it."""
    told = [token for token in subject.split() if any(map(is_meaningful, words(token)))]
    joined = "\n".join(texts)
    if len(told) > 1 and " ".join(told).istitle() and " ".join(told) in joined:  # a first name begins its sentence
        return True
    return bool(told) and all(
        _CODED.search(token) or all(re.search(_written(word), joined) for word in words(token)) for token in told
    )


def _written(word: str) -> str:
    """Return the expression of a name: in capitals, or with one inside a sentence."""
    return rf"\b{re.escape(word.upper())}\b|(?<=[\w,;:(] ){re.escape(word.capitalize())}\b"


def recorded(store: Store, lexicon: Lexicon, period: Period) -> FloatArray:
    """Return 1 for each document of a lexicon that was made in a period, and 0 for the others."""
    inside = np.zeros(len(lexicon.columns.document_id))
    places = dict(zip(lexicon.columns.document_id.tolist(), range(len(inside)), strict=True))
    for number, document in store.documents(places).items():
        inside[places[number]] = period.begin <= document.created < period.end
    return inside


def gathered(
    store: Store,
    lexicon: Lexicon,
    kind: Kind,
    subject: str,
    ranked: FloatArray,
    matched: FloatArray,
    *,
    has_table: bool = False,
) -> FloatArray:
    """Return how near each document of a lexicon is to the theme of a subject, 0 to 1; 0 where it is not of it.

    `ranked` is the rank of each document for the subject by itself, and `matched` the share of the subject in it;
    without a match there is no theme, unless meaning counts, too (`has_table`). Of a name only the records count that
    have it.
    """
    columns = lexicon.columns
    near = np.zeros(len(columns.document_id))
    live = distinct(columns.chunk_document[lexicon.live_chunk]).tolist()
    if not (ranked.any() or has_table):
        return near
    literal = np.flatnonzero(matched >= THEME_LITERAL * matched.max()).tolist() if matched.any() else []
    if literal and names(subject, store.texts(columns.document_id[literal].tolist()).values()):
        near[literal] = 1.0
        return near
    rows, meanings = _compared_rows(store, lexicon, kind, live, ranked, has_table=has_table)
    first = {index: float(ranked[index]) for index in rows}
    nearness = _nearness(rows, dict.fromkeys(_terms(subject), 1.0), first, meanings, subject)
    top = sorted(nearness.values(), reverse=True)[: weights.THEME_NEAREST]
    largest = sum(top) / len(top)
    minimum = largest * (weights.THEME_LEAST if meanings is None else weights.THEME_TABLE_LEAST)
    for index, value in nearness.items():
        near[index] = min(value / largest, 1.0) if value >= minimum and largest > 0 else 0.0
    return near


def _compared_rows(
    store: Store, lexicon: Lexicon, kind: Kind, live: Sequence[int], ranked: FloatArray, *, has_table: bool
) -> tuple[Mapping[int, Mapping[str, float]], _Meanings | None]:
    """Return the words and the meanings of the documents that are compared, kept for the next question if it is all.

    Of a large memory half are those that match the subject best, and half are spread evenly: they keep the words of the
    subject rare, and may be of its theme, too.
    """
    if len(live) <= MAX_COMPARED:
        rows = lexicon.derived(("recall", weights.THEME_FIELD), lambda: _rows(store, lexicon, kind, live))
        return rows, lexicon.derived(("meanings",), lambda: _meanings(store, lexicon, live)) if has_table else None
    best, half = sorted(live, key=lambda index: (-float(ranked[index]), index)), MAX_COMPARED // 2
    chosen = best[:half] + best[half :: math.ceil((len(best) - half) / half)]
    return _rows(store, lexicon, kind, chosen), _meanings(store, lexicon, chosen) if has_table else None


class _Meanings(NamedTuple):
    """The vectors of documents by the table of words, without what all have in common, one row per place."""

    rows: Mapping[int, int]
    vectors: FloatArray
    mean: FloatArray


def _meanings(store: Store, lexicon: Lexicon, indices: Sequence[int]) -> _Meanings:
    ids = lexicon.columns.document_id[indices].tolist()
    texts = store.texts(ids)
    vectors = StaticTable().embed_documents([texts.get(number, "") for number in ids]).astype(np.float64)
    mean = vectors.sum(axis=0) / (len(vectors) + 10)  # what a few have in common may be their theme
    return _Meanings(dict(zip(indices, range(len(indices)), strict=True)), _units(vectors - mean), mean)


def _units(vectors: FloatArray) -> FloatArray:
    lengths: FloatArray = np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9)
    return vectors / lengths


def _nearness(
    rows: Mapping[int, Mapping[str, float]],
    subject: Mapping[str, float],
    nearness: dict[int, float],
    meanings: _Meanings | None,
    text: str,
) -> dict[int, float]:
    """Return how near each row is to the mean of the nearest ones and of the subject, round after round.

    With `meanings` the subject and its nearest rows are compared as vectors, too, beginning with the subject alone.
    """
    subject_vector = _unit(subject)
    meant = np.zeros(1)
    if meanings is not None:
        meant = _units(StaticTable().embed_query(text) - meanings.mean)
        nearness = _compared(rows, subject_vector, meanings, meant)
    for number in range(1, weights.THEME_ROUNDS + 1):
        best = sorted((index for index in rows if nearness[index] > 0), key=lambda index: (-nearness[index], index))
        seeds = best[: weights.THEME_SEEDS * number]
        feedback = _unit(_sum((rows[index], nearness[index]) for index in seeds))
        mean = _sum(((subject_vector, 1.0), (feedback, 1.0)))
        near = meant
        if meanings is not None and seeds:
            shares = np.array([nearness[index] for index in seeds])
            near = meant + _units(shares @ meanings.vectors[[meanings.rows[index] for index in seeds]])
        nearness = _compared(rows, mean, meanings, near)
    return nearness


def _compared(
    rows: Mapping[int, Mapping[str, float]], mean: Mapping[str, float], meanings: _Meanings | None, meant: FloatArray
) -> dict[int, float]:
    """Return how near each row is to a mean of words and to one of vectors."""
    by_words = {
        index: sum(mean.get(term, 0.0) * weight for term, weight in values.items()) for index, values in rows.items()
    }
    if meanings is None:
        return by_words
    share, products = weights.THEME_TABLE_SHARE, (meanings.vectors @ meant).tolist()
    return {index: (1 - share) * by_words[index] + share * products[values] for index, values in meanings.rows.items()}


def _sum(weighted: Iterable[tuple[Mapping[str, float], float]]) -> dict[str, float]:
    total = dict[str, float]()
    for values, factor in weighted:
        for term, weight in values.items():
            total[term] = total.get(term, 0.0) + weight * factor
    return total


def _rows(store: Store, lexicon: Lexicon, kind: Kind, indices: Iterable[int]) -> dict[int, dict[str, float]]:
    """Return the weighted terms of each document, of length 1, with its domain or category."""
    ids = {index: int(lexicon.columns.document_id[index]) for index in indices}
    texts, documents = store.texts(ids.values()), store.documents(ids.values())
    counts = {index: _terms(texts.get(number, "")) for index, number in ids.items()}
    frequency = Counter(term for terms in counts.values() for term in terms)
    rows = {}
    for index, terms in counts.items():
        told = {
            term: (1 + math.log(count)) * math.log(1 + len(counts) / frequency[term])
            for term, count in terms.items()
            if frequency[term] < max(len(counts) / 2, 2)  # most records have a common word
        }
        field = documents[ids[index]].fields.get("domain" if kind is Kind.EXPERIENCE else "category")
        weighted = {term: weight * math.sqrt(1 - weights.THEME_FIELD) for term, weight in _unit(told).items()}
        rows[index] = {**weighted, f"={field}": math.sqrt(weights.THEME_FIELD)}
    return rows


def _terms(text: str) -> Counter[str]:
    told = (word for word in words(text) if is_meaningful(word))
    return Counter(term for word in told for term in terms_of(word) if not term.startswith(EXACT_MARK))


def _unit(terms: Mapping[str, float]) -> dict[str, float]:
    length = math.sqrt(sum(weight * weight for weight in terms.values())) or 1.0
    return {term: weight / length for term, weight in terms.items()}
