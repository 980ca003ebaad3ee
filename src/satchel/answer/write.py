"""The last stage: the text of what is packed, counted once a round, and what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from satchel.answer import weights
from satchel.answer.companions import rest_of_best
from satchel.answer.fill_policy import FILL, FillPolicy
from satchel.answer.inputs import ITEM_SHARE
from satchel.answer.items import build_items, linked, shortened
from satchel.answer.omissions import PlaceList, left_out, listed, omission_of, omissions, places
from satchel.answer.packing import BUDGET, FRAMES, LIMIT, REFILLS, SMALLEST_PIECE, VALUE, Inputs, Packing
from satchel.answer.plans import Plan
from satchel.answer.render import RenderRequest, Stop, render, render_with_usage
from satchel.answer.render.frame import (
    OMISSIONS_SHOWN,
    failure_entry,
    related_entries,
    shown_before_entry,
)
from satchel.answer.request import AssembleRequest
from satchel.answer.sections import Group, Section
from satchel.safety import sanitize
from satchel.safety.sanitize import marks
from satchel.safety.trust import nonce
from satchel.tokens import TokenCounter, counter
from satchel.types import (
    UNFINISHED,
    Context,
    ContextItem,
    Failure,
    Format,
    Kind,
    ShownBefore,
    Trust,
    Usage,
)

if TYPE_CHECKING:
    from satchel.answer.hops import Hop

RELATED_SHARE = 0.1
"""Share of the budget reserved for the names of neighbours, where they are asked for."""

SENT_SHARE = 0.1
"""Share of the budget for references to items that a session has: some twenty in 4,000 tokens; new items come first."""

FEW_NOTES_TOKENS = 60
"""Most tokens of that larger share."""

FEW_NOTES_SHARE = 0.25
"""A larger share for at most `FEW_NOTES_TOKENS`, which shows the first note in a small answer, too."""

NOTES_SHARE = 0.15
"""Largest share of the budget for notes about failures. The others are counted; all of them are in the result."""


NUMBER_TOKENS, PLACE_TOKENS = 2, 35
"""Tokens of the number before a line and of a line of places."""

NOTE_TOKENS = 50
"""Tokens of the footer: the tokens used, and the best omission with its handle."""

LONGEST_SUMMARY = "999 items shortened, 99,999 candidates left out"
"""Placeholder of the summary while the budget is filled: the true numbers are known later, and are not larger."""

WEAK, PLACES = "weak", "places"
STOPS = {
    WEAK: Stop.WEAK,
    PLACES: Stop.NAMED,
    BUDGET: Stop.FULL,
    VALUE: Stop.NOT_WORTH_IT,
    LIMIT: Stop.NOT_WORTH_IT,
    UNFINISHED: Stop.UNFINISHED,
}

UNPLANNED = Plan(())


class Marking(Protocol):
    """The key of nonces, and patterns of texts that look like secrets but are not."""

    @property
    def key(self) -> bytes:
        """The user's key."""

    @property
    def allow(self) -> tuple[str, ...]:
        """Patterns of texts that look like secrets but are not."""


class Fitted(NamedTuple):
    """The outcome of fitting: the text, its tokens, its items, and what is packed; empty when not even the frame fits.

    `stopped` says why nothing more is shown: "places" (the best of the rest are named), "budget", "weak", "value",
    "limit", or empty where nothing more was found. Where nothing fits, `needed` is a budget (tokens) that shows an
    item, close to the least one; 0 if that is unknown. The text names these `places`.
    """

    packing: Packing
    text: str = ""
    used: int = 0
    items: tuple[ContextItem, ...] = ()
    stopped: str = ""
    needed: int = 0
    places: PlaceList = PlaceList()


FindPlaces = Callable[[Packing], Sequence["Hop"]]
"""Returns places to look at next: what the shown lines use, and what the question names."""

Relate = Callable[[Sequence[ContextItem], Packing], Sequence[ContextItem]]
"""Returns the items with the neighbours of what they show."""


