"""Clusters of the experiences of one axis, with stable ids.

The positions are vectors of the embedder or, without one, TF-IDF of the words. HDBSCAN groups vectors of length 1, for
which Euclidean distance orders like cosine. Density ignores the confidence tiers; the centre of a group is the mean of
its members, weighted by their tiers.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from satchel.embed import Embedder, fingerprint, normalised
from satchel.errors import MissingExtraError
from satchel.memory.model import Cluster, Validation
from satchel.store.extract import chunk_texts
from satchel.store.protocol import Store
from satchel.text import EXACT_MARK, is_meaningful, stem, terms_of, words
from satchel.types import Kind
from satchel.vocabulary import OutcomeStatus, tier_weight

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Matrix = npt.NDArray[np.float32]

WORDS_LABEL = "words (TF-IDF)"
"""Label of a space without an embedder: groups by shared words are coarser, and a reader should know."""

TOPICS = 50
"""Dimensions to which the words are reduced: a reader cannot distinguish more topics on an axis either."""

LEAST_TEXTS = 2
"""Texts in which a word of a topic occurs at least: one text alone shows no topic."""

CHANCES, ABOVE_CHANCE = 4, 1.1
"""Number of collections of shuffled words, and how much stronger than in all of them a topic has to be. A topic counts
by its excess, so that one near chance hardly counts. 60 natural experiences of three themes (benchmarks/values.py) make
three groups with 1.05 and 1.1, and four with 1.0; with 1.1, 32 collections of shuffled words make one group."""

SMALLEST_TOPIC = 4
"""The smallest group by words: three texts share many words by chance."""

TEXT_TOKENS = 1_000
"""Token limit of a text without an embedder; every experience is shorter."""

LEAST_ENTRIES = 20
"""Number of experiences below which an axis is not grouped: three similar ones among ten may be chance."""

SMALLEST_GROUP, LEAST_NEIGHBOURS = 3, 2
"""Parameters for up to 256 entries. With 5 and 3, 81 real entries made two groups, one of them two thirds of all, and
15 on the axis of surprises made none; with 3 and 2 they made nine and three that a reader recognises."""

ALIKE = 0.8
"""Mean cosine to the centre from which entries that HDBSCAN does not separate are one group."""

REDUCED_DIMENSIONS = 50
REDUCED_FROM = 200
"""Number of entries from which the vectors are reduced first: 10,000 then take seconds, not minutes."""

_ENDS = frozenset(stem(str(status)) for status in OutcomeStatus)

EQUAL = 1e-6
"""Tolerance of cosines: the precision of 32 bits."""

SPREAD = 0.5
"""A text belongs to a group up to the mean distance of its members plus this many standard deviations."""


class AxisEntry(NamedTuple):
    """One experience on one axis."""

    id: str
    row: int
    text: str
    fields: Mapping[str, Any]

    @property
    def weight(self) -> float:
        """The weight of the confidence tier, 0 to 1."""
        return tier_weight(self.fields.get("confidence_tier"))

    @property
    def lesson(self) -> str:
        """The takeaway, else what worked, else the root cause; may be empty."""
        lesson, cause = self.fields.get("lesson") or {}, self.fields.get("root_cause") or {}
        return str(lesson.get("takeaway") or lesson.get("what_worked") or cause.get("description") or "")

    @property
    def statement(self) -> str:
        """The lesson, else the result, else the goal, else the text; never empty."""
        return self.lesson or str(self.fields.get("outcome_result") or self.fields.get("goal") or self.text)


class Space(NamedTuple):
    """The entries of an axis, their vectors of length 1 (one row each), and a function that embeds other texts.

    `sizes` are the parameters of grouping for a space whose structure is certain, None to test each group for chance.
    """

    label: str
    entries: tuple[AxisEntry, ...]
    vectors: Matrix
    embed: Callable[[Sequence[str]], Matrix]
    sizes: tuple[int, int] | None = None

    def select(self, ids: Sequence[str]) -> tuple[Matrix, list[AxisEntry]]:
        """Return the vectors and entries of the ids that are in the space, in their order."""
        places = {entry.id: place for place, entry in enumerate(self.entries)}
        rows = [places[identity] for identity in ids if identity in places]
        return self.vectors[rows], [self.entries[place] for place in rows]


def entries_of(store: Store, axis: str, max_tokens: int) -> tuple[AxisEntry, ...]:
    """Return the visible experiences that have this axis, ordered by id."""
    documents = store.documents(store.document_ids(Kind.EXPERIENCE, store.iterate_keys(Kind.EXPERIENCE)).values())
    chunks = store.chunks(row for document in documents.values() for row in document.rows)
    owners = {row: chunk.document for row, chunk in chunks.items() if chunk.name == axis}
    texts = chunk_texts(store, [*owners], max_tokens)
    entries = [
        AxisEntry(documents[owners[entry.row]].key, entry.row, entry.text, documents[owners[entry.row]].fields)
        for entry in texts
    ]
    return tuple(sorted(entries, key=lambda entry: entry.id))


def make_space(store: Store, axis: str, embedder: Embedder | None) -> Space:
    """Return the space of an axis. Raises EmbeddingError, and MissingExtraError without embedder and scikit-learn."""
    if embedder is not None:
        return _space_of_vectors(store, entries_of(store, axis, embedder.max_tokens), embedder)
    return _space_of_words(entries_of(store, axis, TEXT_TOKENS))


def _space_of_vectors(store: Store, entries: tuple[AxisEntry, ...], embedder: Embedder) -> Space:
    """Read the stored vectors and compute the missing ones."""
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


def _space_of_words(entries: tuple[AxisEntry, ...]) -> Space:
    """Compute TF-IDF of the texts, reduced to their topics by a truncated SVD with a fixed seed.

    The first dimension is what all texts have in common, and is left out. Those after it count as topics as far as they
    are stronger than in texts made of the same words by chance.
    """
    import numpy as np

    try:
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError as error:
        raise MissingExtraError("grouping needs scikit-learn: pip install 'satchel[values]'") from error

    def reduced(texts: Sequence[Sequence[str]]) -> tuple[Any, Any, Matrix]:
        terms = TfidfVectorizer(analyzer=list, sublinear_tf=True, min_df=LEAST_TEXTS).fit(texts)
        # Weight of a word that is in every text: it says nothing, but texts of such words alone are still alike.
        terms.idf_ = np.maximum(terms.idf_ - 1, 1e-3)
        weights = terms.transform(texts)
        topics = TruncatedSVD(n_components=min(TOPICS, min(weights.shape) - 1), random_state=0)
        with np.errstate(divide="ignore", invalid="ignore"):  # equal texts have no variance to explain
            return terms, topics, topics.fit_transform(weights).astype(np.float32)

    texts = [[*_telling(_said(entry)), f"={entry.fields.get('domain')}"] for entry in entries]
    counts = Counter(term for text in texts for term in set(text))
    if len(entries) <= 2 or sum(count >= LEAST_TEXTS for count in counts.values()) <= 2:
        empty = np.zeros((len(entries), 1), dtype=np.float32)
        return Space(WORDS_LABEL, entries, empty, lambda others: np.zeros((len(others), 1), dtype=np.float32))
    terms, topics, positions = reduced(texts)
    by_chance = np.max([reduced(chance)[1].singular_values_[1:] for chance in _shuffled(texts)], axis=0)
    strengths = topics.singular_values_[1:]
    shared = min(len(strengths), len(by_chance))
    excess = np.maximum(1 - (ABOVE_CHANCE * by_chance[:shared] / strengths[:shared]) ** 2, 0)
    weaker = np.flatnonzero(excess == 0)
    excess = excess[: weaker[0]] if len(weaker) else excess
    shown, scale = (slice(1, len(excess) + 1), np.sqrt(excess)) if len(excess) else (slice(None), np.ones(1))

    def embed(others: Sequence[str]) -> Matrix:
        weights = terms.transform([_telling(text) for text in others])
        return normalised((topics.transform(weights)[:, shown] * scale).astype(np.float32))

    sizes = None
    if len(excess):
        spread = (excess * strengths[: len(excess)] ** 2).astype(float)
        count = float(spread.sum() ** 2 / (spread**2).sum())  # as many topics of equal strength
        sizes = max(SMALLEST_TOPIC, round(len(entries) / (2 * count + 1))), SMALLEST_TOPIC - 1
    return Space(WORDS_LABEL, entries, normalised((positions[:, shown] * scale).astype(np.float32)), embed, sizes)


def _said(entry: AxisEntry) -> str:
    """Return the text of an axis without the label of each line, and the root cause."""
    cause = entry.fields.get("root_cause") or {}
    lines = [line.partition(": ")[2] for line in entry.text.splitlines()]
    return "\n".join([*lines, str(cause.get("description", ""))])


def _telling(text: str) -> list[str]:
    """Return the stems of the words that have a meaning; how an experience ended is not what it is about."""
    terms = (term for word in words(text) if is_meaningful(word) for term in terms_of(word))
    return [term for term in terms if not term.startswith(EXACT_MARK) and term not in _ENDS]


def _shuffled(texts: Sequence[Sequence[str]]) -> Iterator[list[list[str]]]:
    """Yield texts of the same lengths and words, dealt out by chance; the same ones each time."""
    bounds = list(itertools.pairwise(itertools.accumulate(map(len, texts), initial=0)))
    every = [term for text in texts for term in text]
    for seed in range(CHANCES):
        dealt = random.Random(seed).sample(every, len(every))  # noqa: S311 - no secret, and the same each time
        yield [dealt[start:end] for start, end in bounds]


def parameters(count: int) -> tuple[int, int]:
    """Return the smallest group, and the number of neighbours of a core point, for so many entries."""
    # Divisor of the square root of the entries, which gives the smallest group: 3 of 100, 8 of 1,000, 25 of 10,000.
    smallest = max(SMALLEST_GROUP, round(math.sqrt(count) / 4))
    return smallest, max(LEAST_NEIGHBOURS, smallest // 2)


def group(vectors: Matrix, sizes: tuple[int, int] | None = None) -> list[list[int]]:
    """Return groups of positions in `vectors` (rows of length 1), the largest first; may be empty.

    For `sizes` see `Space`. Equal vectors give equal groups. Raises MissingExtraError without scikit-learn.
    """
    if len(vectors) < LEAST_ENTRIES:
        return []
    import numpy as np

    labels = _labels(_reduced(vectors), sizes or parameters(len(vectors)))
    groups = [np.flatnonzero(labels == label).tolist() for label in range(int(labels.max(initial=-1)) + 1)]
    groups = [positions for positions in groups if sizes or _is_above_chance(vectors, positions)]
    nearness = vectors @ _unit(vectors.sum(axis=0))
    if not groups and float(nearness.mean()) >= ALIKE:
        groups = [[place for place, cosine in enumerate(nearness.tolist()) if cosine >= ALIKE]]
    return sorted(groups, key=lambda positions: (-len(positions), positions))


def _is_above_chance(vectors: Matrix, positions: Sequence[int]) -> bool:
    """Return whether the members are nearer to each other than a random group of this size would be.

    Density alone also finds groups in noise. The nearest of n random vectors of d numbers have a cosine of about
    sqrt(2 ln n / d); the mean over a group decreases with its size.
    """
    usual, inner = _mean_cosine(vectors), _mean_cosine(vectors[list(positions)])
    chance = math.sqrt(2 * math.log(len(vectors)) / vectors.shape[1]) * math.sqrt(2 / (len(positions) - 1))
    # Contrast of a group in multiples of `_is_above_chance`'s estimate. Groups in 20 to 300 random vectors of 48 to
    # 384 dimensions reach 0.9; groups of real entries have 1 to 10.
    return inner - usual >= 1.2 * chance * (1 - usual) - EQUAL


def _mean_cosine(vectors: Matrix) -> float:
    """Return the mean over all pairs of different rows."""
    count = len(vectors)
    total = float((vectors.sum(axis=0) ** 2).sum())  # the sum over all pairs, each row with itself included
    return (total - count) / (count * (count - 1))


def _labels(vectors: Matrix, sizes: tuple[int, int]) -> Any:
    try:
        from sklearn.cluster import HDBSCAN
    except ImportError as error:
        raise MissingExtraError("grouping needs scikit-learn: pip install 'satchel[values]'") from error

    smallest, neighbours = sizes
    model = HDBSCAN(min_cluster_size=smallest, min_samples=neighbours, cluster_selection_method="eom", copy=True)
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
    """Compare a text with this vector to the members of a group."""
    import numpy as np

    middle = centre(members, weights)
    distances = 1.0 - (members @ middle).astype(np.float64)
    mean, deviation = float(distances.mean()), float(distances.std())
    # Equal members have no deviation: the last digits of their distances must not decide.
    threshold = mean + SPREAD * deviation + EQUAL
    return Validation(1.0 - float(vector @ middle), mean, deviation, threshold)


def named(axis: str, groups: Sequence[Sequence[str]], before: Sequence[Cluster]) -> list[Cluster]:
    """Give each group of member ids an id.

    A group keeps the id of the earlier cluster with the greatest overlap (Jaccard; each id is used once). The id of a
    new group is a hash of its members.
    """
    overlaps = [
        (_jaccard(members, old.members), number, old.id)
        for number, members in enumerate(groups)
        for old in before
        # Share of common members (Jaccard) from which a group keeps an old id.
        if _jaccard(members, old.members) >= 0.1
    ]
    kept: dict[int, str] = {}
    for _, number, identity in sorted(overlaps, key=lambda row: (-row[0], row[2], row[1])):
        if number not in kept and identity not in kept.values():
            kept[number] = identity
    clusters = []
    for number, members in enumerate(groups):
        digest = hashlib.blake2b("\n".join(sorted(members)).encode(), digest_size=3).hexdigest()
        clusters.append(Cluster(kept.get(number) or f"{axis}_{digest}", axis, tuple(members)))
    return clusters


def _jaccard(one: Sequence[str], other: Sequence[str]) -> float:
    first, second = set(one), set(other)
    return len(first & second) / max(len(first | second), 1)


def counted(values: Sequence[str]) -> Mapping[str, int]:
    """Return how often each value occurs, the most frequent first."""
    return dict(sorted(Counter(values).items(), key=lambda row: (-row[1], row[0])))
