"""The licence in the comment at the top of a file: it is neither searched nor shown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from satchel.text import pattern

COMMENT_LINE = pattern(r"\s*(?:$|//|#(?!!?\[)|/?\*|--|;|<!--|%)")
"""A line of the comment at the top of a file, or a blank one."""

_LICENCE = pattern(r"copyright|licen[cs]e|spdx|warrant(?:y|ies)\b|redistribut", re.IGNORECASE)
"""Words that mark a paragraph of that comment as one of a licence."""


def licence_lines(lines: Sequence[str]) -> range:
    """Return the numbers of the lines of the licence in the comment at the top of a file of code; empty without one.

    They reach from the first paragraph that speaks of it to the last: what else the comment says is about the file.
    """
    is_inside, end = False, 0
    for line in lines:
        if not is_inside and not COMMENT_LINE.match(line):
            break
        is_inside = (is_inside or "/*" in line) and "*/" not in line
        end += 1
    first, last = 0, 0
    for has_words, numbers in groupby(range(1, end + 1), lambda number: bool(re.search(r"\w", lines[number - 1]))):
        paragraph = [*numbers]
        if has_words and any(_LICENCE.search(lines[number - 1]) for number in paragraph):
            first, last = first or paragraph[0], paragraph[-1]
    return range(first, last + 1) if first else range(0)