class Filling(NamedTuple):
    """All that decides what an answer shows.

    `sent` are references to what the session has; the neighbours that `relate` adds are named as far as they fit.
    `terms` are those of the question; `find_places` finds places to look at next.
    """

    request: AssembleRequest
    marking: Marking
    sections: Sequence[Section]
    failures: Sequence[Failure] = ()
    plan: Plan = UNPLANNED
    sent: Sequence[ShownBefore] = ()
    policy: FillPolicy = FILL
    relate: Relate | None = None
    terms: AbstractSet[str] = frozenset()
    find_places: FindPlaces | None = None

    @property
    def tokens(self) -> TokenCounter:
        """The counter of the request."""
        return counter(self.request.tokenizer)

    @property
    def inputs(self) -> Inputs:
        """The candidates, and how they may fill the answer."""
        request, policy = self.request, self.policy
        return Inputs(
            self.sections,
            self.tokens,
            FRAMES[request.format],
            value_range=policy.value_range,
            record_range=max(policy.value_range, weights.VALUE_RANGE),
            prose_range=policy.prose_range,
            most_items=policy.most_items,
            shares=policy.shares,
            chunk_share=ITEM_SHARE if policy.shares else 1.0,
            chunk_tokens=request.whole_item_tokens,
            shows_lines=request.show_code,
            is_strict=policy.is_strict,
            line_tokens=NUMBER_TOKENS if request.places else 0,
            unsure=policy.unsure,
            least_cut=2 * SMALLEST_PIECE if request.fill else None,
        )


def fit(filling: Filling) -> Fitted:
    """Choose candidates and write the text, which is counted exactly and never over the limit."""
    request, policy = filling.request, filling.policy
    fitted = _filled(filling)
    if fitted.items or filling.sent or request.max_tokens >= weights.LEAST_NAMED:
        return fitted

    def shows_item(budget: int) -> bool:
        limit = weights.LEAST_SHORT if policy.is_weak or policy.not_found else budget
        limited = policy._replace(limit=min(limit, budget) if policy.limit else 0, first=0)
        asked = replace(request, max_tokens=budget)
        return bool(_filled(filling._replace(request=asked, sent=(), policy=limited, relate=None)).items)

    return fitted._replace(needed=_least_budget(shows_item, request.max_tokens) if filling.sections else 0)


def _least_budget(shows_item: Callable[[int], bool], too_small: int) -> int:
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
    request, tokens = filling.request, filling.tokens
    alone = frame = _frame(filling)
    if filling.sent:
        within = within_room(filling.sent, tokens, request.max_tokens * SENT_SHARE)
        frame = _referring(alone, filling.sent, len(within))
    packing = Packing(filling.inputs, 0)
    if filling.sections:
        limit = filling.policy.first or filling.policy.limit or request.max_tokens
        is_small = request.max_tokens < weights.LEAST_NAMED
        noted = 0 if is_small else NOTE_TOKENS + int(request.max_tokens * weights.LIST_SHARE)
        noted += _room_of_places(filling, limit)
        room = limit - tokens.count(render(frame, (), format=request.format)) - noted
        reserved = int(request.max_tokens * RELATED_SHARE) if filling.relate is not None else 0
        packing = Packing(filling.inputs, room - reserved).fit()
        page = _Page(filling, frame)
        fitted = page.within(packing, room - reserved, limit - reserved)
        if request.places and fitted.items and not (is_small or filling.policy.is_cut or filling.policy.unsure):
            fitted = page.with_best_whole(packing, fitted)
        if fitted.items and filling.policy.first:
            fitted = page.with_further_files(packing, fitted, filling.policy.limit - reserved)
        if filling.relate is not None and fitted.items:
            fitted = page.most_related(packing, filling.relate(fitted.items, packing))
        if fitted.items and fitted.used <= request.max_tokens:
            return fitted
    text, used = _without_items(alone, filling.sent, tokens, request.max_tokens, request.format)
    return Fitted(packing, text, used, (), packing.why_stopped)


def _room_of_places(filling: Filling, limit: int) -> int:
    """Return the tokens that are kept for places, of a weak answer a share however many there are."""
    request = filling.request
    if not request.places:
        return 0
    share = weights.FEW_PLACES_SHARE if request.max_tokens < weights.LEAST_NAMED else weights.PLACES_SHARE
    room = int(limit * share)
    return room if filling.policy.is_cut else min(room, request.places * PLACE_TOKENS)


