"""A remark of ours inside somebody's text, written as a comment of its language."""

from __future__ import annotations

from satchel.sources.line_comments import line_mark

_SLASHES = frozenset(["c", "cpp", "csharp", "go", "java", "javascript", "php", "rust", "tsx", "typescript", "json"])
"""JSON has no comments; this is the mark of the dialects that do, and what a reader takes for one."""

_HASH = frozenset(["bash", "python", "ruby"])
_TAGGED = frozenset(["markdown", "html", "xml", "vue", "svelte", "astro"])
_BLOCKS = {"css": ("/*", "*/"), "ocaml": ("(*", "*)"), "coq": ("(*", "*)")}


def comment(language: str, remark: str) -> str:
    """The remark (one line) as a comment; in square brackets where the language has none or is unknown."""
    if language in _BLOCKS:
        opening, closing = _BLOCKS[language]
        return f"{opening} {remark} {closing}"
    if language in _TAGGED:
        return f"<!-- {remark} -->"
    mark = "//" if language in _SLASHES else "#" if language in _HASH else line_mark(language)
    return f"{mark} {remark}" if mark else f"[{remark}]"
