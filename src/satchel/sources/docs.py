"""Cutting of a text into chunks, and of prose into the sections of its headings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from satchel.sources.code.languages import PROSE, comment_lines
from satchel.sources.front_matter import front_matter_lines
from satchel.text import pattern
from satchel.types import Outline, Part, Role

MAX_LINES = 40
"""Longest chunk in lines: about 400 tokens, which a packer still shows completely."""

MIN_LINES = 12
"""Shortest chunk in lines, except for the last one: a shorter one has too few words for a search."""


def line_count(lines: Sequence[str]) -> int:
    """Return the number of lines of a text split at line feeds; a line feed at the very end starts no line."""
    return len(lines) - 1 if lines and not lines[-1] else len(lines)


def chunks(lines: Sequence[str], role: Role, first: int = 0, last: int | None = None) -> tuple[Part, ...]:
    """Return parts of at most `MAX_LINES` lines that tile the rows `first` to `last` (from 0, `last` exclusive).

    A cut is before the line with the least indentation, preferably after a blank line, and as late as possible. Blank
    lines stay with the chunk before, so a long run of them makes that chunk longer.
    """
    end = line_count(lines) if last is None else last
    parts = []
    start = first
    while start < end:
        cut = end if end - start <= MAX_LINES else _cut(lines, start, end)
        while cut < end and not lines[cut].strip():
            cut += 1
        parts.append(Part(role, "", start + 1, cut))
        start = cut
    return tuple(parts)


def _cut(lines: Sequence[str], start: int, end: int) -> int:
    """Return the best row to start the next chunk at; a blank row counts as the text after it."""
    best, best_cost = start + MAX_LINES, float("inf")
    below = start
    for row in range(start + MIN_LINES, min(start + MAX_LINES + 1, end)):
        below = max(below, row)
        while below < end and not lines[below].strip():
            below += 1
        if below == end:
            return row
        indentation = len(lines[below]) - len(lines[below].lstrip())
        after_blank = below > row or not lines[row - 1].strip()
        # Columns of indentation that a blank line before a cut is worth.
        cost = indentation - (6 if after_blank else 0)
        if cost <= best_cost:
            best, best_cost = row, cost
    return best


PATH_SEPARATOR = " > "
"""Between the titles of a heading path: `Guide > Install > Linux`."""


def outline_chunk(text: str, language: str) -> Outline:
    """Return sections for a language with known headings, else chunks of at most 40 lines.

    A section runs from its heading to the next one of any level; its name is the path of titles down to it. `text`
    has plain line feeds; the parts tile it.
    """
    lines = text.split("\n")
    finder = FINDERS.get(language)
    headings = list(finder(lines)) if finder else []
    parts = tuple(_sections(lines, headings)) if headings else chunks(lines, Role.TEXT)
    return Outline(language, parts, comment_lines=comment_lines(lines, language))


def _sections(lines: Sequence[str], headings: Sequence[Heading]) -> Iterator[Part]:
    """Yield one part for each heading; the text before the first, or below an empty title, in chunks."""
    end = line_count(lines)
    first = headings[0].row
    if any(line.strip() for line in lines[:first]):
        yield from chunks(lines, Role.TEXT, 0, first)
    else:
        first = 0
    path: list[Heading] = []
    followers = [heading.row for heading in headings[1:]] + [end]
    for heading, follower in zip(headings, followers, strict=True):
        while path and path[-1].level >= heading.level:
            path.pop()
        path.append(heading)
        if heading.title:
            name = PATH_SEPARATOR.join(other.title for other in path if other.title)
            yield Part(Role.SECTION, name, first + 1, follower, signature=heading.title)
        else:
            yield from chunks(lines, Role.TEXT, first, follower)
        first = follower


_FRONT_TITLE = pattern(r"title[ \t]*[:=][ \t]*(.+?)[ \t]*\Z", re.IGNORECASE)


def title_of(text: str, outline: Outline) -> str:
    """Return the title of a document of prose where its sections do not have it in their names, else an empty text.

    It is the `title` of the front matter, else the first heading.
    """
    if outline.language not in PROSE:
        return ""
    lines = text.split("\n")
    for line in lines[1 : front_matter_lines(lines)]:
        if match := _FRONT_TITLE.match(line):
            return _plain(match[1].strip("\"'"))
    sections = [part for part in outline.parts if part.role is Role.SECTION]
    above = f"{sections[0].name}{PATH_SEPARATOR}" if sections else ""
    return "" if all(part.name.startswith(above) for part in sections[1:]) else sections[0].signature


MAX_TITLE = 120
"""Longest title in characters."""

MIN_BLOCK = 3
"""Fewest lines of a top-level key that is a section of its own; shorter ones stay together."""


class Heading(Struct, frozen=True):
    """A section begins at `row`; `level` counts from 1, deeper is larger; `line` is the row of the title itself."""

    row: int
    level: int
    title: str
    line: int


Finder = Callable[[Sequence[str]], Iterable[Heading]]

_ATX = pattern(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*\Z")
_SETEXT = pattern(r" {0,3}(=+|-+)[ \t]*\Z")
_FENCE = pattern(r" {0,3}(`{3,}|~{3,})(.*)\Z")
_NO_PARAGRAPH = pattern(r" {0,3}(?:[>|#]|[-*+][ \t]|\d+[.)][ \t])| {4}|\t|\s*\Z")
_LINK = pattern(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_ANCHOR = pattern(r"[ \t]*\{[#.:][^{}]*\}\Z")
_ROLE = pattern(r":[\w:+-]+:(?=`)")
_TAG = pattern(r"(?<!`)(?:<(?:a|img|span)\s[^<>]*>|</(?:a|span)>)")


def markdown(lines: Sequence[str]) -> Iterator[Heading]:
    """`# Title` and underlined titles, outside of front matter, fenced code and comments."""
    fence, in_comment = "", False
    start = front_matter_lines(lines)
    for row in range(start, len(lines)):
        line = lines[row]
        match = _FENCE.match(line)
        if fence:
            if match and match[1].startswith(fence) and not match[2].strip():
                fence = ""
            continue
        if in_comment or line.lstrip().startswith("<!--"):
            in_comment = "-->" not in line
            continue
        if match and not (match[1][0] == "`" and "`" in match[2]):
            fence = match[1]
            continue
        atx = _ATX.match(line)
        if atx:
            yield Heading(row, len(atx[1]), _plain(atx[2] or ""), row)
            continue
        setext = _SETEXT.match(line)
        if setext and row > start and not _NO_PARAGRAPH.match(lines[row - 1]) and not _SETEXT.match(lines[row - 1]):
            yield Heading(row - 1, 1 if setext[1][0] == "=" else 2, _plain(lines[row - 1]), row - 1)


def _plain(title: str) -> str:
    """Return a title without links, anchors, roles and emphasis, also if they are written as HTML."""
    text = _ANCHOR.sub("", _ROLE.sub("", _LINK.sub(r"\1", _TAG.sub("", title))))
    return " ".join(text.replace("`", "").replace("**", "").split())[:MAX_TITLE].strip()


_ADORNMENT = pattern(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*\Z")


def restructured(lines: Sequence[str]) -> Iterator[Heading]:
    """Titles with a line of punctuation below, or above and below; levels in order of appearance."""
    levels: dict[tuple[str, bool], int] = {}
    row = 0
    while row + 1 < len(lines):
        above = _ADORNMENT.match(lines[row])
        if above and _is_between(lines, row):
            level = levels.setdefault((above[1], True), len(levels) + 1)
            yield Heading(row, level, _plain(lines[row + 1]), row + 1)
            row += 3
            continue
        below = _ADORNMENT.match(lines[row + 1])
        if below and not above and _is_underlined(lines, row):
            level = levels.setdefault((below[1], False), len(levels) + 1)
            yield Heading(row, level, _plain(lines[row]), row)
            row += 2
            continue
        row += 1


def _is_between(lines: Sequence[str], row: int) -> bool:
    """Return whether a title stands between two equal adornments that start at this row."""
    return row + 2 < len(lines) and _is_title(lines[row + 1]) and lines[row + 2].rstrip() == lines[row].rstrip()


def _is_underlined(lines: Sequence[str], row: int) -> bool:
    """Return whether this row is a title at the start of a paragraph, with a long enough adornment below."""
    title = lines[row].rstrip()
    if not _is_title(title) or title[0].isspace():
        return False
    starts_paragraph = row == 0 or not lines[row - 1].strip() or lines[row - 1].startswith(".. ")
    return starts_paragraph and len(lines[row + 1].rstrip()) >= min(len(title), 4)


def _is_title(line: str) -> bool:
    return bool(line.strip()) and not line.startswith((".. ", "   ")) and not _ADORNMENT.match(line)


_ASCIIDOC = pattern(r"(={1,6})[ \t]+(\S.*)\Z")
_ASCIIDOC_BLOCK = pattern(r"(-{4,}|\.{4,}|={4,}|\+{4,}|/{4,})[ \t]*\Z")
_ORG = pattern(r"(\*+)[ \t]+(\S.*)\Z")


def asciidoc(lines: Sequence[str]) -> Iterator[Heading]:
    """`== Title`, outside of delimited blocks."""
    block = ""
    for row, line in enumerate(lines):
        delimiter = _ASCIIDOC_BLOCK.match(line)
        if delimiter:
            block = "" if block == delimiter[1] else block or delimiter[1]
        elif not block and (match := _ASCIIDOC.match(line)):
            yield Heading(row, len(match[1]), _plain(match[2]), row)


def org(lines: Sequence[str]) -> Iterator[Heading]:
    """`* Title`."""
    for row, line in enumerate(lines):
        if match := _ORG.match(line):
            yield Heading(row, len(match[1]), _plain(match[2]), row)


_TABLE = pattern(r"[ \t]*\[\[?[ \t]*([^\[\]]+?)[ \t]*\]?\][ \t]*(?:[#;].*)?\Z")
_TRIPLE = pattern(r'"""|\'\'\'')


