"""The budget that really admits what stayed out: the same question is asked again until it does.

How the budget is filled is no formula: shares are handed on, small candidates slip in before large ones. Estimates were
off by a factor of two either way. Every budget that is named here was tried; one trial serves all that stayed out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from satchel.assemble.receipt import LIMIT
from satchel.types import Context, ContextItem, Omission

MOST_TRIALS = 30
"""Questions asked at most: each takes as long as a warm answer. Thirty steps reach 240 times the budget."""

STEP = 1.2
"""From one trial to the next: 20 % more than needed is close enough to choose a budget by."""

Ask = Callable[[int], Context]
"""Answers the same question with another budget."""


def admitting(omissions: Sequence[Omission], limit: int, ask: Ask, largest: int) -> tuple[Omission, ...]:
    """The omissions, each with a budget that was tried and shows it, in their order.

    `limit` is the budget that did not admit them, `largest` the highest that may be asked for. What no trial showed
    keeps its estimate, unverified.
    """
    waiting = {index: row for index, row in enumerate(omissions) if row.reason != LIMIT}
    settled = list(omissions)
    budget = float(limit)
    for _ in range(MOST_TRIALS):
        if not waiting or budget >= largest:
            break
        budget = min(budget * STEP + 1, largest)
        tried = int(budget)
        shown = ask(tried).items
        for index, row in list(waiting.items()):
            if is_shown(row, shown):
                settled[index] = replace(row, budget=tried, verified=True)
                del waiting[index]
    return tuple(settled)


def is_shown(row: Omission, items: Sequence[ContextItem]) -> bool:
    """Whether these items hold all lines of what stayed out, or the record."""
    if not row.path:
        return any(row.id == item.id or row.id in item.origins for item in items)
    inside = [item for item in items if item.location is not None and item.location.path == row.path]
    return any(
        start <= row.start and row.end <= end
        for item in inside
        if item.source == row.source
        for start, end in item.spans
    )
