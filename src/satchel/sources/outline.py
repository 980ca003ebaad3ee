"""The kind and the outline of a file, from its path and its text."""

from __future__ import annotations

from satchel.sources.chunks import chunks, comment_lines
from satchel.sources.code.languages import GRAMMARS, kind_of, language_of
from satchel.types import Kind, Outline, Role

HEAD = 4_000
"""Characters at the start of a text that may decide its language."""


def outline_file(path: str, text: str) -> tuple[Kind, Outline]:
    """Return kind and outline of a file. `text` has plain line feeds; its parts tile it (an empty text has none)."""
    language = language_of(path, text[:HEAD])
    kind = kind_of(path, language)
    if language in GRAMMARS:
        from satchel.sources.code.outline import outline

        return kind, outline(text, language)
    if kind is Kind.CODE and language not in _SECTIONED_CODE:
        lines = text.split("\n")
        name = language or ""
        return kind, Outline(name, chunks(lines, Role.GAP), comment_lines=comment_lines(lines, name))
    from satchel.sources.docs import outline_chunk

    return kind, outline_chunk(text, language or "text")


_SECTIONED_CODE = frozenset({"dockerfile", "make"})
"""Code with the structure of a document: its targets and stages are sections."""
