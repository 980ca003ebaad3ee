"""Lessons: what is remembered about files that are about to be edited, on one line each."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from satchel.answer.bearing import bears, estimated
from satchel.answer.candidates import Candidate, Step
from satchel.answer.items import build_item
from satchel.answer.request import Budget
from satchel.answer.resources import Resources
from satchel.answer.sections import Group
from satchel.codec import iso_time
from satchel.safety import sanitize
from satchel.safety.sanitize import DATA_NOTICE, clean_field
from satchel.search.chunks import in_workspace
from satchel.sources.experiences import clipped, lesson_line, shown_record
from satchel.tokens import counter
from satchel.types import Chunk, Context, ContextItem, Detail, Format, Hit, Kind, Usage

if TYPE_CHECKING:
    from satchel.answer.session import Account

SHARED = 6
"""Number of lessons that are shortened to have room beside each other; further ones get what is left."""

FORMS = ((320, 320), (260, 180), (240, 160), (200, 140), (160, 120))
"""Characters of the forms of a memory and of an experience, the longest first: what an experience tells to do, and why,
is cut last, so it loses less."""


def lessons_context(
    budget: Budget, layout: Format, resources: Resources, hits: Sequence[Hit], about: str, meta: Mapping[str, Any]
) -> Context:
    """Return the lessons of these records, in this order, without those that the session has; empty if there are none.

    A lesson is one line with its day, so it needs no frame: all of them are below one notice, which says what they are
    `about` unless that is empty.
    """
    tokens = counter(budget.tokenizer)
    head = f"Remembered {f'about {about}' if about else 'here'}. {DATA_NOTICE}:"
    candidates = [
        made for hit in hits if (made := _unsent(lesson_candidate(hit, resources), resources.account)) is not None
    ]
    room = budget.max_tokens - tokens.count(head)
    lines: list[str] = []
    items: list[ContextItem] = []
    for candidate, step in zip(candidates, _steps(candidates, room, tokens.count), strict=True):
        line = f"- {step.text}"
        cost = tokens.count(line) + 1
        if cost <= room:
            room -= cost
            lines.append(line)
            group = Group(candidate.kind, candidate.group, None).admitted(candidate, step, cost)
            items.append(build_item(group, resources.key))
    text = "\n".join([head, *lines]) if lines else ""
    return Context(
        query="",
        text=text,
        format=layout,
        items=tuple(items),
        usage=Usage(budget.max_tokens, tokens.count(text) if text else 0, tokens.name, tokens.exact),
        sources_used=dict(Counter(Kind(item.source).plural for item in items)),
        failures=sanitize.failures(resources.notes),
        meta=meta,
        shown_before=resources.account.references() if resources.account is not None else (),
    )


def _steps(candidates: Sequence[Candidate], room: int, count: Callable[[str], int]) -> Sequence[Step]:
    """Return each lesson in the longest form in which the first ones fit together."""
    forms = [*zip(*(candidate.steps for candidate in candidates), strict=True)]
    fitting = (steps for steps in forms if sum(count(f"- {step.text}") + 1 for step in steps[:SHARED]) <= room)
    return next(fitting, forms[-1] if forms else ())


def lesson_candidate(hit: Hit, resources: Resources) -> Candidate:
    """Return a record as one line, in as many forms for each record; those that bear most come first in an answer."""
    shown = in_workspace(sanitize.hit(hit, resources.allow), resources.prefix)
    chunk = shown.chunk
    stored = resources.store_of(chunk.kind).text(chunk.document)
    text = sanitize.text(shown_record(chunk.kind, chunk.fields, stored), resources.allow)
    line = partial(_experience_line, chunk) if chunk.kind is Kind.EXPERIENCE else partial(_memory_line, chunk, text)

    def step(limit: int) -> Step:
        shown = clean_field(sanitize.text(line(limit), resources.allow), sys.maxsize)
        is_whole = chunk.kind is Kind.MEMORY and text.strip() in shown
        return Step(Detail.FULL if is_whole else Detail.LINE, text=shown)

    steps = [step(most[chunk.kind is Kind.EXPERIENCE]) for most in FORMS]
    return Candidate(shown, bears(hit), estimated(text), 0, lambda: steps, pinned=True, body=text)


def _experience_line(chunk: Chunk, limit: int) -> str:
    return lesson_line(chunk.fields, limit, _day(chunk.created))


def _memory_line(chunk: Chunk, text: str, limit: int) -> str:
    """Return `Never cache prices (decision, 2026-03-02)`."""
    since = str(chunk.fields.get("valid_from") or "")[:10] or _day(chunk.created)
    newer, against = (str(chunk.fields.get(name) or "") for name in ("newer", "against"))
    others = (newer and f"newer: {newer}", against and f"against the older {against}")
    about = ", ".join(filter(None, (str(chunk.fields.get("category") or ""), since, *others)))
    return f"{clipped(' '.join(text.split()), limit)} ({about})"


def _day(moment: float) -> str:
    return iso_time(moment)[:10] if moment else ""


def _unsent(candidate: Candidate, account: Account | None) -> Candidate | None:
    """Return the lesson, None if the session has received it, in whatever form."""
    if account is None:
        return candidate
    shortest = candidate.offering([Step(Detail.LINE, text="")])  # no form of a line is much more than another one
    return candidate if account.new_part(shortest) is not None else None
