"""Rendering of items as text: pure functions, one module per format.

The text is the head, then for each section its opening, its items and its closing, then the tail.
The text parses back to the same items for any content (`tests/rendered.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Protocol, cast

from satchel.answer.render.frame import RenderRequest, Stop
from satchel.answer.render.labels import sections
from satchel.types import ContextItem, Format, View

__all__ = ["RenderRequest", "Stop", "body_parts", "render", "render_with_usage", "writer"]


class FormatWriter(Protocol):
    """The module of one format. `JOIN` separates the items of a section, and sections."""

    JOIN: str

    def head(self, request: RenderRequest, items: Sequence[ContextItem]) -> str:
        """Return everything before the first section."""
        ...

    def section(self, title: str, *, grouped: bool) -> tuple[str, str]:
        """Return opening and closing of the section with this title. `grouped`: the sections are groups by type."""
        ...

    def item(
        self, item: ContextItem, view: View = View.SECTIONS, *, show_code: bool = True, numbered: bool = False
    ) -> str:
        """Return one item with its frame, in a view other than sections as its entities."""
        ...

    def tail(self, request: RenderRequest, items: Sequence[ContextItem]) -> str:
        """Return everything after the last section."""
        ...


@cache
def writer(format: Format) -> FormatWriter:  # noqa: A002 - the name of the option
    """Return the module that writes a format, imported on first use: a process seldom needs two."""
    return cast(FormatWriter, import_module(f"{__name__}.{format.value}"))


def render(request: RenderRequest, items: Sequence[ContextItem], *, format: Format) -> str:  # noqa: A002
    """Return the context as text, without a line break at its end.

    Items keep their order inside a section; sections have a fixed order. Equal arguments give equal text.
    """
    return "".join(body_parts(request, items, format)) + writer(format).tail(request, items)


def body_parts(request: RenderRequest, items: Sequence[ContextItem], format: Format) -> Iterator[str]:  # noqa: A002
    """Yield the parts of the text before its tail: the head, then opening, items and closing of each section."""
    write = writer(format)
    grouped = request.group_by_type
    yield write.head(request, items)
    for number, section in enumerate(sections(items, group_by_type=grouped, view=request.view, lead=request.lead)):
        opening, closing = write.section(section.title, grouped=grouped) if section.title else ("", "")
        yield write.JOIN + opening if number else opening
        for position, item in enumerate(section.items):
            text = write.item(item, request.view, show_code=request.show_code, numbered=request.is_numbered)
            yield write.JOIN + text if position else text
        yield closing


def render_with_usage(
    request: RenderRequest,
    items: Sequence[ContextItem],
    format: Format,  # noqa: A002
    count: Callable[[str], int],
) -> tuple[str, int]:
    """Return the context whose footer states how many tokens it has itself, by `count`, and that number.

    Where no number makes itself true, or the request has no limit, the footer states none.
    """
    body = "".join(body_parts(request, items, format))
    used = request.limit  # as many digits as the number may have
    # Most texts that are counted until the number in the footer is true: the first has as many digits as possible,
    # the second nearly always the true number.
    for _ in range(3 if used else 0):
        text = body + writer(format).tail(request._replace(used=used), items)
        counted = count(text)
        if counted == used:
            return text, used
        used = counted
    text = body + writer(format).tail(request._replace(used=0), items)
    return text, count(text)
