"""The text of a name that is written in HTML, with what it refers to.

<span data-inlineref-node="abc"></span> and <b>others</b>  ->  `Alice and others`, refers to `abc`
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from html.parser import HTMLParser

MOST_NESTED = 3
"""A name inside a name inside a name; what goes deeper refers to itself in a circle, or is not read by anybody."""

KEPT_NAMES = 4_000
"""Names that are remembered with their parts: each is asked for three times and more, mostly soon."""

NameOf = Callable[[str], str | None]
"""The name of a node as written, None for one that does not exist."""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str | tuple[str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag refers to; its look is lost."""
        for name, value in attrs:
            if name == "data-inlineref-node" and value:
                self.parts.append((value,))
            elif name == "data-inlineref-date" and value:
                self.parts.append(_date(value))
        if tag == "br":
            self.parts.append(" ")

    def handle_data(self, data: str) -> None:
        """Keep the text."""
        self.parts.append(data)


def _date(value: str) -> str:
    """`{"dateTimeString": "2025-12-05", ...}` as `2025-12-05`; a text that is no such object stays as it is."""
    try:
        found = json.loads(value)
    except ValueError:
        return value
    return str(found.get("dateTimeString", "")) if isinstance(found, dict) else str(found)


@lru_cache(KEPT_NAMES)
def _parts(name: str) -> Sequence[str | tuple[str]]:
    reader = _Reader()
    reader.feed(name)
    reader.close()
    return reader.parts


def inline_references(name: str | None) -> list[str]:
    """Ids of the nodes that a name refers to, in order."""
    if not name or "data-inlineref-node" not in name:
        return []
    return [part[0] for part in _parts(name) if isinstance(part, tuple)]


def plain_text(name: str | None, name_of: NameOf, depth: int = MOST_NESTED) -> str:
    """A name as plain text; references by the name of what they refer to, by its id where there is none."""
    if not name:
        return ""
    if "<" not in name:
        return (html.unescape(name) if "&" in name else name).strip()
    said = []
    for part in _parts(name):
        if isinstance(part, str):
            said.append(part)
            continue
        (identity,) = part
        inner = name_of(identity)
        said.append(plain_text(inner, name_of, depth - 1) if inner and depth else identity)
    return "".join(said).strip()
