"""What the footer says on request of the whole answer: how it was counted, what is shortened, what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from satchel.assemble.render import RenderRequest
from satchel.assemble.section import Section
from satchel.tokens import TokenCounter
from satchel.types import ContextItem, Detail

LONGEST_SUMMARY = "999 items shortened, 99,999 candidates left out"
"""Stands in for the summary while the budget is filled: the numbers are known only afterwards, and no larger."""


def footer_name(counter: TokenCounter) -> str:
    """What counted the tokens, and whether that is exact."""
    return f"{counter.name}, {'exact' if counter.exact else 'an estimate'}"


def shortened(items: Sequence[ContextItem]) -> int:
    """How many items are not shown whole."""
    return sum(bool(item.cuts) or (not item.spans and item.detail is not Detail.FULL) for item in items)


def left_out(sections: Sequence[Section]) -> int:
    """How many documents of these sections are not shown at all."""
    shown = {candidate.document.id for section in sections for candidate in section.shown}
    return len({c.document.id for section in sections for c in section.remaining()} - shown)


def summarised(request: RenderRequest, items: Sequence[ContextItem], sections: Sequence[Section]) -> RenderRequest:
    """The frame with the numbers of this answer in it."""
    short, out = shortened(items), left_out(sections)
    parts = [_counted(short, "item", "shortened"), _counted(out, "candidate", "left out")]
    return replace(request, truncated=bool(short or out), summary=", ".join(filter(None, parts)))


def _counted(number: int, noun: str, what: str) -> str:
    return f"{number:,} {noun if number == 1 else noun + 's'} {what}" if number else ""
