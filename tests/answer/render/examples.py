"""Small items for the renderer tests, and what reading a rendering back must give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from msgspec import structs

from satchel.answer.render import RenderRequest, writer
from satchel.answer.render.labels import file_path, heading, labelled_pieces, record_body, sections
from satchel.safety.sanitize import plain_name
from satchel.types import ContextItem, Detail, Format, Location, Piece
from tests.rendered import ParsedItem


def file_item(path: str, pieces: Iterable[Piece], *, source: str = "code", **fields: object) -> ContextItem:
    """A file of which these pieces are shown."""
    chosen = tuple(pieces)
    last_line = max((piece.end for piece in chosen), default=0)
    item = ContextItem(
        id=f"{source}:{path}",
        source=source,
        title=path,
        content="\n".join(piece.text for piece in chosen),
        relevance=0.5,
        location=Location(path, 1, last_line),
        pieces=chosen,
        nonce="493817264028",
        language="python" if source == "code" else "markdown",
    )
    return replace(item, **fields)  # type: ignore[arg-type]


def record_item(source: str, title: str, body: str, **fields: object) -> ContextItem:
    """A record: a commit, a memory."""
    item = ContextItem(id=f"{source}:1", source=source, title=title, content=body, relevance=0.5, nonce="120045006780")
    return replace(item, **fields)  # type: ignore[arg-type]


def piece(start: int, text: str, name: str = "", detail: Detail = Detail.FULL) -> Piece:
    """The piece that shows this text from line `start` on."""
    return Piece(start, start + text.count("\n"), name, text, detail)


CAPTURE = file_item(
    "src/_pytest/capture.py",
    (
        piece(3, "import sys"),
        piece(10, "class CaptureManager:\n    def suspend(self):\n        self._state = 1", "CaptureManager"),
        piece(40, "    def read(self):\n        return self.out", "CaptureManager.read"),
        piece(42, "\n    def close(self):\n        ...", "CaptureManager.close"),
        piece(70, "        for name in names:", "CaptureManager.dump", Detail.SPAN),
        piece(90, "        return None", "CaptureManager.dump", Detail.SPAN),
        piece(120, "def main():", "main", Detail.SIGNATURE),
        piece(130, "handler = build()", "handler", Detail.LINE),
    ),
)
GUIDE = file_item(
    "docs/guide.md",
    (piece(1, "# Guide\n\n```python\nimport x\n```", "Guide"), piece(9, "More of it; and more.", "Guide; the end")),
    source="doc",
    nonce="777000111222",
)
COMMIT = record_item(
    "commit",
    "Read the end of the file",
    "Read the end of the file\n\n# not a heading",
    metadata={
        "sha": "1a2b3c4d" * 5,
        "author": "Ada",
        "timestamp": 1714521600.0,
        "files_changed": ["src/a.py", "src/b.py"],
    },
)
MEMORY = record_item("memory", "preference, importance 0.8", 'Tabs are <never> used & "quotes" are.', nonce="31")
ALL = (CAPTURE, COMMIT, GUIDE, MEMORY)


def expected(
    items: Sequence[ContextItem],
    format: Format,  # noqa: A002 - the name of the option
    *,
    group_by_type: bool = False,
    show_code: bool = True,
) -> list[ParsedItem]:
    """What `parse` gives for a rendering of these items, by its documented rules."""
    parsed = []
    for section in sections(items, group_by_type=group_by_type):
        for item in section.items:
            if path := file_path(item):
                pieces = _expected_pieces(item.pieces, format, show_code=show_code)
                nonce = "" if format is Format.MARKDOWN and not show_code else item.nonce
                parsed.append(ParsedItem(section.title, path, "", tuple(pieces), nonce))
            else:
                shown = Piece(0, 0, "", record_body(item), item.detail)
                parsed.append(ParsedItem(section.title, "", heading(item), (shown,), item.nonce))
    return parsed


def _expected_pieces(pieces: Sequence[Piece], format: Format, *, show_code: bool) -> list[Piece]:  # noqa: A002
    if format in (Format.MARKDOWN, Format.PLAIN) and show_code:
        pieces = labelled_pieces(pieces)
    if format in (Format.MARKDOWN, Format.PLAIN):
        pieces = pieces if show_code else [structs.replace(piece, name=plain_name(piece.name)) for piece in pieces]
        pieces = [
            structs.replace(piece, detail=Detail.FULL) if piece.detail is Detail.SPAN and not piece.name else piece
            for piece in pieces
        ]
    return [piece if show_code else structs.replace(piece, text="") for piece in pieces]


def render_head(request: RenderRequest, items: Sequence[ContextItem], format: Format) -> str:  # noqa: A002
    """Everything above the first section."""
    return writer(format).head(request, items)


def render_item(item: ContextItem, format: Format) -> str:  # noqa: A002
    """One item with its frame."""
    return writer(format).item(RenderRequest(), item)


def render_tail(request: RenderRequest, items: Sequence[ContextItem], format: Format) -> str:  # noqa: A002
    """Everything below the last section."""
    return writer(format).tail(request, items)
