"""The strength of an answer, the words of the question that occur nowhere, and files that are not the answer."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache, partial
from itertools import chain, groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec import Struct

from satchel import lazy_numpy as np
from satchel import text as words
from satchel.search import bm25, weights
from satchel.search.bm25 import FloatArray
from satchel.search.query import PLACE, SENTENCES, Query, Zone, without_words
from satchel.search.shipped import shipped
from satchel.sources.roles import Peripheral, asked_peripherals, file_role, peripheral_role
from satchel.store.protocol import Store
from satchel.store.segments import Lexicon, distinct
from satchel.text import pattern
from satchel.types import Kind

if TYPE_CHECKING:
    import numpy.typing as npt

LONG_QUESTION = 40
"""Words of a longer text, which is an issue or a message: only its title and its inline code are sure to be about the
project when words that occur nowhere are listed."""


def relevance_of(strength: float, share: float = 1.0, rank: float = 1.0) -> float:
    """Return the probability that an item is needed for the answer, 0 to .46; 0 where nothing matches.

    `strength` is that of the answer of its kind, `share` the match of the item in parts of the best one, `rank` its
    place among the hits of its kind, from 1.
    """
    return relevances_of(strength, (share,), (rank,))[0]


def relevances_of(strength: float, shares: Iterable[float], ranks: Iterable[float]) -> list[float]:
    """Return `relevance_of` for each of the items of one kind."""
    full = weights.LARGEST_ODDS * math.pow(strength, weights.STRENGTH_EXPONENT)
    every = [full * share / math.pow(rank, weights.PLACE_EXPONENT) for share, rank in zip(shares, ranks, strict=True)]
    return [odds / (1 + odds) for odds in every]


def strength_at(relevance: float) -> float:
    """Return the strength, at most 1, of an answer whose first item has this relevance (see `relevance_of`)."""
    odds = relevance / max(1 - relevance, 1e-9)
    return min(math.pow(odds / weights.LARGEST_ODDS, 1 / weights.STRENGTH_EXPONENT), 1.0)


def lifted(relevance: float, factor: float) -> float:
    """Return a relevance for an answer that is `factor` times as strong."""
    odds = relevance * math.pow(factor, weights.STRENGTH_EXPONENT)
    return odds / (1 - relevance + odds)


def places_of(scores: Sequence[float]) -> list[int]:
    """Return the places, from 1, of scores in falling order; equal scores share a place."""
    places: list[int] = []
    for index, score in enumerate(scores):
        places.append(places[-1] if index and score == scores[index - 1] else index + 1)
    return places


class Evidence(Struct, frozen=True):
    """Signals of the answer of one kind, each 0 to 1, and the number of search terms.

    `title` is the best match of a chunk with the first line, as a share of the largest possible; `spans` is the share
    of the question's idf mass in the best spans; `named` is how clearly the question names a definition. `floor` is the
    least strength where the question names one that its words do not tell from others.
    """

    title: float
    spans: float
    named: float
    terms: int
    floor: float = 0.0

    @property
    def strength(self) -> float:
        """0 to 1; 0 where nothing matches."""
        if self.spans <= 0 and self.named <= 0:
            return self.floor
        log_odds = (
            weights.STRENGTH_TITLE * self.title
            + weights.STRENGTH_SPANS * self.spans
            + weights.STRENGTH_NAMED * self.named
            + weights.STRENGTH_LENGTH * math.log1p(self.terms)
            + weights.STRENGTH_BIAS
        )
        return max(1 / (1 + math.exp(-log_odds)), self.floor)


def spans_share(matched: FloatArray, live: int) -> float:
    """Return the mean matched share of the best spans of a corpus, one value a span; dead ones, with 0, do not count.

    `live` is the number of the others.
    """
    count = min(max(live // weights.SPANS_FOR_EACH, 1), weights.BEST_SPANS, live)
    return float(matched[bm25.largest(matched, count)].mean()) if count else 0.0


def title_share(scores: FloatArray, possible: float) -> float:
    """Return the best BM25 score of the first line, as a share of the largest that its terms allow."""
    return float(scores.max(initial=0.0)) / (possible * (weights.K1 + 1)) if possible > 0 else 0.0


def answer_strength(strengths: Mapping[Kind, float]) -> float:
    """Return how well a question is answered by all kinds together, 0 to 1.

    Commits count only alone: one that shares the words of a question does not say that the code is here.
    """
    counted = {kind: value for kind, value in strengths.items() if kind is not Kind.COMMIT} or strengths
    return max(counted.values(), default=0.0)


MAX_ABSENT = 6
"""Most absent words in an answer; more of them add nothing."""

SHORTEST_WORD = 3

_INLINE_CODE = pattern(r"`([^`\n]{1,200})`")

COMMON_WORDS = frozenset(Path(__file__).with_name("common_words.txt").read_text(encoding="utf-8").split())
"""Words that say little about the subject of a question in any project; the last ones are those of other languages."""

_HUMPS = words.pattern(r"(?<=[a-z\d])(?=[A-Z])")

_ENDINGS = ("", *words.ENGLISH["endings"])
_SHORT_FORMS = dict(pair.split("=") for pair in words.ENGLISH["short forms"])

Has = Callable[[Iterable[str]], bool]
BoolArray: TypeAlias = "npt.NDArray[np.bool_]"
Zones = tuple[tuple[Zone, str], ...]


def absent_words(query: Query, lexicons: Iterable[Lexicon]) -> tuple[str, ...]:
    """Return the content words of a question, as written and in its order, that occur in none of these lexicons."""
    searched = [lexicon for lexicon in lexicons if lexicon.chunk_count]
    endings, content_words = _subject(query)
    pair = _FEATURE.search(title_of(query))
    if not searched or not (content_words or pair):
        return ()
    spelled = [term for word in content_words for term in _spellings(words.unaccented(word))]
    present = _present(
        {*spelled, *(term for word in content_words for term in words.terms_of(words.unaccented(word)))}, searched
    )
    waiting = [word for word in content_words if not _is_present(word, lambda terms: not present.isdisjoint(terms))]
    forms = partial(_forms, tuple(map(words.unaccented, endings)))
    waiting = [word for word in waiting if not _is_present(word, lambda terms: bool(_present(terms, searched)), forms)]
    absent = tuple(islice((word for word in waiting if not _is_in_pieces(word, forms, searched)), MAX_ABSENT))
    if pair and {*pair.groups()}.isdisjoint(absent) and not _is_pair(pair, forms, searched):
        absent = (f"{pair['first']} {pair['second']}", *absent)[:MAX_ABSENT]
    return absent


def words_of_tests(query: Query, searched: Iterable[tuple[Store, Kind]]) -> tuple[str, ...]:
    """Return the plain content words of a short question that only tests, examples and code of others have.

    Names are left out: who names a definition of a test asks for it.
    """
    if query.asks_for_tests or is_long(query):
        return ()
    endings, subject = _subject(query)
    content_words = [words.unaccented(word).lower() for word in subject if not words.is_compound(word)]
    stores = [(store, kind, store.lexicon(kind)) for store, kind in searched] if content_words else []
    lexicons = [lexicon for _, _, lexicon in stores]
    primary = [lexicon.derived(words_of_tests, partial(_primary, store, kind)) for store, kind, lexicon in stores]
    if all(is_primary is lexicon.live_document for is_primary, lexicon in zip(primary, lexicons, strict=True)):
        return ()
    first = {word: words.term_of(word) for word in content_words}
    present = _present(first.values(), lexicons, primary)
    forms = {
        word: {term, *_forms(tuple(map(words.unaccented, endings)), word)}
        for word, term in first.items()
        if term not in present
    }
    every = {term for terms in forms.values() for term in terms}
    if every:
        present, everywhere = _present(every, lexicons, primary), _present(every, lexicons)
        forms = {word: terms for word, terms in forms.items() if not terms.isdisjoint(everywhere)}
    return tuple(word for word, terms in forms.items() if terms.isdisjoint(present))


def _primary(store: Store, kind: Kind) -> BoolArray:
    """Return a mask of the documents of a kind without tests, examples and what others wrote."""
    lexicon = store.lexicon(kind)
    if kind is Kind.CODE:
        supports: BoolArray = (lexicon.columns.document_secondary > 0) & ~shipped(store, lexicon)
        return lexicon.live_document & ~supports if supports.any() else lexicon.live_document
    keys = [key for key in store.iterate_keys(kind) if kind.traits.is_prose and file_role(key) in _ROLES_OF_TESTS]
    if not keys:
        return lexicon.live_document
    positions = lexicon.document_positions(store.document_ids(kind, keys).values())
    mask = lexicon.live_document.copy()
    mask[positions[positions >= 0]] = False
    return mask


_ROLES_OF_TESTS = frozenset({"fixture", "test", "testing"})


_FEATURE = words.wording("asks whether there is")


def is_pair(word: str) -> bool:
    """Return whether an absent word is the name of a feature in two words, which may both occur apart."""
    return " " in word


def _is_pair(pair: re.Match[str], forms: Callable[[str], Iterable[str]], lexicons: Sequence[Lexicon]) -> bool:
    """Return whether the two words of a feature occur together in a few lines.

    A project with a rate here and a limit there has no rate limit.
    """
    first, second = map(str.lower, pair.groups())
    if _present([words.stem(first + second)], lexicons):
        return True
    written = [[words.EXACT_MARK + word, *forms(word)] for word in (first, second)]
    return any(_are_together(written, lexicon) for lexicon in lexicons)


def is_long(query: Query) -> bool:
    """Return whether a question is a longer text: an issue or a message."""
    return _is_long(query.zones)


def _is_long(zones: Zones) -> bool:
    return sum(len(line.split()) for zone, line in zones if zone in SENTENCES) > LONG_QUESTION


def sure_sentences(query: Query) -> str:
    """Return the sentences of a question that are about the project: of a long text, the title alone."""
    lines = [line for zone, line in query.zones if zone in SENTENCES]
    return title_of(query) if is_long(query) else "\n".join(lines)


class _Subject(NamedTuple):
    """The endings of the language of a question, none for English, and the words about its subject, each once."""

    endings: tuple[str, ...]
    words: tuple[str, ...]


def _subject(query: Query) -> _Subject:
    return _subject_of(query.zones, weights.ABSENT_NAME_LETTERS)


@lru_cache(maxsize=4)  # several steps of an answer ask for those of one question
def _subject_of(zones: Zones, name_letters: int) -> _Subject:
    stop, endings = words.other_language("\n".join(line for _, line in zones))
    return _Subject(endings, tuple(_content_words(zones, stop, name_letters)))


def _content_words(zones: Zones, stop: AbstractSet[str], name_letters: int) -> Iterator[str]:
    """Yield the words about the subject of a question, each once; `stop` are the stop words if it is not English.

    In a long text a name has at least `name_letters`.
    """
    lines = [(zone, line) for zone, line in zones if zone in SENTENCES]
    is_message = _is_long(zones)
    seen = {*stop}
    for zone, line in lines:
        line = PLACE.sub(" ", line)
        marked = {word for match in _INLINE_CODE.finditer(line) for word in words.words(match[1])}
        for index, word in enumerate(words.words(words.without_particles(line))):
            name = word.strip("_$")
            is_code = word in marked or words.is_compound(word)
            is_sure = zone is Zone.TITLE or not is_message or (len(name) >= name_letters and is_code)
            # Other languages have forms that no ending tells (`renouveler`, `renouvelle`): their names and the nouns of
            # German are sure.
            is_english = word.isascii() and not stop
            is_sure &= is_english or is_code or words.is_unspaced(word) or (index > 0 and word[0].isupper())
            if is_sure and name.lower() not in seen and _is_content_word(name):
                seen.add(name.lower())
                yield name


def without_own_names(query: Query, names: AbstractSet[str]) -> Query:
    """Return the question without the names of its repository (in lower case), if other words tell its subject.

    All files are about them: `how does flask sign a cookie` asks in flask how a cookie is signed. A name that is a
    common word (`requests`) is mostly meant as that.
    """
    names = {name for name in names if COMMON_WORDS.isdisjoint({name, words.stem(name)})}
    told = {word.lower() for word in _subject(query).words}
    return without_words(query, names) if told & names and told - names else query


_UNINFLECTED = words.pattern(r"[\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff]{2}")
"""A word of Chinese characters or katakana. Words with other letters of Japanese, and those of Korean, have endings."""


def _is_content_word(word: str) -> bool:
    letters = sum(map(str.isalpha, word))
    if words.is_unspaced(word):
        return _UNINFLECTED.search(word) is not None
    return (
        letters >= SHORTEST_WORD
        and len(word) <= words.MAX_WORD_CHARACTERS
        and word.lower() not in words.STOP_WORDS
        and word.lower() not in COMMON_WORDS
    )


def _is_present(word: str, has: Has, forms: Callable[[str], Iterable[str]] | None = None) -> bool:
    """Return whether a word occurs, a compound in any spelling. `forms` gives other forms of a plain word."""
    first, *parts = words.terms_of(words.unaccented(word))
    if has([first, *_spellings(words.unaccented(word))]):
        return True
    if words.is_unspaced(word):  # a text with one of its pairs may have it in other words
        return has(parts)
    return not parts and forms is not None and has(forms(words.unaccented(word).lower()))


def _is_in_pieces(word: str, forms: Callable[[str], Iterable[str]], lexicons: Iterable[Lexicon]) -> bool:
    """Return whether the parts of a word occur together in a few lines.

    `GraphQL` is not where one file has a graph and another a list of `ql` tokens.
    """
    _, *parts = words.terms_of(words.unaccented(word))
    if not parts or words.is_unspaced(word):
        return any(_is_joined(words.unaccented(word).lower(), lexicon) for lexicon in lexicons)
    if len(parts) == 2 and parts[1].isdigit():  # `socks5` is a name: a text with socks and a 5 does not contain it
        return False
    # Letters and digits in a row are one piece, as in `S3Client`; a letter alone tells nothing.
    runs = groupby(parts, key=lambda part: len(part) == 1)
    joined = chain.from_iterable(["".join(run)] if is_single else run for is_single, run in runs)
    pieces = [piece for piece in joined if len(piece) > 1]
    written = [[piece, words.EXACT_MARK + piece, *forms(piece)] for piece in pieces]
    return any(lexicon.chunk_count and _are_together(written, lexicon) for lexicon in lexicons)


def _are_together(pieces: Iterable[Iterable[str]], lexicon: Lexicon) -> bool:
    """Return whether any span has a term of each of these pieces, in its text, the name of its chunk or its path."""
    chunk, document = lexicon.columns.span_chunk, lexicon.span_document
    together = lexicon.live_document[document]
    for terms in pieces:
        in_body, in_name, in_path = (
            np.zeros(length, dtype=bool) for length in (len(chunk), len(lexicon.live_chunk), len(lexicon.live_document))
        )
        for postings in lexicon.postings(sorted({*terms})):
            for mask, (units, _) in ((in_body, postings.body), (in_name, postings.name), (in_path, postings.path)):
                mask[units] = True
        together &= in_body | in_name[chunk] | in_path[document]
    return bool(together.any())


def _is_joined(word: str, lexicon: Lexicon) -> bool:
    """Return whether both halves of a word occur in one place, as those of `websocket` do in `openWebSocket`."""
    halves = [(word[:at], word[at:]) for at in range(SHORTEST_WORD, len(word) - SHORTEST_WORD + 1)]
    terms = sorted({words.stem(half) for pair in halves for half in pair})
    postings = dict(zip(terms, lexicon.postings(terms), strict=True))
    return any(
        len(left) and len(other) and len(np.intersect1d(left, other, assume_unique=True))
        for first, second in halves
        for (left, _), (other, _) in zip(
            *(
                (postings_of_term.body, postings_of_term.name, postings_of_term.path)
                for postings_of_term in (postings[words.stem(first)], postings[words.stem(second)])
            ),
            strict=True,
        )
    )


def _forms(endings: Sequence[str], word: str) -> list[str]:
    """Return search terms of other forms of a lower-case word: inflected, derived, abbreviated, as an identifier.

    `endings` are those of the language of the question, empty for English.
    """
    roots = {word}
    for ending in _ENDINGS:
        root = word.removesuffix(ending)
        if len(root) >= 4:  # shortest root
            roots |= {root, root[:-1]} if root[-1] == root[-2] else {root}
    forms = {words.stem(root + ending) for root in roots for ending in _ENDINGS}
    forms |= {words.stem(form) for form in (*words.forms(word, endings), words.spelling(word)) if form}
    forms |= {short for long, short in _SHORT_FORMS.items() if words.stem(long) == words.stem(word)}
    forms.add(words.EXACT_MARK + word)
    forms |= {f"{words.EXACT_MARK}{word[:at]}_{word[at:]}" for at in range(2, len(word) - 1)}
    return sorted(forms)


def _present(terms: Iterable[str], lexicons: Sequence[Lexicon], among: Sequence[BoolArray] = ()) -> set[str]:
    """Return those of the terms that occur anywhere; `among` are masks of the documents that count, by default all."""
    missing, present = sorted(terms), set[str]()
    masks = among or [lexicon.live_document for lexicon in lexicons]
    for lexicon, is_live in zip(lexicons, masks, strict=True):
        rows = lexicon.in_segments(_present, missing, lambda found: 200 + 4 * len(found), partial(_holders, lexicon))
        held = ((term, found) for row in rows for term, found in zip(missing, row, strict=True))
        present |= {term for term, found in held if any(is_live[document] for document in found)}
        missing = [term for term in missing if term not in present]
    return present


def present_names(names: Iterable[str], lexicons: Iterable[Lexicon]) -> list[str]:
    """Return the names of which every word occurs as it is written: a guess that is wrong must not weigh by its parts.

    `loadPickle` occurs where `load_pickle` does, not where `load` and `pickle` do.
    """
    spelled = {name: [_spellings(word) for word in words.words(name)] for name in names}
    searched = [lexicon for lexicon in lexicons if lexicon.chunk_count]
    every = set(chain.from_iterable(chain.from_iterable(spelled.values())))
    present = _present(every, searched) if every else set()
    return [name for name, written in spelled.items() if written and not any(map(present.isdisjoint, written))]


def _spellings(word: str) -> set[str]:
    """Return the terms of a word, and of a compound as one word, in camel case and with underscores."""
    first = words.terms_of(word)[:1]
    if not words.is_compound(word):
        return {*first}
    parts = [part for part in _HUMPS.sub("_", word).lower().split("_") if part]
    return {*first, words.EXACT_MARK + "_".join(parts), words.EXACT_MARK + "".join(parts), words.stem("".join(parts))}


def _holders(lexicon: Lexicon, terms: Sequence[str], segments: Sequence[int]) -> list[list[npt.NDArray[np.uint32]]]:
    """Return for each of these segments the documents that have each term in a body, a name or a path."""
    (in_body, spans, _), (in_name, chunks, _), _, (in_path, documents, _), _ = lexicon.runs(terms, segments)
    owners = lexicon.span_document[spans], lexicon.columns.chunk_document[chunks], documents
    total = max(len(lexicon.live_document), 1)
    keys = distinct(np.concatenate([in_body, in_name, in_path]) * total + np.concatenate(owners))
    found = keys % total
    shares = bm25.divided(lexicon, 2, keys // total, found, len(terms), segments)
    return [[found[own].astype(np.uint32) for own in row] for row in shares]


_ROLES = tuple(Peripheral)


class _Roles(Struct, frozen=True):
    """The index of each document's role, -1 for an ordinary one, and the paths of the peripheral ones."""

    role: npt.NDArray[np.int8]
    paths: dict[int, str]


