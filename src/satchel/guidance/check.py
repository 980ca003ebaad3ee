"""Check the instruction files of a root for rules that never apply, repeat, contradict each other, or are outdated.

Findings are conservative: a report with false alarms is not read. Lines are compared as they are in the files.

Two lines repeat each other when nearly all of their 5-character runs are the same; notes of one subject that share its
words do not repeat each other. Two lines contradict each other when one demands what the other forbids, or when they
demand two things that exclude each other (tabs and spaces), and the rest of the lines is nearly the same.

Paths and symbols in backquotes are reported when they no longer exist. A path is resolved from the folder of the file
and from the root. A symbol is reported only where the index is certain: `Reader.close` when the index has `Reader` and
no `close`, `parse_head()` when neither a definition nor any code contains `parse_head`. Names of libraries are not in
the index and are never reported.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from itertools import combinations, islice
from pathlib import Path

from satchel.dataclass import dataclass
from satchel.errors import ContextFileError, UnsafePathError
from satchel.guidance.context_files import CONTEXTS
from satchel.guidance.injection import ActiveContext, Evaluated, Guides, JudgeAll, gather
from satchel.guidance.instructions import Applied, Instruction, applied, to_judge, unfenced
from satchel.guidance.situation import Situation, parent_of, resolved
from satchel.safety import sanitize
from satchel.store.protocol import Store
from satchel.text import EXACT_MARK, STOP_WORDS, count_terms, shingles, similarity, words
from satchel.types import Failure, Kind

SAME_LINE = 0.75
"""Similarity from which two lines repeat each other. Higher than for texts: lines of one subject are similar."""

SHORTEST_LINE = 24
"""Characters of a line that is compared; shorter lines are headings or lists of names."""

SAME_SUBJECT = 0.7
"""Share of common terms from which two lines have the same subject."""

LEAST_SUBJECT = 2
"""Terms of a subject, at least; "always test" has too few."""

RARE_RUN = 12
"""Lines are compared only if they share a run of characters that at most so many lines have."""

MOST_LINES = 5_000
"""Limit of compared lines; the files of the largest project seen have two thousand."""

MOST_FINDINGS = 100
"""Limit of listed findings of one sort."""

MOST_MISSING = 50
"""Limit of listed names of one file."""

MOST_FOLDERS = 20_000
"""Limit of searched folders; a tree with more is a home folder or a disk."""

_SKIPPED_FOLDERS = frozenset(
    {"node_modules", "venv", "__pycache__", "site-packages", "dist", "build", "target", "vendor", "third_party"}
)
"""Folders of third-party and generated files, whose instructions are not about this project."""

_ENTRY = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+|\s*>\s?|\s+")
_FORBIDS = re.compile(
    r"\b(?:never|avoid|do not|don't|must not|mustn't|should not|shouldn't|cannot|no longer|forbidden)\b", re.I
)
_DEMANDS = re.compile(r"\b(?:always|must|should|prefer|use|required?|ensure|make sure|write|add|keep|run)\b", re.I)
_POLARITY: Collection[str] = (
    "never", "avoid", "do", "not", "don", "don't", "must", "mustn", "should", "shouldn", "always", "prefer", "use",
    "used", "required", "require", "ensure", "make", "sure", "cannot", "longer", "forbidden", "rather", "instead",
    "please", "only", "no",
)  # fmt: skip
"""Words that say whether something is demanded, and not what."""

_OPPOSITES: Sequence[tuple[str, str]] = (
    ("tabs", "spaces"), ("single", "double"), ("camelcase", "snake_case"), ("npm", "yarn"), ("npm", "pnpm"),
    ("yarn", "pnpm"), ("pip", "uv"), ("pip", "poetry"), ("unittest", "pytest"), ("jest", "vitest"),
    ("merge", "rebase"), ("squash", "merge"), ("sync", "async"), ("relative", "absolute"), ("default", "named"),
    ("classes", "functions"), ("inheritance", "composition"), ("tabs", "space"), ("semicolons", "semicolon-free"),
)  # fmt: skip
"""Words that exclude each other for the same subject."""

_QUOTED = re.compile(r"(?<!`)`([^`\n]{2,200})`(?!`)")
_PATH = re.compile(
    r"(?:\./)?[\w.@-]+(?:/[\w.@-]+)+/?|[\w-]+\.(?:py|pyi|js|ts|tsx|jsx|go|rs|java|rb|md|toml|yaml|yml|json|sh|sql)"
)
_MEMBER = re.compile(r"([A-Z]\w+)\.([A-Za-z_]\w+)(?:\(\))?")
_CALL = re.compile(r"([A-Za-z]\w*_\w+|[a-z]+[A-Z]\w+)\(\)")
_PLACE = re.compile(r"(?::\d+(?:-\d+)?|#L?\d+(?:-L?\d+)?)\Z")


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """A problem: its place, the text there, and a message; `other` is the second place."""

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


@dataclass(frozen=True, slots=True)
class Report:
    """The result of `check`. `instructions` has those that apply first; `evaluated` the rules of the root's context."""

    situation: Situation
    instructions: tuple[Applied, ...]
    evaluated: tuple[Evaluated, ...]
    never: tuple[RuleFinding, ...]
    contradictions: tuple[RuleFinding, ...]
    repeats: tuple[RuleFinding, ...]
    missing: tuple[RuleFinding, ...]
    notes: tuple[Failure, ...]

    @property
    def findings(self) -> tuple[RuleFinding, ...]:
        """All findings."""
        return (*self.never, *self.contradictions, *self.repeats, *self.missing)


