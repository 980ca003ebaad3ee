"""A declaration without its body."""

from __future__ import annotations

import re

from satchel.sources.code.syntax import Declaration, Findings

MAX_SIGNATURE = 400
"""Longest signature in characters: about 100 tokens, twice what a context shows of one."""

_BLANKS = re.compile(rb"\s*(?://[^\n]*\s*)*")
_MODIFIERS = re.compile(rb"[ \t]*((?:[A-Za-z_]\w*[ \t]+)+)")


def signature(findings: Findings, declaration: Declaration) -> str:
    """The text from the first modifier to the body, decorators and attributes left out, moved to the margin.

    At most `MAX_SIGNATURE` characters, cut at a blank.
    """
    start = declaration.start
    while (end := findings.prefix_ends.get(start)) is not None:
        blanks = _BLANKS.match(findings.source, end)
        start = blanks.end() if blanks else end
    line_start = findings.line_starts[findings.row_of(start)]
    # `export const f = ...` names only `f = ...`: the words before it on its line are its modifiers.
    modifiers = _MODIFIERS.fullmatch(findings.source, line_start, start)
    if modifiers:
        start = modifiers.start(1)
    end = declaration.body if declaration.body > start else declaration.end
    end = start + len(findings.source[start : min(end, start + 4 * MAX_SIGNATURE)].rstrip())
    while (row := findings.row_of(end - 1)) in findings.comment_rows and findings.line_starts[row] > start:
        end = start + len(findings.source[start : findings.line_starts[row]].rstrip())
    text = findings.text(start, end).rstrip("{= ").rstrip()
    if "\n" in text:
        margin = findings.source[line_start:start].decode("utf-8", "replace")
        text = "\n".join(line.removeprefix(margin).rstrip() for line in text.split("\n"))
    if len(text) <= MAX_SIGNATURE:
        return text
    return text[: MAX_SIGNATURE - 3].rsplit(None, 1)[0] + "..."
