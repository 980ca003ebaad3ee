"""The last stage: the text of what is packed, counted once a round, and what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from satchel.answer import weights
from satchel.answer.fill_policy import FILL, FillPolicy
from satchel.answer.inputs import ITEM_SHARE
from satchel.answer.items import build_items, linked, shortened
from satchel.answer.omissions import KnownPlaces, PlaceList, left_out, listed, omission_of, omissions, places
from satchel.answer.packing import BUDGET, FRAMES, LIMIT, SMALLEST_PIECE, VALUE, Inputs, Packing
from satchel.answer.plans import Plan
from satchel.answer.render import RenderRequest, Stop, render, render_with_usage
from satchel.answer.render.frame import (
    OMISSIONS_SHOWN,
    failure_entry,
    shown_before_entry,
)
from satchel.answer.request import Asked, Budget, TextForm
from satchel.answer.sections import Group, Section
from satchel.safety import sanitize
from satchel.safety.sanitize import marks
from satchel.safety.trust import nonce
from satchel.tokens import TokenCounter, count_within, counter, first_within
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

SENT_SHARE = 0.1
"""Share of the budget for references to items that a session has: some twenty in 4,000 tokens; new items come first."""

FEW_NOTES_TOKENS = 60
"""Most tokens of that larger share."""

FEW_NOTES_SHARE = 0.25
"""A larger share for at most `FEW_NOTES_TOKENS`, which shows the first note in a small answer, too."""

NOTES_SHARE = 0.15
"""Largest share of the budget for notes about failures. The others are counted; all of them are in the result."""


NUMBER_TOKENS = 2
"""Tokens of the number before a line."""

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


class Fitted(Struct, frozen=True):
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
"""Returns places to look at next beside the matches, as `hops.Hops` does."""

Relate = Callable[[Sequence[ContextItem], Packing], Sequence[ContextItem]]
"""Returns the items with the neighbours of what they show."""


class Filling(Struct, frozen=True):
    """All that decides what an answer shows.

    `sent` are references to what the session has; the neighbours that `relate` adds are named as far as they fit.
    `terms` are those of the question; `find_places` finds places to look at next. `first_kind` is the kind that comes
    first.
    """

    asked: Asked
    budget: Budget
    form: TextForm
    marking: Marking
    sections: Sequence[Section]
    failures: Sequence[Failure] = ()
    plan: Plan = UNPLANNED
    sent: Sequence[ShownBefore] = ()
    policy: FillPolicy = FILL
    relate: Relate | None = None
    terms: AbstractSet[str] = frozenset()
    find_places: FindPlaces | None = None
    first_kind: Kind | None = None
    workspaces: tuple[str, ...] = ()

    @property
    def tokens(self) -> TokenCounter:
        """The counter of the budget."""
        return counter(self.budget.tokenizer)

    @property
    def inputs(self) -> Inputs:
        """The candidates, and how they may fill the answer."""
        budget, policy = self.budget, self.policy
        return Inputs(
            self.sections,
            self.tokens,
            FRAMES[self.form.format],
            value_range=policy.value_range,
            record_range=max(policy.value_range, weights.VALUE_RANGE),
            prose_range=policy.prose_range,
            max_items=policy.max_items,
            shares=policy.shares,
            chunk_share=ITEM_SHARE if policy.shares else 1.0,
            chunk_tokens=budget.whole_item_tokens,
            shows_lines=self.form.show_code,
            is_strict=policy.is_strict,
            line_tokens=NUMBER_TOKENS if budget.is_for_tools else 0,
            unsure=policy.unsure,
            min_cut=2 * SMALLEST_PIECE if budget.fill else None,
        )


class Page:
    """Writes and counts the text of a packing. Items are built once for each group, places once for their lines."""

    def __init__(self, filling: Filling, frame: RenderRequest, packing: Packing) -> None:
        self.filling, self._frame, self.packing = filling, frame, packing
        self._built: dict[Group, ContextItem] = {}
        self._hops: dict[tuple[Group, ...], Sequence[Hop]] = {}
        self._places: KnownPlaces = {}

    def write(self, changed: Sequence[ContextItem] = (), related: int = 0, *, max_places: int | None = None) -> Fitted:
        """Return the text of what is packed; of `changed` items, with the names of so many `related` definitions.

        Without `max_places` as many places are named as the request has, and all places to look at next.
        """
        filling, budget, packing = self.filling, self.filling.budget, self.packing
        items = changed or build_items(packing, filling.marking.key, self._built)
        if not items:
            return Fitted(packing)
        stopped, policy = packing.why_stopped, filling.policy
        if not stopped and shortened([item for item in items if not policy.is_strict or item.source == Kind.CONTEXT]):
            stopped = BUDGET  # given results and guidance are shortened for lack of room only
        if not stopped and any(note.source == UNFINISHED for note in filling.failures):
            stopped = UNFINISHED
        if stopped == BUDGET and policy.is_cut and policy.limit < budget.max_tokens:
            stopped = WEAK
        shown = summarised(self._frame, items, packing) if filling.form.show_meta else self._frame
        hops = self._next()
        limit = budget.places if max_places is None else max_places
        named = places(packing, filling.terms, limit, hops, self._places) if limit else PlaceList()
        stopped = PLACES if named.listed and stopped != WEAK else stopped
        shown = replace(shown, related=related, places=named.lines)
        if budget.max_tokens >= 300:  # smallest budget (tokens) whose footer states the tokens used
            omitted = list(listed(packing)) if budget.max_tokens >= weights.MIN_NAMED else []
            count = 0 if budget.is_for_tools else OMISSIONS_SHOWN
            first = tuple(omission_of(packing, *listed_candidate, 0) for listed_candidate in omitted[:count])
            stop, more = str(STOPS.get(stopped, Stop.COMPLETE)), len(omitted) - len(first)
            if stopped == WEAK and not policy.is_weak:  # the head says so where nothing answers well
                stop = str(_short_because(policy))
            if stopped == PLACES and packing.is_full and 0 < policy.limit < budget.max_tokens:
                stop = f"{stop} (at most {policy.limit:,} tokens, --fill shows more)"
            shown = replace(shown, limit=budget.max_tokens, stopped=stop, overflow=first, overflow_more=more)
        text, used = render_with_usage(shown, items, filling.form.format, filling.tokens.count)
        return Fitted(packing, text, used, tuple(items), stopped, places=named)

    def _next(self) -> Sequence[Hop]:
        """Return the places to look at next, found once for the same items."""
        find_places = self.filling.find_places
        if find_places is None or not self.filling.budget.is_for_tools:
            return ()
        shown = tuple(group for groups in self.packing.groups.values() for group in groups.values())
        if shown not in self._hops:
            self._hops[shown] = find_places(self.packing)
        return self._hops[shown]


def frame_of(filling: Filling) -> RenderRequest:
    """Return everything that is written around the items of an answer."""
    budget, form, policy, plan = filling.budget, filling.form, filling.policy, filling.plan
    tokens = filling.tokens
    notes = sanitize.failures(filling.failures, filling.marking.allow)
    shown = _notes_shown(notes, tokens, budget.max_tokens)
    return RenderRequest(
        not_found=policy.not_found,
        past=policy.past,
        of_tests=policy.of_tests,
        left_out=policy.left_out,
        weak=policy.is_weak,
        call_sites=policy.call_sites,
        hunks=policy.hunks,
        hunks_nonce=nonce(filling.marking.key, "change", "\n".join(policy.hunks)) if policy.hunks else "",
        query=filling.asked.query,
        form=form,
        is_numbered=bool(
            budget.is_for_tools or (filling.asked.change is not None and budget.max_tokens >= weights.MIN_NAMED)
        ),
        failures=notes[:shown],
        failures_more=len(notes) - shown,
        tokenizer=f"{tokens.name}, {'exact' if tokens.exact else 'an estimate'}" if form.show_meta else "",
        truncated=form.show_meta,
        summary=LONGEST_SUMMARY if form.show_meta else "",
        workspaces=filling.workspaces,
        first_kind=filling.first_kind,
        title=plan.title,
        based_on=plan.based_on,
        has_guidance=any(c.trust is Trust.GUIDANCE for section in filling.sections for c in section.candidates),
    )


def _notes_shown(notes: Sequence[Failure], tokens: TokenCounter, budget: int) -> int:
    """Return how many of these notes are written."""
    room = max(budget * NOTES_SHARE, min(budget * FEW_NOTES_SHARE, FEW_NOTES_TOKENS))
    return first_within((tokens.count(failure_entry(note)) + 1 for note in notes), room)


def without_items(
    frame: RenderRequest, sent: Sequence[ShownBefore], tokens: TokenCounter, max_tokens: int, layout: Format
) -> tuple[str, int]:
    """Return an answer without items, with references and words that were not found if they fit, and its tokens."""
    summary = replace(frame, truncated=False, summary="", weak=False)
    if sent:
        return references_alone(summary, sent, tokens, max_tokens, layout)
    if not (frame.not_found or frame.of_tests or frame.left_out or frame.hunks):
        return "", 0
    text = render(summary, (), format=layout)
    used = tokens.count(text)
    return (text, used) if used <= max_tokens else ("", 0)


def context_of(filling: Filling, fitted: Fitted, meta: Mapping[str, Any]) -> Context:
    """Return the context of a fitted text, with its omissions, references and failures."""
    budget, tokens = filling.budget, filling.tokens
    redacted = marks(fitted.text)
    needed = {"needed_tokens": fitted.needed} if fitted.needed else {}
    named = {"places": [location.data for location in fitted.places.listed]} if filling.budget.is_for_tools else {}
    limit = filling.policy.limit or budget.max_tokens
    is_weak, has_places = fitted.stopped == WEAK, bool(budget.is_for_tools and fitted.items)
    overflow = omissions(fitted.packing, fitted.used, budget.max_tokens, limit, is_weak=is_weak, has_places=has_places)
    return Context(
        query=filling.asked.query,
        text=fitted.text,
        format=filling.form.format,
        items=linked(fitted.items),
        usage=Usage(budget.max_tokens, fitted.used, tokens.name, tokens.exact, fitted.stopped),
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
    return replace(frame, truncated=bool(short or omitted), summary=", ".join(filter(None, parts)))


def _short_because(policy: FillPolicy) -> Stop:
    """Return why an answer is short that is not a weak match."""
    if not policy.not_found:
        return Stop.TESTS
    return Stop.HISTORY if {*policy.not_found} <= {*policy.past} else Stop.ABSENT


def _numbered(number: int, noun: str, what: str) -> str:
    return f"{number:,} {noun if number == 1 else noun + 's'} {what}" if number else ""


def within_room(sent: Sequence[ShownBefore], tokens: TokenCounter, room: float) -> Sequence[ShownBefore]:
    """Return as many of the first references as fit into about `room` tokens."""
    # `Shown before: ` with its line end in the plainest format; XML and JSON write it a token longer.
    return sent[: first_within((tokens.count(shown_before_entry(before)) + 6 for before in sent), room)]


def references_alone(
    frame: RenderRequest, sent: Sequence[ShownBefore], tokens: TokenCounter, max_tokens: int, layout: Format
) -> tuple[str, int]:
    """Return the text of an answer with references only, as many as fit, and its tokens; empty if none fits."""

    @cache
    def written(count: int) -> tuple[str, int]:
        text = render(referring(frame, sent, count), (), format=layout)
        return text, tokens.count(text)

    shown = count_within(len(sent), max_tokens, lambda count: written(count)[1])
    return written(shown) if shown else ("", 0)


def referring(frame: RenderRequest, sent: Sequence[ShownBefore], count: int) -> RenderRequest:
    """Return the frame with so many of the first references; the others are counted."""
    return replace(frame, shown_before=tuple(sent[:count]), shown_before_more=len(sent) - count)
