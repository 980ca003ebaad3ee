"""Statements about the same matter that cannot both be true now, and which of them comes first.

A newer one contradicts an older one if it gives another value to the same attribute of the same thing ("The quota is
5 GB", "The quota is 50 GB"), if it tells that something was changed ("We renamed the default branch to main"), or if
only one of the two denies the same. It compares words and knows no meanings, so it prefers to miss a contradiction:
what can be true beside the older statement (an addition, another scope, a description) is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, NamedTuple

from msgspec import structs

from satchel.search import weights
from satchel.search.outdated import ends
from satchel.text import pattern, stem, word_lists, wording
from satchel.types import Hit
from satchel.vocabulary import MemoryCategory

_WORD = pattern(r"https?://\S+|[\w#]+(?:[.:/+@#-]+\w+)*[#+]*")
_CONTRACTED = (("don't", "do not"), ("doesn't", "does not"), ("mustn't", "must not"), ("can't", "can not"))
_CLAUSE = pattern(r"[,;]\s|\.\s|\s[-\u2013\u2014]\s|\s\(")
_SENTENCE_START = pattern(r"(?:^|[.!?:]\s+)(\w+)")
_DESCRIBES = pattern(r"\w{2,}(?:ed|ing|ive|able|ible|ful|less|ous|ent|ant|ical|en)$")
_CODED = pattern(r"\d|_|\w[./@-]\w|[a-z][A-Z]|[A-Z]{2}")
_BE = frozenset({"is", "are", "was", "were", "be", "ist", "sind", "war", "est", "sont", "es", "son"})

_EXCHANGED, _CHANGED = wording("an old value beside a new one"), wording("changed to a new value")


@cache
def _known() -> Mapping[str, frozenset[str]]:
    return {heading: frozenset(words) for heading, words in word_lists("statements.txt").items()}


@cache
def _alternatives() -> Mapping[str, frozenset[str]]:
    """Return the headings of the lists of alternatives that have a word."""
    found: dict[str, set[str]] = {}
    for heading, words in word_lists("alternatives.txt").items():
        for word in words:
            found.setdefault(word, set()).add(heading)
    return {word: frozenset(headings) for word, headings in found.items()}


class _Statement(NamedTuple):
    """The words of the main clause of a statement without its frame, in order: as written, and their stems."""

    words: list[str]
    stems: list[str]
    is_denied: bool
    adds: bool
    text: str


def contradicts(older: str, newer: str) -> bool:
    """Return whether a newer statement says another thing about the same matter."""
    first, second = (_statement(text, weights.STATEMENT_WORDS) for text in (older, newer))
    if first is None or second is None:
        return False
    if not first.is_denied and ends(older, newer):
        return True
    if first.is_denied != second.is_denied and _says_the_same(first, second):
        return True
    if first.is_denied or (second.adds and not first.adds):
        return False
    if first.stems == second.stems:  # the value may be behind the first clause
        whole = [_statement(text, weights.STATEMENT_WORDS, whole=True) for text in (older, newer)]
        first, second = whole[0] or first, whole[1] or second
    return _tells_of_change(first, second) or (not second.is_denied and _has_other_value(first, second))


@lru_cache(1_000)
def _statement(text: str, max_words: int, *, whole: bool = False) -> _Statement | None:
    """Return a statement, or all clauses of it, None if it has no words or too many to be compared."""
    folded = text.replace("\u2019", "'")
    for short, full in _CONTRACTED:
        folded = re.sub(short, full, folded, flags=re.IGNORECASE)
    every = _WORD.findall(folded)
    if not every or len(every) > max_words:
        return None
    known = _known()
    clause = folded if whole else _CLAUSE.split(folded.strip(), maxsplit=1)[0]
    written = [word.strip(".") for word in _WORD.findall(clause)]
    lower = [word.lower() for word in written]
    end = next((n for n, word in enumerate(lower) if n and word in known["since"]), len(lower))
    end = len(lower) if end < len(lower) and lower[end] == "as" and lower[end + 1 : end + 2] != ["of"] else end
    negations = known["negations"]
    words = [word for word in written[:end] if word.lower() not in negations | known["frame"] | known["additions"]]
    return _Statement(
        words,
        [_stem(word) for word in words],
        not negations.isdisjoint(lower),
        not known["additions"].isdisjoint(word.lower() for word in every),
        folded,
    )


def _stem(word: str) -> str:
    lower = word.lower()
    return "be" if lower in _BE else stem(lower)


def _says_the_same(older: _Statement, newer: _Statement) -> bool:
    """Return whether statements have the same words, in the same order except for the verb: "files are committed"."""
    lifted = _known()["permissions"]
    told, said = (
        [mark for word, mark in zip(statement.words, statement.stems, strict=True) if word.lower() not in lifted]
        for statement in (older, newer)
    )
    if not told or sorted(told) != sorted(said):
        return False
    return told == said or any(_without(told, mark) == _without(said, mark) for mark in told)


def _without(marks: Sequence[str], mark: str) -> list[str]:
    return [other for other in marks if other != mark]


def _tells_of_change(older: _Statement, newer: _Statement) -> bool:
    """Return whether a newer statement tells that what the older one says was changed."""
    told = frozenset(older.stems)
    said = frozenset(map(_stem, _WORD.findall(newer.text)))
    for match in _EXCHANGED.finditer(newer.text):
        old = next(filter(None, match.groups()))
        gone = [_stem(word) for word in _WORD.findall(old) if word.lower() not in _known()["frame"]][:1]
        topic = told - {*gone, "be", *map(_stem, _known()["prepositions"])}
        if gone and gone[0] in told and (not topic or topic & said):
            return True
    change = _CHANGED.search(newer.text)
    if change is None:
        return False
    subject, verb, value = _parts(older)
    new = [word for word in _WORD.findall(_CLAUSE.split(change["value"])[0]) if word.lower() not in _known()["frame"]]
    is_about = bool(subject) and frozenset(map(_stem, subject)) <= said
    return bool(verb and new) and is_about and _stem(new[0]) not in told and _is_comparable(subject, value, new)


def _parts(statement: _Statement) -> tuple[list[str], str, list[str]]:
    """Return subject, verb and value of a statement; no verb where none is known."""
    verbs = _known()["verbs"]
    index = next((n for n, word in enumerate(statement.words) if word.lower() in verbs), None)
    if index is None:
        return statement.words, "", []
    value = statement.words[index + 1 :]
    while value and (value[0].lower() in _known()["prepositions"] or value[0].lower().endswith(("ed", "en", "pt"))):
        value = value[1:]
    return statement.words[:index], statement.words[index].lower(), value


def _is_comparable(subject: Sequence[str], old: Sequence[str], new: Sequence[str]) -> bool:
    """Return whether two values can be of one attribute: numbers, alternatives, both coded, or of a known attribute."""
    if not old or not new:
        return False
    if _is_number(old[0]) or _is_number(new[0]):
        return _is_number(old[0]) and _is_number(new[0])
    if _are_alternatives(old[0], new[0]):
        return True
    if _describes(old[0]) or _describes(new[0]):
        return False
    return _is_attribute(subject) or all(_is_name(value[0]) for value in (old, new))


def _has_other_value(older: _Statement, newer: _Statement) -> bool:
    """Return whether the same words are followed by another value of the same attribute."""
    if older.stems == newer.stems or not set(older.stems) & set(newer.stems):
        return False
    from difflib import SequenceMatcher  # here, because few statements share that much

    steps = SequenceMatcher(None, older.stems, newer.stems, autojunk=False).get_opcodes()
    changed = [step for step in steps if step[0] != "equal"]
    if len(changed) != 1 or changed[0][0] != "replace":
        return False
    _, start, end, first, last = changed[0]
    old, new = older.words[start:end], newer.words[first:last]
    if max(len(old), len(new)) > weights.EXCHANGED_WORDS or start != first:
        return False
    known, rest = _known(), older.words[end:]
    if start == 0:  # another subject of the same words: only where there is one at a time
        is_owner = bool(rest) and (rest[0].lower() in known["owners"] or _is_role(rest))
        return is_owner and all(word[:1].isupper() and word.lower() not in known["verbs"] for word in (*old, *new))
    verb = next((n for n, word in enumerate(older.words[:start]) if word.lower() in known["verbs"]), None)
    if verb is None and start < (len(older.words) + 1) // 2:
        return False
    before = [word.lower() for word in older.words[:start]]
    subject = older.words[:start] if verb is None else older.words[:verb]
    return _is_exchanged(subject, before, old, new)


def _is_exchanged(subject: Sequence[str], before: Sequence[str], old: Sequence[str], new: Sequence[str]) -> bool:
    """Return whether one value takes the place of another: `before` are the words before both, in lower case."""
    known = _known()
    if any(word.lower() in known["prepositions"] | known["verbs"] and not word.isupper() for word in (*old, *new)):
        return False
    if any(map(_is_number, (*old, *new))):
        return _is_same_quantity(old, new)
    if any(_are_alternatives(first, other) for first in old for other in new):
        return known["many"].isdisjoint(before)
    if any(map(_describes, (*old, *new))):
        return False
    if not known["single"].isdisjoint(before) and _is_proper(old[0]) == _is_proper(new[0]):
        return True
    is_identity = before[-1:] != [] and before[-1] in _BE
    return is_identity and _is_attribute(subject)


def _is_same_quantity(old: Sequence[str], new: Sequence[str]) -> bool:
    """Return whether both are numbers of the same thing: `5 GB`, `50 MB`, `two`, `02:00`."""
    if len(old) != len(new):
        return False
    pairs = list(zip(old, new, strict=True))
    return all(
        (_is_number(first) and _is_number(other)) or _stem(first) == _stem(other) or _are_alternatives(first, other)
        for first, other in pairs
    )


def _is_number(word: str) -> bool:
    return word[:1].isdigit() or "numbers" in _alternatives().get(word.lower(), ())


def _is_name(word: str) -> bool:
    return word[:1].isupper() or _CODED.search(word) is not None


def _is_proper(word: str) -> bool:
    return word[:1].isupper() and not word.isupper()


def _describes(word: str) -> bool:
    """Return whether a word is likely to describe, so that something else may be true beside it."""
    lower = word.lower()
    return not _is_name(word) and (lower in _known()["descriptions"] or _DESCRIBES.fullmatch(lower) is not None)


def _are_alternatives(first: str, other: str) -> bool:
    known = _alternatives()
    return not known.get(first.lower(), frozenset()).isdisjoint(known.get(other.lower(), frozenset()))


def _is_attribute(subject: Sequence[str]) -> bool:
    """Return whether a subject is an attribute with one value: its last word, or that before "of"."""
    lower = [word.lower() for word in subject]
    end = next(
        (n for n, word in enumerate(lower) if n and word in ("of", "for", "in", "von", "der", "des")), len(lower)
    )
    return bool(lower[:end]) and lower[end - 1] in _known()["attributes"]


def _is_role(rest: Sequence[str]) -> bool:
    """Return whether the words after a name say which role somebody has: "is the design lead"."""
    return rest[0].lower() in _BE and len(rest) > 1 and _is_attribute(rest[1:])


def differs_in_fact(left: str, other: str) -> bool:
    """Return whether two texts differ in a name, a number, a verb or a negation, so that neither repeats the other."""
    known = _known()
    told, said = (
        {word: _stem(word.strip(".")) for word in _WORD.findall(re.sub("[\u2019']s\\b", "", text))}
        for text in (left, other)
    )
    only = [word for word, mark in told.items() if mark not in said.values()]
    only += [word for word, mark in said.items() if mark not in told.values()]
    first = frozenset(_SENTENCE_START.findall(left) + _SENTENCE_START.findall(other))
    apart = known["negations"] | known["verbs"]
    return any(_is_number(word) or word.lower() in apart or (_is_name(word) and word not in first) for word in only)


def is_binding(category: object, text: str) -> bool:
    """Return whether a memory is a decision or a prohibition, which a plain later fact does not outrank."""
    if category == MemoryCategory.DECISION:
        return True
    statement = _statement(text, weights.STATEMENT_WORDS)
    return statement is not None and statement.is_denied


def outranks(category: object, text: str, newer_category: object) -> bool:
    """Return whether an older memory stays before one that contradicts it: a decision alone lifts a binding one."""
    return newer_category != MemoryCategory.DECISION and is_binding(category, text)


def newest_first(hits: Sequence[Hit], text_of: Callable[[int], str]) -> tuple[Hit, ...]:
    """Return hits with each newer statement before what it contradicts, the older ones with it as their `newer`.

    A decision or a prohibition stays before a plain later fact, which then has it as its `against`. Scores and
    relevances stay with the places; nothing is left out.
    """
    order = list(hits)
    for older in hits:
        told = text_of(older.chunk.document)
        newer = [
            hit for hit in order if hit.chunk.created > older.chunk.created
            and contradicts(told, text_of(hit.chunk.document))
        ]  # fmt: skip
        if not newer:
            continue
        last = max(newer, key=lambda hit: (hit.chunk.created, hit.chunk.id))
        if outranks(older.chunk.fields.get("category"), told, last.chunk.fields.get("category")):
            first, second = _at(order, older), _marked(_at(order, last), against=older)
        else:
            first, second = _at(order, last), _marked(_at(order, older), newer=last)
        _put(order, first, second)
    return tuple(_placed(hit, at) for hit, at in zip(order, hits, strict=True))


def _at(order: Sequence[Hit], hit: Hit) -> Hit:
    """Return the hit of the same record in its present form."""
    return next(other for other in order if other.chunk.id == hit.chunk.id)


def _put(order: list[Hit], first: Hit, second: Hit) -> None:
    """Put two hits into their places, the first one before the second."""
    indices = sorted(n for n, hit in enumerate(order) if hit.chunk.id in (first.chunk.id, second.chunk.id))
    if order[indices[0]].chunk.id != first.chunk.id:
        order.pop(indices[1])
        order.insert(indices[0], first)
        order[indices[0] + 1] = second
    else:
        order[indices[1]] = second


def _marked(hit: Hit, **others: Hit) -> Hit:
    marks: dict[str, Any] = {name: other.chunk.id.partition(":")[2] for name, other in others.items()}
    return structs.replace(hit, chunk=replace(hit.chunk, fields={**hit.chunk.fields, **marks}))


def _placed(hit: Hit, at: Hit) -> Hit:
    """Return a hit with the score and the relevance of another place."""
    is_second = not {"newer", "against"}.isdisjoint(hit.chunk.fields)
    less = 0.001 if is_second else 0.0  # equal ones would be in the order of their ids
    score = at.score - less
    spans = tuple(structs.replace(span, value=span.value + score - hit.score) for span in hit.spans)
    return structs.replace(hit, score=score, relevance=at.relevance * (1 - less), spans=spans)
