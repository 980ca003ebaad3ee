"""What a request wants, and which kinds of work it is about, told by its wording."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from functools import cache

from satchel.text import stem, word_lists, wording


class Intent(StrEnum):
    """What a request wants: to be told something, the same behaviour in another form, or another behaviour.

    The output of a failed command wants to be told what failed like it; its wording does not say so.
    """

    ASKS = "asks"
    TIDIES = "tidies"
    CHANGES = "changes"
    FAILS = "fails"


_ASKS, _TIDIES = wording("asks to be told"), wording("asks to tidy")


def intent_of(title: str) -> Intent:
    """Return what a request wants, by its first line."""
    if _ASKS.search(title):
        return Intent.ASKS
    return Intent.TIDIES if _TIDIES.search(title) else Intent.CHANGES


@cache
def _kinds_of_work() -> tuple[frozenset[str], ...]:
    """Return the stems of each kind of work."""
    return tuple(frozenset(map(stem, words)) for words in word_lists("work.txt").values())


def works_of(terms: Iterable[str]) -> tuple[frozenset[str], ...]:
    """Return the kinds of work, each as its stems, of which a text has a word."""
    present = frozenset(terms)
    return tuple(work for work in _kinds_of_work() if not work.isdisjoint(present))