def demoted_documents(query: Query, store: Store, lexicon: Lexicon, kind: Kind, scores: bm25.Scores) -> BoolArray:
    """Return a mask of the documents of a kind of files that rank lower."""
    roles = lexicon.derived(_Roles, lambda: _roles(store, lexicon, kind))
    if not roles.paths:
        return np.zeros(len(roles.role), dtype=bool)
    requested = [_ROLES.index(role) for role in asked_peripherals(title_of(query))]
    demoted = (roles.role >= 0) & lexicon.live_document & ~np.isin(roles.role, requested)
    mentioned = [mention.text.lower().strip("/") for mention in query.paths]
    for position, path in roles.paths.items() if mentioned else ():
        if any(_is_named(path.lower(), name) for name in mentioned):
            demoted[position] = False
    return demoted & ~_far_better(query, store, lexicon, kind, scores, demoted)


def title_of(query: Query) -> str:
    """Return the first line of a question, its subject; the rest of an issue names many other things."""
    return next((line for zone, line in query.zones if zone is Zone.TITLE), "")


def _is_named(path: str, mention: str) -> bool:
    return f"/{path}".endswith(f"/{mention}") or f"/{path}".startswith(f"/{mention}/")


_role = lru_cache(maxsize=1 << 16)(peripheral_role)
"""The role of a path, the same in every revision."""


