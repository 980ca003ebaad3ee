"""The laws of an answer, each as a check that names what it found wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock
from xml.etree import ElementTree

from markdown_it import MarkdownIt
from satchel.assemble.fit import SMALLEST_PIECE_TOKENS
from satchel.assemble.page import Page
from satchel.assemble.worth import total_value

from satchel import Satchel
from satchel.assemble import pack, stream
from satchel.assemble.render import RenderRequest, render
from satchel.assemble.render.parse import parse
from satchel.assemble.request import AssembleRequest
from satchel.assemble.section import Section
from satchel.assemble.shown import Group
from satchel.clean import clean_text
from satchel.redact import redact
from satchel.tokens import counter
from satchel.types import Context, Format, Freshness
from tests.oracle import cl100k, o200k

_ORACLES = {"o200k_base": o200k, "cl100k_base": cl100k}
_INVISIBLE = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_MARKDOWN = MarkdownIt("commonmark")


@dataclass(slots=True)
class Assembly:
    """One answer with what the packer had to choose from."""

    request: AssembleRequest
    context: Context
    sections: Sequence[Section] = ()
    rendering: RenderRequest = field(default_factory=RenderRequest)
    key: bytes = b""

    @property
    def total_value(self) -> float:
        """What the packer collects: see `satchel.assemble.worth`."""
        return total_value(self.sections, shows_lines=self.request.show_code)

    @property
    def offered_tokens(self) -> float:
        """Estimated tokens of everything that could have been shown."""
        return sum(candidate.size for section in self.sections for candidate in section.candidates)


def assemble(satchel: Satchel, question: str, **options: Any) -> Assembly:
    """Ask the real engine, and keep what its packer saw."""
    request = satchel.request(question, **options)
    caught = Assembly(request, Context("", "", Format.MARKDOWN, (), None))  # type: ignore[arg-type]
    fit = pack.fit

    def spy(request: AssembleRequest, bench: Any, sections: Sequence[Section], *rest: Any, **named: Any) -> Any:
        caught.sections, caught.key = sections, bench.key
        return fit(request, bench, sections, *rest, **named)

    class Spied(Page):
        def __init__(self, request: RenderRequest, *rest: Any) -> None:
            caught.rendering = request
            super().__init__(request, *rest)

    with mock.patch.object(stream, "fit", spy), mock.patch.object(pack, "Page", Spied):
        caught.context = satchel.answer(request)
    return caught


def faults(assembly: Assembly, root: Path) -> Iterator[str]:
    """Everything that is wrong with an answer."""
    yield from _budget(assembly)
    yield from _parsed(assembly)
    yield from _lines(assembly.context, root)
    if found := _INVISIBLE.search(assembly.context.text):
        yield f"an invisible character {found[0]!r} is in the text"


def _budget(assembly: Assembly) -> Iterator[str]:
    context, usage = assembly.context, assembly.context.usage
    oracle = _ORACLES.get(usage.tokenizer)
    counted = oracle(context.text) if oracle is not None else counter(usage.tokenizer).count(context.text)
    if counted != usage.used:
        yield f"the text has {counted} tokens, the answer says {usage.used}"
    if counted > usage.limit and not assembly.request.soft:
        yield f"{counted} tokens are over the limit of {usage.limit}"
    if bool(context.text) != bool(context.items):
        yield "a text without items, or items without a text"


def _parsed(assembly: Assembly) -> Iterator[str]:
    context, request = assembly.context, assembly.request
    if not context.text:
        return
    if render(assembly.rendering, context.items, format=context.format) != context.text:
        yield "the text is not the rendering of its items"
    found = parse(context.text, context.format)
    if len(found) != len(context.items):
        yield f"{len(context.items)} items read back as {len(found)}"
    by_nonce = {item.nonce: item for item in context.items}
    for parsed in found:
        item = by_nonce.get(parsed.nonce)
        if item is None and request.show_code:
            yield f"an item with the nonce {parsed.nonce!r} was never written"
            continue
        shown = "\n".join(piece.text for piece in parsed.pieces)
        if item is not None and request.show_code and parsed.path and shown != "\n".join(p.text for p in item.pieces):
            yield f"{parsed.path} reads back with other lines"
    yield from _well_formed(assembly)


def _well_formed(assembly: Assembly) -> Iterator[str]:
    context, request = assembly.context, assembly.request
    match context.format:
        case Format.MARKDOWN:
            blocks = [token.content for token in _MARKDOWN.parse(context.text) if token.type == "fence"]
            expected = sum(1 for item in context.items if request.show_code or item.location is None)
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


def not_maximal(assembly: Assembly) -> Iterator[str]:
    """Candidates that would still fit: shown at any step of their ladder, the whole text stays within the limit."""
    context, request = assembly.context, assembly.request
    if not context.items or request.max_tokens - context.usage.used < SMALLEST_PIECE_TOKENS:
        return
    exact = counter(request.tokenizer)
    page = Page(assembly.rendering, request.format, assembly.key, exact)
    for section in assembly.sections:
        for _, candidate in list(section.remaining()):
            known = section.groups.get(candidate.group)
            if known is None and len(section.groups) >= section.item_limit:
                continue
            group = known or Group(candidate.kind, candidate.group, section.lines.get(candidate.group))
            section.groups[candidate.group] = group
            for step in candidate.steps:
                if step.ranges and not group.added(step):
                    continue
                group.admit(candidate, step, 0)
                text, _ = page.text(assembly.sections)
                group.withdraw(0)
                if exact.count(text) <= request.max_tokens:
                    yield f"{candidate.document.id} would fit as {step.detail} at {step.ranges}"
            if known is None:
                del section.groups[candidate.group]
