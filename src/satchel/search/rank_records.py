"""Ranking of records by their words, by their vectors if there are any, and by boosts.

A record may have several chunks (the axes of an experience): it is one hit, for the best of them, unless the filters
name an axis.

A turn of a conversation is short, and the turn before it has the question that it answers. So neighbours in the same
session count for a turn in part, and a question counts more for the turn after it. They are joined for each term apart:
what is said in three turns counts hardly more than what is said in one, and different words of the question add up.
Measured on LoCoMo in benchmarks/memory.py, with each part added and each constant moved.

Boosts are signals beside the match: reliability, importance and age. Each is a share (0 to 1) times a weight on the log
scale of the score. Together they add at most 0.2: they order records that match about equally well, and a match that is
better by more than a factor of exp(0.2) = 1.22 stays first. Only routine commits are lowered further: they share the
words of every question about the project and answer few.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from satchel import lazy_numpy as np
from satchel.intent import Intent
from satchel.search import bm25, weights
from satchel.search.bm25 import FloatArray, Occurrences
from satchel.search.chunks import identity_of, records_of
from satchel.search.dense import Likeness, similar_chunks
from satchel.search.filters import NO_FILTERS, Filters, SearchStrategy
from satchel.search.lessons import BEARS, FILE, WORK, Bearing, bearing
from satchel.search.periods import period_in
from satchel.search.query import Query, subject_of
from satchel.search.strength import places_of, relevance_of, title_of
from satchel.sources.roles import asks_for_routine, is_routine_commit
from satchel.store.protocol import Store
from satchel.store.records import Document, StoredChunk
from satchel.store.segments import IntArray, Lexicon
from satchel.types import LESSON_KINDS, Chunk, Hit, Kind, ScoredSpan, Signal
from satchel.vocabulary import DAY_SECONDS, MISSING_TIER_WEIGHT, TIER_WEIGHTS, Axis, OutcomeStatus

NOTE_SPAN_SHARE = 0.05
"""Least share of a note's best span for its other spans: three less on the log scale never wins."""

REPLACING_RECORDS = 20
"""Best memories among which a newer one comes before what it contradicts."""

BELOW_BAR = 3
"""Lessons that do not bear on a request but are named, with their evidence, where somebody asks why."""

NAMED_STEP = 4
"""How many times as much as the next one a commit is worth that the question names: no boost changes the order."""

NAMED_SCORE = 2.0
"""The `file_score` of a commit that the question names, above that of any file of the ranking (at most 1)."""

_TIERS = {str(tier): weight for tier, weight in TIER_WEIGHTS.items()}


def beside_words(kind: Kind, tier: object, importance: float | None, moment: float, now: float) -> tuple[Signal, ...]:
    """Return the boosts of a record: its tier, importance and recency, as far as they count for its kind.

    `now` (seconds, 0 for unknown) is cut to its day.
    """
    signals = []
    if kind is Kind.EXPERIENCE:
        signals.append(Signal("tier", _TIERS.get(str(tier), MISSING_TIER_WEIGHT), weights.TIER_WEIGHT))
    if kind is Kind.MEMORY and importance is not None:
        signals.append(Signal("importance", importance, weights.IMPORTANCE_WEIGHT))
    if now > 0:
        signals.append(Signal("recency", round(recency(moment, now), 4), weights.RECENCY_WEIGHT))
    return tuple(signals)


def demotion_of(document: Document) -> tuple[Signal, float] | None:
    """Return the signal against a record, and the factor on its relevance; None for nearly all records.

    It is against a commit by a bot, or one that only moves versions, and against a failure without a cause.
    """
    name, fields = "", document.fields
    if document.kind is Kind.COMMIT and is_routine_commit(document.title, str(fields.get("author", ""))):
        name = "routine"
    if document.kind is Kind.EXPERIENCE and fields.get("outcome_status") == OutcomeStatus.FALSIFIED:
        name = "" if fields.get("root_cause") else "no cause"
    factor = weights.SET_ASIDE.get(name)
    return (Signal(name, 1.0, round(math.log(factor), 4)), factor) if factor is not None else None


def tier_share(document: Document) -> float:
    """Return how far an experience can be relied on, 0 to 1."""
    return _TIERS.get(str(document.fields.get("confidence_tier")), MISSING_TIER_WEIGHT)


