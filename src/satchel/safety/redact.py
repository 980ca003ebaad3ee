"""Replacing secrets by `[REDACTED:type]` before anything is stored, embedded or shown.

Each shape has a rare string of its own, the *anchor* (the `ke` of `api_key`, the underscore of `ghp_`). A text is
searched for each anchor that occurs in it; from there the expression looks back for the head and on for the body. That
costs a fraction of what one large alternation costs, because the engine can skip to plain characters, and it is
linear, because every body is a single run or bounded. Each match is then judged (`secret_rules`).

It finds known shapes and plain assignments, not every secret. A line with `pragma: allowlist secret` or
`satchel:allow-secret` is left alone.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache

from satchel.errors import UsageError
from satchel.safety.secret_rules import ASSIGNED, GATES, Extent, SecretRule, shapes

REDACTION_VERSION = 2
"""Grows whenever the same text would be redacted differently, so that a store can be compared with it."""

Find = tuple[int, int, str]


@cache
def _by_anchor() -> Mapping[str, Sequence[SecretRule]]:
    groups: defaultdict[str, list[SecretRule]] = defaultdict(list)
    for shape in shapes():
        groups[shape.anchor].append(shape)
    return groups


@cache
def _opening(anchor: str) -> re.Pattern[str]:
    """Return the expression for a frequent anchor and its lookahead.

    Few texts match it, and it compiles in a tenth of the time of a scanner: a process that searches the texts of one
    answer rarely needs the scanner.
    """
    return re.compile(f"{re.escape(anchor)}{GATES[anchor]}", re.ASCII)


@cache
def _scanner(anchor: str) -> re.Pattern[str]:
    """Return the expression for all shapes of one anchor, with one group for each; compiled on first use."""
    branches = "|".join(shape.pattern for shape in _by_anchor()[anchor])
    return re.compile(f"{re.escape(anchor)}{GATES.get(anchor, '')}(?:{branches})", re.ASCII)


_EXEMPT = re.compile(
    r"allow(?:(?<=pragma: allow)list (nextline )?secret|(?<=satchel:allow)-secret|(?<=gitleaks:allow)\b)"
)


def _exempt_lines(text: str) -> Iterator[Extent]:
    """Yield the ranges of text that a comment exempts, in order and without overlap."""
    end = -1
    for comment in _EXEMPT.finditer(text):
        if comment.start() < end:
            continue
        start = text.rfind("\n", 0, comment.start()) + 1
        end = text.find("\n", comment.end())
        if comment[1] and end >= 0:
            end = text.find("\n", end + 1)
        end = len(text) if end < 0 else end
        yield start, end


def _first(anchor: str, text: str) -> int:
    """Return the earliest possible position of a secret of an anchor, -1 if there is none."""
    start = text.find(anchor)
    if start < 0 or anchor not in GATES:
        return start
    match = _opening(anchor).search(text, start)
    return match.start() if match is not None else -1


def _finds(text: str) -> list[Find]:
    """Return start, end and type of each replacement, in order; they may overlap."""
    finds = []
    for anchor, group in _by_anchor().items():
        start = _first(anchor, text)
        if start >= 0:
            for match in _scanner(anchor).finditer(text, start):
                number = match.lastindex
                assert number is not None  # every branch has exactly one group
                shape = group[number - 1]
                span = shape.judge(text, match.start(number), match)
                if span is not None:
                    finds.append((*span, shape.type))
    return sorted(finds)


@lru_cache(maxsize=16)
def _compiled(allow: tuple[str, ...]) -> Sequence[re.Pattern[str]]:
    patterns = []
    for pattern in allow:
        try:
            patterns.append(re.compile(pattern))
        except re.error as error:
            raise UsageError(f"allowed secret {pattern!r} is no regular expression: {error}") from error
    return patterns


def redact(text: str, allow: Sequence[str] = ()) -> tuple[str, Mapping[str, int]]:
    """Return the text with every secret replaced by `[REDACTED:type]`, and how many of each type were replaced.

    `allow` are regular expressions: a secret that matches one of them stays. The number of lines never changes, a
    second call changes nothing more, and a text without secrets is returned unchanged. Raises UsageError if one of
    `allow` is not a regular expression.
    """
    allowed = _compiled(tuple(allow))
    finds = _finds(text)
    if not finds:
        return text, {}
    exempt = list(_exempt_lines(text))
    parts: list[str] = []
    counts: Counter[str] = Counter()
    done = 0
    for start, end, kind in _without_overlap(finds):
        secret = text[start:end]
        if _inside(start, exempt) or any(pattern.search(secret) for pattern in allowed):
            continue
        parts += text[done:start], f"[REDACTED:{kind}]", "\n" * secret.count("\n")
        counts[kind] += 1
        done = end
    if not parts:
        return text, {}
    return "".join((*parts, text[done:])), dict(sorted(counts.items()))


_MARK = re.compile(r"\[REDACTED:([a-z-]{1,40})\]")


def marks(text: str) -> dict[str, int]:
    """Return the number of secrets of each type that were replaced in a redacted text."""
    return dict(sorted(Counter(_MARK.findall(text)).items()))


def _without_overlap(finds: Sequence[Find]) -> Iterator[Find]:
    """Join overlapping matches; the type of a provider is preferred to that of a variable name."""
    pending: Find | None = None
    for start, end, kind in finds:
        if pending is not None and start < pending[1]:
            pending = pending[0], max(end, pending[1]), pending[2] if kind in ASSIGNED else kind
            continue
        if pending is not None:
            yield pending
        pending = start, end, kind
    if pending is not None:
        yield pending


def _inside(position: int, spans: Sequence[Extent]) -> bool:
    after = bisect_right(spans, (position, sys.maxsize))
    return after > 0 and position < spans[after - 1][1]
