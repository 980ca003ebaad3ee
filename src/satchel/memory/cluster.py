"""Groups among the experiences of one axis: where experiences lie, which belong together, and their lasting ids.

Experiences lie by the vectors of the embedder or, without one, by the words that they share. HDBSCAN groups vectors of
length 1, where Euclidean distance orders like cosine. The density that makes a group is independent of tiers; the
centre of a group is the mean of its members, weighted by how far each can be relied on.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from satchel.embed.protocol import Embedder, fingerprint, normalised
from satchel.errors import MissingExtraError
from satchel.memory.model import Cluster, Validation
from satchel.store.extract import chunk_texts
from satchel.store.protocol import Store
from satchel.text import words
from satchel.types import Kind
from satchel.vocabulary import tier_weight

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Matrix = npt.NDArray[np.float32]

WORDS_LABEL = "words (TF-IDF)"
"""What stands where the name of the embedder would: groups by shared words are coarser, and a reader should know."""

TOPICS = 50
"""Dimensions that the words are reduced to; a reader cannot tell more topics apart in an axis either."""

TEXT_TOKENS = 1_000
"""Of an experience, without an embedder that has a limit of its own: all of it."""

LEAST_ENTRIES = 20
"""Experiences of an axis below which nothing is grouped: three that are alike among ten may be chance."""

SMALLEST_GROUP, LEAST_NEIGHBOURS = 3, 2
"""For up to 256 entries. With 5 and 3, 81 real entries made two groups, one of them two thirds of everything, and 15
on the axis of surprises none; with 3 and 2 they made nine and three that a reader recognises."""

GROUP_GROWTH = 4
"""The smallest group is a fourth of the square root of the entries: 3 of 100, 8 of 1,000, 25 of 10,000."""

CHANCE = 1.2
"""How far above chance a group must be. Among 20 to 300 vectors without any structure, of 48 to 384 numbers, groups
are found whose contrast reaches 0.9 of the chance that is taken here; those of real entries have 1 to 10 times it."""

ALIKE = 0.8
"""Mean cosine to the centre above which entries without any inner border are one group: all tell the same story."""

REDUCED_DIMENSIONS = 50
REDUCED_FROM = 200
"""Entries from which the vectors are reduced first: 10,000 then take seconds, not minutes."""

LEAST_OVERLAP = 0.1
"""Share of common members (Jaccard) from which a group goes on under its old id; below that it is another one."""

EQUAL = 1e-6
"""Cosines that differ by less are equal: 32 bits hold no more."""

SPREAD = 0.5
"""A text belongs to a group up to the mean distance of its members plus this many standard deviations."""


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
        return tier_weight(self.fields.get("confidence_tier"))

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
        """Return the vectors and entries of those of these ids that are here, in their order."""
        places = {entry.id: place for place, entry in enumerate(self.entries)}
        rows = [places[identity] for identity in ids if identity in places]
        return self.vectors[rows], [self.entries[place] for place in rows]


def entries_of(store: Store, axis: str, max_tokens: int) -> tuple[Entry, ...]:
    """Return the experiences in sight that have this axis, in the order of their ids."""
    documents = store.documents(store.document_ids(Kind.EXPERIENCE, store.iterate_keys(Kind.EXPERIENCE)).values())
    rows = [row for document in documents.values() for row in range(document.first_chunk, document.last_chunk + 1)]
    owners = {row: part.document for row, part in store.parts(rows).items() if part.name == axis}
    texts = chunk_texts(store, [*owners], max_tokens)
    entries = [
        Entry(documents[owners[entry.row]].key, entry.row, entry.text, documents[owners[entry.row]].fields)
        for entry in texts
    ]
    return tuple(sorted(entries, key=lambda entry: entry.id))


def make_space(store: Store, axis: str, embedder: Embedder | None) -> Space:
    """Return the space of an axis. Raises EmbeddingError, and MissingExtraError without embedder and scikit-learn."""
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
        rows = topics.transform(weights) if topics is not None else weights.toarray()
        return normalised(rows.astype("float32"))

    return embed


def parameters(count: int) -> tuple[int, int]:
    """Smallest group and neighbours that make a core, for so many entries."""
    smallest = max(SMALLEST_GROUP, round(math.sqrt(count) / GROUP_GROWTH))
    return smallest, max(LEAST_NEIGHBOURS, smallest // 2)


def group(vectors: Matrix) -> list[list[int]]:
    """Positions of the vectors (rows of length 1) that belong together, the largest group first; may be empty.

    Equal vectors give equal groups. Raises MissingExtraError without scikit-learn.
    """
    if len(vectors) < LEAST_ENTRIES:
        return []
    groups = [positions for positions in _groups(vectors) if _is_no_chance(vectors, positions)]
    nearness = vectors @ _unit(vectors.sum(axis=0))
    if not groups and float(nearness.mean()) >= ALIKE:
        groups = [[place for place, cosine in enumerate(nearness.tolist()) if cosine >= ALIKE]]
    return sorted(groups, key=lambda positions: (-len(positions), positions))


def _groups(vectors: Matrix) -> list[list[int]]:
    """Return what HDBSCAN finds."""
    import numpy as np

    labels = _labels(_reduced(vectors))
    return [np.flatnonzero(labels == label).tolist() for label in range(int(labels.max(initial=-1)) + 1)]


def _is_no_chance(vectors: Matrix, positions: Sequence[int]) -> bool:
    """Return whether the members are nearer to each other than some of so many vectors are by chance.

    Density alone finds groups in noise as well. The nearest of n random vectors of d numbers have a cosine of about
    sqrt(2 ln n / d); over a group the mean is smaller, the larger the group is.
    """
    usual, inner = _mean_cosine(vectors), _mean_cosine(vectors[list(positions)])
    chance = math.sqrt(2 * math.log(len(vectors)) / vectors.shape[1]) * math.sqrt(2 / (len(positions) - 1))
    return inner - usual >= CHANCE * chance * (1 - usual) - EQUAL


def _mean_cosine(vectors: Matrix) -> float:
    """Return the mean over all pairs of different rows."""
    count = len(vectors)
    total = float((vectors.sum(axis=0) ** 2).sum())  # the sum over all pairs, each row with itself included
    return (total - count) / (count * (count - 1))


def _labels(vectors: Matrix) -> Any:
    try:
        from sklearn.cluster import HDBSCAN
    except ImportError as error:
        raise MissingExtraError("grouping needs scikit-learn: pip install 'satchel[values]'") from error

    smallest, neighbours = parameters(len(vectors))
    model = HDBSCAN(
        min_cluster_size=smallest,
        min_samples=neighbours,
        cluster_selection_method="eom",
        copy=True,
    )
    return model.fit_predict(vectors.astype("float64"))


def _reduced(vectors: Matrix) -> Matrix:
    if len(vectors) < REDUCED_FROM or vectors.shape[1] <= REDUCED_DIMENSIONS:
        return vectors
    import numpy as np

    # The directions of most spread, from the small matrix of all pairs of dimensions: exact, and without chance.
    _, directions = np.linalg.eigh((vectors.T @ vectors).astype(np.float64))
    reduced: Matrix = (vectors @ directions[:, -REDUCED_DIMENSIONS:]).astype(np.float32)
    return reduced


def centre(vectors: Matrix, weights: Sequence[float]) -> Matrix:
    """Return the mean of the members by weight, of length 1."""
    import numpy as np

    return _unit(np.asarray(weights, dtype=np.float32) @ vectors)


def _unit(vector: Matrix) -> Matrix:
    import numpy as np

    length = float(np.linalg.norm(vector))
    return vector / length if length else vector


def validate(vector: Matrix, members: Matrix, weights: Sequence[float]) -> Validation:
    """Return how a text with this vector stands to these members."""
    import numpy as np

    middle = centre(members, weights)
    distances = 1.0 - (members @ middle).astype(np.float64)
    mean, deviation = float(distances.mean()), float(distances.std())
    # Members that are all equal leave no room, and the last digits of their distances must not decide.
    threshold = mean + SPREAD * deviation + EQUAL
    return Validation(1.0 - float(vector @ middle), mean, deviation, threshold)


def named(axis: str, groups: Sequence[Sequence[str]], before: Sequence[Cluster]) -> list[Cluster]:
    """Groups of member ids, each with an id of its own.

    A group goes on under the id of the one before with which it has most in common (greatest Jaccard, each id once);
    what is new is named after its members.
    """
    overlaps = [
        (_jaccard(members, old.members), number, old.id)
        for number, members in enumerate(groups)
        for old in before
        if _jaccard(members, old.members) >= LEAST_OVERLAP
    ]
    kept: dict[int, str] = {}
    for _, number, identity in sorted(overlaps, key=lambda row: (-row[0], row[2], row[1])):
        if number not in kept and identity not in kept.values():
            kept[number] = identity
    return [Cluster(kept.get(i) or _new_id(axis, members), axis, tuple(members)) for i, members in enumerate(groups)]


def _jaccard(one: Sequence[str], other: Sequence[str]) -> float:
    first, second = set(one), set(other)
    return len(first & second) / max(len(first | second), 1)


def _new_id(axis: str, members: Sequence[str]) -> str:
    digest = hashlib.blake2b("\n".join(sorted(members)).encode(), digest_size=3)
    return f"{axis}_{digest.hexdigest()}"


def counted(values: Sequence[str]) -> Mapping[str, int]:
    """Return how often each value occurs, the most frequent first."""
    return {
        value: values.count(value) for value in sorted(set(values), key=lambda value: (-values.count(value), value))
    }
