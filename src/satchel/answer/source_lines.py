"""The real lines of real files, checked against what was indexed.

The text that is shown comes from the file on disk. If its bytes are those that were indexed, the stored text,
which is already cleaned and redacted, is used. Otherwise the file is cleaned and redacted as for the index, and the
hash tells the caller that it differs.
"""

from __future__ import annotations

import re
import threading
import time
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from sys import getsizeof
from typing import Any

from msgspec import Struct

from satchel.answer.text_lines import TextLines
from satchel.safety import sanitize
from satchel.safety.sanitize import clean_text, redact
from satchel.sources.code.languages import extent, is_notebook
from satchel.store.licence import licence_lines
from satchel.system import files
from satchel.system.cache import Cache
from satchel.text import pattern
from satchel.tokens import TokenCounter
from satchel.types import Freshness, Outline, Range

LINE_OVERHEAD_BYTES = 24
"""Memory of a line besides its characters: its length, its tokens, and what is derived from it."""

FIRST_SENTENCE, MIN_PROSE, LONGEST_PROSE = 3, 4, 400
"""Most lines of the first sentence of a comment, fewest lines of it that are left out (more than the gap that is closed
anyway), and most lines of a doc string."""

RESTED_NS = 2_000_000_000
"""A file that changed more recently may change again without another time stamp (docs/decisions/0008)."""


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of one file, 0-based here, without line ends. `content_hash` is that of the bytes they came from.

    `marks` tell for each line how it differs from the index; empty if none does. `sent` are the ranges that the session
    has; they are not shown again.
    """

    path: str
    lines: TextLines
    content_hash: str = ""
    marks: tuple[Freshness | None, ...] = ()
    sent: tuple[Range, ...] = ()
    counts: dict[str, array[int]] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Tokens of each line by tokenizer, -1 where not counted yet: each line of a cached file is counted once."""

    derived: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What others computed from these lines alone, by a key of theirs: kept as long as the file is cached."""

    def characters(self, start: int, end: int) -> int:
        """Return the characters of lines `start`..`end`, each with its line end."""
        return self.lines.characters(start, end)

    def tokens(self, counter: TokenCounter, start: int, end: int) -> int:
        """Return the tokens of lines `start`..`end`, each counted alone with its line end (an upper estimate)."""
        counts = self.counts.get(counter.name) or self.counts.setdefault(
            counter.name, array("i", [-1]) * len(self.lines)
        )
        last = min(end, len(self.lines))
        if -1 in counts[start - 1 : last]:
            for index, line in enumerate(self.lines[start - 1 : last], start - 1):
                if counts[index] < 0:
                    counts[index] = counter.count(f"{line}\n")
        return sum(counts[start - 1 : last])

    def text(self, start: int, end: int) -> str:
        """Return lines `start`..`end` (1-based, inclusive), each with its line end."""
        return self.lines.joined(start, min(end, len(self.lines))) + "\n"

    def prose(self, start: int, end: int) -> tuple[Range, ...]:
        """Return the lines of long doc comments in `start`..`end` after their first sentence.

        They are found once while the lines are kept. Comments of a notebook are its text.
        """
        key = prose_of, start, end
        found: tuple[Range, ...] | None = self.derived.get(key)
        if found is None:
            last = min(end, len(self.lines))
            texts = () if is_notebook(self.path) else prose_of(self.lines.joined(start, last))
            found = self.derived[key] = tuple((first + start - 1, behind + start - 1) for first, behind in texts)
        return found

    @property
    def licence_end(self) -> int:
        """The last line of the licence at the top of the file, 0 without one; found once while the lines are kept."""
        end: int | None = self.derived.get(licence_lines)
        if end is None:
            end = self.derived[licence_lines] = max(licence_lines(self.lines).stop - 1, 0)
        return end

    def seams(self, start: int, end: int) -> set[int]:
        """Return the lines after `start` up to `end` (1-based) that differ in another way than the line before."""
        if not self.marks:
            return set()
        marks = self.marks[start - 1 : end]
        return {
            start + offset + 1 for offset, (freshness, other) in enumerate(pairwise(marks)) if freshness is not other
        }


class Unreadable(Struct, frozen=True):
    """The reason why a file cannot be shown; `is_error` for a fault, not for a file that is gone or excluded."""

    path: str
    reason: str
    is_error: bool = False


_unfit_path = lru_cache(maxsize=4_096)(sanitize.unfit_path)
"""The check of a path, which is the same each time; a question reads some forty files."""


class FileLines:
    """Reads files of one root for display, and keeps their lines. Safe to share between threads.

    `limit` is the largest file in bytes, `allow` are patterns of texts that look like secrets but are not. If
    `is_own` returns true, the stored text of a file is what processes of this user made of its bytes; else it is not
    used.
    """

    def __init__(
        self, root: Path, key: bytes, limit: int, allow: Sequence[str] = (), is_own: Callable[[], bool] = lambda: True
    ) -> None:
        self._is_own = is_own
        self._root, self._key, self._limit, self._allow = root, key, limit, tuple(allow)
        self._kept: Cache[tuple[str, str], Lines] = Cache(_size_of)
        self._rested: Cache[str, tuple[tuple[int, int, int], str]] = Cache(lambda _: 500)
        """Size, times and hash of files that had not changed for `RESTED_NS` when they were read."""
        self._mismatches: list[str] = []
        self._guard = threading.Lock()

    @property
    def root_name(self) -> str:
        """The name of the folder of the root."""
        return self._root.name

    def read(self, path: str, content_hash: str = "", stored: Callable[[], str] | None = None) -> Lines | Unreadable:
        """Return the present lines of a file, or why they cannot be shown. Never follows a link or leaves the root.

        `stored` returns the stored text for the bytes with `content_hash`; called only if the file has them. A file
        that was read before is opened again unless it has the size and times that it had when it had rested.
        """
        rested = self._rested.values.get(path)
        if rested is not None and files.stamp(self._root, path) == rested[0]:
            lines = self.cached(path, rested[1])
            if lines is not None:
                return lines
            if rested[1] == content_hash and stored is not None and self._is_own():
                return self.keep(path, content_hash, stored())
        unfit = _unfit_path(path)
        if unfit is not None:
            return Unreadable(path, str(unfit))
        now = time.time_ns()
        whole, head = extent(path, self._limit)
        try:
            file = files.read_bytes(self._root, path, limit=whole, head=head)
        except files.Skipped as skip:
            return Unreadable(path, str(skip.reason), skip.is_error)
        current = files.content_hash(file.raw, self._key)
        self._note_rest(path, file, current, now)
        lines = self.cached(path, current)
        if lines is not None:
            return lines
        if current == content_hash and stored is not None and self._is_own():
            return self.keep(path, current, stored())
        decoded = files.decode(file.raw)
        if decoded is None:
            return Unreadable(path, str(files.SkipReason.BINARY))
        from satchel.sources.outline import readable  # here, because most files are as they were indexed

        text, _ = redact(clean_text(readable(path, decoded[0]))[0], self._allow)
        return self.keep(path, current, text)

    def unredacted(self, path: str) -> str:
        """Return the present text of a file, for what is not shown; empty if it cannot be read."""
        try:
            decoded = files.decode(files.read_bytes(self._root, path, limit=self._limit).raw)
        except files.Skipped:
            return ""
        return decoded[0] if decoded is not None else ""

    def keep(self, path: str, content_hash: str, text: str) -> Lines:
        """Return the lines of a cleaned and redacted text, cached under the hash of its original bytes."""
        lines = Lines(path, TextLines(text), content_hash)
        self._kept.keep({(path, content_hash): lines})
        return lines

    def cached(self, path: str, content_hash: str) -> Lines | None:
        """Return the cached lines for this state of a file."""
        return self._kept.values.get((path, content_hash))

    def outline(self, lines: Lines, *, is_note: bool = False) -> Outline:
        """Return parts and imports of a file, by the parser of the index; computed once for a cached file.

        A file that cannot be parsed has no parts.
        """
        kept = self.cached(lines.path, lines.content_hash) or lines  # without the marks
        outline: Outline | None = kept.derived.get(Outline)
        if outline is None:
            outline = kept.derived[Outline] = outline_of(lines, is_note=is_note)
        return outline

    def is_stamped(self, path: str, size: int, mtime_ns: int, changed_ns: int) -> bool:
        """Return whether a file still has this size and these times, without reading it; `changed_ns` may be 0."""
        stamp = files.stamp(self._root, path)
        return stamp is not None and stamp[:2] == (size, mtime_ns) and changed_ns in (0, stamp[2])

    def note_mismatch(self, path: str) -> None:
        """Note a file that differed from the index."""
        self._mismatches.append(path)

    def take_mismatches(self) -> int:
        """Return the number of mismatches since the last call."""
        with self._guard:
            count = len(self._mismatches)
            self._mismatches.clear()
        return count

    def clear(self) -> None:
        """Forget every file."""
        self._kept.drop([*self._kept.values])
        self._rested.drop([*self._rested.values])

    def _note_rest(self, path: str, file: files.FileBytes, content_hash: str, now: int) -> None:
        if now - max(file.mtime_ns, file.changed_ns) > RESTED_NS:
            self._rested.keep({path: ((file.size, file.mtime_ns, file.changed_ns), content_hash)})
        else:
            self._rested.drop([path])


def _size_of(lines: Lines) -> int:
    return getsizeof(lines.lines.text) + LINE_OVERHEAD_BYTES * len(lines.lines)


def outline_of(lines: Lines, *, is_note: bool = False) -> Outline:
    """Return parts and imports of a file, as a note of a vault if it `is_note`; none if it cannot be parsed."""
    from satchel.sources.outline import outline_file  # here, because a question about unchanged files needs no parser

    try:
        if is_note:
            from satchel.sources.vault import read_note

            return read_note(lines.path, lines.lines.text)[0]
        return outline_file(lines.path, lines.lines.text)[1]
    except (RecursionError, MemoryError):  # nesting or size beyond anything written by hand
        return Outline("", (), parsed=False)


_COMMENT_START = r"(?://|/?\*(?![\w*(])|/\*|#(?![!\[]|(?:include|define|if|ifdef|ifndef|else|elif|endif|undef|pragma)\b)|--[^\S\n]|;;)"
_DOC_STRING_START = r"[rRbBuUfF]{0,2}(\"{3}|'{3})"
COMMENT, _DOC_STRING = re.compile(rf"\s*{_COMMENT_START}"), re.compile(rf"\s*{_DOC_STRING_START}")
_COMMENT_LINE = rf"[^\S\n]*+{_COMMENT_START}[^\n]*+"
_PROSE = pattern(
    r"\n(?=[^\S\n]*+[/*#;\-\"'rRbBuUfF])"
    rf"(?:[^\S\n]*+{_DOC_STRING_START}(?![^\n]*\1)|{_COMMENT_LINE}(?:\n{_COMMENT_LINE}){{{MIN_PROSE},}}+)"
)
"""The opening of a doc string of several lines, or lines of comments that are more than a few."""

IMPORT = pattern(r"\s*(?:import|from|use|using|require|#include|package)\b")
_WORD = pattern(r"\w")
_SENTENCE_END = pattern(r"[.!?:;]['\")\]`*]*\s*$|^\W*$")


def prose_of(text: str) -> Iterator[Range]:
    """Yield the lines of doc strings and of whole-line comments after their first sentence, if they are many."""
    # A line end before the first line, so that each line has one before it: its number is the count of those before.
    text, lines, counted, number = f"\n{text}", text.split("\n"), 0, 0
    match = _PROSE.search(text)
    while match is not None:
        number, counted = number + text.count("\n", counted, match.start()), match.start()
        behind = match.end()
        if match[1]:
            close = text.find(match[1], behind)
            size = text.count("\n", behind, close) + 1 if close >= 0 else 0
            if size > LONGEST_PROSE:
                size = 0
            elif size:
                behind = close
        else:
            size = text.count("\n", match.start(), behind)
        if size > MIN_PROSE:
            first, end = number, number + size
            if not _WORD.search(_DOC_STRING.sub("", lines[first], count=1)):
                first += 1  # the text begins on the next line
            while first < min(end, number + FIRST_SENTENCE) and not _SENTENCE_END.search(lines[first]):
                first += 1
            if end - first > MIN_PROSE:
                yield first + 2, end
        match = _PROSE.search(text, behind)


def trimmed(lines: Lines, start: int, end: int) -> tuple[Range, int]:
    """Return `without_blank_ends` of a range of these lines and its characters, computed once while they are cached."""
    kept: tuple[Range, int] | None = lines.derived.get((start, end))
    if kept is None:
        shown = without_blank_ends(lines.lines, start, end)
        kept = lines.derived[start, end] = shown, lines.characters(*shown)
    return kept


def without_blank_ends(lines: Sequence[str], start: int, end: int) -> Range:
    """Return the range (from 1) without blank lines at its ends; its first line if all are blank."""
    first, last = start, min(end, len(lines))
    while last > first and not lines[last - 1].strip():
        last -= 1
    while first < last and not lines[first - 1].strip():
        first += 1
    return first, last


_BRANCH = pattern(r"[})\s]*(?:el(?:se|if|sif)|except|finally|catch|case|default|when)\b|(?P<bracket>[{}()\[\]])")
_OPENS = pattern(r"(?:[{:(\[]|[=-]>|\b(?:then|do))\s*(?:/[/*].*|#.*)?$")
"""The end of a line after which a block begins."""


def conditions(lines: Sequence[str], first: int, start: int) -> Iterator[Range]:
    """Yield the lines (from 1) that open the blocks around line `start` of a definition at `first`, innermost first.

    Blocks are told by their indentation. Of another branch, such as `else`, the opening of its statement is one, too.
    """
    minimum, depth, rank = _depth(lines[first - 1]), _depth(lines[start - 1]), _rank(lines[start - 1].strip())
    for number, text, depth_of_line in _statements(lines, range(start - 1, first, -1)):
        if minimum < depth_of_line < depth or (depth_of_line == depth and _rank(text) < rank):
            # A condition of several lines ends with the first one after which a block begins.
            numbers = range(number, min(number + 4, start))
            yield number, next((opening for opening in numbers if _OPENS.search(lines[opening - 1])), number)
            depth, rank = depth_of_line, _rank(text)


def branch_end(lines: Sequence[str], start: int, end: int, last: int) -> int:
    """Return the end, at most `last`, of the statement that `start`..`end` break off by indentation; `end` if far."""
    depth = min((depth_of_line for *_, depth_of_line in _statements(lines, range(start, end + 1))), default=0)
    whole = end
    # A short branch: a few lines more than a closed gap.
    for number, text, depth_of_line in _statements(lines, range(end + 1, min(end + 9, last) + 1)):
        if depth_of_line <= depth:
            return number if depth_of_line == depth and text[0] in "})]" and not _OPENS.search(text) else whole
        whole = number
    return whole if whole == last else end


CONTINUED_LINES = 8
"""Most lines before and after a range that are looked at for the rest of a statement."""


def whole_statements(lines: Sequence[str], start: int, end: int, first: int, last: int) -> Range:
    """Return the range (from 1) with the lines that close its open brackets, and those that open what it closes.

    Only lines from `first` to `last`, and a few on each side. A bracket in a text may hide the end: then the range is
    as it was. Braces do not count, because most of them are around blocks.
    """
    depths = [*accumulate(map(_opened, lines[start - 1 : end]), initial=0)]
    unopened = -min(depths)
    open_ones = depths[-1] + unopened
    before = range(start - 1, max(first, start - CONTINUED_LINES) - 1, -1)
    after = range(end + 1, min(last, end + CONTINUED_LINES) + 1)
    begin = (
        next((number for number, left in _left(lines, before, -unopened) if left >= 0), start) if unopened else start
    )
    close = next((number for number, left in _left(lines, after, open_ones) if left <= 0), end) if open_ones else end
    return begin, close


def _left(lines: Sequence[str], numbers: Iterable[int], count: int) -> Iterator[tuple[int, int]]:
    """Yield each line with the sum of `count` and the brackets that are open after it and the lines before."""
    for number in numbers:  # mostly the first one or two of a few
        count += _opened(lines[number - 1])
        yield number, count


def _opened(line: str) -> int:
    return line.count("(") + line.count("[") - line.count(")") - line.count("]")


def _statements(lines: Sequence[str], numbers: range) -> Iterator[tuple[int, str, int]]:
    """Yield number, text and depth of the lines that are not blank, comments or for the preprocessor."""
    texts = lines[min(numbers) - 1 : max(numbers)] if numbers else ()
    for number, line in zip(numbers, texts[:: numbers.step], strict=True):
        text = line.strip()
        if text and text[0] != "#" and not COMMENT.match(text):
            yield number, text, line.index(text)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _rank(text: str) -> int:
    """Return 0 for a line that opens a statement, 1 for another branch of it, 2 for a bracket of either."""
    match = _BRANCH.match(text)
    return 0 if match is None else 2 if match["bracket"] else 1


def around(ranges: Sequence[Range], count: int, last_line: int) -> list[Range]:
    """Return the ranges with `count` more lines before and after each, in order, within lines 1 to `last_line`.

    Ranges that then overlap or touch become one, so no line is named twice.
    """
    widened = [(max(start - count, 1), min(end + count, last_line)) for start, end in ranges]
    return joined([(first, last) for first, last in widened if first <= last])


def joined(ranges: Iterable[Range], gap: int = 0) -> list[Range]:
    """Return the union of line ranges in order, joined where at most `gap` lines lie between them."""
    union: list[Range] = []
    for start, end in sorted(ranges):
        if union and start <= union[-1][1] + 1 + gap:
            union[-1] = (union[-1][0], max(union[-1][1], end))
        else:
            union.append((start, end))
    return union
