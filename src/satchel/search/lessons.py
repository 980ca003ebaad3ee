"""Which records bear on what is about to be done, and which of them comes first: two questions, kept apart.

A request to change how something behaves is what lessons are for: a decision, a preference or a failed attempt may bear
on it though they share no word with it. Their order follows from four kinds of evidence on absolute scales: words,
meaning, the files that the request leads to, and the kind of work. A question, or a change that leaves the behaviour as
it is (a new name, other imports), is answered by records only where they have most of its words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from satchel import lazy_numpy as np
from satchel.intent import Intent, intent_of, works_of
from satchel.search import bm25, weights
from satchel.search.bm25 import FloatArray
from satchel.search.query import DISTINCTIVE_FORMS, Query, QueryTerm
from satchel.search.strength import title_of
from satchel.search.successors import successors
from satchel.store.protocol import Store
from satchel.store.segments import Lexicon
from satchel.text import EXACT_MARK, stem
from satchel.types import Hit, Kind, Signal

if TYPE_CHECKING:
    import numpy.typing as npt

BEARS, FILE, WORK = "bears", "file named", "kind of work"
"""Names of signals: how much a record bears on a request, on one scale for all kinds, and two kinds of evidence."""

MAX_QUESTION_FILES = 3
"""Files that a request leads to, the best first: a record that names one of them is about the same place."""


EVERY_WORD, BESIDE_EVERY_WORD = 0.99, 0.4
"""Where a record has this share of the words of a request, others need this part of its evidence."""

SHORT_NUMBER = 2
"""Digits of a number that says nothing without a common word or kind of work: of a request for Python 3.12 a record
about Debian 12 may be needed, one about shelf 12 is not."""

MIN_KINDS = 2
"""Kinds of evidence of a record that may have little of each."""

MIN_WORDS = 2
"""Words of a question that a record has: one alone is a coincidence."""


def is_lesson(signals: Iterable[Signal]) -> bool:
    """Return whether a record with these signals is given unasked, because it bears on the request."""
    return BEARS in [signal.name for signal in signals]


def behind_newer(hits: Sequence[Hit]) -> list[Hit]:
    """Return hits in their order, except that each comes behind the one that it names as its `newer` or `against`."""
    ordered = list(hits)
    for hit in hits:
        first = hit.chunk.fields.get("newer") or hit.chunk.fields.get("against")
        other = next((later for later in ordered if first and later.chunk.id.partition(":")[2] == first), None)
        if other is not None and ordered.index(other) > ordered.index(hit):
            ordered.remove(other)
            ordered.insert(ordered.index(hit), other)
    return ordered


class Bearing(Struct, frozen=True):
    """The evidence that each chunk of a kind bears on a request.

    `total` is the sum, 0 for chunks that do not bear on it; `below` is that of the others. `words`, `meaning`, `file`
    and `work` are parts of it, 0 to 1. `bar` says what a chunk needs.
    """

    total: FloatArray
    below: FloatArray
    words: FloatArray
    meaning: FloatArray
    file: FloatArray
    work: FloatArray
    bar: str


class _Evidence(NamedTuple):
    """What each chunk has in common with a request, dead ones too.

    `words` is the share of its words and `matched` how well it answers the request. `meaning`, `file` and `work` are 0
    to 1. `shared` words have a `rarity`, as in `_words_of`; `named` is 1 where it has a name.
    """

    words: FloatArray
    meaning: FloatArray
    matched: FloatArray
    file: FloatArray
    work: FloatArray
    shared: FloatArray
    rarity: FloatArray
    named: FloatArray

    def inherit(self, former: int, heir: int) -> None:
        """Let a chunk speak for the one that it replaced."""
        for part in self:
            part[heir] = max(part[heir], part[former])

    @property
    def said(self) -> FloatArray:
        """How much the words and the meaning of each chunk bear on the request, 0 to 1."""
        return (1 - weights.LESSON_MEANING) * self.words + weights.LESSON_MEANING * self.meaning

    @property
    def kinds(self) -> FloatArray:
        """How many kinds of evidence each chunk has: one everyday word that it shares is one at most."""
        every = (self.words >= weights.LESSON_KIND, self.meaning >= weights.LESSON_KIND, self.file > 0, self.work > 0)
        count: FloatArray = np.add.reduce(every, dtype=np.float64)
        return count


def bearing(
    store: Store,
    kind: Kind,
    query: Query,
    scores: bm25.Scores,
    matched: FloatArray,
    meaning: FloatArray | None,
    paths: Sequence[str],
    intent: Intent | None = None,
) -> Bearing:
    """Return how much each chunk of a kind bears on a request.

    `scores` are those of its words, `matched` is how well each chunk answers it, by words or by meaning, and `meaning`
    its similarity above the mean; both 0 to 1. `paths` are the files that the request leads to, best first. Without an
    `intent` the wording tells it.
    """
    lexicon = store.lexicon(kind)
    intent = intent or intent_of(title_of(query))
    found = _evidence(store, lexicon, query, scores, matched, meaning, paths, intent)
    for former, heir in successors(store, lexicon, kind, found.words + found.file).items():
        found.inherit(former, heir)
    total = found.said + weights.LESSON_FILE * found.file + weights.LESSON_WORK * found.work
    if intent is Intent.CHANGES:
        floor = weights.LESSON_FLOOR
        if found.words[lexicon.live_chunk].max(initial=0.0) >= EVERY_WORD:
            floor = max(floor, BESIDE_EVERY_WORD * float(total[lexicon.live_chunk].max()))
        alone = max(floor, weights.LESSON_ALONE)
        bears = (total >= alone) | ((total >= floor) & (found.kinds >= MIN_KINDS))
        bar = f"evidence of {floor:.2g} of two kinds, or {alone:.2g} of one"
    elif intent is Intent.FAILS:  # words of every log are no evidence
        # A name such as `TypeError` is two words by itself, so it takes one more.
        is_rare = (found.rarity >= weights.LESSON_RARITY) & (found.shared > MIN_WORDS)
        bears = (found.file > 0) | (found.named > 0) | is_rare
        bar = "a file or a name of the failure, or rare words of it"
    else:
        names_code = bool(query.paths) or any(mention.form in DISTINCTIVE_FORMS for mention in query.symbols)
        bears = (found.matched >= weights.LESSON_SHARE) & (found.shared >= MIN_WORDS)
        bar = f"two words, {weights.LESSON_SHARE:.0%} of the question"
        if intent is Intent.ASKS and not names_code:
            bears |= (found.rarity >= weights.LESSON_RARITY) & (found.shared >= MIN_WORDS)
            bar += ", or two rare ones"
        total = np.maximum(found.said, found.matched)
    live = np.where(lexicon.live_chunk, total, 0.0)
    parts = found.words, found.meaning, found.file, found.work
    return Bearing(np.where(bears, live, 0.0), np.where(bears, 0.0, live), *parts, bar)


def _evidence(
    store: Store,
    lexicon: Lexicon,
    query: Query,
    scores: bm25.Scores,
    matched: FloatArray,
    meaning: FloatArray | None,
    paths: Sequence[str],
    intent: Intent,
) -> _Evidence:
    """Return the evidence of each chunk by itself. Files and kinds of work count only where an intent asks for them."""
    found, total = scores.chunk_occurrences, len(lexicon.live_chunk)
    is_change = intent is Intent.CHANGES
    work = _working(lexicon, query) if is_change else np.zeros(total)
    by_chance = _shares_numbers_alone(lexicon, query, found) & (work == 0)
    words = np.where(by_chance, 0.0, np.bincount(found.units, np.repeat(scores.term_shares, found.sizes), total))
    named_files = paths[:MAX_QUESTION_FILES] if is_change else paths if intent is Intent.FAILS else ()
    return _Evidence(
        words,
        # What has no meaning, as a record that was replaced, speaks by its words alone.
        np.where(lexicon.live_chunk, words if meaning is None else meaning, words),
        np.where(by_chance, 0.0, np.where(lexicon.live_chunk, matched, words)),
        _naming(store, lexicon, named_files) if named_files else np.zeros(total),
        work,
        *_words_of(query, found, lexicon),
        _named(lexicon, query),
    )


def _shares_numbers_alone(lexicon: Lexicon, query: Query, found: bm25.Occurrences) -> npt.NDArray[np.bool_]:
    """Return which chunks have short numbers of a request and no word of it: `release 0.21` and "Shelf 21"."""
    short = [term.term.isdecimal() and len(term.term) <= SHORT_NUMBER for term in query.terms]
    numbers, total = np.array(short, dtype=np.float64), len(lexicon.live_chunk)
    shared = np.bincount(found.units, np.repeat(numbers, found.sizes), total)
    words = np.bincount(found.units, np.repeat(1 - numbers, found.sizes), total)
    shares_numbers: npt.NDArray[np.bool_] = (shared > 0) & (words == 0)
    return shares_numbers


def _named(lexicon: Lexicon, query: Query) -> FloatArray:
    """Return 1 for each chunk that has a name of a request as it is written, such as `RetryError`."""
    written = [mention.text.lower() for mention in query.symbols if mention.form in DISTINCTIVE_FORMS]
    terms = [QueryTerm(f"{EXACT_MARK}{name}", 1.0, 0.0) for name in dict.fromkeys(written)]
    named = np.zeros(len(lexicon.live_chunk))
    for _, chunks in bm25.holders(lexicon, terms, hidden=True) if terms else ():
        named[chunks] = 1.0
    return named


def _words_of(query: Query, found: bm25.Occurrences, lexicon: Lexicon) -> tuple[FloatArray, FloatArray]:
    """Return how many words of a request each chunk has (where it has a single one, two), and how rare they are.

    The rarity is a sum; 1 is that of a word that a single chunk has.
    """
    asked = np.array([0.0 if term.guessed else 1.0 for term in query.terms])
    rarest = bm25.idf(lexicon.chunk_count, 1) or 1.0
    total = len(lexicon.live_chunk)
    count: FloatArray = np.bincount(found.units, np.repeat(asked, found.sizes), total).astype(np.float64)
    rarity = np.bincount(found.units, np.repeat(asked * found.idf / rarest, found.sizes), total).astype(np.float64)
    return (count * MIN_WORDS if asked.sum() < MIN_WORDS else count), rarity


def _working(lexicon: Lexicon, query: Query) -> FloatArray:
    """Return for each chunk how rare the rarest kind of work is that it shares with the request, 0 to 1."""
    found = np.zeros(len(lexicon.live_chunk))
    count = max(lexicon.chunk_count, 2)
    for work in works_of(term.term for term in query.terms if not term.guessed):
        has = np.zeros(len(found), dtype=bool)
        for _, chunks in bm25.holders(lexicon, [QueryTerm(term, 1.0, 0.0) for term in sorted(work)], hidden=True):
            has[chunks] = True
        share = float((has & lexicon.live_chunk).sum()) / count
        if share > 0:
            rarity = min(weights.LESSON_WORK_RARITY * math.log(1 / share) / math.log(count), 1.0)
            found = np.maximum(found, np.where(has, rarity, 0.0))
    return found


def _naming(store: Store, lexicon: Lexicon, paths: Sequence[str]) -> FloatArray:
    """Return for each chunk 1 if its record names the first of these files, 1/2 for the second, and so on.

    A record that names only the folder of a file (`config/`) has half of that.
    """
    found = np.zeros(len(lexicon.live_chunk))
    for index, path in reversed([*enumerate(paths)]):
        folders, _, name = path.rpartition("/")
        for written, word, share in ((f"{folders.rpartition('/')[2]}/", "", 0.5), (name, name.partition(".")[0], 1.0)):
            if len(written) > 1:
                pattern = re.compile(rf"(?<![\w.-]){re.escape(written)}(?!\w)")
                chunks = _written(store, lexicon, word or written, pattern)
                found[chunks] = np.maximum(found[chunks], share / (1 + index))
    return found


def _written(store: Store, lexicon: Lexicon, words: str, pattern: re.Pattern[str]) -> list[int]:
    """Return the chunks that have all of these words, and whose record matches a pattern."""
    terms = [QueryTerm(stem(word.lower()), 1.0, 0.0) for word in re.findall(r"[^\W_]+", words)]
    holding = [frozenset(chunks.tolist()) for _, chunks in bm25.holders(lexicon, terms, hidden=True)] if terms else []
    chunks = sorted(frozenset.intersection(*holding)) if holding else []
    owners = lexicon.columns.document_id[lexicon.columns.chunk_document[chunks]].tolist() if chunks else []
    texts = store.texts(list(dict.fromkeys(owners))) if owners else {}
    return [chunk for chunk, owner in zip(chunks, owners, strict=True) if pattern.search(texts.get(owner, ""))]
