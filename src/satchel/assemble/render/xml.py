"""XML: well-formed for any content, everything escaped, so that any parser gives the same items back.

Characters that XML cannot hold (most controls, lone surrogates) become U+FFFD; text from outside has none left when
it comes here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from satchel.assemble.render.labels import line_range
from satchel.assemble.render.layout import Note, counts_line, file_path, notes, notice
from satchel.assemble.render.opening import head_notes, overview_lines
from satchel.assemble.render.records import heading, record_body
from satchel.assemble.render.request import DEFAULT_TITLE, RenderRequest
from satchel.types import ContextItem, Detail, Piece

ITEM_JOIN = ""
SECTION_JOIN = ""

_IMPOSSIBLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def head(request: RenderRequest, items: Sequence[ContextItem]) -> str:
    """The root element, the notice and the list of the best."""
    title = f" title={attribute(request.title)}" if request.title != DEFAULT_TITLE else ""
    rows = [f"<context{title}>", f"<notice>{escaped(notice(request))}</notice>", *_elements(head_notes(request))]
    if lines := overview_lines(request, items):
        rows += ["<best_first>", *map(escaped, lines), "</best_first>"]
    return "\n".join(rows) + "\n"


def section(title: str, *, grouped: bool) -> tuple[str, str]:  # noqa: ARG001 - the protocol of all formats
    """The element of a section."""
    return f"<section name={attribute(title)}>\n", "</section>\n"


def item(item: ContextItem, *, show_code: bool) -> str:
    """A `file` with its `lines`, or a `record`. Their text begins and ends with a line break that is not part of it."""
    path = file_path(item)
    nonce = f" nonce={attribute(item.nonce)}" if item.nonce else ""
    if not path:
        title = attribute(heading(item))
        return (
            f"<record title={title}{detail_attribute(item.detail)}{nonce}>\n{escaped(record_body(item))}\n</record>\n"
        )
    language = f" language={attribute(item.language)}" if item.language else ""
    lines = "".join(_lines(piece, show_code=show_code) for piece in item.pieces)
    return f"<file path={attribute(path)}{language}{nonce}>\n{lines}</file>\n"


def tail(request: RenderRequest, items: Sequence[ContextItem]) -> str:
    """What there is to note, the counts, and the end of the root element."""
    rows = [*_elements(notes(request, items)), f"<footer>{escaped(counts_line(request, items))}</footer>"]
    return "\n".join(rows) + "\n</context>"


def _elements(listed: Iterable[Note]) -> list[str]:
    return [f"<{note.key}>{escaped(line)}</{note.key}>" for note in listed for line in note.lines]


def _lines(piece: Piece, *, show_code: bool) -> str:
    name = f" name={attribute(piece.name)}" if piece.name else ""
    start = f'<lines range="{line_range(piece)}"{name}{detail_attribute(piece.detail)}{freshness_attribute(piece)}'
    return f"{start}>\n{escaped(piece.text)}\n</lines>\n" if show_code else f"{start}/>\n"


def detail_attribute(detail: Detail) -> str:
    """How much is shown, as an attribute; empty for all of it."""
    return "" if detail is Detail.FULL else f' detail="{detail}"'


def freshness_attribute(piece: Piece) -> str:
    """How the piece differs from what was indexed, as an attribute; empty if it does not."""
    return f' freshness="{piece.freshness}"' if piece.freshness is not None else ""


def escaped(text: str) -> str:
    """The text between tags: a parser would turn a bare carriage return into a line feed."""
    text = _IMPOSSIBLE.sub("\ufffd", text).replace("&", "&amp;").replace("<", "&lt;").replace("]]>", "]]&gt;")
    return text.replace("\r", "&#13;")


def attribute(text: str) -> str:
    """The text as an attribute value with its quotes: a parser would turn bare white space into spaces."""
    written = escaped(text).replace('"', "&quot;").replace("\n", "&#10;").replace("\t", "&#9;")
    return f'"{written}"'