class _Page:
    """Writes and counts the text of a packing. Items are built once for each group; places give way to items."""

    def __init__(self, filling: Filling, frame: RenderRequest) -> None:
        self._filling, self._frame = filling, frame
        self._built: dict[Group, ContextItem] = {}
        self._hops: dict[tuple[Group, ...], Sequence[Hop]] = {}

    def within(self, packing: Packing, room: int, limit: int) -> Fitted:
        """Return the text of at most `limit` tokens; `room` is what its items may take by estimate.

        The written text is counted; remaining room is filled again, and while the text is over the limit the last
        admissions are withdrawn.
        """
        fitted = self.write(packing)
        for _ in range(REFILLS):
            left = limit - fitted.used
            if self._filling.request.places and not self._filling.request.fill:
                # What is kept for places is free where there are fewer.
                spare = _room_of_places(self._filling, limit) - len(fitted.places.rows) * PLACE_TOKENS
                left = min(left, room - packing.used + (0 if self._filling.policy.is_cut else max(spare, 0)))
            if not packing.is_full or left < SMALLEST_PIECE or not packing.refill(left):
                break
            fitted = self.write(packing)
        over, packed = fitted.used - limit, packing.used
        fitted = self._cut(packing, fitted, limit)
        # Sources and summaries of given results are not in the estimates: what was withdrawn may fit shortened.
        if over > 0 and not packing.inputs.is_strict and packing.refill(packed - packing.used - over):
            fitted = self._cut(packing, self.write(packing), limit)
        for _ in range(REFILLS):  # larger than estimated: try again in less room
            if fitted.items or room < SMALLEST_PIECE:
                break
            room //= 2
            packing.refill(room)
            fitted = self._cut(packing, self.write(packing), limit)
        return fitted

    def with_best_whole(self, packing: Packing, fitted: Fitted) -> Fitted:
        """Return the text with the rest of the best function, beyond the usual room, if it takes few tokens."""
        shown = (
            (section, candidate)
            for section in packing.groups
            for candidate in packing.shown
            if candidate in section.candidates
        )
        section, best = max(shown, key=lambda pair: pair[1].value, default=(None, None))
        if section is None or best is None:
            return fitted
        rest = rest_of_best(best, packing.groups[section][best.group])
        if rest is None:
            return fitted
        room = int(rest.size * 1.3) + 20  # tokens by count, with the numbers of its lines, are more than by estimate
        if not packing.offer(section, rest, min(room, self._filling.request.max_tokens - fitted.used)):
            return fitted
        whole = self.write(packing)
        return whole if whole.used <= self._filling.request.max_tokens else fitted

    def with_further_files(self, packing: Packing, fitted: Fitted, limit: int) -> Fitted:
        """Return the text with files of which nothing was shown, below the others, in at most `limit` tokens."""
        room = limit - fitted.used
        if room < weights.LEAST_CUT or not packing.refill_elsewhere(room):
            return fitted
        return self._cut(packing, self.write(packing), limit)

    def most_related(self, packing: Packing, items: Sequence[ContextItem]) -> Fitted:
        """Return the text with the names of as many neighbours as fit."""
        least, most = 0, len(related_entries(items))
        best = self.write(packing, items)
        while least < most:
            middle = (least + most + 1) // 2
            fitted = self.write(packing, items, middle)
            if fitted.used <= self._filling.request.max_tokens:
                least, best = middle, fitted
            else:
                most = middle - 1
        return best

    def write(
        self,
        packing: Packing,
        changed: Sequence[ContextItem] = (),
        related: int = 0,
        *,
        most_places: int | None = None,
    ) -> Fitted:
        """Return the text of what is packed; of `changed` items, with the names of so many `related` definitions.

        Without `most_places` as many places are named as the request has, and all places to look at next.
        """
        filling, request = self._filling, self._filling.request
        items = changed or build_items(packing, filling.marking.key, self._built)
        if not items:
            return Fitted(packing)
        stopped, policy = packing.why_stopped, filling.policy
        if not stopped and shortened([item for item in items if not policy.is_strict or item.source == Kind.CONTEXT]):
            stopped = BUDGET  # given results and guidance are shortened for lack of room only
        if not stopped and any(note.source == UNFINISHED for note in filling.failures):
            stopped = UNFINISHED
        if stopped == BUDGET and policy.is_cut and policy.limit < request.max_tokens:
            stopped = WEAK
        shown = summarised(self._frame, items, packing) if request.show_meta else self._frame
        hops = self._next(packing)
        most = request.places if most_places is None else most_places
        named = places(packing, filling.terms, most, hops) if most else PlaceList()
        stopped = PLACES if named.rows and stopped != WEAK else stopped
        shown = shown._replace(related=related, places=named.lines)
        if request.max_tokens >= 300:  # smallest budget (tokens) whose footer states the tokens used
            omitted = list(listed(packing)) if request.max_tokens >= weights.LEAST_NAMED else []
            count = 0 if request.places else OMISSIONS_SHOWN
            first = tuple(omission_of(packing, *row, 0) for row in omitted[:count])
            stop, more = str(STOPS.get(stopped, Stop.COMPLETE)), len(omitted) - len(first)
            if stopped == WEAK and not policy.is_weak:  # the head says so where nothing answers well
                stop = str(_short_because(policy))
            if stopped == PLACES and packing.is_full and 0 < policy.limit < request.max_tokens:
                stop = f"{stop} (at most {policy.limit:,} tokens, --fill shows more)"
            shown = shown._replace(limit=request.max_tokens, stopped=stop, overflow=first, overflow_more=more)
        text, used = render_with_usage(shown, items, request.format, filling.tokens.count)
        return Fitted(packing, text, used, tuple(items), stopped, places=named)

    def _next(self, packing: Packing) -> Sequence[Hop]:
        """Return the places to look at next, found once for the same items."""
        find_places, shown = (
            self._filling.find_places,
            tuple(group for groups in packing.groups.values() for group in groups.values()),
        )
        if find_places is None or not self._filling.request.places:
            return ()
        if shown not in self._hops:
            self._hops[shown] = find_places(packing)
        return self._hops[shown]

    def _cut(self, packing: Packing, fitted: Fitted, limit: int) -> Fitted:
        while (over := fitted.used - limit) > 0:
            fewer = max(len(fitted.places.rows) - over // PLACE_TOKENS - 1, 0)
            if not fitted.places.rows and not packing.take_back(over):
                break
            fitted = self.write(packing, most_places=fewer)
        return fitted


def _frame(filling: Filling) -> RenderRequest:
    request, tokens, policy, plan = filling.request, filling.tokens, filling.policy, filling.plan
    notes = sanitize.failures(filling.failures, filling.marking.allow)
    shown = _notes_shown(notes, tokens, request.max_tokens)
    return RenderRequest(
        not_found=policy.not_found,
        past=policy.past,
        of_tests=policy.of_tests,
        left_out=policy.left_out,
        weak=policy.is_weak,
        call_sites=policy.call_sites,
        hunks=policy.hunks,
        hunks_nonce=nonce(filling.marking.key, "change", "\n".join(policy.hunks)) if policy.hunks else "",
        query=sanitize.text(request.query, filling.marking.allow),
        show_sources=request.show_sources,
        show_handles=request.show_handles,
        show_code=request.show_code,
        is_numbered=bool(request.places or (request.change is not None and request.max_tokens >= weights.LEAST_NAMED)),
        group_by_type=request.group_by_type,
        failures=notes[:shown],
        failures_more=len(notes) - shown,
        tokenizer=f"{tokens.name}, {'exact' if tokens.exact else 'an estimate'}" if request.show_meta else "",
        truncated=request.show_meta,
        summary=LONGEST_SUMMARY if request.show_meta else "",
        view=request.view,
        workspaces=request.workspaces,
        lead=request.lead,
        title=plan.title,
        based_on=plan.based_on,
        has_guidance=any(c.trust is Trust.GUIDANCE for section in filling.sections for c in section.candidates),
    )


def _notes_shown(notes: Sequence[Failure], tokens: TokenCounter, budget: int) -> int:
    """Return how many of these notes are written."""
    room = max(budget * NOTES_SHARE, min(budget * FEW_NOTES_SHARE, FEW_NOTES_TOKENS))
    for count, note in enumerate(notes):
        room -= tokens.count(failure_entry(note)) + 1
        if room < 0:
            return count
    return len(notes)


def _without_items(
    frame: RenderRequest, sent: Sequence[ShownBefore], tokens: TokenCounter, max_tokens: int, layout: Format
) -> tuple[str, int]:
    """Return an answer without items, with references and words that were not found if they fit, and its tokens."""
    summary = frame._replace(truncated=False, summary="", weak=False)
    if sent:
        return references_alone(summary, sent, tokens, max_tokens, layout)
    if not (frame.not_found or frame.of_tests or frame.left_out or frame.hunks):
        return "", 0
    text = render(summary, (), format=layout)
    used = tokens.count(text)
    return (text, used) if used <= max_tokens else ("", 0)


def context_of(filling: Filling, fitted: Fitted, meta: Mapping[str, Any]) -> Context:
    """Return the context of a fitted text, with its omissions, references and failures."""
    request = filling.request
    tokens = filling.tokens
    redacted = marks(fitted.text)
    needed = {"needed_tokens": fitted.needed} if fitted.needed else {}
    named = {"places": [row.data for row in fitted.places.rows]} if filling.request.places else {}
    limit = filling.policy.limit or request.max_tokens
    is_weak, has_places = fitted.stopped == WEAK, bool(request.places and fitted.items)
    overflow = omissions(fitted.packing, fitted.used, request.max_tokens, limit, is_weak=is_weak, has_places=has_places)
    return Context(
        query=sanitize.text(request.query),
        text=fitted.text,
        format=request.format,
        items=linked(fitted.items),
        usage=Usage(request.max_tokens, fitted.used, tokens.name, tokens.exact, fitted.stopped),
        overflow=overflow,
        sources_used=dict(Counter(Kind(item.source).plural for item in fitted.items)),
        failures=sanitize.failures(filling.failures),
        meta={**meta, **({"redacted": redacted} if redacted else {}), **needed, **named},
        shown_before=tuple(filling.sent),
    )


def summarised(frame: RenderRequest, items: Sequence[ContextItem], packing: Packing) -> RenderRequest:
    """Return the frame with the numbers of this answer in it."""
    short, omitted = shortened(items), left_out(packing)
    parts = [_numbered(short, "item", "shortened"), _numbered(omitted, "candidate", "left out")]
    return frame._replace(truncated=bool(short or omitted), summary=", ".join(filter(None, parts)))


def _short_because(policy: FillPolicy) -> Stop:
    """Return why an answer is short that is not a weak match."""
    if not policy.not_found:
        return Stop.TESTS
    return Stop.HISTORY if {*policy.not_found} <= {*policy.past} else Stop.ABSENT


def _numbered(number: int, noun: str, what: str) -> str:
    return f"{number:,} {noun if number == 1 else noun + 's'} {what}" if number else ""


def within_room(sent: Sequence[ShownBefore], tokens: TokenCounter, room: float) -> Sequence[ShownBefore]:
    """Return as many of the first references as fit into about `room` tokens."""
    for count, before in enumerate(sent):
        # `Shown before: ` with its line end in the plainest format; XML and JSON write it a token longer.
        room -= tokens.count(shown_before_entry(before)) + 6
        if room < 0:
            return sent[:count]
    return sent


def references_alone(
    frame: RenderRequest, sent: Sequence[ShownBefore], tokens: TokenCounter, max_tokens: int, layout: Format
) -> tuple[str, int]:
    """Return the text of an answer with references only, as many as fit, and its tokens; empty if none fits."""
    best, used = "", 0
    least, most = 0, len(sent)
    while least < most:
        middle = (least + most + 1) // 2
        text = render(_referring(frame, sent, middle), (), format=layout)
        size = tokens.count(text)
        if size <= max_tokens:
            least, best, used = middle, text, size
        else:
            most = middle - 1
    return best, used


def _referring(frame: RenderRequest, sent: Sequence[ShownBefore], count: int) -> RenderRequest:
    return frame._replace(shown_before=tuple(sent[:count]), shown_before_more=len(sent) - count)
