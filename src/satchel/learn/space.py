"""Where experiences lie to each other: by the vectors of the embedder or, without one, by the words that they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from satchel.embed.protocol import Embedder, fingerprint, normalised
from satchel.errors import MissingExtraError
from satchel.store.document_text import document_texts
from satchel.store.protocol import Store
from satchel.text import words
from satchel.types import Kind
from satchel.vocabulary import MISSING_TIER_WEIGHT, TIER_WEIGHTS, ConfidenceTier

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Matrix = npt.NDArray[np.float32]

WORDS_LABEL = "words (TF-IDF)"
"""What stands where the name of the embedder would: groups by shared words are coarser, and a reader should know."""

TOPICS = 50
"""Dimensions that the words are reduced to; a reader cannot tell more topics apart in an axis either."""

TIERS = frozenset(map(str, ConfidenceTier))

TEXT_TOKENS = 1_000
"""Of an experience, without an embedder that has a limit of its own: all of it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One experience on one axis."""

    id: str
    row: int
    text: str
    fields: Mapping[str, Any]

    @property
    def weight(self) -> float:
        """How far it can be relied on, 0 to 1."""
        tier = str(self.fields.get("confidence_tier") or "")
        return TIER_WEIGHTS[ConfidenceTier(tier)] if tier in TIERS else MISSING_TIER_WEIGHT

    @property
    def lesson(self) -> str:
        """What it teaches in its own words: the takeaway, else what worked, else the root cause; may be empty."""
        lesson, cause = self.fields.get("lesson") or {}, self.fields.get("root_cause") or {}
        return str(lesson.get("takeaway") or lesson.get("what_worked") or cause.get("description") or "")

    @property
    def statement(self) -> str:
        """One statement of it, never empty: the lesson, else what came of it, else what it was about."""
        return self.lesson or str(self.fields.get("outcome_result") or self.fields.get("goal") or self.text)


@dataclass(frozen=True, slots=True)
class Space:
    """The entries of an axis with their vectors of length 1, one row each, and how another text gets one."""

    label: str
    entries: tuple[Entry, ...]
    vectors: Matrix
    embed: Callable[[Sequence[str]], Matrix]

    def select(self, ids: Sequence[str]) -> tuple[Matrix, list[Entry]]:
        """The vectors and entries of those of these ids that are here, in their order."""
        places = {entry.id: place for place, entry in enumerate(self.entries)}
        found = [places[identity] for identity in ids if identity in places]
        return self.vectors[found], [self.entries[place] for place in found]


def entries_of(store: Store, axis: str, max_tokens: int) -> tuple[Entry, ...]:
    """The experiences in sight that have this axis, in the order of their ids."""
    bundles = store.bundles(store.bundle_ids(Kind.EXPERIENCE, store.iterate_keys(Kind.EXPERIENCE)).values())
    rows = [row for bundle in bundles.values() for row in range(bundle.first_document, bundle.last_document + 1)]
    owners = {row: part.bundle for row, part in store.parts(rows).items() if part.name == axis}
    texts = document_texts(store, [*owners], max_tokens)
    found = [
        Entry(bundles[owners[entry.row]].key, entry.row, entry.text, bundles[owners[entry.row]].fields)
        for entry in texts
    ]
    return tuple(sorted(found, key=lambda entry: entry.id))


def make_space(store: Store, axis: str, embedder: Embedder | None) -> Space:
    """The space of an axis. Raises EmbeddingError, and MissingExtraError without embedder and scikit-learn."""
    if embedder is not None:
        return _space_of_vectors(store, entries_of(store, axis, embedder.max_tokens), embedder)
    return _space_of_words(entries_of(store, axis, TEXT_TOKENS))


def _space_of_vectors(store: Store, entries: tuple[Entry, ...], embedder: Embedder) -> Space:
    """Stored vectors, and those that are not stored yet made now."""
    import numpy as np

    table = store.vectors(Kind.EXPERIENCE, fingerprint(embedder))
    places = {row: place for place, row in enumerate(table.rows.tolist())}
    matrix = np.zeros((len(entries), embedder.dimension), dtype=np.float32)
    missing = []
    for number, entry in enumerate(entries):
        if entry.row in places:
            matrix[number] = table.vector(places[entry.row])
        else:
            missing.append(number)
    if missing:
        matrix[missing] = embedder.embed_documents([entries[number].text for number in missing])
    return Space(embedder.id, entries, normalised(matrix), embedder.embed_documents)


def _space_of_words(entries: tuple[Entry, ...]) -> Space:
    """TF-IDF over the words of the texts, reduced to topics by a truncated SVD with a fixed seed."""
    import numpy as np

    try:
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError as error:
        raise MissingExtraError("grouping needs scikit-learn: pip install 'satchel[values]'") from error

    terms = TfidfVectorizer(analyzer=words, sublinear_tf=True)
    texts = [entry.text for entry in entries]
    if not any(map(words, texts)):
        empty = np.zeros((len(entries), 1), dtype=np.float32)
        return Space(WORDS_LABEL, entries, empty, lambda others: np.zeros((len(others), 1), dtype=np.float32))
    weights = terms.fit_transform(texts)
    if min(weights.shape) <= 1:
        return Space(WORDS_LABEL, entries, normalised(weights.toarray().astype(np.float32)), _by_terms(terms, None))
    topics = TruncatedSVD(n_components=min(TOPICS, min(weights.shape) - 1), random_state=0)
    with np.errstate(divide="ignore", invalid="ignore"):  # equal texts have no variance, whose shares nobody asks for
        vectors = normalised(topics.fit_transform(weights).astype(np.float32))
    return Space(WORDS_LABEL, entries, vectors, _by_terms(terms, topics))


def _by_terms(terms: Any, topics: Any) -> Callable[[Sequence[str]], Matrix]:
    def embed(texts: Sequence[str]) -> Matrix:
        weights = terms.transform(texts)
        found = topics.transform(weights) if topics is not None else weights.toarray()
        return normalised(found.astype("float32"))

    return embed
