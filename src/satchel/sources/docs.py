"""The outline of a text that is no program: prose, configuration, data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from satchel.sources.chunks import chunks, line_count
from satchel.sources.headings import FINDERS, Heading
from satchel.sources.line_comments import comment_lines
from satchel.types import Outline, Part, Role

PATH_SEPARATOR = " > "
"""Between the titles of a heading path: `Guide > Install > Linux`."""


def outline_document(text: str, language: str) -> Outline:
    """Sections where the language has headings we know, chunks of at most 40 lines elsewhere.

    A section runs from its heading to the next one of any level; its name is the path of titles down to it. `text`
    has plain line feeds; the parts tile it.
    """
    lines = text.split("\n")
    finder = FINDERS.get(language)
    headings = list(finder(lines)) if finder else []
    parts = tuple(_sections(lines, headings)) if headings else chunks(lines, Role.TEXT)
    return Outline(language, parts, comment_lines=comment_lines(lines, language))


def _sections(lines: Sequence[str], headings: Sequence[Heading]) -> Iterator[Part]:
    """One part for each heading; what stands before the first, or below an empty title, in chunks."""
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
            name = PATH_SEPARATOR.join(one.title for one in path if one.title)
            yield Part(Role.SECTION, name, first + 1, follower, signature=heading.title)
        else:
            yield from chunks(lines, Role.TEXT, first, follower)
        first = follower
