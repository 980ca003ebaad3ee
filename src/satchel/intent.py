"""What a request wants, told by its wording."""

from __future__ import annotations

from enum import StrEnum

from satchel.text import wording


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
