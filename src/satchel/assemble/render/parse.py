"""Reading a rendered context back: the same items, for any content.

    for item in parse(text, Format.MARKDOWN):
        print(item.section, item.path or item.title, [(piece.start, piece.end) for piece in item.pieces])

What is not in the text does not come back: JSON has no section titles unless grouped (they follow from the kinds),
lines that were not shown are empty, and in Markdown and plain text pieces that touch come back as one where they had
one label, and a nameless window has no detail, because there is no whole that it could be a part of. A record whose
text begins with its title has none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any
from xml.etree import ElementTree

from satchel.assemble.render.labels import is_label, read_labelled, read_ranges, unquote
from satchel.assemble.render.layout import NO_HANDLE
from satchel.assemble.render.plain import NO_NONCE
from satchel.types import Detail, Format, Freshness, Kind, Piece, View

_RECORD = re.compile(r"\*\*(\w+)\*\*(?: (.*))?", re.DOTALL)
_CODE_SPAN = re.compile(r"\A`([0-9a-f]{7,40})`(?= |\Z)")
_DETAIL_MARK = re.compile(r" ?\((window|signature|line)\)\Z")
_FENCE = re.compile(r"(`{3,})([^`]*)", re.DOTALL)
_SHOWN_BEFORE = "Shown before: "
_MORE = re.compile(r"and \d+ more")
_PLACE = re.compile(r"(.+):(\d+-\d+(?:,\d+-\d+)*)", re.ASCII | re.DOTALL)
_PLAIN_SECTION = re.compile(r"=== (.+) ===", re.DOTALL)
_PLAIN_ITEM = re.compile(r"(===+) (file |places )?(.*) (\S+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ParsedItem:
    """One item of a rendered context.

    `section` is the title above it. A file has a `path` and pieces with lines; a record has a `title`, kind first
    (`Commit 1a2b3c4 by Ada`), and one piece with the lines 0 to 0. `nonce` marked its block.
    """

    section: str
    path: str
    title: str
    pieces: tuple[Piece, ...]
    nonce: str


@dataclass(frozen=True, slots=True)
class ParsedReference:
    """What a rendered context names as shown before: the lines of a file, or a record by its title (no path)."""

    path: str
    ranges: tuple[tuple[int, int], ...]
    title: str
    handle: str


def parse_references(text: str, format: Format | str) -> list[ParsedReference]:  # noqa: A002 - the name of the option
    """The references to what was shown before, in their order; without those that are only counted."""
    match Format(format):
        case Format.JSON:
            found = json.loads(text) if text else {}
            entries = found.get("context", {}).get("shown_before") or found.get("meta", {}).get("shownBefore", ())
        case Format.XML:
            root = ElementTree.fromstring(text or "<context/>")  # noqa: S314 - as above
            entries = [element.text or "" for element in root.iterfind("shown_before")]
        case _:
            # What items show stands above the footer, which has no empty line.
            tail = text.rpartition("\n\n")[2].split("\n")
            entries = [line.removeprefix(_SHOWN_BEFORE) for line in tail if line.startswith(_SHOWN_BEFORE)]
    return [_reference(entry) for entry in entries if not _MORE.fullmatch(entry)]


def _reference(entry: str) -> ParsedReference:
    place, _, written = entry.rpartition(" ")
    handle = "" if written == NO_HANDLE else written
    found = _PLACE.fullmatch(place)
    if found is None:
        return ParsedReference("", (), unquote(place), handle)
    return ParsedReference(unquote(found[1]), tuple((one.start, one.end) for one in read_ranges(found[2])), "", handle)


def parse(text: str, format: Format | str, view: View | str = View.SECTIONS) -> list[ParsedItem]:  # noqa: A002
    """The items of a text that `render` wrote in this format and view, in its order.

    Raises ValueError if the text is damaged, or there is no such format or view; a text of another origin may give
    nothing at all.
    """
    layout, view = Format(format), View(view)
    if view is not View.SECTIONS:
        from satchel.assemble.render.views.parse import parse_view

        return parse_view(text, layout, view)
    return list(_PARSERS[layout](text))


def _markdown_items(text: str) -> Iterator[ParsedItem]:
    lines = text.split("\n")
    section, position = "", 0
    while position < len(lines) and lines[position] != "---":
        line = lines[position]
        position += 1
        if line.startswith("## "):
            section = line[3:]
        elif line.startswith("### "):
            body, nonce, after = fenced_lines(lines, position)
            is_shown = after > position
            if not is_shown:
                body = list(takewhile(is_label, lines[position:]))
            position = after + (0 if is_shown else len(body))
            pieces = tuple(read_labelled(body, shown=is_shown))
            yield ParsedItem(section, unquote(line[4:]), "", pieces, nonce)
        elif found := _RECORD.fullmatch(line):
            title, detail = _read_title(found[2] or "")
            body, nonce, position = fenced_lines(lines, position)
            piece = Piece(0, 0, "", "\n".join(body), detail)
            yield ParsedItem(section, "", f"{found[1]} {title}" if title else found[1], (piece,), nonce)


def _read_title(written: str) -> tuple[str, Detail]:
    """The title of a record and its detail, from the line that shows it."""
    found = _DETAIL_MARK.search(written)
    detail = Detail(found[1]) if found else Detail.FULL
    title = written[: found.start()] if found else written
    return unquote(_CODE_SPAN.sub(r"\1", title)), detail


def fenced_lines(lines: Sequence[str], position: int) -> tuple[list[str], str, int]:
    """The lines of the fence that opens here, its nonce, and the position after it; nothing if none opens."""
    found = _FENCE.fullmatch(lines[position]) if position < len(lines) else None
    if found is None:
        return [], "", position
    try:
        end = lines.index(found[1], position + 1)
    except ValueError:
        raise ValueError(f"the block that opens on line {position + 1} is not closed") from None
    words = found[2].split(" ")
    nonce = words[1] if len(words) == 2 else words[0] if words[0].isdigit() else ""
    return list(lines[position + 1 : end]), nonce, end + 1


def _plain_items(text: str) -> Iterator[ParsedItem]:
    lines = text.split("\n")
    section, position = "", 0
    while position < len(lines):
        line = lines[position]
        position += 1
        if found := _PLAIN_SECTION.fullmatch(line):
            section = found[1]
        elif found := _PLAIN_ITEM.fullmatch(line):
            run, word, title, mark = found.groups()
            try:
                end = lines.index(f"{run} {mark}", position)
            except ValueError:
                raise ValueError(f"the block that opens on line {position} is not closed") from None
            body, position = lines[position:end], end + 1
            nonce = "" if mark == NO_NONCE else mark
            if word:
                pieces = tuple(read_labelled(body, shown=word == "file "))
                yield ParsedItem(section, unquote(title), "", pieces, nonce)
            else:
                title, detail = _read_title(title)
                yield ParsedItem(section, "", title, (Piece(0, 0, "", "\n".join(body), detail),), nonce)


def _xml_items(text: str) -> Iterator[ParsedItem]:
    root = ElementTree.fromstring(text)  # noqa: S314 - our own text has no entity declarations to expand
    for section in root.iterfind("section"):
        for element in section:
            nonce = element.get("nonce", "")
            if element.tag == "file":
                pieces = tuple(map(_xml_piece, element.iterfind("lines")))
                yield ParsedItem(section.get("name", ""), element.get("path", ""), "", pieces, nonce)
            else:
                piece = Piece(0, 0, "", inner_text(element), _detail(element.attrib))
                yield ParsedItem(section.get("name", ""), "", element.get("title", ""), (piece,), nonce)


def _xml_piece(element: ElementTree.Element) -> Piece:
    (lines,) = read_ranges(element.get("range", ""))
    return Piece(lines.start, lines.end, element.get("name", ""), inner_text(element), *_marks(element.attrib))


def inner_text(element: ElementTree.Element) -> str:
    """The text of an element without the line breaks next to its tags; empty if it has none."""
    return (element.text or "\n\n")[1:-1]


def _json_items(text: str) -> Iterator[ParsedItem]:
    context = json.loads(text)["context"]
    if "groups" in context:
        titled = [(group["title"], fields) for group in context["groups"] for fields in group["items"]]
    else:
        titled = [(fields.get("section") or Kind(fields["source"]).heading, fields) for fields in context["items"]]
    for section, fields in titled:
        if "ranges" in fields:
            pieces = tuple(
                Piece(lines["start"], lines["end"], lines.get("name", ""), lines.get("text", ""), *_marks(lines))
                for lines in fields["ranges"]
            )
        else:
            pieces = (Piece(0, 0, "", fields["text"], _detail(fields)),)
        yield ParsedItem(section, fields.get("path", ""), fields.get("title", ""), pieces, fields.get("nonce", ""))


def _detail(fields: Mapping[str, Any]) -> Detail:
    return Detail(fields.get("detail", "full"))


def _marks(fields: Mapping[str, Any]) -> tuple[Detail, Freshness | None]:
    freshness = fields.get("freshness")
    return _detail(fields), Freshness(freshness) if freshness is not None else None


_PARSERS: Mapping[Format, Callable[[str], Iterator[ParsedItem]]] = {
    Format.MARKDOWN: _markdown_items,
    Format.XML: _xml_items,
    Format.PLAIN: _plain_items,
    Format.JSON: _json_items,
}
