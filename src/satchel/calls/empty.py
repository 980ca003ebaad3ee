"""Why an answer holds nothing, and what to do about it: the same everywhere, in the spelling of where it is said."""

from __future__ import annotations

from dataclasses import dataclass

from satchel.text import is_meaningful, words
from satchel.types import Context

NO_GUIDE = "nothing guides this: there is no context.yaml and no instruction file that applies, and nothing was asked"
"""Of a situation."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """How options and commands are written where the reader is."""

    min_score: str = "min_score 0"
    expand: str = "`expand` with its handle"


ARGUMENTS = Spelling()
"""As arguments of a call."""


def all_shown(spelled: Spelling = ARGUMENTS) -> str:
    """For a session that has everything already."""
    return f"this session has received all of it; {spelled.expand} shows it again"


def too_small(context: Context) -> str:
    """What the smallest thing needs that stayed out."""
    needed = min(omission.budget for omission in context.overflow)
    return f"nothing fits into {context.usage.limit:,} tokens: the smallest item needs about {needed:,}"


def no_items(context: Context, nothing: str, spelled: Spelling = ARGUMENTS) -> str:
    """Of an answer without items: everything was shown before, nothing fits, or what `nothing` says."""
    if context.shown_before:
        return all_shown(spelled)
    return too_small(context) if context.overflow else nothing


def no_answer(context: Context, spelled: Spelling = ARGUMENTS) -> str:
    """Of an answer to a question."""
    if not any(is_meaningful(word) for word in words(context.query)):
        return "nothing to look for: the question has only words that occur everywhere; name a thing or a behaviour"
    if context.meta.get("revision") == "0" and not context.overflow:
        return "nothing is indexed here yet: run `satchel index`"
    return no_items(
        context, f"nothing here is relevant to the question; {spelled.min_score} shows even weak matches", spelled
    )


def no_walk(context: Context) -> str:
    """Of a walk without text."""
    if context.meta["reached"]:
        return f"{context.usage.limit:,} tokens are too few even for the frame of an answer: give 500 or more"
    if context.meta["revision"] == "0":
        return "nothing is indexed here yet: run `satchel index`"
    return "nothing here is about that: try other words, or the id of a node (`satchel search` shows ids)"
