"""Clusters of the experiences of one axis, with stable ids.

The position of an experience is what the axis says, what it is about in short (goal, root cause, lesson) and its
domain, as vectors of the embedder or, without one, as TF-IDF of the words. What all have in common is subtracted;
average linkage then joins what is left while it is alike, and a member that is not clearly nearest to its own group
leaves it. The centre of a group is the mean of its members, weighted by their tiers.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from satchel.embed import Embedder, fingerprint, normalised
from satchel.errors import MissingExtraError
from satchel.memory import weights
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

TEXT_TOKENS = 1_000
"""Token limit of a text without an embedder; every experience is shorter."""

MAX_LINKED = 2_000
"""Entries that are linked, evenly spread over all: each pair is compared. The others join the nearest group."""

_ENDS = frozenset(stem(str(status)) for status in OutcomeStatus)

EQUAL = 1e-6
"""Tolerance of cosines: the precision of 32 bits."""


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
    def short(self) -> str:
        """The goal, the root cause or else the result, and the lesson."""
        cause = (self.fields.get("root_cause") or {}).get("description") or self.fields.get("outcome_result")
        return " ".join(str(part) for part in (self.fields.get("goal"), cause, self.lesson) if part)

    @property
    def statement(self) -> str:
        """The lesson, else the result, else the goal, else the text; never empty."""
        return self.lesson or str(self.fields.get("outcome_result") or self.fields.get("goal") or self.text)


class SpaceKind(NamedTuple):
    """What groups of a space need: how far they are above chance (0: not tested), and how clear their members are."""

    above_chance: float
    margin: float


def words_kind() -> SpaceKind:
    """Return the kind of a space of counted words."""
    return SpaceKind(0.0, weights.MARGIN)


def dense_kind(*, is_table: bool = False) -> SpaceKind:
    """Return the kind of a space of vectors, of a table of words or of sentences."""
    if is_table:
        return SpaceKind(weights.TABLE_ABOVE_CHANCE, weights.TABLE_MARGIN)
    return SpaceKind(weights.ABOVE_CHANCE, weights.MARGIN)


class Space(NamedTuple):
    """The entries of an axis, their vectors of length 1 (one row each), and a function that embeds other texts.

    In a dense space each group is tested for chance. Few words cannot show that: the sentence of a value has to.
    """

    label: str
    entries: tuple[AxisEntry, ...]
    vectors: Matrix
    embed: Callable[[Sequence[str]], Matrix]
    kind: SpaceKind

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
    short = embedder.embed_documents([entry.short for entry in entries]) if entries else matrix
    parts = [normalised(matrix), normalised(np.asarray(short, dtype=np.float32))]
    return Space(
        embedder.id,
        entries,
        _with_domains(entries, parts),
        embedder.embed_documents,
        dense_kind(is_table=embedder.is_table),
    )


def _with_domains(entries: Sequence[AxisEntry], parts: Sequence[Matrix]) -> Matrix:
    import numpy as np

    domains = [str(entry.fields.get("domain")) for entry in entries]
    names = sorted({*domains})
    matrix = np.zeros((len(entries), len(names)), dtype=np.float32)
    matrix[range(len(entries)), [names.index(domain) for domain in domains]] = weights.DOMAIN_WEIGHT
    return normalised(np.hstack([*parts, matrix]))


def _space_of_words(entries: tuple[AxisEntry, ...]) -> Space:
    """Compute TF-IDF of the texts; a word that only one of them has is not counted, and the short text counts twice."""
    import numpy as np

    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError as error:
        from satchel.system.installed import with_extra

        raise MissingExtraError(f"grouping needs scikit-learn: {with_extra('values')}") from error

    texts = [[*_telling(_said(entry)), *_telling(entry.short)] for entry in entries]
    counts = Counter(term for text in texts for term in set(text))
    vocabulary = sorted(term for term, count in counts.most_common(1_000) if count > 1)
    if not vocabulary:
        empty = np.zeros((len(entries), 1), dtype=np.float32)
        return Space(
            WORDS_LABEL, entries, empty, lambda others: np.zeros((len(others), 1), dtype=np.float32), words_kind()
        )
    terms = TfidfVectorizer(analyzer=list, sublinear_tf=True, vocabulary=vocabulary).fit(texts)

    def weighed(words_of: Sequence[Sequence[str]]) -> Matrix:
        matrix: Matrix = terms.transform(words_of).toarray().astype(np.float32)
        return matrix

    def embed(others: Sequence[str]) -> Matrix:
        return weighed([_telling(text) for text in others])

    return Space(WORDS_LABEL, entries, _with_domains(entries, [weighed(texts)]), embed, words_kind())


def _said(entry: AxisEntry) -> str:
    """Return the text of an axis without the label of each line, and the root cause."""
    cause = entry.fields.get("root_cause") or {}
    lines = [line.partition(": ")[2] for line in entry.text.splitlines()]
    return "\n".join([*lines, str(cause.get("description", ""))])


def _telling(text: str) -> list[str]:
    """Return the stems of the words that have a meaning; how an experience ended is not what it is about."""
    terms = (term for word in words(text) if is_meaningful(word) for term in terms_of(word))
    return [term for term in terms if not term.startswith(EXACT_MARK) and term not in _ENDS]


def group(vectors: Matrix, kind: SpaceKind | None = None) -> list[list[int]]:
    """Return groups of positions in `vectors` (rows of length 1), the largest first; may be empty.

    Without a `kind` they are vectors of sentences. Equal vectors give equal groups. Raises MissingExtraError without
    scikit-learn.
    """
    if len(vectors) < weights.MIN_ENTRIES:
        return []
    kind = dense_kind() if kind is None else kind
    centred, groups = _linked(vectors, kind)
    if kind.above_chance:
        groups = [*filter(partial(_is_above_chance, centred, kind), groups)]
    groups = [part for positions in groups for part in _split(vectors, positions, kind)]
    nearness = vectors @ _unit(vectors.sum(axis=0))
    if not groups and float(nearness.mean()) >= weights.ALIKE:
        groups = [[place for place, cosine in enumerate(nearness.tolist()) if cosine >= weights.ALIKE]]
    return sorted(groups, key=lambda positions: (-len(positions), positions))


def _linked(vectors: Matrix, kind: SpaceKind) -> tuple[Matrix, list[list[int]]]:
    """Return the vectors without what all have in common, and what average linkage joins of them."""
    import numpy as np

    centred = normalised(vectors - vectors.mean(axis=0))
    places = np.arange(0, len(vectors), -(-len(vectors) // MAX_LINKED))
    labels = _labels(centred[places])
    groups = [places[labels == label] for label in range(int(labels.max()) + 1)]
    groups = [members for members in groups if len(members) >= weights.SMALLEST_GROUP]
    return centred, [members.tolist() for members in _separated(centred, groups, kind.margin)]


def _split(vectors: Matrix, members: list[int], kind: SpaceKind) -> list[list[int]]:
    """Return the parts of a group, if nearly all members lie in some that are close by themselves; else the group."""
    if len(members) < weights.MIN_ENTRIES:
        return [members]
    centred, parts = _linked(vectors[members], kind)
    parts = [part for part in parts if _is_above_chance(centred, kind, part)]
    if len(parts) < 2 or sum(map(len, parts)) < weights.SPLIT_SHARE * len(members):
        return [members]
    return [smaller for part in parts for smaller in _split(vectors, [members[place] for place in part], kind)]


def _labels(vectors: Matrix) -> Any:
    try:
        from sklearn.cluster import AgglomerativeClustering
    except ImportError as error:
        from satchel.system.installed import with_extra

        raise MissingExtraError(f"grouping needs scikit-learn: {with_extra('values')}") from error

    model = AgglomerativeClustering(
        n_clusters=None, distance_threshold=1 - weights.LINKED, metric="cosine", linkage="average"
    )
    return model.fit_predict(vectors.astype("float64"))


def _separated(vectors: Matrix, groups: Sequence[Any], margin: float) -> list[Any]:
    """Return the groups with what is nearest to each of them and alike, twice: the centres move."""
    import numpy as np

    for _ in range(2 if len(groups) > 1 else 0):
        nearness = vectors @ np.array([_unit(vectors[members].sum(axis=0)) for members in groups]).T
        for place, members in enumerate(groups):  # without the member itself, which would draw the centre to it
            others = vectors[members].sum(axis=0) - vectors[members]
            nearness[members, place] = (vectors[members] * normalised(others)).sum(axis=1)
        best, owner = nearness.max(axis=1), nearness.argmax(axis=1)
        second = np.partition(nearness, -2, axis=1)[:, -2]
        linked = np.zeros(len(vectors), dtype=bool)
        linked[np.concatenate(groups)] = True
        is_clear = (best - second >= margin) & (best >= weights.LINKED) & (linked | (len(vectors) > MAX_LINKED))
        found = [np.flatnonzero(is_clear & (owner == place)) for place in range(len(groups))]
        groups = [members for members in found if len(members) >= weights.SMALLEST_GROUP]
        if len(groups) < 2:
            break
    return list(groups)


def _is_above_chance(vectors: Matrix, kind: SpaceKind, positions: Sequence[int]) -> bool:
    """Return whether the members are nearer to each other than a random group of this size would be.

    Density alone also finds groups in noise. The nearest of n random vectors of d numbers have a cosine of about
    sqrt(2 ln n / d); the mean over a group decreases with its size.
    """
    usual, inner = _mean_cosine(vectors), _mean_cosine(vectors[list(positions)])
    chance = math.sqrt(2 * math.log(len(vectors)) / vectors.shape[1]) * math.sqrt(2 / (len(positions) - 1))
    least = kind.above_chance or weights.ABOVE_CHANCE
    return inner - usual >= least * chance * (1 - usual) - EQUAL


def _mean_cosine(vectors: Matrix) -> float:
    """Return the mean over all pairs of different rows."""
    count = len(vectors)
    total = float((vectors.sum(axis=0) ** 2).sum())  # the sum over all pairs, each row with itself included
    return (total - count) / (count * (count - 1))


def centre(vectors: Matrix, shares: Sequence[float]) -> Matrix:
    """Return the mean of the members by weight, of length 1."""
    import numpy as np

    return _unit(np.asarray(shares, dtype=np.float32) @ vectors)


def _unit(vector: Matrix) -> Matrix:
    import numpy as np

    length = float(np.linalg.norm(vector))
    return vector / length if length else vector


def validate(vector: Matrix, members: Matrix, shares: Sequence[float]) -> Validation:
    """Compare a text with this vector to the members of a group."""
    import numpy as np

    middle = centre(members, shares)
    distances = 1.0 - (members @ middle).astype(np.float64)
    mean, deviation = float(distances.mean()), float(distances.std())
    # Equal members have no deviation: the last digits of their distances must not decide.
    threshold = mean + weights.SPREAD * deviation + EQUAL
    return Validation(1.0 - float(vector @ middle), mean, deviation, threshold)


def usual_nearness(sentences: Matrix, others: Matrix | None) -> list[float]:
    """Return for each sentence the cosine from which a statement says it, seen from statements of other groups."""
    import numpy as np

    if others is None:
        return [weights.SAYS_ABOVE] * len(sentences)
    nearness = sentences @ others.T
    usual = np.maximum(nearness.mean(axis=1) + weights.SAYS_ABOVE, np.quantile(nearness, weights.SAYS_SHARE, axis=1))
    return [float(least) - EQUAL for least in usual]


def named(axis: str, groups: Sequence[Sequence[str]], before: Sequence[Cluster]) -> list[Cluster]:
    """Give each group of member ids an id.

    A group keeps the id of the earlier cluster with the greatest overlap (Jaccard; each id is used once). The id of a
    new group is a hash of its members.
    """
    overlaps = [
        (_jaccard(members, old.members), number, old.id)
        for number, members in enumerate(groups)
        for old in before
        if _jaccard(members, old.members) >= weights.KEPT_OVERLAP
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


def _jaccard(sequence: Sequence[str], other: Sequence[str]) -> float:
    first, second = set(sequence), set(other)
    return len(first & second) / max(len(first | second), 1)


def counted(values: Sequence[str]) -> Mapping[str, int]:
    """Return how often each value occurs, the most frequent first."""
    return dict(sorted(Counter(values).items(), key=lambda row: (-row[1], row[0])))
