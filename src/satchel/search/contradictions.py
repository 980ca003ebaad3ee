"""Statements about the same matter that cannot both be true now: another value after the same words, or a negation.

"The quota is 5 GB" and "The quota is 50 GB", "Use npm" and "Use pnpm", "Run it" and "Do not run it". It compares words,
knows no meanings, and prefers to miss a contradiction: another subject, an addition or another prohibition is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import starmap
from typing import NamedTuple

from satchel.search import weights
from satchel.text import STOP_WORDS, pattern, word_lists
from satchel.types import Hit

_WORD = pattern(r"https?://\S+|\w+(?:[.:/+#-]\w+)*")
_KNOWN = {heading: frozenset(words) for heading, words in word_lists("statements.txt").items()}
_CONTRACTED = (("don't", "do not"), ("doesn't", "does not"), ("mustn't", "must not"), ("can't", "can not"))


def contradicts(older: str, newer: str) -> bool:
    """Return whether a newer statement says another thing about the same matter."""
    first, second = (_statement(text, weights.STATEMENT_WORDS) for text in (older, newer))
    if first is None or second is None or first.words[:1] != second.words[:1]:
        return False  # the first words are the same in every contradiction
    if first.is_denied != second.is_denied:
        return first.words == second.words
    return not first.is_denied and first.words != second.words and _has_other_value(first, second)


def _has_other_value(older: _Statement, newer: _Statement) -> bool:
    """Return whether the same words are followed by another value."""
    told, said, common = older.words, newer.words, older.distinct & newer.distinct
    earliest = _earliest(told, common & _KNOWN["verbs"])
    if len(common) < weights.COMMON_WORDS or STOP_WORDS.issuperset(common) or told[:earliest] != said[:earliest]:
        return False
    from difflib import SequenceMatcher  # here, because few statements share that much

    steps = [step for step in SequenceMatcher(None, told, said, autojunk=False).get_opcodes() if step[0] != "equal"]
    replaced = [(told[step[1] : step[2]], said[step[3] : step[4]]) for step in steps if step[0] == "replace"]
    return all((
        len(replaced) == 1,
        all(starmap(_is_exchanged, replaced)),
        all(step[1] >= earliest for step in steps),
    ))  # fmt: skip


def _earliest(told: Sequence[str], verbs: frozenset[str]) -> int:
    """Return where another value may begin: after the first verb, else in the second half."""
    return next((place + 1 for place, word in enumerate(told) if word in verbs), (len(told) + 1) // 2)


def _is_exchanged(old: Sequence[str], new: Sequence[str]) -> bool:
    """Return whether a value is replaced by one of its kind, both of a few words."""
    return max(len(old), len(new)) <= weights.EXCHANGED_WORDS and _is_number(old[0]) == _is_number(new[0])


def _is_number(word: str) -> bool:
    return any(letter.isdigit() for letter in word)


class _Statement(NamedTuple):
    """The words of a statement without negations and frame, in order and as a set."""

    words: list[str]
    distinct: frozenset[str]
    is_denied: bool


@lru_cache(1_000)
def _statement(text: str, most_words: int) -> _Statement | None:
    """Return the words of a statement, None if it has none or is too long to be compared."""
    lower = text.lower()
    for short, full in _CONTRACTED:
        lower = lower.replace(short, full)
    written = [word.strip(".") for word in _WORD.findall(lower)[: most_words + 1]]
    if not written or len(written) > most_words:
        return None
    negations = _KNOWN["negations"]
    words = [word for word in written if word not in negations and word not in _KNOWN["frame"]]
    return _Statement(words, frozenset(words), not negations.isdisjoint(written))


def newest_first(hits: Sequence[Hit], text_of: Callable[[int], str]) -> tuple[Hit, ...]:
    """Return hits with each newer statement before what it contradicts, and the older ones marked `replaced_by` it.

    Scores and relevances stay with the places; nothing is left out.
    """
    order = list(hits)
    for older in hits:
        newer = [
            one for one in order if one.chunk.created > older.chunk.created
            and contradicts(text_of(older.chunk.document), text_of(one.chunk.document))
        ]  # fmt: skip
        if newer:
            last = max(newer, key=lambda one: (one.chunk.created, one.chunk.id))
            place = next(n for n, one in enumerate(order) if one.chunk.id == older.chunk.id)
            order[place] = _marked(older, last.chunk.id.partition(":")[2])
            if order.index(last) > place:
                order.remove(last)
                order.insert(place, last)
    return tuple(_placed(one, at) for one, at in zip(order, hits, strict=True))


def _marked(hit: Hit, newer: str) -> Hit:
    return hit._replace(chunk=replace(hit.chunk, fields={**hit.chunk.fields, "replaced_by": newer}))


def _placed(hit: Hit, at: Hit) -> Hit:
    """Return a hit with the score and the relevance of another place."""
    less = 0.001 if "replaced_by" in hit.chunk.fields else 0.0  # equal ones would be in the order of their ids
    score = at.score - less
    spans = tuple(span._replace(value=span.value + score - hit.score) for span in hit.spans)
    return hit._replace(score=score, relevance=at.relevance * (1 - less), spans=spans)
