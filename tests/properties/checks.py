"""The laws of an answer, each as a check that names what it found wrong."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock
from xml.etree import ElementTree

from markdown_it import MarkdownIt

from satchel import Satchel
from satchel.answer import fitting, pipeline, weights, write
from satchel.answer.candidates import Candidate
from satchel.answer.packing import BUDGET, Packing
from satchel.answer.render import RenderRequest, render_with_usage
from satchel.answer.request import AssembleRequest
from satchel.answer.sections import priority
from satchel.safety.sanitize import clean_text, redact
from satchel.tokens import counter
from satchel.types import Context, Format, Freshness
from tests.oracle import cl100k, o200k
from tests.rendered import parse

_ORACLES = {"o200k_base": o200k, "cl100k_base": cl100k}
_INVISIBLE = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
ROUNDING = 1e-9
"""Sums of the same values in another order differ by less than this."""

_MARKDOWN = MarkdownIt("commonmark")


@dataclass(slots=True)
class Assembly:
    """One answer with what is packed in it."""

    request: AssembleRequest
    context: Context
    packing: Packing | None = None
    has_further_files: bool = False
    """Whether a part of the budget is kept for files below the best ones."""
    rendering: RenderRequest = field(default_factory=RenderRequest)

    @property
    def shares(self) -> bool:
        """Whether each kind had its share of the budget, in which it need not compete with the others."""
        return self.request.scope.shares_budget

    @property
    def best(self) -> str:
        """The item of the candidate that is tried first; empty where nothing was found."""
        sections = self.packing.inputs.sections if self.packing is not None else ()
        candidates = [one for section in sections for one in section.candidates]
        first = min(candidates, key=lambda one: (-priority(one), one.chunk.id, one.first_line), default=None)
        return first.group if first is not None else ""

    @property
    def shown(self) -> set[str]:
        """What has an item: paths of files and ids of records."""
        return {key for groups in self.packing.groups.values() for key in groups} if self.packing is not None else set()


def assemble(satchel: Satchel, question: str, **options: Any) -> Assembly:
    """Ask the real engine, and keep what it packed."""
    request = satchel.request(question, **options)
    caught = Assembly(request, Context("", "", Format.MARKDOWN, (), None))  # type: ignore[arg-type]

    def spy(filling: write.Filling) -> write.Fitted:
        fitted = fitting.fit(filling)
        caught.packing, caught.has_further_files = fitted.packing, bool(filling.policy.first)
        return fitted

    frames: dict[str, RenderRequest] = {}

    def written(rendering: RenderRequest, *rest: Any) -> tuple[str, int]:
        text, used = render_with_usage(rendering, *rest)
        frames[text] = rendering
        return text, used

    with mock.patch.object(pipeline, "fit", spy), mock.patch.object(write, "render_with_usage", written):
        caught.context = satchel.answer(request)
    caught.rendering = frames.get(caught.context.text, caught.rendering)
    return caught


def faults(assembly: Assembly, root: Path) -> Iterator[str]:
    """Everything that is wrong with an answer."""
    yield from _budget(assembly)
    yield from _parsed(assembly)
    yield from _lines(assembly.context, root)
    if found := _INVISIBLE.search(assembly.context.text):
        yield f"an invisible character {found[0]!r} is in the text"


_NOTES = (
    "not_found", "Not found here: ", '"past"', "<past>", "Only in the history: ", "left_out", "Left out: ",
)  # fmt: skip
"""What an answer without items says of the words of its question, in the names of the formats."""


def _budget(assembly: Assembly) -> Iterator[str]:
    context, usage = assembly.context, assembly.context.usage
    oracle = _ORACLES.get(usage.tokenizer)
    counted = oracle(context.text) if oracle is not None else counter(usage.tokenizer).count(context.text)
    if counted != usage.used:
        yield f"the text has {counted} tokens, the answer says {usage.used}"
    if counted > usage.limit:
        yield f"{counted} tokens are over the limit of {usage.limit}"
    if context.items and not context.text:
        yield "items without a text"
    if context.text and not context.items and not any(note in context.text for note in _NOTES):
        yield "a text that neither shows anything nor says what was not found"


def _parsed(assembly: Assembly) -> Iterator[str]:
    context, request = assembly.context, assembly.request
    if not context.items:
        return
    count = counter(request.budget.tokenizer).count
    if render_with_usage(assembly.rendering, context.items, context.format, count)[0] != context.text:
        yield "the text is not the rendering of its items"
    numbered = bool(request.budget.places and request.form.show_code)
    found = parse(context.text, context.format, numbered=numbered)
    if len(found) != len(context.items):
        yield f"{len(context.items)} items read back as {len(found)}"
    by_nonce = {item.nonce: item for item in context.items}
    for parsed in found:
        item = by_nonce.get(parsed.nonce)
        if item is None and request.form.show_code:
            yield f"an item with the nonce {parsed.nonce!r} was never written"
            continue
        shown = "\n".join(piece.text for piece in parsed.pieces)
        if (
            item is not None
            and request.form.show_code
            and parsed.path
            and shown != "\n".join(p.text for p in item.pieces)
        ):
            yield f"{parsed.path} reads back with other lines"
    yield from _well_formed(assembly)


def _well_formed(assembly: Assembly) -> Iterator[str]:
    context, request = assembly.context, assembly.request
    match context.format:
        case Format.MARKDOWN:
            blocks = [token.content for token in _MARKDOWN.parse(context.text) if token.type == "fence"]
            expected = sum(1 for item in context.items if request.form.show_code or item.location is None)
            if len(blocks) != expected:
                yield f"markdown has {len(blocks)} code blocks for {expected} items"
        case Format.XML:
            ElementTree.fromstring(context.text)
        case Format.JSON:
            json.loads(context.text)


def _lines(context: Context, root: Path) -> Iterator[str]:
    for item in context.items:
        if item.location is None or item.metadata.get("freshness") == Freshness.STALE:
            continue
        raw = (root / item.location.path).read_bytes().decode("utf-8", "replace")
        lines = redact(clean_text(raw)[0])[0].split("\n")
        for piece in item.pieces:
            if piece.text != "\n".join(lines[piece.start - 1 : piece.end]):
                yield f"{item.location.path}:{piece.start}-{piece.end} is not what stands there"


def weaker_inside(assembly: Assembly) -> Iterator[str]:
    """What is shown although something clearly better was left out for lack of room.

    Candidates are tried by value for cost, so a cheap one may come before one that is better and much larger. `fill`
    asks for the whole budget: the room that a better one leaves is spent. What is kept for further files is not
    used for more of the best ones.
    """
    packing = assembly.packing
    if (
        not assembly.context.items
        or assembly.shares
        or assembly.has_further_files
        or packing is None
        or not packing.inputs.is_strict
    ):
        return
    out = [
        one
        for rejected in packing.rejected.values()
        for one, reason in rejected.items()
        if reason == BUDGET and not one.pinned and one.companion_of is None
    ]
    for inside in packing.shown:
        if inside.pinned or inside.companion_of is not None:
            continue
        for better in out:
            cheaper = max(_cost(better) - _cost(inside), 0.0)
            if inside.value < better.value - weights.CLEARLY_LESS - cheaper - ROUNDING:
                yield f"{inside.chunk.id} is shown, and {better.chunk.id}, which is clearly better, is not"


def _cost(candidate: Candidate) -> float:
    return weights.COST_EXPONENT * math.log(candidate.size + weights.COST_OFFSET)
