"""Truncation strategies by name: they shorten large code, with a remark in place of omitted lines.

`signature-first` keeps the declaration, its doc comment and the beginning of the body (of a class: every signature);
`bookend` keeps the beginning and the end. Both leave out whole statements or members, found in the syntax tree, then
keep the first lines of the first omitted one that fit. The shortened text is checked: it has no fault that the full
text did not have. The remark is a comment of the language, on one line: `# 12 lines left out (29-40)`. Without a
grammar the units are lines.

A strategy of your own is an object with a `name` and a `shorten`; `register` makes it known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from satchel import text as words
from satchel.answer.text_lines import TextLines
from satchel.errors import UsageError
from satchel.sources.code.languages import comment
from satchel.system.properties import unlocked_cached_property
from satchel.text import pattern
from satchel.types import Range

if TYPE_CHECKING:
    from satchel.sources.code.runs import Run, Unit

STRATEGY_SHARES = (1.0, 0.85, 0.6, 0.3)
"""Shares of the most tokens of an item: the steps that a truncation strategy offers."""

LADDER = "ladder"
"""The name of the default: full body, span around what matched, signature, one line."""

CHARACTERS_PER_TOKEN = 3.6
"""Only for ordering and for choosing what to leave out; what is shown is counted exactly."""

REMARK_TOKENS = 14
"""Usual tokens of a remark; long line numbers and a filler take a few more."""

_FILLERS = {"python": "...", "bash": ":"}
"""Languages in which a block must not be empty, and the statement that does nothing."""


class SourceText(Struct, frozen=True):
    """A text by lines (0-based here) and its language, empty if unknown."""

    lines: TextLines
    language: str


class OmissionRemark(Struct, frozen=True):
    """One line of ours that replaces the lines `start`..`end`."""

    start: int
    end: int
    text: str


class Shortened(Struct, frozen=True):
    """The kept line ranges in order, and a remark for each gap between or after them."""

    ranges: tuple[Range, ...]
    remarks: tuple[OmissionRemark, ...]

    def text(self, source: SourceText) -> str:
        """Return the shortened text, remarks in their places."""
        pieces = [(start, "\n".join(source.lines[start - 1 : end])) for start, end in self.ranges]
        pieces += [(remark.start, remark.text) for remark in self.remarks]
        return "\n".join(text for _, text in sorted(pieces))


class TruncationStrategy(Protocol):
    """One way to shorten. `shorten` is pure: the same arguments give the same result."""

    @property
    def name(self) -> str:
        """The name for `--strategy`."""

    def shorten(self, source: SourceText, start: int, end: int, budget_tokens: float) -> Shortened | None:
        """Return the lines `start`..`end` (from 1) in about so many tokens; None if nothing sensible can be left out.

        The budget is a wish: a long signature may need more.
        """


Choose = Callable[[SourceText, "Sequence[Unit]", bool, float], Iterator[list[Range]]]
"""Yields ranges of lines to leave out of a run, the best choice first, for a budget of the run in tokens."""


class SyntaxStrategy(Struct, frozen=True):
    """A strategy that leaves whole statements or members out, chosen by `choose`."""

    name: str
    choose: Choose

    def shorten(self, source: SourceText, start: int, end: int, budget_tokens: float) -> Shortened | None:
        """Return the lines in about so many tokens: by the syntax where there is a grammar, else line by line."""
        whole = _size(source, start, end)
        if whole <= budget_tokens:
            return None
        from satchel.sources.code.languages import GRAMMARS
        from satchel.sources.code.runs import Run, Unit

        if source.language in GRAMMARS:
            return self._by_syntax(source, start, end, budget_tokens)
        run = Run(tuple(Unit(number, number) for number in range(start, end + 1)), documented=True)
        gaps = next(self.choose(source, run.units, run.documented, budget_tokens - REMARK_TOKENS), None)
        return None if gaps is None else _shortened(source, start, end, gaps, ())

    def _by_syntax(self, source: SourceText, start: int, end: int, budget_tokens: float) -> Shortened | None:
        run, check = _examined(source, start, end)
        if run is None:
            return None

        def sound(choices: Iterator[list[Range]]) -> Shortened | None:
            tried = islice(choices, 6)  # most attempts when a shortened text is faulty
            forms = (_shortened(source, start, end, gaps, _empty(run, gaps, source.language)) for gaps in tried)
            return next((made for made in forms if made is not None and check.is_sound(made)), None)

        around = _size(source, start, end) - sum(_size(source, unit.start, unit.end) for unit in run.units)
        made = sound(self.choose(source, run.units, run.documented, budget_tokens - around))
        return made and (sound(_grown_gaps(source, run, made, budget_tokens)) or made)


@lru_cache(maxsize=64)  # entities whose syntax is cached: more than an answer shortens
def _examined(source: SourceText, start: int, end: int) -> tuple[Run | None, _Check]:
    """Return the run of these lines and their check, cached for the steps of one entity."""
    from satchel.sources.code.runs import run_within, tree_of

    text = "\n".join(source.lines)
    tree = tree_of(text, source.language)
    return run_within(tree, text, start, end) if tree is not None else None, _Check(source, start, end)


class _Check:
    """Checks that a shortened text has no fault that the full text did not have; that one is parsed once."""

    def __init__(self, source: SourceText, start: int, end: int) -> None:
        self._source, self._start, self._end = source, start, end

    @unlocked_cached_property
    def _alone(self) -> int:
        return self._faults(self._source.lines[self._start - 1 : self._end])

    @unlocked_cached_property
    def _inside(self) -> int:
        return self._faults(self._source.lines)

    def is_sound(self, made: Shortened) -> bool:
        """Check the shortened text alone if the full text is sound alone, else in its place in the file."""
        text = made.text(self._source).split("\n")
        if not self._alone:
            return not self._faults(text)
        if self._faults(text) > self._alone:
            return False
        lines = self._source.lines
        return self._faults([*lines[: self._start - 1], *text, *lines[self._end :]]) <= self._inside

    def _faults(self, lines: Sequence[str]) -> int:
        from satchel.sources.code.runs import faults, tree_of

        tree = tree_of("\n".join(lines) + "\n", self._source.language)
        return faults(tree) if tree is not None else 0


def _size(source: SourceText, start: int, end: int) -> float:
    return (sum(map(len, source.lines[start - 1 : end])) + end - start + 1) / CHARACTERS_PER_TOKEN


def _gap(units: Sequence[Unit], first: int, last: int) -> Range | None:
    """Return the lines of the units `first` to `last` (exclusive), None if they are too few to leave out."""
    # Fewest lines to leave out: fewer are not worth the remark, and the packer shows a gap of two anyway.
    if first >= last or units[last - 1].end - units[first].start + 1 < 3:
        return None
    return units[first].start, units[last - 1].end


def _kept(source: SourceText, units: Sequence[Unit], budget: float, minimum: int) -> int:
    """Return how many units from the first on fit into the budget, at least `minimum`."""
    count, size = 0, 0.0
    for unit in units:
        size += _size(source, unit.start, unit.end)
        if size > budget and count >= minimum:
            break
        count += 1
    return count


def _least(source: SourceText, units: Sequence[Unit], documented: bool, budget: float) -> int:
    """Return 1 where the first unit is a doc comment that fits, else 0."""
    return int(documented and _size(source, units[0].start, units[0].end) <= budget)


def _statement_end(run: Run, start: int, end: int) -> int:
    """Return the last line of the unit that starts at this line, in the run or in a member; `end` if there is none."""
    runs = [run, *(member.body for member in run.units if member.body is not None)]
    return next((unit.end for other in runs for unit in other.units if unit.start == start), end)


def _grown_gaps(source: SourceText, run: Run, made: Shortened, budget: float) -> Iterator[list[Range]]:
    """Yield gaps that begin after the first lines that fit of the first omitted unit, with its last line or without."""
    (start, end), *others = [(remark.start, remark.end) for remark in made.remarks]
    room = budget - sum(_size(source, *kept) for kept in made.ranges) - REMARK_TOKENS * len(made.remarks)
    last, first = _statement_end(run, start, end), start
    while first < last and _size(source, start, first) <= room:
        first += 1
    for line in range(min(first, last - 2), start, -1):
        if _size(source, start, line - 1) + REMARK_TOKENS * (last < end) <= room:
            yield [(line, last - 1), *[(last + 1, end)] * (last < end), *others]
        yield [(line, end), *others]


def _prefix_gaps(source: SourceText, units: Sequence[Unit], documented: bool, budget: float) -> Iterator[list[Range]]:
    """Yield gaps in the bodies of members, then gaps after the first statements that fit."""
    if sum(unit.body is not None for unit in units) * 2 > len(units):
        yield from _body_gaps(source, units, budget)
    minimum = _least(source, units, documented, budget)
    for count in range(_kept(source, units, budget - REMARK_TOKENS, minimum), minimum - 1, -1):
        if (gap := _gap(units, count, len(units))) is not None:
            yield [gap]


def _body_gaps(source: SourceText, units: Sequence[Unit], budget: float) -> Iterator[list[Range]]:
    """Yield the gaps that reduce members to signatures, except the first ones whose bodies fit the budget."""
    cut: list[tuple[float, Range]] = []
    for unit in units:
        if unit.body is None:
            continue
        inner = unit.body.units
        gap = _gap(inner, 1 if unit.body.documented else 0, len(inner))
        if gap is not None:
            cut.append((_size(source, *gap) - REMARK_TOKENS, gap))
    size = sum(_size(source, unit.start, unit.end) for unit in units) - sum(saved for saved, _ in cut)
    spare = budget - size
    if spare < 0:
        return
    gaps = []
    for saved, gap in cut:
        if saved <= spare:
            spare -= saved
        else:
            gaps.append(gap)
    if gaps:
        yield gaps


def _middle_gaps(source: SourceText, units: Sequence[Unit], documented: bool, budget: float) -> Iterator[list[Range]]:
    """Yield gaps in the middle: half of the budget for the first units, the other half for the last."""
    minimum, room = _least(source, units, documented, budget), budget - REMARK_TOKENS
    first = _kept(source, units, room / 2, minimum)
    room -= sum(_size(source, unit.start, unit.end) for unit in units[:first])
    last = min(_kept(source, units[::-1], room, 0), len(units) - first)
    for fewer in range(max(first, last) + 1):
        gap = _gap(units, max(first - fewer, minimum), len(units) - max(last - fewer, 0))
        if gap is not None:
            yield [gap]


def _empty(run: Run, gaps: Sequence[Range], language: str) -> tuple[Range, ...]:
    """Return the gaps that leave no statement in their block, in a language that does not allow that."""
    if language not in _FILLERS:
        return ()
    runs = [run, *(unit.body for unit in run.units if unit.body is not None)]
    return tuple(
        (start, end)
        for start, end in gaps
        for other in runs
        if other.units[0].start <= start
        and end <= other.units[-1].end
        and all(unit.is_comment or (start <= unit.start and unit.end <= end) for unit in other.units)
    )


def _shortened(
    source: SourceText, start: int, end: int, gaps: Sequence[Range], empty: Sequence[Range]
) -> Shortened | None:
    """Return the lines without the gaps, each with its remark."""
    ranges, remarks, position = [], [], start
    for first, last in gaps:
        if first > position:
            ranges.append((position, first - 1))
        filler = f"{_FILLERS[source.language]}  " if (first, last) in empty else ""
        line = source.lines[first - 1]
        indent = line[: len(line) - len(line.lstrip())]
        remark = comment(source.language, f"{last - first + 1} lines left out ({first}-{last})")
        remarks.append(OmissionRemark(first, last, f"{indent}{filler}{remark}"))
        position = last + 1
    if position <= end:
        ranges.append((position, end))
    return Shortened(tuple(ranges), tuple(remarks)) if ranges and remarks else None


def shortenings(
    chosen: TruncationStrategy, source: SourceText, start: int, end: int, max_tokens: float
) -> list[Shortened]:
    """Return ever shorter forms, from `max_tokens` down to a quarter; empty if nothing can be left out."""
    forms: list[Shortened] = []
    for share in STRATEGY_SHARES:
        made = chosen.shorten(source, start, end, max_tokens * share)
        if made is not None and made not in forms:
            forms.append(made)
    return forms


SIGNATURE_FIRST: TruncationStrategy = SyntaxStrategy("signature-first", _prefix_gaps)
BOOKEND: TruncationStrategy = SyntaxStrategy("bookend", _middle_gaps)

_STRATEGIES: dict[str, TruncationStrategy] = {
    truncation_strategy.name: truncation_strategy for truncation_strategy in (SIGNATURE_FIRST, BOOKEND)
}


def register(strategy: TruncationStrategy) -> None:
    """Make a strategy known under its name. Raises UsageError for a name that is taken."""
    if strategy.name in strategy_names():
        raise UsageError(f"there is already a strategy {strategy.name!r}: give yours another name")
    _STRATEGIES[strategy.name] = strategy


def strategy_names() -> tuple[str, ...]:
    """Return all names, the default first."""
    return (LADDER, *_STRATEGIES)


def strategy(name: str) -> TruncationStrategy | None:
    """Return the strategy of this name, None for the default ladder. Raises UsageError for an unknown name."""
    if name not in strategy_names():
        raise UsageError(f"unknown strategy {name!r}: choose from {', '.join(strategy_names())}")
    return _STRATEGIES.get(name)


LONGEST_UNIT = 240
"""Longest line (characters) that is not split, about three written lines. A longer one is split at its sentences."""

ELLIPSIS = "…"
"""Marks omitted text in a passage."""

KEPT_RUNS = 50_000
"""Different runs of word characters that are kept for a question."""

_NONE = frozenset[str]()

_SENTENCE_END = pattern(r"(?<=[.!?;。！？])\s+|(?<=[。！？])")  # noqa: RUF001 - full-width marks end sentences too


def units_of(text: str) -> list[str]:
    """Return the consecutive units of a text; joined they are the text again."""
    units: list[str] = []
    for line in text.splitlines(keepends=True):
        units += [line] if len(line) <= LONGEST_UNIT else _sentences(line)
    return units


def _sentences(line: str) -> list[str]:
    """Return a long line cut after its sentences, and at words in a sentence that is longer than a unit."""
    pieces, start = [], 0
    for end in [*(match.end() for match in _SENTENCE_END.finditer(line)), len(line)]:
        while end - start > LONGEST_UNIT:
            space = line.rfind(" ", start + LONGEST_UNIT // 2, start + LONGEST_UNIT)
            cut = space + 1 if space > 0 else start + LONGEST_UNIT
            pieces.append(line[start:cut])
            start = cut
        if end > start:
            pieces.append(line[start:end])
            start = end
    return pieces


LONGEST_RUN = 64
"""Bytes of the longest run whose terms are kept for other questions: a line without blanks may have a million."""


@lru_cache(maxsize=8_000)  # some 2 MB
def _terms_of_run(run: bytes) -> tuple[str, ...]:
    return tuple(chain.from_iterable(map(words.terms_of, words.words(run.decode()))))


_UNIT_END = frozenset({""})
"""What `_TermsOfRuns` has for the end of a unit: no term is empty."""


class _TermsOfRuns(dict[bytes, frozenset[str]]):
    """Run of `words.runs_of` -> those of the terms of a question that it has; filled as runs are looked up."""

    def __init__(self, terms: frozenset[str]) -> None:
        super().__init__()
        self._terms = terms
        self[words.PIECE_END] = _UNIT_END

    def __missing__(self, run: bytes) -> frozenset[str]:
        terms_of_run = _terms_of_run if len(run) <= LONGEST_RUN else _terms_of_run.__wrapped__
        terms = self[run] = self._terms.intersection(terms_of_run(run)) or _NONE
        return terms


_terms_of_runs = lru_cache(maxsize=4)(_TermsOfRuns)
"""An answer looks at hundreds of texts, which have most of their words in common."""


def matches(units: Sequence[str], terms: AbstractSet[str]) -> list[int]:
    """Return how many different words of the question each unit contains; `terms` are stemmed terms."""
    return [len(found) for found in matched_terms(units, terms)]


def matched_terms(units: Sequence[str], terms: AbstractSet[str]) -> list[AbstractSet[str]]:
    """Return the different words of the question that each unit contains; `terms` are stemmed terms."""
    if not terms or not units:
        return [_NONE] * len(units)
    terms_of_runs = _terms_of_runs(frozenset(terms))
    if len(terms_of_runs) > KEPT_RUNS:
        terms_of_runs.clear()
        terms_of_runs[words.PIECE_END] = _UNIT_END
    found: list[AbstractSet[str]] = [_NONE]
    # Most runs have no term: only the others, and the ends of units, are looked at in Python.
    for found_terms in filter(None, map(terms_of_runs.__getitem__, words.runs_of(units))):
        if found_terms is _UNIT_END:
            found.append(_NONE)
        else:
            found[-1] = found[-1] | found_terms if found[-1] else found_terms
    return found


def best_run(gains: Sequence[int], costs: Sequence[float], room: float) -> tuple[int, int] | None:
    """Return first and last index of the run that starts at the best unit and grows while it costs at most `room`.

    The neighbour with the higher gain is added first, the later one if they are equal. None if the best unit does not
    fit.
    """
    best = max(range(len(gains)), key=lambda index: (gains[index], -index), default=None)
    if best is None or costs[best] > room:
        return None
    first = last = best
    room -= costs[best]
    while True:
        sides = []
        if last + 1 < len(gains) and costs[last + 1] <= room:
            sides.append((gains[last + 1], 1, last + 1))
        if first > 0 and costs[first - 1] <= room:
            sides.append((gains[first - 1], 0, first - 1))
        if not sides:
            return first, last
        _, _, taken = max(sides)
        room -= costs[taken]
        first, last = min(first, taken), max(last, taken)


def excerpt(text: str, terms: AbstractSet[str], characters: float) -> str:
    """Return the best passage of a text in at most about so many characters, with an ellipsis at each cut end.

    The full text if it is short enough; empty if not even one unit fits.
    """
    if len(text) <= characters:
        return text
    units = units_of(text)
    run = best_run(matches(units, terms), [len(unit) for unit in units], characters)
    if run is None:
        return ""
    first, last = run
    passage = "".join(units[first : last + 1]).strip("\n").rstrip()
    return f"{ELLIPSIS} " * (first > 0) + passage + f" {ELLIPSIS}" * (last < len(units) - 1)
