"""Which import lines belong to the code that is shown: those that bind a name used in it, and no others.

The imports come from the syntax tree, so those on several lines, inside `if TYPE_CHECKING` and inside functions are
among them. What a wildcard, an `#include` or a bare `require` brings in cannot be known from the file; such a line
counts where a used name begins with the last word of what it names (`json_parse` for `#include "json.h"`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from satchel.assemble.section import subtract
from satchel.assemble.source_lines import Range
from satchel.types import Import, Outline, Role

SHORTEST_STEM = 3
"""Letters that the last word of an import without names needs to be looked for: `os` begins too many names."""

_WORD = re.compile(r"[^\W\d]\w*")
_STEM_SUFFIX = re.compile(r"\.(?:h|hh|hpp|hxx|inc|inl|php|rb|sh|bash|js|mjs|cjs|ts|d\.ts)$")
_SEPARATOR = re.compile(r"[^\w]+")
_REEXPORT = re.compile(r"export\b(?!\s+import\b)")
_UNKNOWN = frozenset({"*", "."})
"""Stand for all that a module has; the second one is of Go."""

_UNUSABLE = "_"
"""Binds nothing in the languages that import under this name."""

_INNER = frozenset({Role.FUNCTION, Role.METHOD})


def binding(lines: Sequence[str], outline: Outline, shown: Sequence[Range]) -> list[Range]:
    """The lines of the imports that bind names used in the shown ranges, in order and without what is shown already.

    `lines` are those of the whole file, 0-based; ranges are 1-based and inclusive, `shown` in order. An import inside
    a function counts for that function alone. Comments and doc strings use no names.
    """
    if not outline.imports or not shown:
        return []
    silent = [*outline.comment_lines, *((one.start, one.end) for one in outline.imports)]
    spoken = subtract(shown, _merged(silent))
    used = _words(lines, spoken) - {_UNUSABLE}
    folded = {_folded(word) for word in used}
    found = []
    for one in outline.imports:
        if not _is_used(one, used, folded) or _REEXPORT.match(lines[one.start - 1].strip()):
            continue
        home = _home(outline, one)
        if home is not None:
            names = _words(lines, [(max(start, home[0]), min(end, home[1])) for start, end in spoken])
            if not _is_used(one, names, {_folded(word) for word in names}):
                continue
        found.append((one.start, min(one.end, len(lines))))
    return subtract(_merged(found), shown)


def _is_used(one: Import, names: AbstractSet[str], stems: AbstractSet[str]) -> bool:
    if not names.isdisjoint(one.names):
        return True
    if not _UNKNOWN.issuperset(one.names):
        return False
    stem = _folded(_last_word(one.target))
    return len(stem) >= SHORTEST_STEM and any(word.startswith(stem) for word in stems)


def _home(outline: Outline, one: Import) -> Range | None:
    """The lines of the function that an import stands in, None for one that the whole file sees."""
    for part in outline.parts:
        if part.start <= one.start <= part.end:
            inside = part.role in _INNER and one.start > part.start
            return (part.start, part.end) if inside else None
    return None


def _words(lines: Sequence[str], ranges: Iterable[Range]) -> set[str]:
    """The identifiers on these lines; `$` before a name is not part of it."""
    return {word for start, end in ranges for line in lines[start - 1 : end] for word in _WORD.findall(line)}


def _last_word(target: str) -> str:
    """`json` of `lib/json.h`, `System.Text.Json`, `a::json` and `./json`."""
    words = [word for word in _SEPARATOR.split(_STEM_SUFFIX.sub("", target.strip("<>\"'"))) if word]
    return words[-1] if words else ""


def _folded(word: str) -> str:
    return word.replace("_", "").lower()


def _merged(ranges: Iterable[Range]) -> list[Range]:
    merged: list[Range] = []
    for start, end in sorted(set(ranges)):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged
