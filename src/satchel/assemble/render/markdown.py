"""Markdown: the canonical layout, one heading, range lines and one fence a file; one title and one fence a record.

Costs in o200k tokens besides paths, names and line numbers: 21 for the frame, 3 a section, 14 a file, 2 a further
range. A part ends with a blank line wherever the next begins with a mark, so the tokens of the parts add up exactly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from satchel.assemble.render.labels import joined_pieces, quote, range_lines, touches
from satchel.assemble.render.layout import (
    counts_line,
    file_path,
    note_lines,
    notice,
)
from satchel.assemble.render.records import kind_label, record_body, record_name
from satchel.assemble.render.request import RenderRequest
from satchel.types import ContextItem, Detail, Piece

ITEM_JOIN = ""
SECTION_JOIN = ""

GAP_LINE = "…"
"""Stands between two ranges with lines missing between them. One token with its line break; three dots would be
valid code in some languages."""

_BACKTICKS = re.compile("`{3,}")
_LANGUAGE = re.compile(r"[A-Za-z][\w+#.-]*", re.ASCII)
_LEADING_HASH = re.compile(r"\A([0-9a-f]{7,40})(?= |\Z)")


def head(request: RenderRequest) -> str:
    """Title and notice."""
    return f"# {request.title}\n{notice(request)}\n\n"


def section(title: str, *, grouped: bool) -> tuple[str, str]:  # noqa: ARG001 - the protocol of all formats
    """The heading of a section; nothing closes it."""
    return f"## {title}\n\n", ""


def item(item: ContextItem, *, show_code: bool) -> str:
    """A file as heading, range lines and fence, a record as title line and fence, then a blank line."""
    path = file_path(item)
    if not path:
        return f"{_title_line(item)}\n{fenced(item, record_body(item))}\n\n"
    pieces = joined_pieces(item.pieces) if show_code else item.pieces
    lines = "\n".join(range_lines(pieces, shown=show_code))
    header = f"### {quote(path)}\n{lines}\n"
    return f"{header}{fenced(item, gapped(pieces))}\n\n" if show_code else f"{header}\n"


def tail(request: RenderRequest, items: Sequence[ContextItem]) -> str:
    """The footer: counts, then what there is to note."""
    return f"---\n*{counts_line(request, items)}*{note_lines(request, items)}"


def _title_line(item: ContextItem) -> str:
    label = f"**{kind_label(item)}**"
    # A leading commit hash becomes code; a title that begins with code of its own is quoted and cannot be confused.
    name = record_name(item)
    title = _LEADING_HASH.sub(r"`\1`", quote(name)) if name else ""
    mark = "" if item.detail is Detail.FULL else f"({item.detail})"
    return " ".join(part for part in (label, title, mark) if part)


def gapped(pieces: Sequence[Piece]) -> str:
    """The texts of the pieces with a gap line wherever lines are missing."""
    texts = [pieces[0].text]
    for earlier, later in pairwise(pieces):
        if not touches(earlier, later):
            texts.append(GAP_LINE)
        texts.append(later.text)
    return "\n".join(texts)


def fenced(item: ContextItem, body: str) -> str:
    """The body in a fence longer than any run of backticks in it, marked with the nonce of the item."""
    longest = max(map(len, _BACKTICKS.findall(body)), default=2) if "```" in body else 2
    fence = "`" * (longest + 1)
    language = item.language if _LANGUAGE.fullmatch(item.language) else ""
    # The nonce alone is a token shorter; digits cannot be taken for a language.
    mark = item.nonce if not language and item.nonce.isdigit() else f"{language or 'text'} {item.nonce}".rstrip()
    return f"{fence}{mark}\n{body}\n{fence}"
