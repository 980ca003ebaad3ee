"""The context of a situation: first its guides, then relevant history.

Guides (contexts, instruction files) come in the order of their priority, each as fully as there is room for: one that
is too large is reduced, never dropped while its shortest form fits, and smaller ones behind it are still tried. History
keeps a share of the budget if there is any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from satchel.assemble.candidates import Candidate, Step
from satchel.assemble.gather import Workbench
from satchel.assemble.pack import pack
from satchel.assemble.packer import FRAMES
from satchel.assemble.pipeline import hit_candidates, searched_sections
from satchel.assemble.request import AssembleRequest
from satchel.assemble.section import Section, find_pins, with_pins
from satchel.dataclass import dataclass
from satchel.tokens import counter
from satchel.types import CONTEXT_TYPES, Chunk, Context, Detail, Failure, Format, Hit, Kind, Signal, Trust

if TYPE_CHECKING:
    from satchel.receipts.session import Account

HISTORY_SHARE = 0.35
"""Largest share of the budget that guides leave to history: without earlier failures and commits, guidance is only half
an answer. A judgement, not a measured optimum."""

FRAME_TOKENS = 90
"""Tokens of the head, section titles and footer with its notes; an upper estimate, the remaining room is filled."""

INJECTED_VALUE = 20.0
"""Above the value of any search result (at most about 10 on the log scale): records that a rule injects come first in
their kind, in the order of the rule."""

MOST_GUIDES = 500
"""Most guides considered for one answer; the others are counted in a note."""


@dataclass(frozen=True, slots=True)
class Guide:
    """One guide: its texts from longest to shortest, and its rank.

    Guides with `must` come before all others. `signals` are the terms of its `priority`.
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


def situation_context(
    request: AssembleRequest,
    bench: Workbench,
    guides: Sequence[Guide],
    hits: Sequence[Hit],
    notes: Sequence[Failure],
    meta: Mapping[str, Any],
) -> Context:
    """Pack guides, the `hits` that rules inject, and the history that answers `request.query` (none if it is empty).

    Files that rules inject are pins of the request.
    """
    account = bench.account
    history, failures = searched_sections(request, bench) if request.query.strip() else ([], [])
    injected, unread = hit_candidates(hits, bench, request)
    pinned, unpinned = find_pins(request.pins, bench.lines, bench.store)
    if account is not None:
        injected = [candidate for candidate in injected if account.is_new(candidate)]
        pinned = [rest for pin in pinned if (rest := account.sift_pin(pin)) is not None]
    sections = with_pins(_with_records(history, injected, request), pinned, request.weights, request.limit)
    problems = [*notes, *failures, *unread, *unpinned]
    if len(guides) > MOST_GUIDES:
        problems.append(Failure("contexts", f"{len(guides)} apply: the first {MOST_GUIDES} count", "use fewer"))
    others = [candidate for section in sections for candidate in section.candidates]
    need = sum(candidate.size + FRAMES[Format.MARKDOWN].item for candidate in others)
    chosen = _guide_section(guides[:MOST_GUIDES], request, need, account)
    references = account.references() if account is not None else ()
    sections = [chosen, *sections] if chosen.candidates else sections
    return pack(request, sections, bench, tuple(problems), meta, references)


def _with_records(
    sections: Sequence[Section], injected: Sequence[Candidate], request: AssembleRequest
) -> list[Section]:
    """Return the sections with the injected records first, without the same records and equal texts from history."""
    by_kind = {section.kind: section for section in sections}
    distinct = {" ".join(candidate.steps[0].text.split()): candidate for candidate in reversed(injected)}
    for place, candidate in enumerate(distinct.values()):
        section = by_kind.setdefault(
            candidate.kind, Section(candidate.kind, request.weights.get(candidate.kind, 1.0), [], {}, request.limit)
        )
        section.candidates = [one for one in section.candidates if one.group != candidate.group]
        candidate.pinned, candidate.value = True, INJECTED_VALUE + place
        section.candidates.insert(0, candidate)
    return [by_kind[kind] for kind in CONTEXT_TYPES.values() if kind in by_kind]


def _guide_section(guides: Sequence[Guide], request: AssembleRequest, need: float, account: Account | None) -> Section:
    """Return the guides in order, each with its longest text that fits the room of all guides, and the shorter ones."""
    count = counter(request.tokenizer).count
    room = request.max_tokens - FRAME_TOKENS - min(need, request.max_tokens * HISTORY_SHARE)
    ordered = sorted(guides, key=lambda guide: (not guide.must, -guide.priority))
    candidates = []
    for place, guide in enumerate(ordered):
        frame = FRAMES[request.format].item + count(guide.title)
        candidate = _candidate(guide, place)
        if account is not None and not account.is_new(candidate):
            continue
        sizes = [count(step.text) + frame for step in candidate.steps]
        fitting = next((index for index, size in enumerate(sizes) if size <= room), len(sizes) - 1)
        room -= min(sizes[fitting], max(room, 0.0))
        candidate.keep(candidate.steps[fitting:])
        candidate.size = sizes[fitting]
        candidates.append(candidate)
    return Section(Kind.CONTEXT, request.weights.get(Kind.CONTEXT, 1.0), candidates, {}, len(candidates) or 1)


def _candidate(guide: Guide, place: int) -> Candidate:
    """Return a guide as a candidate: in full, reduced, and on one line for the last of several texts."""
    details = [Detail.FULL, *[Detail.SIGNATURE] * (len(guide.texts) - 2), Detail.LINE][: len(guide.texts)]
    steps = [Step(detail, text=text) for detail, text in zip(details, guide.texts, strict=True)]
    chunk = Chunk(
        id=guide.id,
        kind=Kind.CONTEXT,
        title=guide.title,
        body="",
        fields=guide.fields,
        created=guide.updated,
        updated=guide.updated,
        origin=guide.origin,
    )
    # The value only orders what is shown, as the places already do: pins come before all search results.
    hit = Hit(chunk, 1.0, -float(place), signals=guide.signals)
    candidate = Candidate(hit, -float(place), 0.0, 0, lambda: steps, pinned=True)
    candidate.trust, candidate.body = guide.trust, guide.texts[0]
    return candidate


def situation_request(request: AssembleRequest, kinds: Sequence[Kind], pins: Sequence[Any]) -> AssembleRequest:
    """Return the request about a situation: history of these kinds, contexts first, the footer with its counts."""
    return replace(request, kinds=tuple(kinds), lead=Kind.CONTEXT, show_meta=True, pins=(*request.pins, *pins))
