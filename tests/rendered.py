"""Reading a rendered context back: the same items, for any content.

    for item in parse(text, "markdown"):
        print(item.section, item.path or item.title, [(piece.start, piece.end) for piece in item.pieces])

Details that the text lacks are lost: JSON has no section titles unless grouped (they follow from the kinds), lines that
were not shown are empty, in Markdown and plain text pieces with one label become one piece, and a nameless span has no
detail. A record whose text begins with its title has none. In a view, neighbouring entities of one file and one nonce
are one item again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, NamedTuple
from xml.etree import ElementTree

from msgspec import structs

from satchel.answer.render.frame import NO_HANDLE
from satchel.answer.render.labels import MARK
from satchel.answer.render.plain import NO_NONCE
from satchel.types import Detail, Format, Freshness, Kind, Piece, View

_STRING = r"\"(?:[^\"\\]|\\.)*\""
_SHOWN_BEFORE = "Shown before: "
_MORE = re.compile(r"and \d+ more")
_PLACE = re.compile(r"(.+):(\d+-\d+(?:,\d+-\d+)*)", re.ASCII | re.DOTALL)

_LABEL = re.compile(
    rf"{MARK}(\d+(?:-\d+)?(?:=\d+)?)(?: (moved|changed|stale)(?= |\Z))?"
    r"(?: (of|signature|line)(?= |\Z)(?: of(?= |\Z))?)?(?: (.+))?",
    re.ASCII | re.DOTALL,
)
_DETAILS = {None: Detail.FULL, "of": Detail.SPAN, "signature": Detail.SIGNATURE, "line": Detail.LINE}
_MARKED_RANGES = re.compile(r"([\d,=-]+)(?: \(([a-z, ]+)\))?")

_RECORD = re.compile(r"\*\*(\w+)\*\*(?: (.*))?", re.DOTALL)
_CODE_SPAN = re.compile(r"\A`([0-9a-f]{7,40})`(?= |\Z)")
_DETAIL_MARK = re.compile(r" ?\((window|signature|line)\)\Z")
_FENCE = re.compile(r"(`{3,})([^`]*)", re.DOTALL)
_LOCATION = re.compile(rf"\*({_STRING}|[^\":]*?)(?::([\d].*)|( \([a-z, ]+\)))?\*(?: \(score: -?[\d.]+\))?", re.DOTALL)
_TYPED = re.compile(rf"({_STRING}|[^\":]*): (.*)", re.DOTALL)
_IMPORTS = "**Imports:** "
_CODE = "**Code:**"

_PLAIN_SECTION = re.compile(r"=== (.+) ===", re.DOTALL)
_PLAIN_ITEM = re.compile(r"(===+) (.*) (\S+)", re.DOTALL)
_PLAIN_FILE = re.compile(r"(file|places) (.*)", re.DOTALL)
_PLAIN_PLACE = re.compile(rf"(.*) \[({_STRING}|[^\":]*)\]", re.DOTALL)
_PLAIN_PIECE = re.compile(r"---(?: ([\d=-]+))?(?: \(([a-z, ]+)\))?(:?)")

_XML_LINES = frozenset({"imports", "code", "lines"})


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
    """A reference to text shown before: lines of a file, or a record by its title (no path)."""

    path: str
    ranges: tuple[tuple[int, int], ...]
    title: str
    handle: str


class _Lines(NamedTuple):
    """Lines `start` to `end` of a file, shown on `shown` lines of the text."""

    start: int
    end: int
    shown: int


def parse(
    text: str,
    format: Format | str,  # noqa: A002 - the name of the option
    view: View | str = View.SECTIONS,
    *,
    numbered: bool = False,
) -> list[ParsedItem]:
    """Return the items of a text that `render` wrote in this format and view, in its order.

    `numbered` lines of files are returned without their numbers. Raises ValueError if the text is damaged, or for an
    unknown format or view; a text of another origin may have no items.
    """
    layout, view = Format(format), View(view)
    text = _gaps_labelled(text) if numbered else text
    items = _PARSERS[layout](text, view)
    if view is not View.SECTIONS:
        return _joined_entities(items)
    has_numbers = numbered and layout in (Format.MARKDOWN, Format.PLAIN)
    return [
        replace(item, pieces=tuple(map(_without_numbers, item.pieces))) if has_numbers and item.path else item
        for item in items
    ]


_GAP = re.compile(r"… \d+-(\d+)")
_LEFT = re.compile(r"… \d+-\d+ [a-z2-7]{8}")
_NUMBERED = re.compile(r"(\d+)\t")


def _gaps_labelled(text: str) -> str:
    """Return the text with the label of the definition in place of each gap in it, without the ends of long ones."""
    rows, name = [row for row in text.split("\n") if not _LEFT.fullmatch(row)], ""
    for index, row in enumerate(rows):
        gap = _GAP.fullmatch(row)
        if row.startswith("@@"):
            name = row.partition(" ")[2]
        elif gap is not None and _NUMBERED.match(rows[index - 1]):
            numbers = (_NUMBERED.match(later) for later in rows[index + 1 :])
            last = [number[1] for number in takewhile(bool, numbers) if number is not None][-1]
            rows[index] = f"@@{int(gap[1]) + 1}-{last} {name}"
    return "\n".join(rows)


def _without_numbers(piece: Piece) -> Piece:
    """Return a piece of a file without the numbers before its lines. Raises ValueError if one is missing or wrong."""
    lines = piece.text.split("\n")
    if len(lines) != piece.end - piece.start + 1:  # text in the place of other lines
        return piece
    numbered = [line.partition("\t") for line in lines]
    if [number for number, _, _ in numbered] != [str(number) for number in range(piece.start, piece.end + 1)]:
        raise ValueError(f"lines {piece.start}-{piece.end} have other numbers")
    return structs.replace(piece, text="\n".join(text for _, _, text in numbered))


def _joined_entities(entities: Iterator[ParsedItem]) -> list[ParsedItem]:
    joined: list[ParsedItem] = []
    for item in entities:
        # Lines are named after the file where their entity was the file: they had no name.
        item = replace(
            item, pieces=tuple(structs.replace(p, name="") if p.name == item.path else p for p in item.pieces)
        )
        last = joined[-1] if joined else None
        if last and item.path and (last.section, last.path, last.nonce) == (item.section, item.path, item.nonce):
            pieces = sorted((*last.pieces, *item.pieces), key=lambda one: one.start)  # shown best first
            joined[-1] = replace(last, pieces=tuple(pieces))
        else:
            joined.append(item)
    return joined


def parse_references(text: str, format: Format | str) -> list[ParsedReference]:  # noqa: A002 - the name of the option
    """Return the references to what was shown before, in their order; without those that are only counted."""
    match Format(format):
        case Format.JSON:
            answer = json.loads(text) if text else {}
            entries = answer.get("context", {}).get("shown_before") or answer.get("meta", {}).get("shownBefore", ())
        case Format.XML:
            root = ElementTree.fromstring(text or "<context/>")
            entries = [element.text or "" for element in root.iterfind("shown_before")]
        case _:
            # The lines of items are above the footer, which has no empty line.
            tail = text.rpartition("\n\n")[2].split("\n")
            entries = [line.removeprefix(_SHOWN_BEFORE) for line in tail if line.startswith(_SHOWN_BEFORE)]
    return [_reference(entry) for entry in entries if not _MORE.fullmatch(entry)]


def _reference(entry: str) -> ParsedReference:
    place, _, written = entry.rpartition(" ")
    handle = "" if written == NO_HANDLE else written
    match = _PLACE.fullmatch(place)
    if match is None:
        return ParsedReference("", (), _unquoted(place), handle)
    ranges = tuple((lines.start, lines.end) for lines in map(_lines, match[2].split(",")))
    return ParsedReference(_unquoted(match[1]), ranges, "", handle)


def read_labelled(body: Sequence[str], *, shown: bool) -> Iterator[Piece]:
    """Yield the pieces that `labelled` wrote as these lines. Raises ValueError for a missing label."""
    position = 0
    while position < len(body):
        match = _LABEL.fullmatch(body[position])
        if match is None:
            raise ValueError(f"{body[position]!r} is not a label")
        lines, name = _lines(match[1]), _unquoted(match[4] or "")
        freshness = Freshness(match[2]) if match[2] else None
        end = position + 1 + (lines.shown if shown else 0)
        text = "\n".join(body[position + 1 : end])
        yield Piece(lines.start, lines.end, name, text, _DETAILS[match[3]], freshness)
        position = end


def _unquoted(written: str) -> str:
    """Return the text that `quote` wrote. Raises ValueError if a quoted one is damaged."""
    return str(json.loads(written)) if written.startswith('"') else written


def _lines(written: str) -> _Lines:
    """Return the range of `10-24` or `30=2`."""
    lines, _, count = written.partition("=")
    start, _, end = lines.partition("-")
    first, last = int(start), int(end or start)
    return _Lines(first, last, int(count) if count else last - first + 1)


def _read_marks(written: str | None) -> tuple[Detail, Freshness | None]:
    """Return `span, moved` as values. Raises ValueError for an unknown word."""
    detail, freshness = Detail.FULL, None
    for word in filter(None, (written or "").split(", ")):
        if word in set(Detail):
            detail = Detail(word)
        else:
            freshness = Freshness(word)
    return detail, freshness


def _marks(fields: Mapping[str, Any]) -> tuple[Detail, Freshness | None]:
    return _read_marks(", ".join(filter(None, (fields.get("detail"), fields.get("freshness")))))


def _record(section: str, title: str, text: str, detail: Detail, nonce: str) -> ParsedItem:
    return ParsedItem(section, "", title, (Piece(0, 0, "", text, detail),), nonce)


def _read_title(written: str) -> tuple[str, Detail]:
    """Return the title of a record and its detail, from the line that shows it."""
    match = _DETAIL_MARK.search(written)
    detail = Detail(match[1]) if match else Detail.FULL
    title = written[: match.start()] if match else written
    return _unquoted(_CODE_SPAN.sub(r"\1", title)), detail


def _untyped(title: str) -> str:
    match = _TYPED.fullmatch(title)
    if match is None:
        raise ValueError(f"{title!r} has no type")
    return match[2]


def _markdown_items(text: str, view: View) -> Iterator[ParsedItem]:
    lines = text.split("\n")
    section, position = "", 0
    while position < len(lines) and lines[position] != "---":
        line = lines[position]
        position += 1
        if line.startswith("## "):
            section = line[3:]
        elif line.startswith("### "):
            read = _markdown_file if view is View.SECTIONS else _markdown_entity
            item, position = read(lines, position, section, view)
            yield item
        elif view is View.SECTIONS and (match := _RECORD.fullmatch(line)):
            title, detail = _read_title(match[2] or "")
            body, nonce, position = _fenced(lines, position)
            yield _record(section, f"{match[1]} {title}" if title else match[1], "\n".join(body), detail, nonce)


def _markdown_file(lines: Sequence[str], position: int, section: str, _view: View) -> tuple[ParsedItem, int]:
    path = _unquoted(lines[position - 1][4:])
    body, nonce, after = _fenced(lines, position)
    is_shown = after > position
    if not is_shown:
        body = list(takewhile(_LABEL.fullmatch, lines[position:]))
        after += len(body)
    return ParsedItem(section, path, "", tuple(read_labelled(body, shown=is_shown)), nonce), after


def _markdown_entity(lines: Sequence[str], position: int, section: str, view: View) -> tuple[ParsedItem, int]:
    heading = lines[position - 1]
    name = _unquoted(_untyped(heading[4:]) if view is View.BLOCKS else heading[4:])
    location = _LOCATION.fullmatch(lines[position]) if position < len(lines) else None
    if location is None:
        raise ValueError(f"no location below {heading!r}")
    position += 2
    if not location[2]:
        body, nonce, position = _fenced(lines, position)
        return _record(section, name, "\n".join(body), _read_marks((location[3] or "")[2:-1])[0], nonce), position
    imports: list[Piece] = []
    if position < len(lines) and lines[position].startswith(_IMPORTS):
        place = lines[position].removeprefix(_IMPORTS)
        body, _, position = _fenced(lines, position + 1)
        imports += _split(place, name, body)
        position += 1
    position += lines[position : position + 1] == [_CODE]
    body, nonce, position = _fenced(lines, position)
    pieces = (*imports, *_split(location[2], name, body))
    return ParsedItem(section, _unquoted(location[1]), "", pieces, nonce), position


def _split(place: str, name: str, body: Sequence[str]) -> Iterator[Piece]:
    """Yield the pieces at `15-18 (span); 19-37=1,40 (line)`, whose texts are these lines, with a line at each gap."""
    position, previous = 0, None
    for part in place.split("; "):
        match = _MARKED_RANGES.fullmatch(part)
        if match is None:
            raise ValueError(f"{part!r} is not a range")
        for lines in map(_lines, match[1].split(",")):
            if previous is not None and lines.start != previous + 1:
                position += 1
            text = "\n".join(body[position : position + lines.shown])
            yield Piece(lines.start, lines.end, name, text, *_read_marks(match[2]))
            position, previous = position + lines.shown, lines.end


def _fenced(lines: Sequence[str], position: int) -> tuple[list[str], str, int]:
    """Return the lines of the fence that opens here, its nonce, and the position after it; nothing if none opens."""
    fence = _FENCE.fullmatch(lines[position]) if position < len(lines) else None
    if fence is None:
        return [], "", position
    end = _block_end(lines, fence[1], position + 1)
    words = fence[2].split(" ")
    nonce = words[1] if len(words) == 2 else words[0] if words[0].isdigit() else ""
    return list(lines[position + 1 : end]), nonce, end + 1


def _block_end(lines: Sequence[str], closing: str, position: int) -> int:
    try:
        return lines.index(closing, position)
    except ValueError:
        raise ValueError(f"the block that opens on line {position} is not closed") from None


def _plain_items(text: str, view: View) -> Iterator[ParsedItem]:
    lines = text.split("\n")
    section, position = "", 0
    while position < len(lines):
        line = lines[position]
        position += 1
        if match := _PLAIN_SECTION.fullmatch(line):
            section = match[1]
        elif match := _PLAIN_ITEM.fullmatch(line):
            run, title, mark = match.groups()
            end = _block_end(lines, f"{run} {mark}", position)
            read = _plain_item if view is View.SECTIONS else _plain_entity
            yield read(section, title, lines[position:end], "" if mark == NO_NONCE else mark, view)
            position = end + 1


def _plain_item(section: str, title: str, body: list[str], nonce: str, _view: View) -> ParsedItem:
    if match := _PLAIN_FILE.fullmatch(title):
        pieces = tuple(read_labelled(body, shown=match[1] == "file"))
        return ParsedItem(section, _unquoted(match[2]), "", pieces, nonce)
    title, detail = _read_title(title)
    return _record(section, title, "\n".join(body), detail, nonce)


def _plain_entity(section: str, title: str, body: list[str], nonce: str, view: View) -> ParsedItem:
    if view is View.BLOCKS:
        name = _unquoted(_untyped(title))
        path = ""
        if body[0].startswith("File: "):
            path = _unquoted(body.pop(0).removeprefix("File: ").rpartition(":")[0])
        body.pop(0)  # the score, which an item does not have
    else:
        match = _PLAIN_PLACE.fullmatch(title)
        if match is None:
            raise ValueError(f"{title!r} has no place")
        name, path = _unquoted(match[1]), _unquoted(match[2])
    first = _PLAIN_PIECE.fullmatch(body[0])
    if first is not None and not first[1]:
        return _record(section, name, "\n".join(body[1:]), _read_marks(first[2])[0], nonce)
    return ParsedItem(section, path, "", tuple(_plain_pieces(body, name)), nonce)


def _plain_pieces(body: Sequence[str], name: str) -> Iterator[Piece]:
    position = 0
    while position < len(body):
        match = _PLAIN_PIECE.fullmatch(body[position])
        if match is None or not match[1]:
            raise ValueError(f"{body[position]!r} is not a range")
        lines = _lines(match[1])
        end = position + 1 + (lines.shown if match[3] else 0)
        yield Piece(lines.start, lines.end, name, "\n".join(body[position + 1 : end]), *_read_marks(match[2]))
        position = end


def _xml_items(text: str, _view: View) -> Iterator[ParsedItem]:
    root = ElementTree.fromstring(text)
    sections = [(section.get("name", ""), list(section)) for section in root.iterfind("section")]
    for section, elements in [("", root.findall("entity")), *sections]:
        for element in elements:
            location = element.find("location")
            path = element.get("path") or (element if location is None else location).get("file", "")
            name, nonce = element.get("name", ""), element.get("nonce", "")
            rows = [row for row in element if row.tag in _XML_LINES] or [element]
            if path:
                pieces = tuple(_xml_piece(row, name) for row in rows)
                yield ParsedItem(section, path, "", pieces, nonce)
            else:
                shown = _xml_piece(rows[0], name)
                yield _record(section, element.get("title", name), shown.text, shown.detail, nonce)


def _xml_piece(row: ElementTree.Element, name: str) -> Piece:
    lines = _lines(row.get("range", "0"))
    text = (row.text or "\n\n")[1:-1]  # without the line breaks next to the tags
    return Piece(lines.start, lines.end, row.get("name", name), text, *_marks(row.attrib))


def _json_items(text: str, view: View) -> Iterator[ParsedItem]:
    context = json.loads(text)["context"]
    for group in context.get("groups", [{"title": "", "items": context.get("items")}]):
        for fields in group["items"]:
            section = group["title"]
            if not section and view is View.SECTIONS:
                section = fields.get("section") or Kind(fields["source"]).heading
            yield _json_item(section, fields)


def _json_item(section: str, fields: Mapping[str, Any]) -> ParsedItem:
    name = fields.get("entity", fields).get("name", "")
    path = fields.get("path") or fields.get("location", fields).get("file", "")
    nonce = fields.get("nonce", "")
    if not path:
        return _record(section, fields.get("title", name), fields["text"], _marks(fields)[0], nonce)
    pieces = tuple(
        Piece(row["start"], row["end"], row.get("name", name), row.get("text", ""), *_marks(row))
        for row in (*fields.get("imports", ()), *fields["ranges"])
    )
    return ParsedItem(section, path, "", pieces, nonce)


_PARSERS: Mapping[Format, Callable[[str, View], Iterator[ParsedItem]]] = {
    Format.MARKDOWN: _markdown_items,
    Format.XML: _xml_items,
    Format.PLAIN: _plain_items,
    Format.JSON: _json_items,
}
