"""What an older record relies on is gone: a newer one tells it in other words, and nobody linked the two.

"The team licence of the editor expired" ends "Contractors get the team licence of the editor", and "config/ is written
each night, edits there are lost" ends "Marks are kept in config/marks.toml". Such a pair shares a name and no sentence,
so it is told by what the newer one says about this name.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import NamedTuple

from satchel.search import weights
from satchel.text import pattern, stem, word_lists, wording

MIN_NAME = 2
"""Words of a name, unless it is coded as `atlas-2` or `#ship`."""

_GONE, _GONE_BEFORE = wording("gone"), wording("taken away, before what it is")
_LOST, _KEPT = wording("an edit there is lost"), wording("kept at a place")
_PATH = pattern(r"(?<![\w/.-])(?:[\w.-]+/)+(?:[\w.-]*\w)?|(?<![\w/.-])\w[\w-]*\.(?:[a-z]{1,4}|toml|json)\b")
_CLAUSE_END = pattern(r"[,;:.!?](?:\s|$)|\s[-\u2013\u2014]\s")
_WORD = pattern(r"[#@]?\w+(?:[-_.]\w+)*")
_CODED = pattern(r"\d|_|^[#@]|\w[.-]\w|[a-z][A-Z]")


@cache
def _left_out() -> frozenset[str]:
    lists = word_lists("statements.txt")
    return frozenset({*lists["frame"], *lists["prepositions"], "their", "its", "his", "her"})


class _Told(NamedTuple):
    """What a statement tells: its words, the names that it says are gone, and the paths of it."""

    words: tuple[str, ...]
    gone: tuple[tuple[str, ...], ...]
    paths: frozenset[str]
    is_kept: bool
    is_lost: bool


def ends(older: str, newer: str) -> bool:
    """Return whether a newer statement tells that something is gone on which an older one relies."""
    first, second = _told(older), _told(newer)
    if not first.gone and any(_has_name(first.words, name) for name in second.gone):
        return True
    return first.is_kept and second.is_lost and not first.is_lost and _shares_place(first, second)


@lru_cache(1_000)
def _told(text: str) -> _Told:
    words = _content(text)
    if len(words) > weights.STATEMENT_WORDS:
        return _Told((), (), frozenset(), is_kept=False, is_lost=False)
    gone: list[tuple[str, ...]] = []
    begin = 0
    for end in [*(match.span() for match in _CLAUSE_END.finditer(text)), (len(text), len(text))]:
        clause = text[begin : end[0]]
        begin = end[1]
        if (passive := _GONE.search(clause)) is not None:
            gone.append(_content(clause[: passive.start()]))
        if (active := _GONE_BEFORE.search(clause)) is not None:
            gone.append(_content(active["what"]))
    names = tuple(name for name in gone if len(name) >= MIN_NAME or (name and _CODED.search(name[0])))
    paths = frozenset(_PATH.findall(text))
    return _Told(words, names, paths, is_kept=_KEPT.search(text) is not None, is_lost=_LOST.search(text) is not None)


def _content(text: str) -> tuple[str, ...]:
    """Return the stems of the words of a text, without those that join them; coded words as they are."""
    words = (word for word in _WORD.findall(text) if word.lower() not in _left_out())
    return tuple(word if _CODED.search(word) else stem(word.lower()) for word in words)


def _has_name(words: Sequence[str], name: Sequence[str]) -> bool:
    """Return whether a statement has all words of a name, one after the other."""
    size = len(name)
    return any(tuple(words[index : index + size]) == tuple(name) for index in range(len(words) - size + 1))


def _shares_place(older: _Told, newer: _Told) -> bool:
    """Return whether both name the same path, or the newer one the folder of a file, and something that is in both."""
    if older.paths & newer.paths:
        return True
    folders = {path.rpartition("/")[0] + "/" for path in older.paths}
    parts = {part for path in older.paths for part in path.replace(".", "/").split("/")}
    shared = {stem(word.lower()) for word in _split(older.words)} & {stem(word.lower()) for word in _split(newer.words)}
    return bool(folders & newer.paths) and bool(shared - {stem(part.lower()) for part in parts})


def _split(words: Sequence[str]) -> list[str]:
    parts = chain.from_iterable(word.replace("-", "_").replace(".", "_").split("_") for word in words)
    return [part for part in parts if len(part) > 1]
