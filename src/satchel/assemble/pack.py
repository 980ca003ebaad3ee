"""The second half of the stream, for candidates from anywhere: fit, render, receipt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from satchel import outside
from satchel.assemble.dedupe import Seen, give_back, set_aside
from satchel.assemble.fit import Fitter
from satchel.assemble.links import linked
from satchel.assemble.page import Page
from satchel.assemble.plan import PLAIN, Plan
from satchel.assemble.price import FRAMES, Frame
from satchel.assemble.question import safe_question
from satchel.assemble.receipt import omissions
from satchel.assemble.references import references_alone, with_references
from satchel.assemble.render import RenderRequest, render
from satchel.assemble.request import AssembleRequest
from satchel.assemble.section import Section
from satchel.assemble.summary import LONGEST_SUMMARY, footer_name, summarised
from satchel.redact import marks
from satchel.tokens import TokenCounter, counter
from satchel.types import Context, ContextItem, Failure, Kind, ShownBefore, Trust, Usage, View


@dataclass(frozen=True, slots=True)
class Fitted:
    """The outcome of fitting: the text, its tokens and its items; all empty when not even the frame fits."""

    text: str
    used: int
    items: tuple[ContextItem, ...]


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
) -> Context:
    """The second half of the stream, for candidates from anywhere: fit, render, receipt.

    `known` is what the session has already and is only named.
    """
    token_counter = counter(request.tokenizer)
    fitted = fit(request, marking, sections, token_counter, problems, known=known)
    return answer(request, sections, fitted, token_counter, problems, meta, known)


def fit(
    request: AssembleRequest,
    bench: Marking,
    sections: Sequence[Section],
    token_counter: TokenCounter,
    problems: Sequence[Failure],
    plan: Plan = PLAIN,
    known: Sequence[ShownBefore] = (),
    *,
    looks_back: bool = False,
) -> Fitted:
    """Choose what is shown and write it; the text is counted exactly and never over the limit unless that is soft.

    With `looks_back` more budget never lowers the value of what is shown, which takes up to several choices.
    """
    rendering = _frame(request, bench, sections, token_counter, problems, plan)
    alone = rendering
    if known:
        rendering = with_references(rendering, known, token_counter, request.max_tokens)
    if not sections:
        return _named_only(request, alone, known, token_counter) if known else Fitted("", 0, ())
    seen = Seen()
    page = Page(rendering, request.format, bench.key, token_counter)
    measure = page.shown_tokens if request.soft else page.tokens
    aside = set_aside(sections)
    fitter = Fitter(
        token_counter,
        request.max_tokens,
        measure,
        page.shown_tokens if request.soft else page.exact_tokens,
        page.item_content_tokens if request.soft else page.item_tokens,
        seen,
        shows_lines=request.show_code,
        frame=_layout_frame(request),
        again=lambda: give_back(aside),
        looks_back=looks_back,
    )
    fitter.fit(sections)

    def written() -> tuple[str, list[ContextItem]]:
        text, items = page.text(sections)
        if not request.show_meta or not items:
            return text, items
        return render(summarised(rendering, items, sections), items, format=request.format), items

    text, items = written()
    used = token_counter.count(text)
    while used > request.max_tokens and not request.soft and fitter.take_back():
        text, items = written()
        used = token_counter.count(text)
    if not items or (used > request.max_tokens and not request.soft):
        return _named_only(request, alone, known, token_counter) if known else Fitted("", 0, ())
    return Fitted(text, used, tuple(items))


def _layout_frame(request: AssembleRequest) -> Frame | None:
    """What the layout puts around lines; places, other views and a soft budget have hardly a frame."""
    is_usual = request.view is View.SECTIONS and request.show_code and not request.soft
    return FRAMES[request.format] if is_usual else None


def _frame(
    request: AssembleRequest,
    bench: Marking,
    sections: Sequence[Section],
    token_counter: TokenCounter,
    problems: Sequence[Failure],
    plan: Plan,
) -> RenderRequest:
    """What the text says besides its items."""
    return RenderRequest(
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


def _named_only(
    request: AssembleRequest, rendering: RenderRequest, known: Sequence[ShownBefore], token_counter: TokenCounter
) -> Fitted:
    """The answer that has nothing new, or no room for it: what the session has already is named."""
    summary = replace(rendering, truncated=False, summary="")
    return Fitted(*references_alone(summary, known, token_counter, request.max_tokens, request.format), ())


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
        usage=Usage(request.max_tokens, fitted.used, token_counter.name, token_counter.exact),
        overflow=omissions(sections, fitted.used),
        sources_used=used_by_kind,
        failures=outside.failures(problems),
        meta={**meta} | ({"redacted": redacted} if (redacted := marks(fitted.text)) else {}),
        shown_before=tuple(known),
    )
