"""XML: well-formed for any content, everything escaped, so that any parser gives the same items back.

Characters that XML cannot contain (most controls, lone surrogates) become U+FFFD; cleaned text has none. A view has an
`entity` element; in a block its place is a separate element, as the specification of blocks requires.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from satchel.answer.render.frame import (
    DEFAULT_TITLE,
    FooterNote,
    RenderRequest,
    counts_line,
    head_notes,
    notes,
    notice,
    overview_lines,
)
from satchel.answer.render.labels import ShownEntity, file_path, heading, line_range, record_body
from satchel.types import ContextItem, Detail, Piece, View

JOIN = ""

_IMPOSSIBLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def head(request: RenderRequest, items: Sequence[ContextItem]) -> str:
    """Return the root element, the notice and the list of the best."""
    title = _attribute("title", request.title if request.title != DEFAULT_TITLE else "")
    texts = [f"<context{title}>", f"<notice>{_escaped(notice(request))}</notice>"]
    if request.hunks:
        texts += [f"<change{_attribute('nonce', request.hunks_nonce)}>", *map(_escaped, request.hunks), "</change>"]
    texts += _elements(head_notes(request))
    if lines := overview_lines(request, items):
        texts += ["<best_first>", *map(_escaped, lines), "</best_first>"]
    return "\n".join(texts) + "\n"


def section(title: str, *, grouped: bool) -> tuple[str, str]:  # noqa: ARG001 - the protocol of all formats
    """Return the element of a section."""
    return f'<section name="{_quoted(title)}">\n', "</section>\n"


def item(request: RenderRequest, item: ContextItem) -> str:
    """Return a `file` with its `lines`, or a `record`; line breaks at both ends of their text are not part of it."""
    path = file_path(item)
    nonce = _attribute("nonce", item.nonce)
    if path:
        lines = "".join(_lines("lines", piece, piece.name, show_code=request.form.show_code) for piece in item.pieces)
        return f'<file path="{_quoted(path)}"{_attribute("language", item.language)}{nonce}>\n{lines}</file>\n'
    title = f'title="{_quoted(heading(item))}"{_detail(item.detail)}'
    return f"<record {title}{nonce}>\n{_escaped(record_body(item))}\n</record>\n"


def tail(request: RenderRequest, items: Sequence[ContextItem]) -> str:
    """Return the notes, the counts, and the end of the root element."""
    listed = notes(request, items)
    lines = _sources(listed.pop(0)) if listed and listed[0].key == "sources" else []
    lines += [*_elements(listed), f"<footer>{_escaped(counts_line(request, items))}</footer>"]
    return "\n".join(lines) + "\n</context>"


def _sources(note: FooterNote) -> list[str]:
    more = f' more="{note.more}"' if note.more else ""
    return [f"<sources{more}>", *(f"<source>{_escaped(entry)}</source>" for entry in note.entries), "</sources>"]


def _elements(listed: Iterable[FooterNote]) -> list[str]:
    return [f"<{note.key}>{_escaped(line)}</{note.key}>" for note in listed for line in note.lines]


def entity(request: RenderRequest, item: ContextItem, entity: ShownEntity) -> str:
    """Return an `entity` with its `lines` or its `code`."""
    name, kind = f' name="{_quoted(entity.name)}"', f' type="{_quoted(entity.type)}"'
    location = ""
    if request.form.view is View.BLOCKS:
        tag = "code"
        start = f'{kind}{name} score="{entity.score:.2f}"'
        if entity.path:
            location = f'<location file="{_quoted(entity.path)}" start="{entity.start}" end="{entity.end}"/>\n'
    else:
        tag = "lines"
        start = f"{name}{kind}{_attribute('file', entity.path)}"
    shown = request.form.show_code or not entity.path
    tagged = [*(("imports", piece) for piece in entity.imports), *((tag, piece) for piece in entity.pieces)]
    lines = "".join(
        _lines(element, piece, "", show_code=shown, has_range=bool(entity.path)) for element, piece in tagged
    )
    start += _attribute("summary", entity.summary)
    return f"<entity{start}{_attribute('nonce', item.nonce)}>\n{location}{lines}</entity>\n"


def _lines(tag: str, piece: Piece, name: str, *, show_code: bool, has_range: bool = True) -> str:
    lines = f' range="{line_range(piece)}"' if has_range else ""
    freshness = f' freshness="{piece.freshness}"' if piece.freshness is not None else ""
    start = f"<{tag}{lines}{_attribute('name', name)}{_detail(piece.detail)}{freshness}"
    return f"{start}>\n{_escaped(piece.text)}\n</{tag}>\n" if show_code else f"{start}/>\n"


def _detail(detail: Detail) -> str:
    """Return the detail as an attribute; empty if it is full."""
    return "" if detail is Detail.FULL else f' detail="{detail}"'


def _escaped(text: str) -> str:
    """Return the text between tags: a parser would turn a bare carriage return into a line feed."""
    text = _IMPOSSIBLE.sub("\ufffd", text).replace("&", "&amp;").replace("<", "&lt;").replace("]]>", "]]&gt;")
    return text.replace("\r", "&#13;")


def _quoted(text: str) -> str:
    """Return the text as an attribute value without its quotes: a parser would turn bare white space into spaces."""
    return _escaped(text).replace('"', "&quot;").replace("\n", "&#10;").replace("\t", "&#9;")


def _attribute(name: str, text: str) -> str:
    """Return an attribute with the space before it, empty without a text."""
    return f' {name}="{_quoted(text)}"' if text else ""