def recency(moment: float, now: float) -> float:
    """Return 1 for today or later, 0.5 for a half-life before the day of `now`, 0 without a time."""
    if moment <= 0:
        return 0.0
    today = now // DAY_SECONDS * DAY_SECONDS
    return halved(today - moment)


def halved(seconds: float) -> float:
    """Return what age leaves of the recency of a record, 1 for none and 0.5 after a half-life."""
    return float(0.5 ** (max(seconds, 0.0) / (weights.HALF_LIFE_DAYS * DAY_SECONDS)))


class SearchResult(Struct, frozen=True):
    """Hits of one kind, best first.

    `strength` is how well the kind answers, 0 to 1, and `matched` the share of the question's idf mass in its best
    spans (`satchel.search.strength`); for records both are the best match. `with_vectors` of `chunks` have a
    vector; it is None where vectors were not used. Of lessons `beyond` are the best without room, `below` the best of
    those that do not bear on the request, and `bar` is what these would need.
    """

    hits: tuple[Hit, ...]
    with_vectors: int | None = None
    chunks: int = 0
    strength: float = 0.0
    matched: float = 0.0
    beyond: tuple[Hit, ...] = ()
    below: tuple[Hit, ...] = ()
    bar: str = ""


def search_records(
    store: Store,
    kind: Kind,
    query: Query,
    *,
    candidates: int,
    filters: Filters = NO_FILTERS,
    now: float = 0.0,
    likeness: Likeness | None = None,
    silent: AbstractSet[SearchStrategy] = frozenset(),
    question_files: Sequence[str] | None = None,
    intent: Intent | None = None,
) -> SearchResult:
    """Rank the records of one kind; at most `candidates` of those that the filters admit, each once.

    With `question_files`, the files of the question, only the lessons that bear on it are found (`lessons.py`);
    after a failure, which is an `intent`, in the order of a search.

    Recency is relative to `now` (seconds since the epoch, 0 for unknown). A record matches by the share
    of the question's idf mass or, if that is larger, by its vector; relevance follows from that and from its place.
    """
    lexicon = store.lexicon(kind)
    is_alone = kind is Kind.NOTE
    scores = bm25.score(lexicon, query.terms, files=is_alone)
    around = surroundings(store, kind, lexicon, query) if kind is Kind.CONVERSATION else None
    matched, words = scores.chunk_matched, scores.chunk
    if around is not None:
        words, matched = around.scored(scores.chunk_occurrences, [term.weight for term in query.terms])
    if SearchStrategy.LEXICAL in silent:
        words = np.zeros_like(words)
    if SearchStrategy.DENSE in silent:
        likeness = None
    signals = [_Column("words", words, 1.0)]
    ranked, covered = words, None
    if kind is Kind.COMMIT and query.asks_why:
        ranked = words * matched**weights.REASON_EXPONENT
    if likeness is not None:
        similar = similar_chunks(lexicon, likeness)
        covered = similar.count
        matched = np.maximum(matched, similar.relevance)
        vectors = np.maximum(similar.contrast, 0.0)
        if around is not None:
            vectors = around.joined(vectors)[around.order.place] * around.worth
        ranked, weight = _joined(kind, words, scores.chunk_matched, vectors)
        signals = [_Column("words", words, 1 - weight), _Column("vectors", similar.cosine, weight)]
    meaning, found = None if likeness is None else vectors, None
    if question_files is not None and intent is Intent.FAILS:
        bears = bearing(store, kind, query, scores, matched, meaning, question_files, intent).total > 0
        ranked, matched = np.where(bears, ranked, 0.0), np.where(bears, matched, 0.0)
    elif question_files is not None:
        found = bearing(store, kind, query, scores, matched, meaning, question_files, intent)
        ranked, matched = found.total, np.minimum(found.total, 1.0)
        signals = _evidence(found, has_meaning=meaning is not None)
    is_theme = query.is_broad and kind in LESSON_KINDS
    if is_theme:
        ranked, matched = _of_theme(store, kind, query, _share(ranked), matched, now, has_table=likeness is not None)
        signals = [_Column("theme", ranked, 1.0), *signals]
    named = _commits_named(store, kind, lexicon, query)
    ranked, matched = _with_named(ranked, matched, named)
    ranked = np.where(lexicon.live_chunk & (ranked > 0), ranked, -np.inf)
    several = len(Axis) if kind is Kind.EXPERIENCE and filters.axis is None else 1
    spans = scores.span if is_alone else None
    ranking = _Ranking(lexicon, ranked, matched, signals, several, spans, asks_for_routine(title_of(query)))
    hits = _hits(store, ranking, candidates, filters, now)
    strength = max((hit.relevance for hit in hits), default=0.0)
    indices = _places(kind, hits, is_theme=is_theme)
    placed = zip(hits, indices, strict=True)
    shares = ((hit, hit.relevance / max(strength, 1e-12), index) for hit, index in placed)
    rated = tuple([replace(hit, relevance=relevance_of(strength, share, index)) for hit, share, index in shares])
    owners = {*lexicon.columns.document_id[lexicon.columns.chunk_document[named]].tolist()}
    rated = tuple([_led(hit) if hit.chunk.document in owners else hit for hit in rated])
    rated = _ordered(store, kind, query, rated, now, is_theme=is_theme, is_filtered=filters != NO_FILTERS)
    result = SearchResult(rated, covered, lexicon.chunk_count, strength, strength)
    return result if found is None else _with_others(result, store, ranking, found, filters, now)