def _roles(store: Store, lexicon: Lexicon, kind: Kind) -> _Roles:
    """Return the roles of all files of a kind."""
    is_prose = kind is not Kind.CODE
    role_of = {path: role for path in store.iterate_keys(kind) if (role := _role(path, is_prose=is_prose))}
    ids = store.document_ids(kind, role_of)
    positions = lexicon.document_positions(ids.values()).tolist()
    roles = np.full(len(lexicon.columns.document_id), -1, dtype=np.int8)
    paths = {position: path for path, position in zip(ids, positions, strict=True) if position >= 0}
    for position, path in paths.items():
        roles[position] = _ROLES.index(role_of[path])
    return _Roles(roles, paths)


def _far_better(
    query: Query, store: Store, lexicon: Lexicon, kind: Kind, scores: bm25.Scores, demoted: BoolArray
) -> BoolArray:
    """Return the documents in `demoted` with a chunk that matches far better than any other file."""
    best = bm25.best_of_each(scores.chunk_matched, lexicon.document_first_chunk, lexicon.document_chunk_count)
    ordinary = lexicon.live_document & ~demoted & (lexicon.columns.document_secondary == 0)
    bar = float(scores.document_matched[ordinary].max(initial=0.0))
    better = demoted & (best > 0) & (best >= weights.FAR_BETTER * bar)
    if kind is not Kind.CODE and better.any():
        code = store.lexicon(Kind.CODE)
        matched = bm25.score(code, query.terms).document_matched[
            code.live_document & (code.columns.document_secondary == 0)
        ]
        better &= best >= weights.FAR_BETTER * float(matched.max(initial=0.0))
    return better
