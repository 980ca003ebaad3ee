"""The lines of instruction files that say something, compared with each other.

Two lines repeat each other when nearly all of their 5-character runs are the same; notes of one subject that share its
words are no repeats. Two lines contradict each other when one demands what the other forbids, or when they demand two
things that exclude each other (tabs and spaces), and all else that they say is nearly the same.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from satchel.rules.instructions import Instruction
from satchel.similarity import shingles, similarity
from satchel.text import EXACT_MARK, STOP_WORDS, count_terms, words

SAME_LINE = 0.75
"""Likeness from which two lines repeat each other. Above that of whole texts: lines of one subject are alike."""

SHORTEST_LINE = 24
"""Characters: below it a line is a heading, a list of names, or a word of praise."""

SAME_SUBJECT = 0.7
"""Share of common terms from which two lines speak of the same thing."""

LEAST_SUBJECT = 2
"""Terms that a subject has at least; of "always test" nobody knows what it is about."""

RARE_RUN = 12
"""Lines are compared only if they share a run that so few lines have; what all lines share tells nothing."""

MOST_LINES = 5_000
"""Lines that are compared; the files of the largest project seen have two thousand."""

MOST_FINDINGS = 100
"""Findings of one sort that are listed."""

_ENTRY = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+|\s*>\s?|\s+")
_FENCE = re.compile(r"\s*(```|~~~)")
_FORBIDS = re.compile(
    r"\b(?:never|avoid|do not|don't|must not|mustn't|should not|shouldn't|cannot|no longer|forbidden)\b", re.I
)
_DEMANDS = re.compile(r"\b(?:always|must|should|prefer|use|required?|ensure|make sure|write|add|keep|run)\b", re.I)
_POLARITY: Collection[str] = (
    "never", "avoid", "do", "not", "don", "don't", "must", "mustn", "should", "shouldn", "always", "prefer", "use",
    "used", "required", "require", "ensure", "make", "sure", "cannot", "longer", "forbidden", "rather", "instead",
    "please", "only", "no",
)  # fmt: skip
"""Words that say whether something is wanted, and not what."""

_OPPOSITES: Sequence[tuple[str, str]] = (
    ("tabs", "spaces"), ("single", "double"), ("camelcase", "snake_case"), ("npm", "yarn"), ("npm", "pnpm"),
    ("yarn", "pnpm"), ("pip", "uv"), ("pip", "poetry"), ("unittest", "pytest"), ("jest", "vitest"),
    ("merge", "rebase"), ("squash", "merge"), ("sync", "async"), ("relative", "absolute"), ("default", "named"),
    ("classes", "functions"), ("inheritance", "composition"), ("tabs", "space"), ("semicolons", "semicolon-free"),
)  # fmt: skip
"""Words of which a project can demand only one of one thing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to look at: where it stands, what stands there, and what about it; `other` is the second place."""

    path: str
    line: int
    text: str
    message: str
    other_path: str = ""
    other_line: int = 0
    other_text: str = ""


@dataclass(frozen=True, slots=True)
class RuleLine:
    """One line of an instruction file without its list mark. `line` is 1-based in the file."""

    path: str
    line: int
    text: str


def rule_lines(instruction: Instruction) -> Iterator[RuleLine]:
    """The lines that say something: no headings, no code blocks, no tables, nothing short.

    Of a file with imports, lines behind an imported text are counted as in the text that agents are given.
    """
    path = instruction.stands_for or instruction.path
    fence = ""
    for number, line in enumerate(instruction.text.split("\n"), instruction.line):
        mark = _FENCE.match(line)
        if mark is not None:
            fence = "" if fence == mark[1] else fence or mark[1]
            continue
        said = _ENTRY.sub("", line, count=1).strip() if _ENTRY.match(line) else line.strip()
        if fence or said.startswith(("#", "|", "<!--")) or len(said) < SHORTEST_LINE:
            continue
        yield RuleLine(path, number, said)


def repeats(lines: Sequence[RuleLine]) -> Iterator[Finding]:
    """Pairs of lines that say the same, in the order of the files."""
    marks = [shingles(line.text) for line in lines[:MOST_LINES]]
    found = 0
    for first, second in _pairs(marks, RARE_RUN):
        if similarity(marks[first], marks[second]) >= SAME_LINE and found < MOST_FINDINGS:
            if _opposite(lines[first].text, lines[second].text):
                continue
            found += 1
            yield _finding(lines[first], lines[second], "says the same as")


def contradictions(lines: Sequence[RuleLine]) -> Iterator[Finding]:
    """Pairs of lines of which one demands what the other excludes, in the order of the files."""
    directed = [(line, demand) for line in lines[:MOST_LINES] if (demand := _demand(line.text)) is not None]
    subjects = [demand.subject for _, demand in directed]
    found = 0
    for first, second in _pairs(subjects, RARE_RUN):
        (one, left), (other, right) = directed[first], directed[second]
        if found < MOST_FINDINGS and _contradict(left, right):
            found += 1
            yield _finding(one, other, "contradicts")


def _finding(one: RuleLine, other: RuleLine, message: str) -> Finding:
    return Finding(one.path, one.line, one.text, message, other.path, other.line, other.text)


def _pairs(marks: Sequence[frozenset[str]], rare: int) -> list[tuple[int, int]]:
    """Pairs of positions that share a mark which at most `rare` positions have."""
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for position, runs in enumerate(marks):
        for run in runs:
            holders[run].append(position)
    found: set[tuple[int, int]] = set()
    for positions in holders.values():
        if 1 < len(positions) <= rare:
            found.update(combinations(positions, 2))
    return sorted(found)


@dataclass(frozen=True, slots=True)
class _Demand:
    """What a line wants: whether it forbids, and the terms of what it is about."""

    forbids: bool
    subject: frozenset[str]


def _demand(text: str) -> _Demand | None:
    """What a line demands or forbids, None where it does neither or both."""
    forbids, demands = _FORBIDS.search(text), _DEMANDS.search(text)
    if forbids is None and demands is None:
        return None
    # "Never use X, use Y" demands one thing and forbids another: nothing can be said of it as a whole.
    rest = text[forbids.end() :] if forbids is not None else ""
    if forbids is not None and re.search(r"[,;:.]\s.*\b(?:use|prefer|always|instead)\b", rest, re.I):
        return None
    subject = _subject(text)
    return _Demand(forbids is not None, subject) if len(subject) >= LEAST_SUBJECT else None


def _subject(text: str) -> frozenset[str]:
    kept = [word for word in words(text.casefold()) if word not in _POLARITY and word not in STOP_WORDS]
    return frozenset(term for term in count_terms(kept) if not term.startswith(EXACT_MARK))


def _contradict(one: _Demand, other: _Demand) -> bool:
    if one.forbids is not other.forbids:
        return similarity(one.subject, other.subject) >= SAME_SUBJECT
    if one.forbids:
        return False
    for left, right in _opposite_terms():
        for first, second in ((left, right), (right, left)):
            if (
                first <= one.subject
                and second <= other.subject
                and not (first <= other.subject or second <= one.subject)
            ):
                rest = one.subject - first, other.subject - second
                if min(map(len, rest)) and similarity(*rest) >= SAME_SUBJECT:
                    return True
    return False


def _opposite(one: str, other: str) -> bool:
    """Whether two lines that are alike say opposite things, and so no repeat."""
    left, right = _demand(one), _demand(other)
    return left is not None and right is not None and (left.forbids is not right.forbids or _contradict(left, right))


def _opposite_terms() -> Iterable[tuple[frozenset[str], frozenset[str]]]:
    return ((_subject(left), _subject(right)) for left, right in _OPPOSITES)
