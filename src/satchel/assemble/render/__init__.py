"""From items to the text that is counted: pure functions, one module a format.

The text is the head, then for each section its opening, its items and its closing, then the tail; the parts here are
the parts that `render` joins, so a caller who counts them knows what an item costs. `parse` reads the items back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache

from satchel.assemble.render.layout import Section, Writer, sections
from satchel.assemble.render.request import RenderRequest, Stop
from satchel.types import ContextItem, Format, View

__all__ = [
    "RenderRequest",
    "Section",
    "Stop",
    "render",
    "render_head",
    "render_item",
    "render_parts",
    "render_section",
    "render_tail",
    "render_with_usage",
    "sections",
]


USAGE_TRIES = 3
"""Texts that are written and counted until the number in the footer is true: the first has a number as long as it may
be, the second nearly always the true one."""


@cache
def _writer(format: Format) -> Writer:  # noqa: A002
    """The module that writes a format, imported when it is first asked for: a process seldom needs two."""
    match format:
        case Format.MARKDOWN:
            from satchel.assemble.render import markdown

            return markdown
        case Format.XML:
            from satchel.assemble.render import xml

            return xml
        case Format.PLAIN:
            from satchel.assemble.render import plain

            return plain
        case Format.JSON:
            from satchel.assemble.render import json

            return json


def render(request: RenderRequest, items: Sequence[ContextItem], *, format: Format) -> str:  # noqa: A002 - the name of the option
    """The whole context as text, without a line break at its end.

    Items keep their order inside a section; sections have a fixed order. Equal arguments give equal text.
    """
    return "".join(render_parts(request, items, format))


def _viewed(format: Format, view: View) -> Writer:  # noqa: A002
    """The writer of a format in a view."""
    writer = _writer(format)
    if view is View.SECTIONS:
        return writer
    from satchel.assemble.render.views import view_writer

    return view_writer(writer, format, view)


WriteItem = Callable[[ContextItem], str]


def render_with_usage(
    request: RenderRequest,
    items: Sequence[ContextItem],
    format: Format,  # noqa: A002 - the name of the option
    count: Callable[[str], int],
) -> tuple[str, int]:
    """The context whose footer states how many tokens it has itself, by `count`, and that number.

    Where no number makes itself true, the footer states none. So it does without a limit.
    """
    written: dict[int, str] = {}

    def write(item: ContextItem) -> str:
        """The same text for every try, written once."""
        if id(item) not in written:
            written[id(item)] = render_item(item, format, show_code=request.show_code, view=request.view)
        return written[id(item)]

    used = request.limit  # as many digits as the number may have
    for _ in range(USAGE_TRIES if used else 0):
        text = "".join(render_parts(replace(request, used=used), items, format, write))
        counted = count(text)
        if counted == used:
            return text, used
        used = counted
    text = "".join(render_parts(replace(request, used=0), items, format, write))
    return text, count(text)


def render_parts(
    request: RenderRequest,
    items: Sequence[ContextItem],
    format: Format,  # noqa: A002 - the name of the option
    write_item: WriteItem | None = None,
) -> Iterator[str]:
    """The consecutive parts of the text; `"".join` of them is the text.

    `write_item` stands in for `render_item`, for a caller who remembers what it wrote for an item before.
    """
    writer = _viewed(format, request.view)
    grouped = request.group_by_type
    write = write_item or (lambda item: writer.item(item, show_code=request.show_code))
    yield writer.head(request, items)
    for number, section in enumerate(sections(items, group_by_type=grouped, view=request.view, lead=request.lead)):
        opening, closing = writer.section(section.title, grouped=grouped)
        yield writer.SECTION_JOIN + opening if number else opening
        for position, item in enumerate(section.items):
            shown = write(item)
            yield writer.ITEM_JOIN + shown if position else shown
        yield closing
    yield writer.tail(request, items)


def render_head(request: RenderRequest, items: Sequence[ContextItem], format: Format) -> str:  # noqa: A002
    """Everything before the first section: the notice, and which of these items are the best."""
    return _writer(format).head(request, items)


def render_section(request: RenderRequest, title: str, format: Format) -> tuple[str, str]:  # noqa: A002
    """Opening and closing of a section. Between sections JSON adds a comma, the other formats nothing."""
    return _writer(format).section(title, grouped=request.group_by_type)


def render_item(
    item: ContextItem,
    format: Format,  # noqa: A002
    *,
    show_code: bool = True,
    view: View = View.SECTIONS,
) -> str:
    """One item with its frame. Between items of a section JSON adds a comma, the other formats nothing."""
    return _viewed(format, view).item(item, show_code=show_code)


def render_tail(request: RenderRequest, items: Sequence[ContextItem], format: Format) -> str:  # noqa: A002
    """Everything after the last section: the counts of these items, and the notes of the request."""
    return _writer(format).tail(request, items)