def check(
    guides: Guides, situation: Situation, store: Store, root: Path, judge_all: JudgeAll, notes: Sequence[Failure]
) -> Report:
    """Check every instruction file and the root's context; `store` has the existing files and names."""
    folders, bounded = folders_below(root)
    instructions, unread = guides.instructions.of_folders(folders)
    gathered = gather(guides, None, situation, judge_all, 0.0)
    opinions, undecided = judge_all(to_judge(instructions, situation.files))
    read = {one.path for one in instructions}
    distinct = [one for one in instructions if one.stands_for not in read]
    paths = sorted({path for kind in (Kind.CODE, Kind.DOC) for path in store.iterate_keys(kind)})
    lines = [line for one in distinct for line in rule_lines(one)]
    return Report(
        situation=situation,
        instructions=tuple(applied(instructions, situation.files, opinions)),
        evaluated=gathered.evaluated,
        never=tuple(_never(instructions, paths)),
        contradictions=tuple(contradictions(lines)),
        repeats=tuple(repeats(lines)),
        missing=tuple(finding for one in distinct for finding in missing_names(one, root, store)),
        notes=tuple(dict.fromkeys([*notes, *bounded, *unread, *undecided, *gathered.notes])),
    )


def everything(guides: Guides, root: Path) -> tuple[list[Applied], list[ActiveContext], list[Failure]]:
    """Return every instruction file, strongest first, every context of a root by path, and the problems with them."""
    folders, notes = folders_below(root)
    instructions, unread = guides.instructions.of_folders(folders)
    notes = [*notes, *unread]
    contexts: list[ActiveContext] = []
    for folder in filter(guides.tree.exists, folders):
        try:
            context = guides.tree.load(folder)
        except ContextFileError as error:
            notes.append(Failure(CONTEXTS, str(error), "nothing of this context counts"))
            continue
        notes += context.notes
        contexts.append(ActiveContext(context, None, "", ()))
    rows = [Applied(one, applies=True, reason=_condition(one)) for one in instructions]
    return rows, contexts, list(dict.fromkeys(notes))