def tables(lines: Sequence[str]) -> Iterator[Heading]:
    """`[table]` and `[[table]]` of TOML and INI, outside of strings over several lines; comments above included."""
    quote = ""
    for row, line in enumerate(lines):
        outside = not quote
        for mark in _TRIPLE.findall(line):
            quote = "" if quote == mark else quote or mark
        if outside and (match := _TABLE.match(line)):
            title = match[1].replace('"', "").replace("'", "")[:MAX_TITLE]
            yield Heading(_comment_start(lines, row, ("#", ";")), 1, title, row)


_YAML_KEY = pattern(r"([^\s#\-:&*!|>'\"%@`{}\[\],][^:#]*|\"[^\"]+\"|'[^']+')[ \t]*:(?:[ \t]|\Z)")


def yaml_keys(lines: Sequence[str]) -> Iterator[Heading]:
    """Top-level keys with at least `MIN_BLOCK` lines; comments above included."""
    keys = [(row, match[1].strip("'\"")) for row, line in enumerate(lines) if (match := _YAML_KEY.match(line))]
    return _blocks(lines, keys, ("#",))


_JSON_KEY = pattern(r'([ \t]+)"((?:[^"\\]|\\.)*)"[ \t]*:')


def json_keys(lines: Sequence[str]) -> Iterator[Heading]:
    """Top-level keys of an object written over several lines, with at least `MIN_BLOCK` lines."""
    matches = [(row, match) for row, line in enumerate(lines) if (match := _JSON_KEY.match(line))]
    if not matches:
        return iter(())
    indent = matches[0][1][1]
    keys = [(row, match[2]) for row, match in matches if match[1] == indent]
    return _blocks(lines, keys, ("//",))


