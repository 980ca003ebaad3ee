"""Candidates of records (commits, memories ...): the full text, its best passage, or one line."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet

from satchel.answer import weights
from satchel.answer.candidates import SHRINK_SHARES, Candidate, Step
from satchel.answer.truncation import CHARACTERS_PER_TOKEN, excerpt
from satchel.sources.experiences import LINE_CHARACTERS as LONGEST_LINE
from satchel.text import pattern
from satchel.types import Chunk, Detail, Hit, Kind

LINE_CHARACTERS = (260, 200, 160, 120)
"""Length limits of an experience on one line that are tried, after the usual one."""

NOTE_TOKENS = 16
"""Tokens of the note that says where the full record is."""

_TRAILER = pattern(
    r"(?:[A-Z][\w-]*-by|Change-Id|Reviewed-on|PiperOrigin-RevId|GitOrigin-RevId|git-svn-id|Cr-Commit-Position)\s?: \S",
    re.IGNORECASE,
)
"""Trailers of a commit message: who signed, who reviewed, which number."""


def record_candidate(
    hit: Hit,
    body: str,
    cap: float,
    terms: AbstractSet[str] = frozenset(),
    passage_cap: float = math.inf,
    *,
    line: Callable[[int], str] | None = None,
    shorter: str = "",
) -> Candidate:
    """Return a record (commit, memory): its full body if that has at most `cap` tokens, else its best passage.

    A passage has at most `passage_cap` tokens too, so that it leaves room for smaller records.

    A passage ends with a note that says where the full record is; the first line is the last resort. A record with a
    `line` (the record on one line of at most so many characters) is never cut: it is shown in full, as its summary
    `shorter` if there is one, or on one line. The trailers of a commit are not shown, but can be searched.
    """
    whole, body = body, without_trailers(body) if hit.chunk.kind is Kind.COMMIT else body
    size = len(body) / CHARACTERS_PER_TOKEN
    first = body.strip().split("\n", 1)[0]
    note = cut_note(hit.chunk)

    def passage(room: float) -> list[Step]:
        text = excerpt(body, terms, (room - NOTE_TOKENS) * CHARACTERS_PER_TOKEN) if room > NOTE_TOKENS else ""
        return [Step(Detail.SPAN, text=f"{text}\n{note}")] if text and text != body else []

    def make() -> list[Step]:
        if size <= cap:
            steps = [Step(Detail.FULL, text=body)]
        else:
            steps = passage(min(cap, passage_cap)) if line is None else []
        if shorter and shorter != body:
            steps.append(Step(Detail.SPAN, text=shorter))
        return steps if line is None else [*steps, Step(Detail.SPAN, text=f"{line(LONGEST_LINE)}\n{note}")]

    def shrink(room: float) -> Iterator[Step]:
        if line is not None:
            yield from line_steps(line)
            return
        for share in SHRINK_SHARES:
            yield from passage(min(room * share, cap * share, passage_cap))
        if first and first != body.strip():
            yield Step(Detail.LINE, text=first)

    return Candidate(hit, weights.RECORD_SPREAD * hit.score, min(size, cap), 0, make, shrink=shrink, body=whole)


def line_steps(line: Callable[[int], str]) -> Iterator[Step]:
    """Yield a record on one line, ever shorter; `line` returns it in so many characters."""
    yield from (Step(Detail.LINE, text=line(limit)) for limit in (LONGEST_LINE, *LINE_CHARACTERS))


def cut_note(chunk: Chunk) -> str:
    """Return the reference to the full record of a passage: `(truncated, full memory ID: mem_...)`."""
    identity = chunk.id.partition("::")[0].partition(":")[2]
    return f"… (truncated, full {chunk.kind} ID: {identity})"


def without_trailers(message: str) -> str:
    """Return a commit message without trailers, and without the rules and blank lines before them."""
    kept = [line for line in message.split("\n") if _TRAILER.match(line.strip()) is None]
    while len(kept) > 1 and not kept[-1].strip(" \t-"):
        kept.pop()
    return "\n".join(kept)