def _condition(one: Instruction) -> str:
    """Return the condition under which a file applies, in words."""
    below = f"below {one.folder}/" if one.folder else "everywhere"
    if one.by_hand:
        return "only by hand"
    if one.description:
        return f"when this is judged true: {sanitize.line(one.description)}"
    return f"for {', '.join(one.globs)} {below}" if one.globs else below


def _never(instructions: Sequence[Instruction], paths: Sequence[str]) -> Iterator[RuleFinding]:
    """Yield the files that no file of the root can make apply."""
    for one in instructions:
        if one.by_hand:
            reason = "it has neither globs nor a description, and alwaysApply is not true"
        elif one.globs and one.match(paths) is None:
            reason = f"no indexed file matches {', '.join(one.globs)}"
        else:
            continue
        yield RuleFinding(one.path, 1, "", f"never applies: {reason}")


def folders_below(root: Path) -> tuple[list[str], list[Failure]]:
    """Return the folders of a tree, the root ("") first, without hidden and skipped ones and nested repositories."""
    folders = [""]
    for place, names, _ in os.walk(root, followlinks=False):
        own = (name for name in names if not name.startswith(".") and name not in _SKIPPED_FOLDERS)
        names[:] = sorted(name for name in own if not os.path.lexists(Path(place) / name / ".git"))
        relative = Path(place).relative_to(root).as_posix()
        folders += [name if relative == "." else f"{relative}/{name}" for name in names]
        if len(folders) > MOST_FOLDERS:
            problem = f"there are more than {MOST_FOLDERS:,} folders"
            return folders[:MOST_FOLDERS], [Failure("rules", problem, "the others were not looked into")]
    return sorted(folders), []


def rule_lines(instruction: Instruction) -> Iterator[RuleLine]:
    """Yield the lines with a rule: no headings, no code blocks, no tables, no short lines.

    In a file with imports, line numbers after an imported text are those of the text with imports.
    """
    path = instruction.stands_for or instruction.path
    for number, line, is_code in unfenced(instruction.text, instruction.line):
        text = _ENTRY.sub("", line, count=1).strip() if _ENTRY.match(line) else line.strip()
        if not is_code and not text.startswith(("#", "|", "<!--")) and len(text) >= SHORTEST_LINE:
            yield RuleLine(path, number, text)


def repeats(lines: Sequence[RuleLine]) -> Iterator[RuleFinding]:
    """Yield pairs of lines that repeat each other, in the order of the files."""
    marks = [shingles(line.text) for line in lines[:MOST_LINES]]
    pairs = (
        (lines[first], lines[second])
        for first, second in _pairs(marks)
        if similarity(marks[first], marks[second]) >= SAME_LINE
    )
    alike = (pair for pair in pairs if not _opposite(pair[0].text, pair[1].text))
    return (_finding(one, other, "says the same as") for one, other in islice(alike, MOST_FINDINGS))


def contradictions(lines: Sequence[RuleLine]) -> Iterator[RuleFinding]:
    """Yield pairs of lines that contradict each other, in the order of the files."""
    demands = [(line, demand) for line in lines[:MOST_LINES] if (demand := _demand(line.text)) is not None]
    pairs = (
        (demands[first][0], demands[second][0])
        for first, second in _pairs([demand.subject for _, demand in demands])
        if _contradict(demands[first][1], demands[second][1])
    )
    return (_finding(one, other, "contradicts") for one, other in islice(pairs, MOST_FINDINGS))


def _finding(one: RuleLine, other: RuleLine, message: str) -> RuleFinding:
    return RuleFinding(one.path, one.line, one.text, message, other.path, other.line, other.text)


def _pairs(marks: Sequence[frozenset[str]]) -> list[tuple[int, int]]:
    """Return pairs of positions that share a mark which at most `RARE_RUN` positions have."""
    positions: defaultdict[str, list[int]] = defaultdict(list)
    for position, runs in enumerate(marks):
        for run in runs:
            positions[run].append(position)
    rare = (places for places in positions.values() if len(places) <= RARE_RUN)
    return sorted({pair for places in rare for pair in combinations(places, 2)})