def _commits_named(store: Store, kind: Kind, lexicon: Lexicon, query: Query) -> IntArray:
    """Return the chunks of the commits that a question names, as positions, in its order."""
    rows = store.first_rows(kind, query.commits) if kind is Kind.COMMIT and query.commits else {}
    positions = lexicon.chunk_positions(rows[key] for key in query.commits if key in rows)
    return positions[positions >= 0]


def _with_named(ranked: FloatArray, matched: FloatArray, named: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return values and matched shares with these chunks before all others, in their order."""
    if not len(named):
        return ranked, matched
    ranked, matched = ranked.copy(), matched.copy()
    ranked[named] = max(float(ranked.max(initial=0.0)), 1.0) * np.power(NAMED_STEP, np.arange(len(named), 0, -1))
    matched[named] = 1.0
    return ranked, matched


def _led(hit: Hit) -> Hit:
    """Return the hit of a record that the question names: it comes first, whatever else is found."""
    return replace(hit, relevance=relevance_of(1.0), file_score=NAMED_SCORE)


def _with_others(
    result: SearchResult, store: Store, ranking: _Ranking, found: Bearing, filters: Filters, now: float
) -> SearchResult:
    """Return the result with the best of the records that do not bear on the request, and what they would need."""
    lower = np.where(found.below > 0, found.below, -np.inf)
    below = _hits(store, replace(ranking, ranked=lower, matched=found.below), BELOW_BAR, filters, now)
    return replace(result, below=tuple(below), bar=found.bar)


def _evidence(found: Bearing, *, has_meaning: bool) -> list[_Column]:
    """Return how much each chunk bears on a request, and the kinds of evidence of it."""
    share = weights.LESSON_MEANING if has_meaning else 0.0
    columns = [_Column(BEARS, np.maximum(found.total, found.below), 1.0), _Column("words", found.words, 1 - share)]
    columns += [_Column("vectors", found.meaning, share)] if has_meaning else []
    parts = ((FILE, found.file, weights.LESSON_FILE), (WORK, found.work, weights.LESSON_WORK))
    return columns + [_Column(name, values, weight) for name, values, weight in parts]


def _ordered(
    store: Store, kind: Kind, query: Query, hits: tuple[Hit, ...], now: float, *, is_theme: bool, is_filtered: bool
) -> tuple[Hit, ...]:
    """Return hits with newer memories before what they contradict, and a timeline by time.

    Unless they are filtered, newer memories come too that were not found.
    """
    if kind is Kind.MEMORY and hits:
        first, others = hits[:REPLACING_RECORDS], hits[REPLACING_RECORDS:]
        if is_filtered or is_theme:
            first = _newest_first(store, first)
        else:
            from satchel.search.newer import with_newer  # here, because most questions find no memory

            first = with_newer(store, first, now, found=others)
        hits = (*first, *others)
    is_timeline = is_theme and bool(hits) and query.text.lower().lstrip().startswith("timeline")
    return _by_time(hits) if is_timeline else hits


def _joined(kind: Kind, words: FloatArray, shares: FloatArray, vectors: FloatArray) -> tuple[FloatArray, float]:
    """Return the value of each chunk by words and vectors, and the weight of vectors in it.

    `shares` are the matched shares of the question's words.
    """
    if kind in LESSON_KINDS:
        weight = weights.LESSON_VECTOR_WEIGHT
        return (1 - weight) * shares + weight * vectors, weight
    weight = weights.NOTE_VECTOR_WEIGHT if kind is Kind.NOTE else weights.VECTOR_WEIGHT
    return (1 - weight) * _share(words) + weight * _share(vectors), weight


def _newest_first(store: Store, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return memories with a newer one before what it contradicts."""
    from satchel.search.contradictions import newest_first  # here, because most questions find no two memories

    texts = store.texts([hit.chunk.document for hit in hits])
    return newest_first(hits, lambda document: texts.get(document, ""))


def _of_theme(
    store: Store, kind: Kind, query: Query, ranked: FloatArray, matched: FloatArray, now: float, *, has_table: bool
) -> tuple[FloatArray, FloatArray]:
    """Return how near each chunk is to the theme of a broad question, and how well it matches.

    In a question about a period every record of it is.
    """
    from satchel.search.recall import gathered, recorded  # here, because few questions are broad

    lexicon = store.lexicon(kind)
    owners = lexicon.columns.chunk_document
    best = np.zeros((2, len(lexicon.columns.document_id)))
    for chunk, values in zip(best, (ranked, matched), strict=True):
        np.maximum.at(chunk, owners, np.where(lexicon.live_chunk, values, 0.0))
    period = period_in(subject_of(query.text), now)
    inside = np.ones(best.shape[1]) if period is None else recorded(store, lexicon, period)
    if period is not None and not period.subject:
        return inside[owners], inside[owners]
    near = gathered(store, lexicon, kind, title_of(query), *best, has_table=has_table) * inside
    match = max(float(best[1].max(initial=0.0)), weights.THEME_MATCH * bool(has_table and near.any()))
    near = near[owners] ** weights.THEME_EXPONENT
    return near, near * math.sqrt(match)


def _places(kind: Kind, hits: Sequence[Hit], *, is_theme: bool) -> list[int]:
    """Return the places that relevance falls by: that of the first among records that match equally well."""
    if is_theme:
        return [1] * len(hits)
    indices = places_of([hit.score for hit in hits])
    if kind not in LESSON_KINDS:
        return indices
    firsts: dict[float, int] = {}
    return [firsts.setdefault(round(hit.relevance, 2), index) for hit, index in zip(hits, indices, strict=True)]


def _by_time(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return hits as a timeline, oldest first; each counts almost as much as the best."""
    ordered = sorted(hits, key=lambda hit: (hit.chunk.created, hit.chunk.id))
    best, relevance = max(hit.score for hit in hits), max(hit.relevance for hit in hits)
    return tuple(
        replace(hit, score=best - index / 1_000, relevance=relevance * (1 - index / 1_000))
        for index, hit in enumerate(ordered)
    )


def answering(result: SearchResult) -> list[Hit]:
    """Return the hits of one kind that are listed: few of a weak answer, and none that hardly matches."""
    hits = [hit for hit in result.hits if hit.relevance >= weights.MIN_LISTED]
    return hits if result.strength >= weights.WEAK_FLOOR else hits[: weights.WEAK_ITEMS]


class Order(Struct, frozen=True):
    """The place of each chunk of a lexicon in the order of turns, session after session with a gap between them.

    Chunks that are not live share the last of `size` places. Exchanges of one session have keys that sort by time, so
    the order needs neither their texts nor their fields.
    """

    place: IntArray
    size: int


def order_of(store: Store, kind: Kind, lexicon: Lexicon) -> Order:
    """Return the order of a lexicon's live chunks, computed once for each revision."""
    return lexicon.derived(Order, lambda: _order(store, kind, lexicon))


def _order(store: Store, kind: Kind, lexicon: Lexicon) -> Order:
    columns = lexicon.columns
    keys = {stamp.document: key for key, stamp in store.stamps(kind).items()}
    live = np.flatnonzero(lexicon.live_chunk).tolist()
    owners = columns.document_id[columns.chunk_document[live]].tolist() if live else []
    placed = sorted((keys[owner], chunk) for chunk, owner in zip(live, owners, strict=True) if owner in keys)
    sessions: dict[str, int] = {}
    # The key of an exchange is `SESSION/20260501T103000-1a2b3c4d`.
    numbers = [sessions.setdefault(key.rpartition("/")[0], len(sessions)) for key, _ in placed]
    gap = len(weights.NEIGHBOUR_WEIGHTS)
    size = len(placed) + gap * (len(sessions) + 1) + 1
    place = np.full(len(lexicon.live_chunk), size - 1, dtype=np.int64)
    place[[chunk for _, chunk in placed]] = np.arange(len(placed)) + gap * np.array(numbers, dtype=np.int64)
    return Order(place, size)


class Surroundings(Struct, frozen=True):
    """Neighbours of the chunks of a lexicon and factors of the chunks, for one question."""

    order: Order
    asks: FloatArray
    """1 for each place of a chunk that only asks, else 0."""
    worth: FloatArray
    """Factor of each chunk, 0 to 1.2: by its length, by its speaker, and less where it only asks."""
    rarest: float
    """The idf of a term that no chunk contains."""

    def joined(self, values: FloatArray, chunks: IntArray | slice = slice(None)) -> FloatArray:
        """Return the values of these chunks joined with the weighted ones of their neighbours, by place.

        They are joined as the root of the sum of squares: what is said twice counts little more than what is said once.
        """
        squares = np.zeros(self.order.size)
        squares[self.order.place[chunks]] = values * values
        squares[-1] = 0.0
        beside = np.square(weights.NEIGHBOUR_WEIGHTS)
        answering = (weights.NEIGHBOUR_WEIGHTS[0] + weights.ANSWER_WEIGHT) ** 2 - beside[0]
        sums = np.convolve(squares, [*beside[::-1], 1.0, *beside])[len(beside) :][: self.order.size]
        sums[1:] += answering * (squares * self.asks)[:-1]
        return np.sqrt(sums)

    def scored(self, found: Occurrences, term_weights: Sequence[float]) -> tuple[FloatArray, FloatArray]:
        """Return the score and the matched share (0 to 1) of each chunk, each term joined with its neighbours."""
        scores, matched = np.zeros(self.order.size), np.zeros(self.order.size)
        masses = np.asarray(term_weights) * found.idf
        whole = float(np.asarray(term_weights) @ np.where(found.counts > 0, found.idf, self.rarest)) or 1.0
        ends = np.cumsum(found.sizes).tolist()
        for mass, begin, end in zip(masses.tolist(), [0, *ends], ends, strict=False):
            if mass > 0:
                chunks = found.units[begin:end]
                scores += mass * self.joined(found.saturated[begin:end], chunks)
                matched += mass * np.minimum(self.joined(np.ones(end - begin), chunks), 1.0)
        return scores[self.order.place] * self.worth, matched[self.order.place] / whole


def surroundings(store: Store, kind: Kind, lexicon: Lexicon, query: Query) -> Surroundings:
    """Return the surroundings of the chunks of a kind that consists of sessions."""
    from satchel.sources.conversations import ASKS  # here, because few roots have conversations

    columns = lexicon.columns
    marked, *term_postings = lexicon.postings([ASKS, *(term.term for term in query.terms)])
    asking = np.zeros(len(columns.document_id), dtype=bool)
    asking[marked.path[0]] = True
    asks = asking[columns.chunk_document]
    speakers = np.zeros(len(columns.chunk_row))
    for speaking in term_postings:
        speakers[speaking.signature[0]] = 1.0
    length, order = lexicon.chunk_length, order_of(store, kind, lexicon)
    spoken = (1 + weights.SPEAKER_BONUS * speakers) * (1 - weights.QUESTION_PENALTY * asks)
    worth = spoken * length / (length + weights.HALF_WEIGHT_TERMS)
    asked = np.zeros(order.size)
    asked[order.place] = asks
    return Surroundings(order, asked, worth, bm25.idf(lexicon.chunk_count, 0))


class _Column(Struct, frozen=True):
    """One signal of all chunks of a lexicon."""

    name: str
    values: FloatArray
    weight: float


class _Ranking(Struct, frozen=True):
    """The values of all chunks of a lexicon; `ranked` is minus infinity for chunks that do not match.

    `spans` are the scores of spans where each chunk is a record (notes); None where a record is shown as one.
    With `wants_routine` routine commits count as much as all others.
    """

    lexicon: Lexicon
    ranked: FloatArray
    matched: FloatArray
    signals: Sequence[_Column]
    documents_per_record: int
    spans: FloatArray | None = None
    wants_routine: bool = False


def _share(values: FloatArray) -> FloatArray:
    """Return values divided by the largest, or by 1e-12 if that is smaller."""
    return values / max(float(values.max(initial=0.0)), 1e-12)


def _hits(store: Store, ranking: _Ranking, candidates: int, filters: Filters, now: float) -> list[Hit]:
    """Return the best records that the filters admit, reading more chunks while there are too few."""
    finite = np.flatnonzero(np.isfinite(ranking.ranked))
    picked: dict[int, _Picked] = {}
    seen, count = 0, candidates * ranking.documents_per_record
    while True:
        best = finite[bm25.largest(ranking.ranked[finite], count)]
        _pick(store, ranking, best[seen:], filters, picked, candidates)
        if filters == NO_FILTERS or len(picked) >= candidates or len(best) == len(finite):
            break
        # Where filters leave too few records, so many times the chunks are read next.
        seen, count = len(best), count * 4
    largest = max((ranking.ranked[record.positions[0]] for record in picked.values()), default=1.0)
    hits = [_hit(ranking, record, float(largest), now) for record in picked.values()]
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id))