_END_OF_OBJECT = frozenset({"", "}", "]"})


def _blocks(lines: Sequence[str], keys: Sequence[tuple[int, str]], marks: tuple[str, ...]) -> Iterator[Heading]:
    """Yield the keys that are large enough, and the first small one after each of these: it ends the block before."""
    last = len(lines)
    while last and lines[last - 1].strip() in _END_OF_OBJECT:
        last -= 1
    in_run = True
    for (row, title), (end, _) in pairwise([*keys, (last, "")]):
        is_large = end - row >= MIN_BLOCK
        if is_large or not in_run:
            yield Heading(_comment_start(lines, row, marks), 1, title[:MAX_TITLE] if is_large else "", row)
        in_run = not is_large


_TARGET = pattern(r"((?!\.PHONY)[^\s#:=][^:=#]*?)[ \t]*::?(?![:=])")
_STAGE = pattern(r"[ \t]*FROM[ \t]+(?:--\S+[ \t]+)*(\S+)(?:[ \t]+AS[ \t]+(\S+))?", re.IGNORECASE)


def targets(lines: Sequence[str]) -> Iterator[Heading]:
    """Targets of a Makefile; comments above included."""
    for row, line in enumerate(lines):
        if match := _TARGET.match(line):
            yield Heading(_comment_start(lines, row, ("#", ".PHONY")), 1, match[1][:MAX_TITLE], row)


def stages(lines: Sequence[str]) -> Iterator[Heading]:
    """Stages of a Dockerfile; comments above included."""
    for row, line in enumerate(lines):
        if match := _STAGE.match(line):
            yield Heading(_comment_start(lines, row, ("#",)), 1, (match[2] or match[1])[:MAX_TITLE], row)


def _comment_start(lines: Sequence[str], row: int, marks: tuple[str, ...]) -> int:
    """Return the first of the unindented comment lines directly above a row, or the row."""
    while row > 0 and lines[row - 1].startswith(marks):
        row -= 1
    return row


FINDERS: dict[str, Finder] = {
    "asciidoc": asciidoc,
    "config": tables,
    "dockerfile": stages,
    "ini": tables,
    "json": json_keys,
    "just": targets,
    "make": targets,
    "markdown": markdown,
    "org": org,
    "rst": restructured,
    "toml": tables,
    "yaml": yaml_keys,
}
"""Language -> finder. A text in another language has no sections."""