@dataclass(frozen=True, slots=True)
class _Demand:
    """A demand or a prohibition, with the terms of its subject."""

    forbids: bool
    subject: frozenset[str]


def _demand(text: str) -> _Demand | None:
    """Return the demand or prohibition of a line, None where it is neither or both."""
    forbids = _FORBIDS.search(text)
    if forbids is None and _DEMANDS.search(text) is None:
        return None
    # "Never use X, use Y" both demands and forbids.
    if forbids is not None and re.search(r"[,;:.]\s.*\b(?:use|prefer|always|instead)\b", text[forbids.end() :], re.I):
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
    for first, second in _opposite_terms():
        if first <= one.subject and second <= other.subject and not (first <= other.subject or second <= one.subject):
            rest = one.subject - first, other.subject - second
            if min(map(len, rest)) and similarity(*rest) >= SAME_SUBJECT:
                return True
    return False


def _opposite(one: str, other: str) -> bool:
    """Return whether two similar lines contradict each other, and so do not repeat each other."""
    first, second = _demand(one), _demand(other)
    return (
        first is not None and second is not None and (first.forbids is not second.forbids or _contradict(first, second))
    )


@cache
def _opposite_terms() -> list[tuple[frozenset[str], frozenset[str]]]:
    pairs = [(_subject(first), _subject(second)) for first, second in _OPPOSITES]
    return [ordered for first, second in pairs for ordered in ((first, second), (second, first))]


def missing_names(instruction: Instruction, root: Path, store: Store) -> list[RuleFinding]:
    """Return the names in one file that no longer exist, each once, in their order."""
    findings: dict[str, RuleFinding] = {}
    path = instruction.stands_for or instruction.path
    folders = {parent_of(path), instruction.folder, ""}
    has_code = bool(store.kinds().get(Kind.CODE))
    for number, line in enumerate(instruction.text.split("\n"), instruction.line):
        for quoted in _QUOTED.findall(line):
            name = _PLACE.sub("", quoted.strip())
            if name in findings or len(findings) >= MOST_MISSING:
                continue
            message = _missing(name, folders, root, store, has_code=has_code)
            if message:
                findings[name] = RuleFinding(path, number, line.strip(), message)
    return list(findings.values())


def _missing(name: str, folders: Collection[str], root: Path, store: Store, *, has_code: bool) -> str:
    """Return the message for a name that no longer exists, empty for any other name."""
    if _PATH.fullmatch(name):
        return "" if _exists(name, folders, root, store) else f"names `{name}`, which is not there"
    member, call = _MEMBER.fullmatch(name), _CALL.fullmatch(name)
    last = member[2] if member is not None else call[1] if call is not None else ""
    if not has_code or not last or store.definitions([last]) or _is_in_code(last, store):
        return ""
    if member is None:
        return f"names `{name}`, which nothing defines or calls"
    return f"names `{name}`, but {member[1]} has no {last} any more" if store.definitions([member[1]]) else ""


def _exists(name: str, folders: Collection[str], root: Path, store: Store) -> bool:
    """Return whether a path exists below one of the folders, or cannot be one of this root."""
    for folder in sorted(folders):
        try:
            path = resolved(name.rstrip("/"), folder)
        except UnsafePathError:
            return True
        if os.path.lexists(root / path):
            return True
    first, slash, _ = name.removeprefix("./").partition("/")
    if not slash:
        return bool(store.paths_named([first], []))
    return not any((root / folder / first).is_dir() for folder in folders)


def _is_in_code(name: str, store: Store) -> bool:
    """Return whether any code contains this compound word."""
    (postings,) = store.lexicon(Kind.CODE).postings([f"{EXACT_MARK}{name.lower()}"])
    fields = (postings.body, postings.name, postings.signature, postings.path)
    return any(len(units) for units, _ in fields)
