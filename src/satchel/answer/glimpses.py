"""Glimpses: where it is not sure which definition answers, the few lines of each that match best.

An answer that is sure shows the best definition whole. Where many match nearly as well, one of them whole is mostly
the wrong one: then each shows its declaration and its best lines, and what room is left completes them, the best first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from itertools import chain

from satchel.answer import weights
from satchel.answer.candidates import Candidate, Step
from satchel.answer.file_candidates import Narrowing, lines_size, signature_range
from satchel.answer.sections import FindCompanions, Group, Section
from satchel.answer.source_lines import Lines, joined, trimmed, whole_statements
from satchel.answer.truncation import matched_terms
from satchel.types import Detail, Kind, Range


def is_unsure(sections: Sequence[Section]) -> bool:
    """Return whether more than a few definitions of code match nearly as well as the best one."""
    candidates = [candidate for section in sections if section.kind is Kind.CODE for candidate in section.candidates]
    minimum = max([candidate.value for candidate in candidates], default=0.0) - weights.FIND_RANGE
    return len({candidate.chunk.id for candidate in candidates if candidate.value > minimum}) > weights.RIVALS


def with_glimpses(section: Section, terms: AbstractSet[str], rarities: Mapping[str, float], *, unsure: bool) -> Section:
    """Return a section of code with the best lines of each definition in place of the definition.

    `terms` are those of the question, and `rarities` says how much each of them weighs in code. Where the answer is not
    `unsure`, the definitions near the best one stay whole.
    """
    if section.kind is not Kind.CODE:
        return section
    minimum = (
        math.inf
        if unsure
        else max((candidate.value for candidate in section.candidates), default=0.0) - weights.FIND_RANGE
    )
    shown = section.highest_value - weights.VALUE_RANGE  # others would be made for nothing
    candidates = tuple(
        candidate.altered(partial(_glimpse, section.lines[candidate.group], terms, rarities))
        if shown <= candidate.value < minimum
        else candidate
        for candidate in section.candidates
    )
    find_companions = partial(_later, section.find_companions, minimum) if section.find_companions is not None else None
    return replace(section, candidates=candidates, find_companions=find_companions)


def _glimpse(lines: Lines, terms: AbstractSet[str], rarities: Mapping[str, float], candidate: Candidate) -> Candidate:
    """Return a candidate with its declaration and its best lines; as it is if it has hardly more, or is pinned."""
    location, spans = candidate.chunk.location, candidate.hit.spans
    if location is None or candidate.pinned or not candidate.steps:
        return candidate
    shown = candidate.steps[0].ranges
    if sum(end - start + 1 for start, end in shown) <= weights.GLIMPSE_LINES + weights.JOIN_LINES:
        return candidate
    beside, (start, end) = weights.GLIMPSE_LINES // 2, _own_lines(candidate, lines)
    # What matches best may be the licence above, which is not shown.
    here = (span for span in spans if span.end >= start and span.start <= end)
    best = next(here, None) if candidate.steps[0].detail is Detail.FULL else None
    first, last = (best.start, best.end) if best is not None else shown[-1]
    # A span may end with the line that matches: what is around it tells as much.
    (first, last), _ = trimmed(lines, max(first - beside, start), min(last + beside, end))
    window = whole_statements(lines.lines, *_best_lines(lines, (first, last), terms, rarities), start, end)
    signature = signature_range(candidate.chunk, lines)
    ranges = tuple(joined([*([signature] if signature is not None else []), window], weights.JOIN_LINES))
    size, steps = sum(lines_size(lines, *range_) for range_ in ranges), (Step(Detail.SPAN, ranges),)
    return candidate.sized(size, lambda: steps, Narrowing(lines, window, terms, candidate.chunk))


def _own_lines(candidate: Candidate, lines: Lines) -> Range:
    """Return the lines of a definition; those that are shown, where they are all of it, have no licence above them."""
    step, location = candidate.steps[0], candidate.chunk.location
    assert location is not None
    if step.detail is Detail.FULL:
        return step.ranges[0][0], step.ranges[-1][1]
    return location.start_line, min(location.end_line, len(lines.lines))


def _best_lines(lines: Lines, span: Range, terms: AbstractSet[str], rarities: Mapping[str, float]) -> Range:
    """Return the lines of a span that together match best, at most `GLIMPSE_LINES`, what matches in their middle.

    Several rare words tell more than a common word on every line.
    """
    start, end = span
    matched = matched_terms(lines.lines[start - 1 : end], terms)
    width = weights.GLIMPSE_LINES
    counts = dict.fromkeys(sorted(set().union(*matched)), 0)
    for term in chain.from_iterable(matched[:width]):
        counts[term] += 1
    scores = [_coverage(counts, rarities)]
    for leaving, entering in zip(matched, matched[width:], strict=False):
        if leaving == entering:
            scores.append(scores[-1])
            continue
        for term in leaving - entering:
            counts[term] -= 1
        for term in entering - leaving:
            counts[term] += 1
        scores.append(_coverage(counts, rarities))
    first = scores.index(max(scores))
    last = next((at for at in range(first, len(scores)) if scores[at] < scores[first]), len(scores)) - 1
    first = start + (first + last) // 2
    return first, min(first + width - 1, end)


def _coverage(counts: Mapping[str, int], rarities: Mapping[str, float]) -> float:
    """Return how well lines match that have each term so often: the second line with it adds a third of the first."""
    return sum([rarities.get(term, 0.0) * count / (count + 1) for term, count in counts.items()])


def _later(
    find_companions: FindCompanions, minimum: float, candidate: Candidate, step: Step, group: Group
) -> Sequence[Candidate]:
    """Return the companions of a candidate, the rest of a glimpse, which is worth less than `minimum`, after others."""
    made = find_companions(candidate, step, group)
    return made if candidate.value >= minimum else [other.valued(other.value - weights.REST_DROP) for other in made]