class _Picked(Struct):
    """A record with its matching chunks, best first."""

    document: Document
    chunk: Chunk
    parts: list[StoredChunk]
    positions: list[int]


def _pick(
    store: Store, ranking: _Ranking, positions: IntArray, filters: Filters, picked: dict[int, _Picked], limit: int
) -> None:
    """Add the admitted records of these chunks (best first), by document, until there are `limit` of them."""
    columns = ranking.lexicon.columns
    owners = columns.document_id[columns.chunk_document[positions]].tolist()
    rows = columns.chunk_row[positions].tolist()
    groups = rows if ranking.spans is not None else owners
    if filters == NO_FILTERS:  # then the first ones are admitted, and no other has to be read
        taken = frozenset(list(dict.fromkeys(groups))[:limit])
        kept = [index for index, group in enumerate(groups) if group in taken]
        positions, rows, groups = positions[kept], *([row[n] for n in kept] for row in (rows, groups))
    stored = ranking.lexicon.stored(records_of, positions.tolist(), partial(records_of, store))
    for position, row, group in zip(positions.tolist(), rows, groups, strict=True):
        document, part, chunk = stored[row]
        if filters.admits(document, part.name) and (group in picked or len(picked) < limit):
            record = picked.setdefault(group, _Picked(document, chunk, [], []))
            record.parts.append(part)
            record.positions.append(position)


