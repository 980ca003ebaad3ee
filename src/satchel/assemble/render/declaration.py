r"""The name that a piece of source code declares, read from its text alone.

The Markdown header leaves a name out where the shown lines say it already, and the parser puts it back with the same
function. A wrong guess therefore costs tokens, never a name: what is not the real name is written in full.
"""

from __future__ import annotations

import re

DECLARATION_REACH = 2_000
"""Characters in which a declaration is looked for: decorators and a doc comment before it are rarely longer, and a
bound keeps rendering linear with a small factor."""

_KEYWORDS = "class|def|enum|fn|func|function|interface|mod|module|namespace|record|struct|trait|type|union"
_DECLARATION = re.compile(
    r"^[ \t]*+(?:"
    # `pub async fn read`, `export default function load`, `func (r *Reader) Read`
    rf"(?:[\w()]++[ \t]++){{0,5}}?(?:{_KEYWORDS})\*?[ \t]++(?:\([^()\n]*+\)[ \t]*+)?([\w$]++)"
    # `const load = async (`
    r"|(?:export[ \t]++)?(?:const|let|var)[ \t]++([\w$]++)[^=\n]*+=[ \t]*+(?:async\b|function\b|\()"
    # `public static Map<K, V> read(Path path) {`, but not `if (ready) {`
    r"|(?:[\w$<>\[\],*&:?.@]++[ \t]++){0,6}?[*&]*+(?!(?:if|for|while|switch|catch|with|return)\b)([\w$]++)"
    r"[ \t]*+\([^;{}\n]*+\{"
    r")",
    re.MULTILINE,
)


def declared_name(text: str) -> str:
    """The first name that the text declares, unqualified; empty if no declaration is recognised."""
    found = _DECLARATION.search(text, 0, DECLARATION_REACH)
    return (found[1] or found[2] or found[3]) if found else ""
