"""A file of a vault as notes: one for the file, and one below it for each heading.

The note of the file is the text before the first heading, with a title at the very top. A section ends before the next
heading. A field or tag anywhere in a file belongs to the file, as in the programs that write such files. A link belongs
to its section.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from satchel.sources.canvas import cards_of, readable_board
from satchel.sources.docs import PATH_SEPARATOR, line_count
from satchel.sources.front_matter import FrontMatter, yaml_front_matter
from satchel.sources.notes import CANVAS
from satchel.types import Data, EdgeType, Json, Outline, Part, Role

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_TAG = re.compile(r"(?:(?<=[\s(,;])|^)#([\w/-]*[^\W\d][\w/-]*)")
_BLOCK = re.compile(r"(?:^|\s)\^([A-Za-z0-9-]+)\s*\Z")
_HOLE = "\ue000{}\ue001"  # replaces a link while a line is searched; private characters
_HOLES = re.compile("\ue000([0-9]+)\ue001")
_NAME = r"[^\s:\[\](){}\ue000#`][^:\[\](){}\ue000\ue001\n]{0,59}?"
_FIELD_LINE = re.compile(rf"\s*({_NAME})::(?:\s+(.*))?\Z")
_FIELD_BRACKETS = re.compile(rf"[\[(]({_NAME})::\s*([^\[\]()\n]*)[\])]")


def is_only_field(line: str) -> bool:
    """Return whether a line is nothing but `key:: value`, also as an entry of a list."""
    return _FIELD_LINE.match(re.sub(r"^\s*[-*+]\s+", "", line)) is not None


class FoundHeading(NamedTuple):
    """A heading: the row of its first line (from 0), its level (1 to 6) and its title."""

    row: int
    level: int
    title: str


class FoundLink(NamedTuple):
    """A link as it is written. `is_path` is true for a Markdown link, whose target is relative to its file."""

    row: int
    target: str
    shown: str
    is_path: bool = False
    in_field: bool = False


class FoundField(NamedTuple):
    """`name:: value`; a value of only links has no text."""

    row: int
    name: str
    text: str
    links: tuple[FoundLink, ...] = ()

    @property
    def values(self) -> list[str]:
        """The text, or the names of the links."""
        return [self.text] if self.text else [link.shown or link.target for link in self.links]


@dataclass(slots=True)
class Contents:
    """The contents of a text, in order of rows."""

    headings: list[FoundHeading] = field(default_factory=list)
    links: list[FoundLink] = field(default_factory=list)
    fields: list[FoundField] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    blocks: dict[str, int] = field(default_factory=dict)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark")
    parser.inline.ruler.before("link", "wikilink", _wikilink)
    return parser


def _wikilink(state: StateInline, silent: bool) -> bool:
    """Parse `[[target]]` and `![[target]]`, before other rules use the brackets."""
    opening = next((mark for mark in ("[[", "![[") if state.src.startswith(mark, state.pos)), "")
    start = state.pos + len(opening)
    # Maximum characters between the brackets of a link.
    end = state.src.find("]]", start, start + 500) if opening else -1
    inner = state.src[start:end]
    if end < 0 or not inner.strip() or "\n" in inner or "[[" in inner:
        return False
    if not silent:
        token = state.push("wikilink", "", 0)
        token.content = inner
    state.pos = end + 2
    return True


def wikilink(row: int, inner: str, *, in_field: bool = False) -> FoundLink:
    r"""Return the link between double brackets; inside of a table its `|` is written `\|`."""
    target, _, shown = inner.replace("\\|", "|").partition("|")
    return FoundLink(row, target.strip(), shown.strip() or target.strip(), in_field=in_field)


def wikilinks(text: str) -> list[FoundLink]:
    """Return the links in a value of front matter."""
    return [wikilink(0, inner, in_field=True) for inner in re.findall(r"\[\[([^\[\]\n]{1,500})\]\]", text)]


def look_through(lines: Sequence[str], first_row: int) -> Contents:
    """Return the contents from `first_row` on; rows count from 0 at the first of `lines`."""
    contents = Contents()
    tokens = _parser().parse("\n".join([*[""] * first_row, *lines[first_row:]]))
    for number, token in enumerate(tokens):
        if token.type == "inline" and token.map is not None:
            opening = tokens[number - 1]
            if opening.type == "heading_open" and opening.level == 0:
                title = " ".join(_title_text(token.children or ()).split())
                contents.headings.append(FoundHeading(token.map[0], int(opening.tag[1]), title))
            _look_at(token, contents)
    return contents


def _title_text(children: Sequence[Token]) -> str:
    parts = (wikilink(0, child.content).shown if child.type == "wikilink" else child.content for child in children)
    return "".join(parts)


def _look_at(token: Token, contents: Contents) -> None:
    """Add the contents of one block of text, line by line."""
    assert token.map is not None
    row = token.map[0]
    for children in _lines(token.children or ()):
        links: list[FoundLink] = []
        line = "".join(_piece(child, row, links) for child in children)
        _look_at_line(line, row, links, contents)
        row += 1


def _lines(children: Sequence[Token]) -> Iterator[list[Token]]:
    line: list[Token] = []
    for child in children:
        if child.type in {"softbreak", "hardbreak"}:
            yield line
            line = []
        else:
            line.append(child)
    yield line


def _piece(child: Token, row: int, links: list[FoundLink]) -> str:
    """Return the text of a piece of a line; a link becomes a hole with its number."""
    if child.type == "wikilink":
        links.append(wikilink(row, child.content))
        return _HOLE.format(len(links) - 1)
    if child.type == "link_open":
        target = unquote(str(child.attrGet("href") or ""))
        if target and _SCHEME.match(target) is None:
            links.append(FoundLink(row, target, "", is_path=True))
            return _HOLE.format(len(links) - 1)
    return child.content if child.type == "text" else " " if child.type == "code_inline" else ""


def _look_at_line(line: str, row: int, links: list[FoundLink], contents: Contents) -> None:
    rows = [(match[1], match[2]) for match in _FIELD_BRACKETS.finditer(line)]
    if whole := _FIELD_LINE.match(line):
        rows = [(whole[1], whole[2] or "")]
    taken: set[int] = set()
    for name, value in rows:
        inside = [int(number) for number in _HOLES.findall(value)]
        taken.update(inside)
        text = (
            "" if not _HOLES.sub("", value).strip(" ,;") else _HOLES.sub(lambda hole: links[int(hole[1])].shown, value)
        )
        contents.fields.append(FoundField(row, name.strip(), text.strip(), tuple(links[number] for number in inside)))
    for number, link in enumerate(links):
        is_field = number in taken
        contents.links.append(FoundLink(link.row, link.target, link.shown, link.is_path, is_field))
    contents.tags += _TAG.findall(line)
    if block := _BLOCK.search(line):
        contents.blocks.setdefault(block[1], row)


NAMELESS = "(untitled)"

_TAG_KEYS = frozenset({"tag", "tags"})
_ALIAS_KEYS = frozenset({"alias", "aliases"})


class RawLink(NamedTuple):
    """A link as written, from one part of a file (counted from 0). `is_path` as in `FoundLink`, `line` from 1."""

    part: int
    type: EdgeType
    target: str
    is_path: bool
    line: int = 0


@dataclass(slots=True)
class Facts:
    """The properties of a file besides its text, as stored in the fields of its document.

    `fields` are those of the user: lists of values by name, a link as `{"name": ..., "target": ...}`. `blocks` are the
    parts of named blocks.
    """

    title: str
    tags: tuple[str, ...] = ()
    inherited: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    fields: dict[str, list[Any]] = field(default_factory=dict)
    links: list[RawLink] = field(default_factory=list)
    blocks: dict[str, int] = field(default_factory=dict)
    problem: str = ""

    def dump(self) -> str:
        """Return the facts as JSON, for another process."""
        rows = [[*link] for link in self.links]
        return json.dumps(
            [self.title, self.tags, self.inherited, self.aliases, self.fields, rows, self.blocks, self.problem]
        )


def stored_fields(data: str) -> tuple[str, tuple[str, ...], Json]:
    """Return title, tags and fields of a document from dumped facts."""
    title, tags, inherited, aliases, fields, links, blocks, problem = json.loads(data)
    stored = {
        "fields": fields, "inherited_tags": inherited, "aliases": aliases, "links": links, "blocks": blocks,
        "problem": problem,
    }  # fmt: skip
    return title, tuple(tags), {name: value for name, value in stored.items() if value}


def stored_links(fields: Data) -> list[RawLink]:
    """Return the links of a document, from its fields."""
    return [RawLink(part, EdgeType(kind), *rest) for part, kind, *rest in fields.get("links", ())]


def read_note(path: str, text: str) -> tuple[Outline, Facts]:
    """Return the parts and the facts of a file. `text` is clean and has plain line feeds."""
    lines = text.split("\n")
    if path.lower().endswith(CANVAS):
        return _read_canvas(path, readable_board(text).split("\n"))
    matter = yaml_front_matter(lines)
    contents = look_through(lines, matter.lines)
    title, sections = _title(path, lines, matter, contents.headings)
    parts = _parts(lines, sections)
    return Outline("markdown", parts), _facts(title, matter, contents, parts)


def _read_canvas(path: str, lines: Sequence[str]) -> tuple[Outline, Facts]:
    """Return a part for each card, with links to what it shows and along its arrows."""
    facts = Facts(path.rpartition("/")[2].rpartition(".")[0])
    try:
        cards = cards_of(lines)
    except (ValueError, RecursionError) as error:
        facts.problem = f"canvas: {type(error).__name__}: {error}"
        return Outline("markdown", _parts(lines, ())), facts
    parts = _parts(lines, [FoundHeading(row, 1, name or NAMELESS) for row, name in cards.items()])
    starts = [part.start for part in parts]
    for row in cards:
        part = bisect_right(starts, row + 1) - 1
        targets = dict.fromkeys(link.target for link in wikilinks(lines[row]))
        facts.links += [RawLink(part, EdgeType.REFERENCE, target, is_path=False, line=row + 1) for target in targets]
    return Outline("markdown", parts), facts


def _title(
    path: str, lines: Sequence[str], matter: FrontMatter, headings: Sequence[FoundHeading]
) -> tuple[str, Sequence[FoundHeading]]:
    """Return the title of a file, and its headings without one that is the title of all below it."""
    stem = path.rpartition("/")[2].rpartition(".")[0]
    value = matter.values.get("title")
    named = str(value).strip() if isinstance(value, str | int | float) else ""
    top = headings[0] if headings else None
    is_alone = [heading for heading in headings if heading.level == 1] == [top]
    if top is None or not is_alone or any(map(str.strip, lines[matter.lines : top.row])):
        return named or stem, headings
    return named or top.title or stem, headings[1:]


def _parts(lines: Sequence[str], headings: Sequence[FoundHeading]) -> tuple[Part, ...]:
    end = max(line_count(lines), 1)
    starts = [heading.row for heading in headings]
    if starts[:1] == [0]:
        # The file itself is a note even where its first line is a section: it takes the line as its own.
        starts, headings = starts[1:], headings[1:]
    parts = [Part(Role.TEXT, "", 1, starts[0] if starts else end)]
    path: list[FoundHeading] = []
    for heading, after in zip(headings, [*starts, end][1:], strict=True):
        while path and path[-1].level >= heading.level:
            path.pop()
        path.append(heading)
        name = PATH_SEPARATOR.join(found_heading.title or NAMELESS for found_heading in path)
        parts.append(Part(Role.SECTION, name, heading.row + 1, after, signature=heading.title))
    return tuple(parts)


def _facts(title: str, matter: FrontMatter, contents: Contents, parts: Sequence[Part]) -> Facts:
    starts = [part.start for part in parts]

    def part_at(row: int) -> int:
        return bisect_right(starts, row + 1) - 1

    facts = Facts(title, problem=matter.problem)
    own: list[str] = []
    aliases: list[str] = []
    for key, value in matter.values.items():
        if key.lower() in _TAG_KEYS:
            own += _tags(value)
        elif key.lower() in _ALIAS_KEYS:
            aliases += [str(alias).strip() for alias in _listed(value)]
        elif key.lower() != "title":
            _add_value(facts, key, value)
    for found in contents.fields:
        values = facts.fields.setdefault(found.name, [])
        values += [found.text] if found.text else [_reference(link) for link in found.links]
    facts.links += [
        RawLink(
            part_at(link.row),
            EdgeType.FIELD if link.in_field else EdgeType.REFERENCE,
            link.target,
            link.is_path,
            link.row + 1,
        )
        for link in contents.links
    ]
    own += [tag.strip("/") for tag in contents.tags]
    facts.tags = tuple(dict.fromkeys(tag for tag in own if tag))
    above = dict.fromkeys(name for tag in facts.tags for name in _above(tag) if name not in facts.tags)
    facts.inherited, facts.tags = tuple(above), (*facts.tags, *above)
    facts.aliases = tuple(dict.fromkeys(alias for alias in aliases if alias))
    facts.blocks = {name: part_at(row) for name, row in contents.blocks.items()}
    return facts


def _add_value(facts: Facts, key: str, value: Any) -> None:
    """Add a value of front matter and its links; a mapping is stored as JSON."""
    for entry in _listed(value):
        text = json.dumps(entry, ensure_ascii=False) if isinstance(entry, Mapping | list) else _scalar(entry)
        links = wikilinks(text)
        facts.links += [RawLink(0, EdgeType.FIELD, link.target, is_path=False, line=1) for link in links]
        is_link = len(links) == 1 and text.strip() == f"[[{text.strip()[2:-2]}]]"
        if text:
            facts.fields.setdefault(key, []).append(_reference(links[0]) if is_link else text)


def _reference(link: FoundLink) -> dict[str, str]:
    return {"name": link.shown or link.target, "target": link.target}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _scalar(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else "" if value is None else str(value).strip()


def _tags(value: Any) -> list[str]:
    """Return the tags of front matter: a list, or a text with commas or blanks between them."""
    names = value.replace(",", " ").split() if isinstance(value, str) else [str(tag) for tag in _listed(value)]
    return [tag.strip().lstrip("#").strip("/") for tag in names]


def _above(tag: str) -> Iterator[str]:
    """Yield the tags above a tag: `a/b` and `a` for `a/b/c`."""
    steps = tag.split("/")
    return ("/".join(steps[:count]) for count in range(len(steps) - 1, 0, -1))
