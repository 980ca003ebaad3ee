"""Markdown notes: front matter, links, fields, tags and embeds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

MOST_CHARACTERS = 64_000
"""Maximum characters of front matter; a written one has a thousand."""

MOST_DEPTH = 8

_FENCE = "---"
_ENDS = frozenset({"---", "..."})


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The front matter of a note: its values by key, its number of lines, and an error message, empty if valid."""

    values: Mapping[str, Any] = field(default_factory=dict)
    lines: int = 0
    problem: str = ""


def front_matter(lines: Sequence[str]) -> FrontMatter:
    """Return the front matter at the top of a text; none where the first line does not begin it."""
    if not lines or lines[0].rstrip() != _FENCE:
        return FrontMatter()
    end = next((row for row in range(1, len(lines)) if lines[row].rstrip() in _ENDS), 0)
    if not end:
        return FrontMatter()
    text = "\n".join(lines[1:end])
    if len(text) > MOST_CHARACTERS:
        problem = f"front matter has {len(text):,} characters: at most {MOST_CHARACTERS:,} are read"
        return FrontMatter(lines=end + 1, problem=problem)
    try:
        values = _load(text)
    except _problems() as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 2}" if mark is not None else ""
        reason = getattr(error, "problem", None) or str(error) or type(error).__name__
        return FrontMatter(lines=end + 1, problem=f"front matter{where}: {reason}")
    if values is not None and not isinstance(values, dict):
        return FrontMatter(lines=end + 1, problem="front matter is no list of keys with values")
    plain = {str(key): _plain(value) for key, value in (values or {}).items()}
    return FrontMatter(plain, end + 1)


def _problems() -> tuple[type[Exception], ...]:
    """Return the errors of YAML, and of values that only look like a date or a number."""
    import yaml

    return yaml.YAMLError, ValueError, TypeError, RecursionError, OverflowError


def _load(text: str) -> Any:
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]  # the library has no types
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                event = self.peek_event()
                raise yaml.composer.ComposerError(None, None, "an alias (*) is not read", event.start_mark)
            return super().compose_node(parent, index)

    loader = Loader(text)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def _plain(value: Any, depth: int = MOST_DEPTH) -> Any:
    """Return a value of YAML as one of JSON: a date is `2026-05-01`; a value nested too deep is text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping) and depth:
        return {str(key): _plain(inner, depth - 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset) and depth:
        return [_plain(inner, depth - 1) for inner in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


LONGEST_LINK = 500
"""Maximum characters between the brackets of a link."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_TAG = re.compile(r"(?:(?<=[\s(,;])|^)#([\w/-]*[^\W\d][\w/-]*)")
_BLOCK = re.compile(r"(?:^|\s)\^([A-Za-z0-9-]+)\s*\Z")
_HOLE = "\ue000{}\ue001"  # replaces a link while a line is searched; private characters
_HOLES = re.compile("\ue000([0-9]+)\ue001")
_NAME = r"[^\s:\[\](){}\ue000#`][^:\[\](){}\ue000\ue001\n]{0,59}?"
_FIELD_LINE = re.compile(rf"\s*({_NAME})::(?:\s+(.*))?\Z")
_FIELD_BRACKETS = re.compile(rf"[\[(]({_NAME})::\s*([^\[\]()\n]*)[\])]")


@dataclass(frozen=True, slots=True)
class FoundHeading:
    """A heading: the row of its first line (from 0), its level (1 to 6) and its title."""

    row: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class FoundLink:
    """A link as it is written. `is_path` is true for a Markdown link, whose target is relative to its file."""

    row: int
    target: str
    shown: str
    is_path: bool = False
    in_field: bool = False


@dataclass(frozen=True, slots=True)
class FoundField:
    """`name:: value`; a value of only links has no text."""

    row: int
    name: str
    text: str
    links: tuple[FoundLink, ...] = ()


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
    end = state.src.find("]]", start, start + LONGEST_LINK) if opening else -1
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
    parts = (wikilink(0, one.content).shown if one.type == "wikilink" else one.content for one in children)
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
