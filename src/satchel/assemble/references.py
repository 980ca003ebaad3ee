"""What a session has already, in the text of its next answer: one line each, counted like everything else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from satchel.assemble.render import RenderRequest, render
from satchel.assemble.render.frame import shown_before_entry
from satchel.tokens import TokenCounter
from satchel.types import Format, ShownBefore

LINES_SHARE = 0.1
"""Of the budget, what these lines may take beside items: some twenty of them in 4,000 tokens; the new comes first."""

LINE_TOKENS = 6
"""`Shown before: ` with its line end in the plainest format; XML and JSON write it a token longer."""


def with_references(
    rendering: RenderRequest, known: Sequence[ShownBefore], counter: TokenCounter, max_tokens: int
) -> RenderRequest:
    """The frame with as many references as have room beside items, the first ones first; the others are a number."""
    return _first(rendering, known, len(within_room(known, counter, max_tokens * LINES_SHARE)))


def within_room(known: Sequence[ShownBefore], counter: TokenCounter, room: float) -> Sequence[ShownBefore]:
    """The first of them, as many as about `room` tokens hold."""
    for count, one in enumerate(known):
        room -= counter.count(shown_before_entry(one)) + LINE_TOKENS
        if room < 0:
            return known[:count]
    return known


def references_alone(
    rendering: RenderRequest, known: Sequence[ShownBefore], counter: TokenCounter, max_tokens: int, layout: Format
) -> tuple[str, int]:
    """The text of an answer that has nothing new, and its tokens: as many references as fit; empty if none does."""
    best, used = "", 0
    least, most = 0, len(known)
    while least < most:
        middle = (least + most + 1) // 2
        text = render(_first(rendering, known, middle), (), format=layout)
        tokens = counter.count(text)
        if tokens <= max_tokens:
            least, best, used = middle, text, tokens
        else:
            most = middle - 1
    return best, used


def _first(rendering: RenderRequest, known: Sequence[ShownBefore], count: int) -> RenderRequest:
    return replace(rendering, shown_before=tuple(known[:count]), shown_before_more=len(known) - count)
