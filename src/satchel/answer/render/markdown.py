"""Markdown: the canonical layout, one heading and one fence per file, one title and one fence per record.

Inside the fence of a file a label is above each piece: `@@40-52 Reader.read`. Costs in o200k tokens besides paths,
names and line numbers: 21 for the frame, 3 per section, 14 per file, 2 per further label. A part ends with a blank
line wherever the next begins with a mark, so the tokens of the parts add up exactly.

A view has a heading per entity, `*path:lines*` and a fence. A block has its type before its name and its score behind,
and a fence for its imports besides that for its code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from satchel.answer.render.frame import RenderRequest, counts_line, head_lines, note_lines, place_lines
from satchel.answer.render.labels import (
    GAP,
    ShownEntity,
    colonless,
    file_path,
    heading_name,
    kind_label,
    labelled,
    marks_of,
    place,
    quote,
    quoted_path,
    record_body,
    touches,
)
from satchel.search.lessons import is_lesson
from satchel.types import ContextItem, Detail, Piece, View

JOIN = ""

_BACKTICKS = re.compile("`{3,}")
_LANGUAGE = re.compile(r"[A-Za-z][\w+#.-]*", re.ASCII)
_LEADING_HASH = re.compile(r"\A([0-9a-f]{7,40})(?= |\Z)")


def head(request: RenderRequest, items: Sequence[ContextItem]) -> str:
    """Return title, notice and the list of the best files."""
    first, *others = head_lines(request, items)
    return "\n".join([f"# {request.title}", first, *_hunks(request), *others]) + "\n\n"


def _hunks(request: RenderRequest) -> list[str]:
    """Return the lines of the change in a fence. A mark of ours before each keeps them from ending it."""
    return ["```diff " + request.hunks_nonce, *request.hunks, "```"] if request.hunks else []


def section(title: str, *, grouped: bool) -> tuple[str, str]:  # noqa: ARG001 - the protocol of all formats
    """Return the heading of a section; nothing closes it."""
    return f"## {title}\n\n", ""


def item(request: RenderRequest, item: ContextItem) -> str:
    """Return a file as heading and fence, a record as title line and fence, a lesson as its line, then a blank line."""
    path = file_path(item)
    if is_lesson(item.signals):
        return f"- {item.content}\n\n"
    if not path:
        return f"{_title_line(item)}\n{fenced(item, record_body(item))}\n\n"
    body = labelled(item.pieces, shown=request.form.show_code, numbered=request.is_numbered, cuts=item.cuts)
    return f"### {quoted_path(path)}\n{fenced(item, body) if request.form.show_code else body}\n\n"


def tail(request: RenderRequest, items: Sequence[ContextItem]) -> str:
    """Return the places, then the footer: counts and notes."""
    places = place_lines(request)
    listed = f"## Places\n{places}\n" if places else ""
    return f"{listed}---\n*{counts_line(request, items)}*{note_lines(request, items)}"


def _title_line(item: ContextItem) -> str:
    label = f"**{kind_label(item)}**"
    # A leading commit hash becomes code; a title that begins with code of its own is quoted and cannot be confused.
    name = heading_name(item)
    title = _LEADING_HASH.sub(r"`\1`", quote(name)) if name else ""
    mark = "" if item.detail is Detail.FULL else f"({item.detail})"
    return " ".join(part for part in (label, title, mark) if part)


def fenced(item: ContextItem, body: str) -> str:
    """Return the body in a fence longer than any run of backticks in it, marked with the nonce of the item."""
    longest = max(map(len, _BACKTICKS.findall(body)), default=2) if "```" in body else 2
    fence = "`" * (longest + 1)
    language = item.language if _LANGUAGE.fullmatch(item.language) else ""
    # The nonce alone is a token shorter; digits cannot be taken for a language.
    mark = item.nonce if not language and item.nonce.isdigit() else f"{language or 'text'} {item.nonce}".rstrip()
    return f"{fence}{mark}\n{body}\n{fence}"


def entity(request: RenderRequest, item: ContextItem, entity: ShownEntity) -> str:
    """Return the heading, place and fences of one entity, then a blank line."""
    is_block = request.form.view is View.BLOCKS
    title = f"{colonless(entity.type)}: {quote(entity.name)}" if is_block else quote(entity.name)
    score = f" (score: {entity.score:.2f})" if is_block else ""
    text = f"### {title}\n*{_location(entity, show_code=request.form.show_code)}*{score}\n\n"
    text += f"Summary: {quote(entity.summary)}\n\n" if entity.summary else ""
    is_shown = request.form.show_code or not entity.path
    if entity.imports:
        imports = _gapped(item, entity.imports) if is_shown else "\n"
        text += f"**Imports:** {place(entity.imports, shown=request.form.show_code)}\n{imports}"
    if is_shown:
        text += ("**Code:**\n" if is_block and entity.path else "") + _gapped(item, entity.pieces)
    return text


def _location(entity: ShownEntity, *, show_code: bool) -> str:
    if entity.path:
        return f"{colonless(entity.path)}:{place(entity.pieces, shown=show_code)}"
    marks = marks_of(entity.pieces[0])
    return f"{colonless(entity.type)}{f' ({marks})' if marks else ''}"


def _gapped(item: ContextItem, pieces: Sequence[Piece]) -> str:
    """Return the texts of the pieces in a fence, with a gap line wherever lines are missing, and a blank line."""
    texts = [pieces[0].text]
    for earlier, later in pairwise(pieces):
        if not touches(earlier, later):
            texts.append(GAP)
        texts.append(later.text)
    return fenced(item, "\n".join(texts)) + "\n\n"