def _hit(ranking: _Ranking, record: _Picked, largest: float, now: float) -> Hit:
    position, part = record.positions[0], record.parts[0]
    document, chunk = record.document, record.chunk
    moment = document.updated or document.created
    boosts = beside_words(document.kind, document.fields.get("confidence_tier"), document.importance, moment, now)
    is_wanted = ranking.wants_routine and document.kind is Kind.COMMIT
    demotion, factor = (None if is_wanted else demotion_of(document)) or (None, 1.0)
    boosts = (*boosts, demotion) if demotion is not None else boosts
    value = math.log(float(ranking.ranked[position]) / largest) + sum(signal.value * signal.weight for signal in boosts)
    signals = [
        Signal(column.name, round(float(column.values[position]), 4), column.weight)
        for column in ranking.signals
        if column.values[position] > 0
    ]
    return Hit(
        chunk=chunk,
        relevance=float(ranking.matched[record.positions].max()) * factor,
        score=value,
        spans=_spans(ranking, position, value)
        if chunk.location is not None
        else (ScoredSpan(part.start, part.end, value),),
        signals=(*signals, *boosts),
        also=tuple(identity_of(document, other) for other in record.parts[1:]),
    )


def _spans(ranking: _Ranking, position: int, value: float) -> tuple[ScoredSpan, ...]:
    """Return the matching spans of a chunk, best first, with values near that of the chunk."""
    assert ranking.spans is not None
    columns, first = ranking.lexicon.columns, int(ranking.lexicon.chunk_first_span[position])
    spans = range(first, first + int(ranking.lexicon.chunk_span_count[position]))
    best = max((float(ranking.spans[span]) for span in spans), default=0.0) or 1.0
    matching = [span for span in spans if ranking.spans[span] > 0] or list(spans)[:1]
    rows = [
        ScoredSpan(
            int(columns.span_start[span]),
            int(columns.span_end[span]),
            value + math.log(max(float(ranking.spans[span]) / best, NOTE_SPAN_SHARE)),
        )
        for span in matching
    ]
    return tuple(sorted(rows, key=lambda scored: (-scored.value, scored.start)))
