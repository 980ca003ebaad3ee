"""A file of a vault as notes: one for the file, and one below it for each heading.

The note of the file is the text before the first heading, with a title at the very top. A section ends before the next
heading. A field or tag anywhere in a file belongs to the file, as in the programs that write such files. A link belongs
to its section.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from satchel.sources.chunks import line_count
from satchel.sources.docs import PATH_SEPARATOR
from satchel.sources.notes.markdown import (
    Contents,
    FoundHeading,
    FoundLink,
    FrontMatter,
    front_matter,
    look_through,
    wikilinks,
)
from satchel.types import EdgeType, Outline, Part, Role

NAMELESS = "(untitled)"

_TAG_KEYS = frozenset({"tag", "tags"})
_ALIAS_KEYS = frozenset({"alias", "aliases"})


@dataclass(frozen=True, slots=True)
class RawLink:
    """A link as written, from one part of a file (counted from 0). `is_path` as in `FoundLink`."""

    part: int
    type: EdgeType
    target: str
    is_path: bool


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
        rows = [[link.part, link.type, link.target, link.is_path] for link in self.links]
        return json.dumps(
            [self.title, self.tags, self.inherited, self.aliases, self.fields, rows, self.blocks, self.problem]
        )


def stored_fields(data: str) -> tuple[str, tuple[str, ...], dict[str, Any]]:
    """Return title, tags and fields of a document from dumped facts."""
    title, tags, inherited, aliases, fields, links, blocks, problem = json.loads(data)
    stored = {
        "fields": fields, "inherited_tags": inherited, "aliases": aliases, "links": links, "blocks": blocks,
        "problem": problem,
    }  # fmt: skip
    return title, tuple(tags), {name: value for name, value in stored.items() if value}


def stored_links(fields: Mapping[str, Any]) -> list[RawLink]:
    """Return the links of a document, from its fields."""
    return [RawLink(part, EdgeType(kind), target, is_path) for part, kind, target, is_path in fields.get("links", ())]


def read_note(path: str, text: str) -> tuple[Outline, Facts]:
    """Return the parts and the facts of a file. `text` is clean and has plain line feeds."""
    lines = text.split("\n")
    matter = front_matter(lines)
    contents = look_through(lines, matter.lines)
    title, sections = _title(path, lines, matter, contents.headings)
    parts = _parts(lines, sections)
    return Outline("markdown", parts), _facts(title, matter, contents, parts)


def _title(
    path: str, lines: Sequence[str], matter: FrontMatter, headings: Sequence[FoundHeading]
) -> tuple[str, Sequence[FoundHeading]]:
    """Return the title of a file, and its headings without one that is the title of all below it."""
    stem = path.rpartition("/")[2].rpartition(".")[0]
    value = matter.values.get("title")
    named = str(value).strip() if isinstance(value, str | int | float) else ""
    top = headings[0] if headings else None
    is_alone = top is not None and top.level == 1 and all(heading.level > 1 for heading in headings[1:])
    if top is None or not is_alone or any(line.strip() for line in lines[matter.lines : top.row]):
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
        name = PATH_SEPARATOR.join(one.title or NAMELESS for one in path)
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
            aliases += [str(one).strip() for one in _listed(value)]
        elif key.lower() != "title":
            _add_value(facts, key, value)
    for one in contents.fields:
        values = facts.fields.setdefault(one.name, [])
        values += [one.text] if one.text else [_reference(link) for link in one.links]
    facts.links += [
        RawLink(part_at(link.row), EdgeType.FIELD if link.in_field else EdgeType.REFERENCE, link.target, link.is_path)
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
    for one in _listed(value):
        text = json.dumps(one, ensure_ascii=False) if isinstance(one, Mapping | list) else _scalar(one)
        links = wikilinks(text)
        facts.links += [RawLink(0, EdgeType.FIELD, link.target, is_path=False) for link in links]
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
    names = value.replace(",", " ").split() if isinstance(value, str) else [str(one) for one in _listed(value)]
    return [tag.strip().lstrip("#").strip("/") for tag in names]


def _above(tag: str) -> Iterator[str]:
    """Yield the tags above a tag: `a/b` and `a` for `a/b/c`."""
    steps = tag.split("/")
    return ("/".join(steps[:count]) for count in range(len(steps) - 1, 0, -1))
