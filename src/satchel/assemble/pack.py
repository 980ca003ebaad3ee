"""The second half of the stream, for candidates from anywhere: fit, render, receipt."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from satchel import outside
from satchel.assemble.items import build_items
from satchel.assemble.links import linked
from satchel.assemble.packer import BUDGET, FRAMES, LIMIT, SMALLEST_PIECE, VALUE, Packer
from satchel.assemble.plan import PLAIN, Plan
from satchel.assemble.question import safe_question
from satchel.assemble.receipt import omissions
from satchel.assemble.references import references_alone, with_references
from satchel.assemble.render import RenderRequest, Stop, render, render_with_usage
from satchel.assemble.render.frame import LIST_SHARE
from satchel.assemble.request import AssembleRequest
from satchel.assemble.section import Section
from satchel.assemble.summary import LONGEST_SUMMARY, footer_name, summarised
from satchel.redact import marks
from satchel.tokens import TokenCounter, counter
from satchel.types import Context, ContextItem, Failure, Kind, ShownBefore, Trust, Usage, View

ITEM_SHARE = 0.25
"""Share of the budget of a kind that one document takes at most where several kinds were named."""

REFILLS = 2
"""How often the room that the exact count leaves is filled again; estimates are mostly too high by 2 to 5 %."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """The outcome of fitting: the text, its tokens and its items; all empty when not even the frame fits.

    `stopped` says why nothing more is shown: "budget", "value", "limit", or empty where nothing more was found.
    """

    text: str
    used: int
    items: tuple[ContextItem, ...]
    stopped: str = ""


EMPTY = Fitted("", 0, ())


@dataclass(frozen=True, slots=True)
class Filling:
    """How far the budget is filled.

    Candidates worth less than the best one by more than `value_range` (log scale) are left out. `limit` (tokens) is
    below the budget where an answer is to be kept short, 0 for the budget itself. `not_found` are telling words of the
    question that occur nowhere, and `is_weak` says that nothing answers it well. With `shares` every section gets
    its share of the budget by weight first. `is_strict` leaves out what is clearly weaker than something that did not
    fit. `call_sites` are the lines that list who calls what the question asks about.
    """

    value_range: float = math.inf
    limit: int = 0
    not_found: tuple[str, ...] = ()
    is_weak: bool = False
    most_items: int = 1_000_000
    shares: bool = False
    is_strict: bool = True
    call_sites: tuple[str, ...] = ()


LEAST_NOTED = 300
"""Tokens of a budget from which the footer says how much of it was used."""

LEAST_NAMED = 1_000
"""Tokens of a budget from which the best of what was left out is named."""

NOTE_TOKENS = 50
"""What the footer takes: what was used, and the best of what was left out with its handles."""

STOPS = {BUDGET: Stop.FULL, VALUE: Stop.NOT_WORTH_IT, LIMIT: Stop.NOT_WORTH_IT}

FILL = Filling()
"""Everything that fits."""


class Marking(Protocol):
    """What the frame of an answer needs: the key of its nonces, and the secrets that are none."""

    @property
    def key(self) -> bytes:
        """The user's key."""

    @property
    def allow(self) -> tuple[str, ...]:
        """Patterns of texts that look like secrets and are none."""


def pack(
    request: AssembleRequest,
    sections: Sequence[Section],
    marking: Marking,
    problems: Sequence[Failure],
    meta: Mapping[str, Any],
    known: Sequence[ShownBefore] = (),
    filling: Filling = FILL,
) -> Context:
    """The second half of the stream, for candidates from anywhere: fit, render, receipt.

    `known` is what the session has already and is only named.
    """
    token_counter = counter(request.tokenizer)
    fitted = fit(request, marking, sections, token_counter, problems, known=known, filling=filling)
    return answer(request, sections, fitted, token_counter, problems, meta, known)


def fit(
    request: AssembleRequest,
    bench: Marking,
    sections: Sequence[Section],
    token_counter: TokenCounter,
    problems: Sequence[Failure],
    plan: Plan = PLAIN,
    known: Sequence[ShownBefore] = (),
    filling: Filling = FILL,
) -> Fitted:
    """Choose what is shown and write it; the text is counted exactly and never over the limit.

    Candidates are chosen by estimates in one pass. The written text is counted; what room is left is filled once more,
    and while the text is over the limit the last candidates are taken back.
    """
    rendering = _frame(request, bench, sections, token_counter, problems, plan, filling)
    alone = rendering
    if known:
        rendering = with_references(rendering, known, token_counter, request.max_tokens)
    if not sections:
        return _without_items(request, alone, known, token_counter)

    def written() -> Fitted:
        items = build_items(sections, bench.key)
        if not items:
            return EMPTY
        shown = summarised(rendering, items, sections) if request.show_meta else rendering
        if request.max_tokens >= LEAST_NOTED:
            stop = STOPS.get(_why_stopped(sections), Stop.COMPLETE)
            overflow = omissions(sections, 0) if request.max_tokens >= LEAST_NAMED else ()
            shown = replace(shown, limit=request.max_tokens, stopped=stop, overflow=overflow)
        text, used = render_with_usage(shown, items, request.format, token_counter.count)
        return Fitted(text, used, tuple(items), _why_stopped(sections))

    packer = _packer(request, sections, token_counter, filling)
    limit = filling.limit or request.max_tokens
    frame = token_counter.count(render(rendering, (), format=request.format))
    noted = NOTE_TOKENS + int(request.max_tokens * LIST_SHARE) if request.max_tokens >= LEAST_NAMED else 0
    room = limit - frame - noted
    fitted = _filled(packer, room, limit, written)
    if not fitted.items or fitted.used > request.max_tokens:
        return replace(_without_items(request, alone, known, token_counter), stopped=_why_stopped(sections))
    return fitted


