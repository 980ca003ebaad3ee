"""Markdown: the canonical layout, one heading and one fence a file, one title and one fence a record.

Inside the fence of a file a label stands above each piece: `@@40-52 Reader.read`. Costs in o200k tokens besides
paths, names and line numbers: 21 for the frame, 3 a section, 14 a file, 2 a further label. A part ends with a blank
line wherever the next begins with a mark, so the tokens of the parts add up exactly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from satchel.assemble.render.labels import labelled, quote
from satchel.assemble.render.layout import (
    counts_line,
    file_path,
    note_lines,
)
from satchel.assemble.render.opening import head_lines
from satchel.assemble.render.records import heading_name, kind_label, record_body
from satchel.assemble.render.request import RenderRequest
from satchel.types import ContextItem, Detail

ITEM_JOIN = ""
SECTION_JOIN = ""

_BACKTICKS = re.compile("`{3,}")
_LANGUAGE = re.compile(r"[A-Za-z][\w+#.-]*", re.ASCII)
_LEADING_HASH = re.compile(r"\A([0-9a-f]{7,40})(?= |\Z)")


def head(request: RenderRequest, items: Sequence[ContextItem]) -> str:
    """Title, notice and the list of the best."""
    return "\n".join([f"# {request.title}", *head_lines(request, items)]) + "\n\n"


def section(title: str, *, grouped: bool) -> tuple[str, str]:  # noqa: ARG001 - the protocol of all formats
    """The heading of a section; nothing closes it."""
    return f"## {title}\n\n", ""


def item(item: ContextItem, *, show_code: bool) -> str:
    """A file as heading and fence, a record as title line and fence, then a blank line."""
    path = file_path(item)
    if not path:
        return f"{_title_line(item)}\n{fenced(item, record_body(item))}\n\n"
    body = labelled(item.pieces, shown=show_code)
    return f"### {quote(path)}\n{fenced(item, body) if show_code else body}\n\n"


def tail(request: RenderRequest, items: Sequence[ContextItem]) -> str:
    """The footer: counts, then what there is to note."""
    return f"---\n*{counts_line(request, items)}*{note_lines(request, items)}"


def _title_line(item: ContextItem) -> str:
    label = f"**{kind_label(item)}**"
    # A leading commit hash becomes code; a title that begins with code of its own is quoted and cannot be confused.
    name = heading_name(item)
    title = _LEADING_HASH.sub(r"`\1`", quote(name)) if name else ""
    mark = "" if item.detail is Detail.FULL else f"({item.detail})"
    return " ".join(part for part in (label, title, mark) if part)


def fenced(item: ContextItem, body: str) -> str:
    """The body in a fence longer than any run of backticks in it, marked with the nonce of the item."""
    longest = max(map(len, _BACKTICKS.findall(body)), default=2) if "```" in body else 2
    fence = "`" * (longest + 1)
    language = item.language if _LANGUAGE.fullmatch(item.language) else ""
    # The nonce alone is a token shorter; digits cannot be taken for a language.
    mark = item.nonce if not language and item.nonce.isdigit() else f"{language or 'text'} {item.nonce}".rstrip()
    return f"{fence}{mark}\n{body}\n{fence}"
