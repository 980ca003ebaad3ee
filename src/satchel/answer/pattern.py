"""All matches of a regular expression in the files as they are now, by definition, within a token budget.

What an agent would grep for, in the order in which it would read: production before tests, what is about the question
first, definitions before uses. Whatever is not shown is counted. Expressions are those of RE2: they take linear time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

from satchel import text as words
from satchel.answer.render.frame import counted
from satchel.answer.source_lines import COMMENT, FileLines, Lines, Unreadable, without_blank_ends
from satchel.errors import UsageError
from satchel.safety.sanitize import clean_field, plain_name
from satchel.sources.roles import is_secondary
from satchel.store.protocol import Store
from satchel.tokens import TokenCounter, count_within
from satchel.types import FILE_KINDS, Failure, Kind, Range

LONGEST_LINE = 200
"""Characters of a shown line."""

MAX_LINES = 3
"""Lines of one definition that are shown; the others are counted."""

_DEFINING = re.compile(
    r"\s*(?:(?:export|pub(?:\([^)]*\))?|public|private|protected|internal|static|async|abstract|final|default|unsafe|extern"
    r"|override|inline|virtual)\s+)*(?:def|class|func|fn|function|type|struct|enum|interface|trait|const|let|var|module"
    r"|#\s*define)\b\s*(?:\([^)]*\)\s*)?[*&]?([\w$]+)"
)
"""A line that defines a name by a keyword."""

_ASSIGNED = re.compile(r"\s*(?::[^=]{0,80})?:?=(?![=>])")


class Match(NamedTuple):
    """A matching line (from 1), and the definition around it, empty outside of any."""

    path: str
    line: int
    text: str
    name: str
    is_definition: bool


class Matches(NamedTuple):
    """The answer: `text` shows `shown` of all `matches`, best first, and has `used` tokens."""

    text: str
    used: int
    matches: tuple[Match, ...]
    shown: int
    files: int
    failures: tuple[Failure, ...] = ()


class _Group(NamedTuple):
    """The matches in one definition."""

    path: str
    span: Range
    name: str
    matches: tuple[Match, ...]

    def order(self, terms: AbstractSet[str]) -> tuple[Any, ...]:
        """Return a key: production, definitions, words of the question, then the most matches."""
        said = " ".join((self.path, self.name, *(match.text for match in self.matches)))
        asked = len(terms & set(words.count_terms(words.words(said)))) if terms else 0
        defines = any(match.is_definition for match in self.matches)
        return is_secondary(self.path), -asked, not defines, -len(self.matches), self.path, self.span


def expression(text: str) -> Any:
    """Return a compiled expression of RE2. Raises UsageError."""
    if not text:
        raise UsageError("the pattern is empty: give a regular expression", "pattern")
    try:
        return words.linear_pattern(text, is_case_sensitive=True)
    except ValueError as error:
        raise UsageError(f"the pattern {clean_field(text, 60)!r} {error}", "pattern") from None


def for_texts(text: str) -> Any:
    """Return an expression that is found in every text with a line that has a match; None where that is not certain."""
    if re.search(r"\\[Az]|\(\?\w*-", text):  # ends of the text that are those of a line, and flags that are taken back
        return None
    try:
        return words.linear_pattern(f"(?m){text}", is_case_sensitive=True)
    except ValueError:  # too long with the flag
        return None


def groups_of(
    wanted: Callable[[str], bool], found: Any, store: Store, files: FileLines, prefix: str = "", in_texts: Any = None
) -> Iterator[_Group | Failure]:
    """Yield the matches in all indexed files that are `wanted`, by definition, and files that cannot be read.

    Lines are searched one by one, and only those of texts where `in_texts` (see `for_texts`) is found.
    """
    for kind, path, stamp in (
        (other, *stamped) for other in FILE_KINDS for stamped in sorted(store.stamps(other).items())
    ):
        if not wanted(f"{prefix}{path}"):
            continue
        read = files.read(path, stamp.content_hash, partial(store.text, stamp.document))
        if isinstance(read, Unreadable):
            if read.is_error:
                yield Failure("pattern", f"{plain_name(path)}: {read.reason}", "its lines are not searched")
        elif matching := _matching(read, found, in_texts):
            parts = _parts(kind, path, stamp.content_hash, read, store, files)
            whole = [(*without_blank_ends(read.lines, start, end), name) for start, end, name in parts]
            yield from _grouped(f"{prefix}{path}", matching, whole)


def _matching(read: Lines, found: Any, in_texts: Any) -> list[tuple[int, str, Any]]:
    if in_texts is not None and in_texts.search("\n".join(read.lines)) is None:
        return []
    return [(number, line, hit) for number, line in enumerate(read.lines, 1) if (hit := found.search(line))]


def _parts(
    kind: Kind, path: str, indexed: str, read: Lines, store: Store, files: FileLines
) -> Sequence[tuple[int, int, str]]:
    """Return the definitions of a file: those of the index, or of its lines where they have changed."""
    document = store.document(kind, path) if read.content_hash == indexed else None
    if document is None:
        return [(part.start, part.end, part.name) for part in files.outline(read).parts]
    return [(part.start, part.end, part.name) for part in store.chunks(document.rows).values()]


def _grouped(
    path: str, numbered: Iterable[tuple[int, str, Any]], parts: Sequence[tuple[int, int, str]]
) -> Iterator[_Group]:
    groups: dict[tuple[int, int, str], list[Match]] = {}
    for number, line, hit in numbered:
        around = ((end - start, start, end, name) for start, end, name in parts if start <= number <= end)
        _, start, end, name = min(around, key=itemgetter(0), default=(0, number, number, ""))
        is_definition = COMMENT.match(line) is None and _defines(line, hit, name)
        groups.setdefault((start, end, name), []).append(Match(path, number, line, name, is_definition))
    for (start, end, name), matches in groups.items():
        yield _Group(path, (start, end), "" if name == path else name, tuple(matches))


def _defines(line: str, hit: Any, name: str) -> bool:
    """Return whether a line defines what was found on it: by a keyword or an assignment, or as the name around it."""
    before, after, last_name = line[: hit.start()], line[hit.end() :], name.rpartition(".")[2]
    defined = _DEFINING.match(line)
    if defined is not None:
        return bool(hit.start() < defined.end(1) and defined.start(1) < hit.end())
    is_own = bool(last_name) and last_name in hit.group() and re.match(r"\w*\s*\(.*[{:,(]\s*$", after) is not None
    return is_own or (not before.strip() and _ASSIGNED.match(after) is not None)


def packed(
    found: Iterable[_Group | Failure],
    terms: AbstractSet[str],
    counter: TokenCounter,
    max_tokens: int,
    max_lines: int = MAX_LINES,
) -> Matches:
    """Return the matches, best first, as text of at most `max_tokens`, with `max_lines` of each definition."""
    every = list(found)
    groups = [other for other in every if isinstance(other, _Group)]
    failures = tuple(failure for failure in every if isinstance(failure, Failure))
    orders = {id(group): group.order(terms) for group in groups}
    best: dict[str, tuple[Any, ...]] = {}
    for group in groups:
        best[group.path] = min(best.get(group.path, orders[id(group)]), orders[id(group)])
    groups.sort(key=lambda group: (best[group.path], orders[id(group)]))
    matches = tuple(match for group in groups for match in group.matches)
    files = Counter(match.path for match in matches)
    if not matches:
        return Matches("", 0, (), 0, 0, failures)

    def tokens_with(count: int) -> int:
        return counter.count(_written(groups[:count], matches, files, max_lines)[0])

    text, shown = _written(groups[: count_within(len(groups), max_tokens, tokens_with)], matches, files, max_lines)
    used = counter.count(text)
    if used > max_tokens:
        return Matches("", 0, matches, 0, len(files), failures)
    return Matches(text, used, matches, shown, len(files), failures)


def _written(
    groups: Sequence[_Group], matches: Sequence[Match], files: Counter[str], max_lines: int
) -> tuple[str, int]:
    """Return the text with these groups, and how many matches it shows."""
    lines: list[str] = []
    shown: Counter[str] = Counter()
    before = ""
    for group in groups:
        if group.path != before:
            lines += ["", f"### {plain_name(group.path)}"]
            before = group.path
        name = f" {plain_name(group.name)}" if group.name else ""
        lines.append(f"@@{group.span[0]}-{group.span[1]}{name}")
        first = sorted(group.matches, key=lambda match: (not match.is_definition, match.line))[:max_lines]
        lines += [f"{match.line}\t{_shortened(match.text)}" for match in sorted(first, key=lambda match: match.line)]
        if len(group.matches) > len(first):
            lines.append(f"… {len(group.matches) - len(first)} more here")
        shown[group.path] += len(first)
    total = shown.total()
    rest = [(path, count - shown[path]) for path, count in files.most_common() if count > shown[path]]
    if rest:
        named = ", ".join(f"{plain_name(path)} {count}" for path, count in rest[:10])
        lines += ["", f"Not shown: {named}" + (f" and {len(rest) - 10} files more" if rest[10:] else "")]
    head = f"{counted(len(matches), 'line')} in {counted(len(files), 'file')}"
    return "\n".join([head if total == len(matches) else f"{head}, {total} shown", *lines, ""]), total


def _shortened(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"