def _filled(packer: Packer, room: int, limit: int, written: Callable[[], Fitted]) -> Fitted:
    """The answer of at most `limit` tokens; `room` is what its items may take by estimate."""
    packer.fill(room)
    fitted = written()
    for _ in range(REFILLS):
        if not packer.is_full or limit - fitted.used < SMALLEST_PIECE or not packer.refill(limit - fitted.used):
            break
        fitted = written()
    fitted = _taken_back(packer, fitted, limit, written)
    for _ in range(REFILLS):  # what came out larger than estimated: the best of it in less room
        if fitted.items or room < SMALLEST_PIECE:
            break
        room //= 2
        packer.refill(room)
        fitted = _taken_back(packer, written(), limit, written)
    return fitted


def _packer(
    request: AssembleRequest, sections: Sequence[Section], token_counter: TokenCounter, filling: Filling
) -> Packer:
    return Packer(
        sections,
        token_counter,
        FRAMES[request.format],
        value_range=filling.value_range,
        most_items=filling.most_items,
        shares=filling.shares,
        document_share=ITEM_SHARE if filling.shares else 1.0,
        document_tokens=request.whole_item_tokens,
        shows_lines=request.show_code,
        is_strict=filling.is_strict,
    )


def _taken_back(packer: Packer, fitted: Fitted, limit: int, written: Callable[[], Fitted]) -> Fitted:
    """What is left within the limit after the last admissions are taken back."""
    while fitted.used > limit and packer.take_back(fitted.used - limit):
        fitted = written()
    return fitted


def _why_stopped(sections: Sequence[Section]) -> str:
    """Why nothing more is shown: no room, not worth its tokens, or nothing more was found (empty)."""
    reasons = {reason for section in sections for reason in section.left.values()}
    return next((reason for reason in (BUDGET, VALUE, LIMIT) if reason in reasons), "")


def _frame(
    request: AssembleRequest,
    bench: Marking,
    sections: Sequence[Section],
    token_counter: TokenCounter,
    problems: Sequence[Failure],
    plan: Plan,
    filling: Filling,
) -> RenderRequest:
    """What the text says besides its items."""
    return RenderRequest(
        not_found=filling.not_found,
        weak=filling.is_weak,
        call_sites=filling.call_sites,
        query=safe_question(request.query, bench.allow),
        show_sources=request.show_sources,
        show_handles=request.show_handles,
        show_code=request.show_code,
        group_by_type=request.group_by_type or request.view is View.ENTITIES,
        failures=outside.failures(problems, bench.allow),
        tokenizer=footer_name(token_counter) if request.show_meta else "",
        truncated=request.show_meta,
        summary=LONGEST_SUMMARY if request.show_meta else "",
        view=request.view,
        lead=request.lead,
        title=plan.title,
        based_on=plan.based_on,
        has_guidance=any(c.trust is Trust.GUIDANCE for section in sections for c in section.candidates),
    )


def _without_items(
    request: AssembleRequest, rendering: RenderRequest, known: Sequence[ShownBefore], token_counter: TokenCounter
) -> Fitted:
    """The answer without items: it names what the session has already and what occurs nowhere, if there is room."""
    summary = replace(rendering, truncated=False, summary="", weak=False)
    if known:
        return Fitted(*references_alone(summary, known, token_counter, request.max_tokens, request.format), ())
    if not rendering.not_found:
        return EMPTY
    text = render(summary, (), format=request.format)
    used = token_counter.count(text)
    return Fitted(text, used, ()) if used <= request.max_tokens else EMPTY


def answer(
    request: AssembleRequest,
    sections: Sequence[Section],
    fitted: Fitted,
    token_counter: TokenCounter,
    problems: Sequence[Failure],
    meta: Mapping[str, Any],
    known: Sequence[ShownBefore] = (),
) -> Context:
    """The context of what was fitted, with what stayed out, what the session has already, and what failed."""
    used_by_kind: dict[str, int] = {}
    for item in fitted.items:
        plural = Kind(item.source).plural
        used_by_kind[plural] = used_by_kind.get(plural, 0) + 1
    return Context(
        query=safe_question(request.query),
        text=fitted.text,
        format=request.format,
        items=linked(fitted.items),
        usage=Usage(request.max_tokens, fitted.used, token_counter.name, token_counter.exact, fitted.stopped),
        overflow=omissions(sections, fitted.used),
        sources_used=used_by_kind,
        failures=outside.failures(problems),
        meta={**meta} | ({"redacted": redacted} if (redacted := marks(fitted.text)) else {}),
        shown_before=tuple(known),
    )
