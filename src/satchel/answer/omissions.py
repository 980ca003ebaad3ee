"""What an answer does not show: its best omissions, and places for readers with tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from satchel.answer import weights
from satchel.answer.candidates import Candidate
from satchel.answer.file_candidates import DECLARED, is_long_function
from satchel.answer.freshness import Freshener, freshness_of
from satchel.answer.items import rest_of
from satchel.answer.packing import BUDGET, FRAMES, TWIN, VALUE, Packing
from satchel.answer.render.labels import quote
from satchel.answer.sections import Section, in_turn, outer_range
from satchel.answer.source_lines import COMMENT, IMPORT, FileLines, Lines, joined, without_blank_ends
from satchel.answer.truncation import matches
from satchel.safety.sanitize import clean_field, plain_name
from satchel.safety.trust import handle
from satchel.search.chunks import GIVEN_ORIGIN
from satchel.sources.roles import file_role, is_inline_test
from satchel.types import Detail, Format, Freshness, Hit, Omission, Range, Role

if TYPE_CHECKING:
    from satchel.answer.hops import Hop
    from satchel.store.protocol import Store

MATCHES = "matches"
"""Why most places are named; it is not written in text, because the best line says so."""

LONG_PLACE = 120
"""Lines of a definition that is named by its passages instead of whole."""

PASSAGES = 3
"""Most passages that are named of one long definition."""

OMISSIONS = 20
"""Candidates that are not shown but listed, for each kind, the best first."""

LONGEST_TEXT = 70
"""Most characters of the best line of a place."""


def left_out(packing: Packing) -> int:
    """Return how many chunks are not shown at all."""
    rejected = {candidate.chunk.id for reasons in packing.rejected.values() for candidate in reasons}
    return len(rejected - {candidate.chunk.id for candidate in packing.shown})


MARGIN = 1.2
"""Factor of promised budgets, because what fits better takes some of a larger one. Of 74 promises 58 were true without
it, all with 1.1; of 60 others 57 with 1.1.
"""


def omissions(
    packing: Packing, used: int, asked: int = 0, limit: int = 0, *, is_weak: bool = False, has_places: bool = False
) -> tuple[Omission, ...]:
    """Return the best candidates that are not shown, section by section, best first.

    `budget` is an estimate: the tokens used now, plus those of this candidate and of all tried before it. It is 0
    if no budget helps, because the kind has all its items or the candidate is not worth its tokens; of a weak
    answer nothing is, and one that `has_places` names the rest of the files in any budget. It is always above the
    budget that was asked with, and larger where an answer ends at a `limit` below it, which grows with the budget.
    Last come texts that are shown under another id.
    """
    waiting = [
        candidate
        for section, reasons in packing.rejected.items()
        for candidate in packing.unshown(section)
        if reasons[candidate] == BUDGET
    ]
    if has_places and all(candidate.chunk.location is not None for candidate in waiting):
        waiting = []  # all are named
    budgets: dict[Candidate, int] = {}
    needed, share = float(used), asked / limit if limit and asked else 1.0
    frame = FRAMES[Format.MARKDOWN]
    for candidate in in_turn(waiting):
        needed += candidate.size + frame.range + frame.item
        is_named = has_places and candidate.chunk.location is not None
        budgets[candidate] = 0 if is_named else max(int(needed * share * MARGIN), asked + 1)
    listed_omissions = (
        omission_of(packing, section, other, budgets.get(other, 0)) for section, other in listed(packing)
    )
    shown = (
        structs.replace(omission, reason=VALUE, budget=0) if is_weak and omission.reason == BUDGET else omission
        for omission in listed_omissions
    )
    twins = islice(_twins(packing), OMISSIONS)
    return (*shown, *(omission_of(packing, section, twin, 0) for section, twin in twins))


def _twins(packing: Packing) -> Iterator[tuple[Section, Candidate]]:
    for section, groups in packing.groups.items():
        yield from ((section, twin) for group in groups.values() for _, twin in group.twins)


class NamedPlace(Struct, frozen=True):
    """A place that is not shown: why it is named, its file, its ranges, its name, and its best line with the number.

    `ranges` are the lines (from 1), the best first. `is_test` is whether it is in a test.
    """

    why: str
    path: str
    ranges: tuple[Range, ...]
    name: str
    line: int
    text: str
    is_test: bool

    def written(self, before: NamedPlace | None) -> str:
        """Return `- src/a.py:10-24 Reader.read: 12 def read(self)`, below a row of its file without the path."""
        numbers = ",".join(f"{start}-{end}" if end > start else str(start) for start, end in self.ranges)
        start, end = self.ranges[0]
        is_line = start == end
        named = numbers if is_line or not self.name else f"{numbers} {plain_name(self.name)}"
        text = f" {self.text}" if is_line else f": {self.line} {self.text}"
        if before is not None and (before.label, before.path) == (self.label, self.path):
            return f"  {named}{text}"
        return f"- {self.label}{quote(f'{self.path}:{named}')}{text}"

    @property
    def label(self) -> str:
        """What is written before the path: that it is a test, and why it is named, if not for what it matches."""
        return "test " * self.is_test + f"{self.why} " * (self.why != MATCHES)

    @property
    def data(self) -> Mapping[str, Any]:
        """Return plain values for JSON."""
        ranges = [{"start": start, "end": end} for start, end in self.ranges]
        written = {"why": self.why, "path": self.path, "ranges": ranges, "name": self.name, "line": self.line}
        return {**written, "text": self.text, **({"test": True} if self.is_test else {})}


class PlaceList(Struct, frozen=True):
    """The places that an answer names, and how many others match."""

    listed: tuple[NamedPlace, ...] = ()
    more: int = 0

    @property
    def lines(self) -> tuple[str, ...]:
        """Return a line of text for each place, and one with the number of the others."""
        written = [
            location.written(before) for before, location in zip([None, *self.listed], self.listed, strict=False)
        ]
        return (*written, *([f"- and {self.more:,} more"] if self.listed and self.more else []))


class Passage(Struct, frozen=True):
    """Lines of a definition that is not shown: all of them, or a part of a long one."""

    id: str
    title: str
    path: str
    start: int
    end: int

    @property
    def lines(self) -> Range:
        """Its first and its last line."""
        return self.start, self.end


KnownPlaces = dict[tuple[Passage, ...], NamedPlace]
"""The places that the texts of one answer named so far, by their passages."""


def places(
    packing: Packing, terms: AbstractSet[str], limit: int, hops: Sequence[Hop] = (), known: KnownPlaces | None = None
) -> PlaceList:
    """Return at most `limit` of the best places that are not shown; those in `known` are taken from there.

    First come hops, those in use last; then the matches by file; then the hops that follow them, which a full list
    cuts off. The number of others counts matches, not hops.
    """
    hops = sorted(hops, key=lambda hop: not hop.precedes_used)
    first_hops = [hop for hop in hops if not hop.follows_matches][: weights.HOP_PLACES]
    unshown, others = _unshown(packing, first_hops, max(limit - len(first_hops), 0))
    known = {} if known is None else known
    for passages, lines in unshown:
        if passages not in known:
            known[passages] = _place(passages, lines, terms)
    matches = [known[passages] for passages, _ in unshown]
    paths = [*dict.fromkeys(match.path for match in matches)]
    matches.sort(key=lambda match: paths.index(match.path))
    together = {(hop.path, hop.start): hop.why for hop in hops if hop.is_changed_together}
    matches = [
        structs.replace(match, why=together.get((match.path, match.ranges[0][0]), match.why)) for match in matches
    ]
    matched_lines = {
        (passage.path, line)
        for passages, _ in unshown
        for passage in passages
        for line in range(passage.start, passage.end + 1)
    }
    last_hops = [
        hop for hop in hops if hop.follows_matches and (hop.is_caller or (hop.path, hop.line) not in matched_lines)
    ]
    listed = [*map(_hop_place, first_hops), *matches, *map(_hop_place, last_hops)][:limit]
    return PlaceList(tuple(listed), others)


def _unshown(packing: Packing, hops: Sequence[Hop], limit: int) -> tuple[list[tuple[tuple[Passage, ...], Lines]], int]:
    """Return the best definitions of which nothing is shown, and what is left of long ones: their best passages.

    The number is that of the definitions beyond these.
    """
    minimum = max((section.highest_value for section in packing.rejected), default=0.0) - weights.VALUE_RANGE
    waiting = [
        (section, candidate)
        for section in packing.rejected
        for candidate in packing.unshown(section)
        if candidate.value >= minimum
    ]
    waiting.sort(key=lambda pair: (-pair[1].value, pair[1].chunk.id, pair[1].first_line))
    begun = {candidate.chunk.id for candidate in packing.shown}
    shown = {group.key: group.ranges for groups in packing.groups.values() for group in groups.values()}
    best: dict[tuple[str, str], tuple[list[Passage], Lines]] = {}
    others = set[tuple[str, str]]()
    for section, candidate in waiting:
        chunk, lines = candidate.chunk, section.lines.get(candidate.group)
        name = candidate.group, chunk.title if chunk.role in DECLARED else chunk.id  # overloads share a row
        is_known = name in best or len(best) < limit
        if not is_known and lines is not None and chunk.id not in begun:
            others.add(name)
        if lines is None or not is_known or not _is_place(candidate, is_begun=chunk.id in begun):
            continue
        passage = _passage(candidate, lines, is_whole=chunk.id not in begun)
        taken = [*shown.get(candidate.group, ()), *((hop.line, hop.line) for hop in hops if hop.path == passage.path)]
        if any(start <= passage.end and passage.start <= end for start, end in taken):
            continue
        passages, _ = best.setdefault(name, ([], lines))
        is_new = all(other.lines != passage.lines for other in passages)
        if is_new and sum(other.id == passage.id for other in passages) < PASSAGES:
            passages.append(passage)
    return [(tuple(passages), lines) for passages, lines in best.values()], len(others)


def _is_place(candidate: Candidate, *, is_begun: bool) -> bool:
    """Return whether a candidate may be named: one that is not begun, unless passages of a long function are left."""
    has_lines = candidate.companion_of is None and bool(candidate.steps)
    return has_lines and (not is_begun or is_long_function(candidate.chunk))


def _passage(candidate: Candidate, lines: Lines, *, is_whole: bool) -> Passage:
    """Return the lines of a candidate with steps; if `is_whole`, those of its definition, unless it is a long one.

    All lines of a definition of `LONG_PLACE` are too many to be opened in one look. Those outside of definitions at the
    head of a file begin after its imports.
    """
    chunk, location = candidate.chunk, candidate.chunk.location
    assert location is not None
    if is_whole:
        start, end = without_blank_ends(lines.lines, location.start_line, location.end_line)
        if chunk.role is Role.GAP:
            start = next((line for line in range(start, end) if not _is_remark(lines.lines[line - 1])), end)
        if end - start < LONG_PLACE:
            return Passage(chunk.id, chunk.title, location.path, start, end)
    start, end = outer_range(_ranges_left(candidate))
    return Passage(chunk.id, chunk.title, location.path, start, end)


def _is_remark(text: str) -> bool:
    """Return whether a line is a comment, an import or blank."""
    return not text.strip() or COMMENT.match(text) is not None or IMPORT.match(text) is not None


def with_best_lines(hits: Sequence[Hit], store: Store, files: FileLines, terms: AbstractSet[str]) -> list[Hit]:
    """Return hits, those in files with their present lines, how these differ, and the line that matches best."""
    freshener = Freshener(store, files)
    return [_with_best_line(hit, freshener, terms) for hit in hits]


def _with_best_line(hit: Hit, freshener: Freshener, terms: AbstractSet[str]) -> Hit:
    if hit.chunk.location is None or not hit.spans:
        return hit
    current = freshener.current(hit)
    if current is None:
        return hit
    mark = freshness_of(current.hit.chunk.fields)
    if mark is Freshness.STALE:
        return structs.replace(hit, chunk=replace(hit.chunk, fields={**hit.chunk.fields, "freshness": mark}))
    hit = current.hit
    start = hit.spans[0].start
    texts = current.lines.lines[start - 1 : hit.spans[0].end]
    best = best_line(texts, terms)
    return structs.replace(hit, best_line=(start + best, texts[best]))


def best_line(texts: Sequence[str], terms: AbstractSet[str]) -> int:
    """Return the index of the line that matches best, rather one of code than one of a remark."""
    gains = matches(texts, terms)
    highest = max(gains)
    # A remark is as good as a line of code with one word less, and worse than that.
    for gain in (highest, highest - 1):
        for index, text in enumerate(texts):
            if gains[index] == gain and not _is_remark(text):
                return index
    return gains.index(highest)


def _hop_place(hop: Hop) -> NamedPlace:
    text = clean_field(hop.text.strip(), LONGEST_TEXT)
    return NamedPlace(
        hop.why, hop.path, ((hop.start, hop.end),), hop.name, hop.line, text, _is_test(hop.path, hop.name)
    )


def _place(passages: Sequence[Passage], lines: Lines, terms: AbstractSet[str]) -> NamedPlace:
    first = passages[0]
    texts = lines.lines[first.start - 1 : first.end]
    best = best_line(texts, terms)
    text = clean_field(texts[best].strip(), LONGEST_TEXT)
    name = first.title if first.title != first.path else ""
    ranges = best_first([passage.lines for passage in passages])
    return NamedPlace(MATCHES, first.path, ranges, name, first.start + best, text, _is_test(first.path, name))


def best_first(ranges: Sequence[Range]) -> tuple[Range, ...]:
    """Return ranges of lines in their order, those that share lines as one in the place of the first."""
    wholes = joined(ranges, gap=-1)  # overloads that only touch stay apart
    starts = [start for start, _ in ranges]
    around = ((first, last) for line in starts for first, last in wholes if first <= line <= last)
    return tuple(dict.fromkeys(around))


def _is_test(path: str, name: str) -> bool:
    return file_role(path) == "test" or is_inline_test(path, name)


def listed(packing: Packing) -> Iterator[tuple[Section, Candidate]]:
    """Yield the candidates that are listed as omissions, section by section, best first.

    A long function that is shown in part is listed once, because its handle leads to all that is left of it.
    """
    for section in packing.rejected:
        seen: set[str] = set()
        for candidate in islice(packing.remaining(section), OMISSIONS):
            if candidate.chunk.id not in seen or not _rest(packing, section, candidate):
                yield section, candidate
            seen.add(candidate.chunk.id)


def _rest(packing: Packing, section: Section, candidate: Candidate) -> tuple[Range, ...]:
    """Return what is left of the candidate's function if that is long and shown in part."""
    group = packing.groups[section].get(candidate.group)
    if group is None or not is_long_function(candidate.chunk):
        return ()
    is_shown = any(other.chunk.id == candidate.chunk.id for other, _ in group.picks)
    return rest_of(group, candidate.hit) if is_shown else ()


def _ranges_left(candidate: Candidate) -> tuple[Range, ...]:
    """Return the lines of the fullest way to show a candidate; of a part of a definition, the last of them."""
    if not candidate.steps:
        return ()
    ranges = candidate.steps[0].ranges
    return ranges if candidate.steps[0].detail is Detail.FULL else ranges[-1:]


def omission_of(packing: Packing, section: Section, candidate: Candidate, budget: int) -> Omission:
    """Return a candidate that is not shown, with its handle; `budget` is as in `omissions`."""
    chunk = candidate.chunk
    location = chunk.location
    ranges_left = _ranges_left(candidate)
    content_hash = location.content_hash if location is not None else ""
    rest = _rest(packing, section, candidate)
    start, end = outer_range(ranges_left) if ranges_left else (0, 0)
    return Omission(
        id=chunk.id,
        source=candidate.kind.value,
        title=chunk.title,
        relevance=candidate.hit.relevance,
        reason=packing.rejected[section].get(candidate, TWIN),
        budget=budget,
        path=location.path if location is not None else "",
        start=start,
        end=end,
        handle="" if chunk.origin == GIVEN_ORIGIN else handle(chunk.id, content_hash, rest or ranges_left),
        content_hash=content_hash,
        rest=rest,
    )
