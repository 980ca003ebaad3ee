"""How an answer comes to fit its budget: candidates are packed, the text is written and counted, and packed again.

Only here and in `Packing` itself does a packing change; `write` gives the text of what is packed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from msgspec import structs

from satchel.answer import weights
from satchel.answer.companions import rest_of_best
from satchel.answer.packing import REFILLS, SMALLEST_PIECE, Packing
from satchel.answer.render import render
from satchel.answer.render.frame import related_entries
from satchel.answer.write import SENT_SHARE, Filling, Fitted, Page, frame_of, referring, within_room, without_items
from satchel.tokens import count_within
from satchel.types import ContextItem

RELATED_SHARE = 0.1
"""Share of the budget reserved for the names of neighbours, where they are asked for."""

PLACE_TOKENS = 35
"""Tokens of a line of places."""

NOTE_TOKENS = 50
"""Tokens of the footer: the tokens used, and the best omission with its handle."""


def refilled(fitted: Fitted, write: Callable[[], Fitted], room_beside: Callable[[Fitted], int]) -> Fitted:
    """Return the text with what fits into the room that a counted text leaves (tokens)."""
    for _ in range(REFILLS):
        room = room_beside(fitted)
        if room < SMALLEST_PIECE or not fitted.packing.refill(room):
            break
        fitted = write()
    return fitted


def cut(fitted: Fitted, limit: int, shorter: Callable[[Fitted, int], Fitted | None]) -> Fitted:
    """Return the text in at most `limit` tokens, or as short as it can be.

    `shorter` returns a text with about so many tokens less, None if there is none.
    """
    while (over := fitted.used - limit) > 0 and (other := shorter(fitted, over)) is not None:
        fitted = other
    return fitted


def fit(filling: Filling) -> Fitted:
    """Choose candidates and write the text, which is counted exactly and never over the limit."""
    budget, policy = filling.budget, filling.policy
    fitted = _filled(filling)
    if fitted.items or filling.sent or budget.max_tokens >= weights.MIN_NAMED:
        return fitted

    def shows_item(tokens: int) -> bool:
        limit = weights.MIN_SHORT if policy.is_weak or policy.not_found else tokens
        limited = structs.replace(policy, limit=min(limit, tokens) if policy.limit else 0, first=0)
        tried = structs.replace(
            filling, budget=replace(budget, max_tokens=tokens), sent=(), policy=limited, relate=None
        )
        return bool(_filled(tried).items)

    return structs.replace(fitted, needed=_min_budget(shows_item, budget.max_tokens) if filling.sections else 0)


def _min_budget(shows_item: Callable[[int], bool], too_small: int) -> int:
    """Return a budget that shows an item, at most 2 % above the least one; 0 if none of the usual ones does."""
    enough = too_small * 2
    while not shows_item(enough):
        too_small, enough = enough, enough * 2
        if enough > 8_000:  # largest budget (tokens) that is tried where nothing fits
            return 0
    while enough - too_small > max(enough // 50, 1):
        middle = (too_small + enough) // 2
        too_small, enough = (too_small, middle) if shows_item(middle) else (middle, enough)
    return enough


def _filled(filling: Filling) -> Fitted:
    budget, tokens = filling.budget, filling.tokens
    alone = frame = frame_of(filling)
    if filling.sent:
        within = within_room(filling.sent, tokens, budget.max_tokens * SENT_SHARE)
        frame = referring(alone, filling.sent, len(within))
    packing = Packing(filling.inputs, 0)
    if filling.sections:
        limit = filling.policy.first or filling.policy.limit or budget.max_tokens
        is_small = budget.max_tokens < weights.MIN_NAMED
        noted = 0 if is_small else NOTE_TOKENS + int(budget.max_tokens * weights.LIST_SHARE)
        noted += _room_of_places(filling, limit)
        reserved = int(budget.max_tokens * RELATED_SHARE) if filling.relate is not None else 0
        room = limit - tokens.count(render(frame, (), format=filling.form.format)) - noted - reserved
        packing = Packing(filling.inputs, room).fit()
        page = Page(filling, frame, packing)
        fitted = _within(page, room, limit - reserved)
        if budget.is_for_tools and fitted.items and not (is_small or filling.policy.is_cut or filling.policy.unsure):
            fitted = _with_best_whole(page, fitted)
        if fitted.items and filling.policy.first:
            fitted = _with_further_files(page, fitted, filling.policy.limit - reserved)
        if filling.relate is not None and fitted.items:
            fitted = _most_related(page, filling.relate(fitted.items, packing))
        if fitted.items and fitted.used <= budget.max_tokens:
            return fitted
    text, used = without_items(alone, filling.sent, tokens, budget.max_tokens, filling.form.format)
    return Fitted(packing, text, used, (), packing.why_stopped)


def _room_of_places(filling: Filling, limit: int) -> int:
    """Return the tokens that are kept for places, of a weak answer a share however many there are."""
    budget = filling.budget
    if not budget.is_for_tools:
        return 0
    share = weights.FEW_PLACES_SHARE if budget.max_tokens < weights.MIN_NAMED else weights.PLACES_SHARE
    room = int(limit * share)
    return room if filling.policy.is_cut else min(room, budget.places * PLACE_TOKENS)


def _within(page: Page, room: int, limit: int) -> Fitted:
    """Return the text of at most `limit` tokens; `room` is what its items may take by estimate.

    The written text is counted; remaining room is filled again, and while the text is over the limit the last
    admissions are withdrawn.
    """
    filling, packing = page.filling, page.packing

    def room_beside(fitted: Fitted) -> int:
        left = limit - fitted.used
        if not filling.budget.is_for_tools or filling.budget.fill:
            return left
        # What is kept for places is free where there are fewer.
        spare = _room_of_places(filling, limit) - len(fitted.places.listed) * PLACE_TOKENS
        return min(left, room - packing.used + (0 if filling.policy.is_cut else max(spare, 0)))

    fitted = refilled(page.write(), page.write, room_beside)
    over, packed = fitted.used - limit, packing.used
    fitted = _cut(page, fitted, limit)
    # Sources and summaries of given results are not in the estimates: what was withdrawn may fit shortened.
    if over > 0 and not packing.inputs.is_strict and packing.refill(packed - packing.used - over):
        fitted = _cut(page, page.write(), limit)
    for _ in range(REFILLS):  # larger than estimated: try again in less room
        if fitted.items or room < SMALLEST_PIECE:
            break
        room //= 2
        packing.refill(room)
        fitted = _cut(page, page.write(), limit)
    return fitted


def _cut(page: Page, fitted: Fitted, limit: int) -> Fitted:
    """Return the text in at most `limit` tokens; places give way to items."""

    def shorter(fitted: Fitted, over: int) -> Fitted | None:
        named = len(fitted.places.listed)
        if not named and not page.packing.take_back(over):
            return None
        return page.write(max_places=max(named - over // PLACE_TOKENS - 1, 0))

    return cut(fitted, limit, shorter)


def _with_best_whole(page: Page, fitted: Fitted) -> Fitted:
    """Return the text with the rest of the best function, beyond the usual room, if it takes few tokens."""
    packing, max_tokens = page.packing, page.filling.budget.max_tokens
    shown = (
        (section, candidate)
        for section in packing.groups
        for candidate in section.candidates
        if candidate in packing.shown
    )
    section, best = max(shown, key=lambda pair: pair[1].value, default=(None, None))
    if section is None or best is None:
        return fitted
    rest = rest_of_best(best, packing.groups[section][best.group])
    if rest is None:
        return fitted
    room = int(rest.size * 1.3) + 20  # tokens by count, with the numbers of its lines, are more than by estimate
    if not packing.offer(section, rest, min(room, max_tokens - fitted.used)):
        return fitted
    whole = page.write()
    return whole if whole.used <= max_tokens else fitted


def _with_further_files(page: Page, fitted: Fitted, limit: int) -> Fitted:
    """Return the text with files of which nothing was shown, below the others, in at most `limit` tokens."""
    room = limit - fitted.used
    if room < weights.MIN_CUT or not page.packing.refill_elsewhere(room):
        return fitted
    return _cut(page, page.write(), limit)


def _most_related(page: Page, items: Sequence[ContextItem]) -> Fitted:
    """Return the text with the names of as many neighbours as fit."""
    maximum, limit = len(related_entries(items)), page.filling.budget.max_tokens
    return page.write(items, count_within(maximum, limit, lambda count: page.write(items, count).used))
