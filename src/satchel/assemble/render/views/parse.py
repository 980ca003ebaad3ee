"""Reading the views back: neighbouring entities of one file and one nonce are one item again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

from satchel.assemble.render.labels import read_ranges, unquote
from satchel.assemble.render.parse import ParsedItem, fenced_lines, inner_text
from satchel.assemble.render.plain import NO_NONCE
from satchel.assemble.render.views.entity import read_marks, read_place
from satchel.types import Detail, Format, Freshness, Piece, View

_STRING = r"\"(?:[^\"\\]|\\.)*\""
_LOCATION = re.compile(rf"\*({_STRING}|[^\":]*?)(?::([\d].*)|( \([a-z, ]+\)))?\*(?: \(score: -?[\d.]+\))?", re.DOTALL)
_IMPORTS = "**Imports:** "
_CODE = "**Code:**"
_TYPED = re.compile(rf"({_STRING}|[^\":]*): (.*)", re.DOTALL)
_XML_LINES = frozenset({"imports", "code", "lines"})
_PLAIN_SECTION = re.compile(r"=== (.+) ===", re.DOTALL)
_PLAIN_ITEM = re.compile(r"(===+) (.*) (\S+)", re.DOTALL)
_PLAIN_PLACE = re.compile(rf"(.*) \[({_STRING}|[^\":]*)\]", re.DOTALL)
_PLAIN_PIECE = re.compile(r"---(?: ([\d=-]+))?(?: \(([a-z, ]+)\))?(:?)")


def parse_view(text: str, format: Format, view: View) -> list[ParsedItem]:  # noqa: A002 - the name of the option
    """The items of a text in one of the views, in its order. Raises ValueError if the text is damaged."""
    merged: list[ParsedItem] = []
    for item in map(_unnamed, _PARSERS[format](text, view)):
        last = merged[-1] if merged else None
        if last and item.path and (last.section, last.path, last.nonce) == (item.section, item.path, item.nonce):
            merged[-1] = replace(last, pieces=(*last.pieces, *item.pieces))
        else:
            merged.append(item)
    return merged


def _unnamed(item: ParsedItem) -> ParsedItem:
    """The item whose lines have no name where their entity was the file."""
    return replace(item, pieces=tuple(replace(p, name="") if p.name == item.path else p for p in item.pieces))


def _markdown(text: str, view: View) -> Iterator[ParsedItem]:
    lines = text.split("\n")
    section, position = "", 0
    while position < len(lines) and lines[position] != "---":
        line = lines[position]
        position += 1
        if line.startswith("## "):
            section = line[3:]
        elif line.startswith("### "):
            title = _untyped(line[4:]) if view is View.BLOCKS else line[4:]
            found = _LOCATION.fullmatch(lines[position]) if position < len(lines) else None
            if found is None:
                raise ValueError(f"no location below {line!r}")
            position += 2
            name = unquote(title)
            if found[2]:
                path = unquote(found[1])
                imports: tuple[Piece, ...] = ()
                if position < len(lines) and lines[position].startswith(_IMPORTS):
                    place = lines[position].removeprefix(_IMPORTS)
                    body, _, position = fenced_lines(lines, position + 1)
                    imports = tuple(_split(place, name, body))
                    position += 1
                position += lines[position : position + 1] == [_CODE]
                body, nonce, after = fenced_lines(lines, position)
                yield ParsedItem(section, path, "", (*imports, *_split(found[2], name, body)), nonce)
            else:
                body, nonce, after = fenced_lines(lines, position)
                detail, _ = read_marks((found[3] or "")[2:-1])
                yield ParsedItem(section, "", name, (Piece(0, 0, "", "\n".join(body), detail),), nonce)
            position = after


def _untyped(title: str) -> str:
    found = _TYPED.fullmatch(title)
    if found is None:
        raise ValueError(f"{title!r} has no type")
    return found[2]


def _split(place: str, name: str, body: Sequence[str]) -> Iterator[Piece]:
    position, previous = 0, None
    for written, detail, freshness in read_place(place):
        (lines,) = read_ranges(written)
        if previous is not None and lines.start != previous + 1:
            position += 1
        text = "\n".join(body[position : position + lines.shown])
        yield Piece(lines.start, lines.end, name, text, detail, freshness)
        position, previous = position + lines.shown, lines.end


def _plain(text: str, view: View) -> Iterator[ParsedItem]:
    lines = text.split("\n")
    section, position = "", 0
    while position < len(lines):
        line = lines[position]
        position += 1
        if found := _PLAIN_SECTION.fullmatch(line):
            section = found[1]
        elif found := _PLAIN_ITEM.fullmatch(line):
            run, title, mark = found.groups()
            try:
                end = lines.index(f"{run} {mark}", position)
            except ValueError:
                raise ValueError(f"the block that opens on line {position} is not closed") from None
            body, position = lines[position:end], end + 1
            yield _plain_item(section, title, body, "" if mark == NO_NONCE else mark, view)


def _plain_item(section: str, title: str, body: list[str], nonce: str, view: View) -> ParsedItem:
    if view is View.BLOCKS:
        name = unquote(_untyped(title))
        path = unquote(body.pop(0).removeprefix("File: ")) if body[0].startswith("File: ") else ""
        body.pop(0)  # the score, which no item holds
    else:
        found = _PLAIN_PLACE.fullmatch(title)
        if found is None:
            raise ValueError(f"{title!r} has no place")
        name, path = unquote(found[1]), unquote(found[2])
    first = _PLAIN_PIECE.fullmatch(body[0])
    if first is None:
        raise ValueError(f"{body[0]!r} is not a range")
    if not first[1]:
        detail, _ = read_marks(first[2] or "")
        return ParsedItem(section, "", name, (Piece(0, 0, "", "\n".join(body[1:]), detail),), nonce)
    return ParsedItem(section, path, "", tuple(_plain_pieces(body, name)), nonce)


def _plain_pieces(body: Sequence[str], name: str) -> Iterator[Piece]:
    position = 0
    while position < len(body):
        found = _PLAIN_PIECE.fullmatch(body[position])
        if found is None or not found[1]:
            raise ValueError(f"{body[position]!r} is not a range")
        (lines,) = read_ranges(found[1])
        end = position + 1 + (lines.shown if found[3] else 0)
        yield Piece(lines.start, lines.end, name, "\n".join(body[position + 1 : end]), *read_marks(found[2] or ""))
        position = end


def _xml(text: str, _view: View) -> Iterator[ParsedItem]:
    root = ElementTree.fromstring(text)  # noqa: S314 - our own text has no entity declarations to expand
    sections = [(section.get("name", ""), section.iterfind("entity")) for section in root.iterfind("section")]
    for section, elements in [("", root.iterfind("entity")), *sections]:
        for element in elements:
            location = element.find("location")
            path = element.get("file", "") if location is None else location.get("file", "")
            name, nonce = element.get("name", ""), element.get("nonce", "")
            rows = [row for row in element if row.tag in _XML_LINES]
            if path:
                pieces = tuple(_xml_piece(row, name) for row in rows)
                yield ParsedItem(section, path, "", pieces, nonce)
            else:
                yield ParsedItem(section, "", name, (replace(_xml_piece(rows[0], ""), start=0, end=0),), nonce)


def _xml_piece(row: ElementTree.Element, name: str) -> Piece:
    (lines,) = read_ranges(row.get("range", "0"))
    return Piece(lines.start, lines.end, name, inner_text(row), *_marks(row.attrib))


def _json(text: str, view: View) -> Iterator[ParsedItem]:
    context = json.loads(text)["context"]
    if "groups" in context:
        titled = [(group["title"], fields) for group in context["groups"] for fields in group["items"]]
    else:
        titled = [("", fields) for fields in context["items"]]
    for section, fields in titled:
        is_block = view is View.BLOCKS
        name = fields["entity"]["name"] if is_block else fields["name"]
        path = fields.get("location", {}).get("file", "") if is_block else fields.get("file", "")
        nonce = fields.get("nonce", "")
        if path:
            rows = [*fields.get("imports", ()), *fields["ranges"]]
            pieces = tuple(Piece(row["start"], row["end"], name, row.get("text", ""), *_marks(row)) for row in rows)
            yield ParsedItem(section, path, "", pieces, nonce)
        else:
            yield ParsedItem(section, "", name, (Piece(0, 0, "", fields["text"], *_marks(fields)),), nonce)


def _marks(fields: Mapping[str, Any]) -> tuple[Detail, Freshness | None]:
    freshness = fields.get("freshness")
    return Detail(fields.get("detail", "full")), Freshness(freshness) if freshness is not None else None


_PARSERS: Mapping[Format, Callable[[str, View], Iterator[ParsedItem]]] = {
    Format.MARKDOWN: _markdown,
    Format.XML: _xml,
    Format.PLAIN: _plain,
    Format.JSON: _json,
}
