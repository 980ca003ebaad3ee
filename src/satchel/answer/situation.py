"""The context of a situation: first its guides, then relevant history.

Guides (contexts, instruction files) come in the order of their priority, each as fully as there is room for: one that
is too large is shortened entry by entry (rules, paragraphs), the most relevant entries first. It is never dropped while
its shortest form fits, and smaller ones behind it are still tried. History keeps a share of the budget if there is any.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from msgspec import structs

from satchel.answer.candidates import Candidate, Step
from satchel.answer.fitting import fit
from satchel.answer.inputs import hit_candidates, sections_of
from satchel.answer.packing import FRAMES
from satchel.answer.pins import find_pins, with_pins
from satchel.answer.request import AssembleRequest
from satchel.answer.resources import Resources
from satchel.answer.search import search
from satchel.answer.sections import Section
from satchel.answer.write import Filling, context_of
from satchel.system.properties import unlocked_cached_property
from satchel.tokens import counter
from satchel.types import CONTEXT_TYPES, Chunk, Context, Detail, Failure, Format, GuideEntry, Hit, Kind, Signal, Trust

if TYPE_CHECKING:
    from satchel.answer.session import Account

INTRODUCTION_SHARE = 0.25
"""Largest share of the room of a guide for its introduction or its goal, so that rules are shown, too."""

LATER_SHARE = 0.5
"""Largest share of the room that a guide that does not fit in full leaves to those after it."""

HISTORY_SHARE = 0.35
"""Largest share of the budget that guides leave to history: without earlier failures and commits, guidance is only half
an answer. A judgement, not a measured optimum."""

GUIDE_SHARES = (1.0, 0.95, 0.85, 0.6)
"""Shares of the room for which a shortened guide is tried."""

MAX_GUIDES = 500
"""Most guides considered for one answer; the others are counted in a note."""

NOTE_TOKENS = 14
"""Tokens of the note about the entries that are left out."""

CHARACTERS_PER_TOKEN = 3.5
"""A low estimate for prose, for cutting an introduction."""


MakeEntries = Callable[[], Sequence[GuideEntry]]

MakeGuides = Callable[[str, float], tuple[Sequence["Guide"], Sequence[Failure]]]
"""Returns the guides that apply to a task at a time (seconds since the epoch), and what went wrong with them."""


@dataclass(frozen=True, slots=True)
class Guide:
    """One guide: its texts from longest to shortest, its entries, and its rank.

    Guides with `must` come before all others. `signals` are the terms of its `priority`. `entries` are made only if the
    full text does not fit.
    """

    id: str
    title: str
    texts: tuple[str, ...]
    priority: float
    signals: tuple[Signal, ...] = ()
    trust: Trust = Trust.DATA
    fields: Mapping[str, Any] = field(default_factory=dict)
    updated: float = 0.0
    origin: str = ""
    must: bool = False
    entries: MakeEntries | None = None


class Shortener:
    """Shortens a guide to a number of tokens."""

    def __init__(self, entries: Sequence[GuideEntry], count: Callable[[str], int]) -> None:
        self._entries, self._count = entries, count
        self._costs = [count(entry.text) + 1 for entry in entries]
        self._order = sorted(
            (index for index, entry in enumerate(entries) if entry.value is not None),
            key=lambda index: (-(entries[index].value or 0.0), index),
        )

    @unlocked_cached_property
    def _matching(self) -> list[int]:
        """The places of the entries that fit the situation, the best first."""
        return [index for index in self._order if 0.0 < (self._entries[index].value or 0.0) < math.inf]

    def text(self, room: float) -> str:
        """Return as many entries as fit, in their order, and how many are left out; empty if none fits.

        Where the introduction leaves no room for the entry that fits best, that entry is shown alone.
        """
        text = self._text(room)
        used = self._count(text)
        more = self._text(room * room / used) if text and used < room else ""  # entries cost less together than alone
        text = more if more and self._count(more) <= room else text
        is_missing = self.line and self.line.split("\n")[-1] not in text
        return self.line if is_missing and self._count(self.line) <= room else text

    def _text(self, room: float, *, with_introduction: bool = True) -> str:
        left, limit = room - NOTE_TOKENS, max(room - NOTE_TOKENS, 0) * INTRODUCTION_SHARE
        shown: dict[int, str] = {}
        count = 0
        for index in self._order:
            entry, text, cost = self._entries[index], self._entries[index].text, self._costs[index]
            if entry.value == math.inf and not with_introduction:
                continue
            if entry.value == math.inf and cost > limit:
                text = f"{text[: int(limit * CHARACTERS_PER_TOKEN)].rstrip()}…"
                cost = self._count(text) + 1
            heads = [head for head in entry.heads if head not in shown]
            cost += sum(self._costs[head] for head in heads)
            if cost <= left and len(text) > 1:
                shown |= {index: text} | {head: self._entries[head].text for head in heads}
                count, left = count + 1, left - cost
        if with_introduction and self._matching and self._matching[0] not in shown:
            # What fits the situation says more than an introduction.
            return self._text(room, with_introduction=False)
        rest = len(self._order) - count
        note = [f"({rest} of {len(self._order)} entries left out)"] if rest else []
        return "\n".join([*(shown[index] for index in sorted(shown)), *note]) if count else ""

    @unlocked_cached_property
    def line(self) -> str:
        """The entry that fits the situation best below its nearest heading, empty if no entry fits it."""
        if not self._matching:
            return ""
        best = self._entries[self._matching[0]]
        # A rule may say the opposite of what its heading ("Do NOT") makes of it.
        return "\n".join([*(self._entries[head].text for head in best.heads[-1:]), best.text])

    def steps(self, room: float) -> Iterator[Step]:
        """Yield ways to show the guide in about so many tokens, the longest first."""
        for share in GUIDE_SHARES:
            if text := self.text(room * share):
                yield Step(Detail.SIGNATURE, text=text)
        if self.line:
            yield Step(Detail.SIGNATURE, text=self.line)


def situation_context(
    request: AssembleRequest,
    resources: Resources,
    guides: Sequence[Guide],
    hits: Sequence[Hit],
    meta: Mapping[str, Any],
    files: Sequence[str] = (),
) -> Context:
    """Pack guides, the `hits` that rules inject, and the history that answers its question (none if it is empty).

    Files that rules inject are pins of the request. Lessons follow from the `files` of the situation.
    """
    account = resources.account
    history, failures, told = _history(request, resources, files)
    injected, unread = hit_candidates(hits, resources, request.budget)
    pinned, unpinned = find_pins(request.asked.pins, [("", resources.lines, resources.store)])
    if account is not None:
        injected = [rest for candidate in injected if (rest := account.new_part(candidate)) is not None]
        pinned = [new for pin in pinned if (new := account.sift_pin(pin)) is not None]
    sections = with_pins(_with_records(history, injected, request), pinned, request.scope.weights, request.scope.limit)
    chosen, uncounted = guide_section(guides, request, sections, account)
    problems = [*resources.notes, *failures, *unread, *unpinned, *uncounted]
    references = account.references() if account is not None else ()
    sections = [chosen, *sections] if chosen.candidates else sections
    filling = Filling(
        request.asked, request.budget, request.form, resources, sections, tuple(problems), sent=references,
        first_kind=request.scope.first_kind, workspaces=request.asker.workspaces,
    )  # fmt: skip
    return context_of(filling, fit(filling), {**meta, "lessons": told})


def _history(
    request: AssembleRequest, resources: Resources, files: Sequence[str]
) -> tuple[list[Section], list[Failure], list[dict[str, Any]]]:
    """Return the sections of what answers the question, failures, and why lessons came or did not."""
    if not request.asked.query.strip():
        return [], [], []
    searched = search(
        request.asked, request.scope, request.budget.max_tokens, resources, with_impact=False, files=files
    )
    sections, unreadable = sections_of(searched, request.budget)
    findings = searched.findings
    return sections, [*findings.failures, *unreadable, *findings.embedder_failures], searched.lessons_told


def _with_records(
    sections: Sequence[Section], injected: Sequence[Candidate], request: AssembleRequest
) -> list[Section]:
    """Return the sections with the injected records first, without the same records and equal texts from history."""
    by_kind = {section.kind: section for section in sections}
    distinct = {" ".join(candidate.steps[0].text.split()): candidate for candidate in reversed(injected)}
    for index, candidate in enumerate(distinct.values()):
        kind = candidate.kind
        section = by_kind.get(kind) or Section(kind, request.scope.weights.get(kind, 1.0), (), {}, request.scope.limit)
        others = (other for other in section.candidates if other.group != candidate.group)
        # Above the value of any search result (at most about 10 on the log scale): records that a rule injects come
        # first in their kind, in the order of the rule.
        first = replace(candidate, pinned=True, value=section.level + 20.0 + index)
        by_kind[kind] = replace(section, candidates=(first, *others))
    return [by_kind[kind] for kind in CONTEXT_TYPES.values() if kind in by_kind]


def guide_section(
    guides: Sequence[Guide], request: AssembleRequest, others: Sequence[Section], account: Account | None
) -> tuple[Section, list[Failure]]:
    """Return the section of guides beside the other sections, and a note if there are too many guides."""
    notes = []
    if len(guides) > MAX_GUIDES:
        notes.append(Failure("contexts", f"{len(guides)} apply: the first {MAX_GUIDES} count", "use fewer"))
    candidates = [candidate for section in others for candidate in section.candidates]
    need = sum(candidate.size + FRAMES[Format.MARKDOWN].item for candidate in candidates)
    return _guide_section(guides[:MAX_GUIDES], request, need, account), notes


def guide_hit(guide: Guide, index: int) -> Hit:
    """Return a guide with its longest text as a hit. The score only says its place among the guides, from 0."""
    chunk = Chunk(
        id=guide.id,
        kind=Kind.CONTEXT,
        title=guide.title,
        body=guide.texts[0],
        fields=guide.fields,
        created=guide.updated,
        updated=guide.updated,
        origin=guide.origin,
    )
    return Hit(chunk, 1.0, -float(index), signals=guide.signals)


def _guide_section(guides: Sequence[Guide], request: AssembleRequest, need: float, account: Account | None) -> Section:
    """Return the guides in order, each with its longest text that fits the room of all guides, and the shorter ones."""
    budget, weight = request.budget, request.scope.weights.get(Kind.CONTEXT, 1.0)
    count = counter(budget.tokenizer).count
    # Tokens of the head, section titles and footer with its notes; an upper estimate, the remaining room is filled.
    room = budget.max_tokens - 90 - min(need, budget.max_tokens * HISTORY_SHARE)
    guided: list[tuple[Guide, Candidate, int]] = []
    for guide in sorted(guides, key=lambda guide: (not guide.must, -guide.priority)):
        made = _candidate(guide, len(guided))
        candidate = made if account is None else account.new_part(made)
        if candidate is not None:
            frame = FRAMES[request.form.format].item + count(guide.title)
            guided.append((guide, replace(candidate, measured=count(guide.texts[0])), frame))
    later = sum(candidate.size + frame for _, candidate, frame in guided)
    candidates = []
    for guide, whole, frame in guided:
        later -= whole.size + frame
        candidate = whole
        if whole.size + frame > room:
            candidate = _shortened(guide, whole, room - frame, min(later, room * LATER_SHARE), count)
        elif guide.entries is not None:
            candidate = _offering(whole, whole.steps, guide.entries, count)
        candidates.append(candidate)
        room -= min(candidate.size + frame, max(room, 0.0))
    return Section(Kind.CONTEXT, weight, tuple(candidates), {}, len(candidates) or 1)


def _shortened(guide: Guide, candidate: Candidate, room: float, later: float, count: Callable[[str], int]) -> Candidate:
    """Return the longest text that fits the room; a text made of entries leaves the room `later` to other guides."""
    sizes = [count(text) for text in guide.texts]
    fitting = next((index for index, size in enumerate(sizes) if size <= room), len(sizes) - 1)
    sized = replace(candidate, measured=sizes[fitting])
    if guide.entries is None:
        return sized.offering(candidate.steps[fitting:])
    shortener = Shortener(guide.entries(), count)
    text = shortener.text(room - later) or shortener.line
    if not text:
        return _offering(sized, [candidate.steps[-1]], guide.entries, count)
    steps = [Step(Detail.SIGNATURE, text=text), candidate.steps[-1]]
    return _offering(replace(candidate, measured=count(text)), steps, guide.entries, count)


def _offering(
    candidate: Candidate, steps: Sequence[Step], entries: MakeEntries, count: Callable[[str], int]
) -> Candidate:
    """Return the candidate with the first step, and if it does not fit shortened forms and the last step."""
    limit = candidate.size

    def shrink(room: float) -> Iterator[Step]:
        yield from Shortener(entries(), count).steps(min(room, limit))
        yield steps[-1]

    return candidate.offering(steps[:1], shrink)


def _candidate(guide: Guide, index: int) -> Candidate:
    """Return a guide as a candidate: in full, shortened, and on one line for the last of several texts."""
    details = [Detail.FULL, *[Detail.SIGNATURE] * (len(guide.texts) - 2), Detail.LINE][: len(guide.texts)]
    steps = [Step(detail, text=text) for detail, text in zip(details, guide.texts, strict=True)]
    hit = guide_hit(guide, index)
    hit = structs.replace(hit, chunk=replace(hit.chunk, body=""))
    # The value only orders what is shown, as the places already do: pins come before all search results.
    return Candidate(hit, hit.score, 0.0, 0, lambda: steps, pinned=True, trust=guide.trust, body=guide.texts[0])


def situation_request(request: AssembleRequest, kinds: Sequence[Kind], pins: Sequence[Any]) -> AssembleRequest:
    """Return the request about a situation: history of these kinds, contexts first, the footer with its counts."""
    return replace(
        request,
        asked=replace(request.asked, pins=(*request.asked.pins, *pins)),
        scope=replace(request.scope, kinds=tuple(kinds), first_kind=Kind.CONTEXT),
        form=replace(request.form, show_meta=True),
    )
