"""The real lines of real files, checked against what was indexed.

The text that is shown comes from the file on disk. When its bytes are those that were indexed, the stored text,
cleaned and redacted already, is the same text and is taken instead of doing that work again. When they are not, the
file is cleaned and redacted as the index would do it, and whoever asked sees by the hash that it is another one.
"""

from __future__ import annotations

import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path

from satchel.safety import sanitize
from satchel.safety.redact import redact
from satchel.safety.sanitize import clean_text
from satchel.system import files
from satchel.tokens import TokenCounter
from satchel.types import Freshness, Outline

CACHED_FILES = 256
"""Files kept as lines between questions: about ten answers' worth."""

CACHED_BYTES = 32_000_000
"""Memory that those lines may take: a fifth of what a whole process is allowed."""

LINE_OVERHEAD_BYTES = 64
"""What Python keeps for a line beside its characters, rounded up."""

NO_OUTLINE = Outline("", (), parsed=False)

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of one file, 0-based here, without line ends. `content_hash` is that of the bytes they came from.

    `marks` say of each line how it differs from what was indexed; empty where none does. `sent` are the ranges that
    the session has already: nothing shows them again.
    """

    path: str
    lines: tuple[str, ...]
    content_hash: str = ""
    marks: tuple[Freshness | None, ...] = ()
    sent: tuple[Range, ...] = ()
    counts: dict[str, array[int]] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Tokens of each line by tokenizer, -1 where not counted yet: as long as a file is remembered each line is counted
    once."""

    sizes: list[int] = field(default_factory=list, init=False, repr=False, compare=False)
    """Characters up to each line, worked out when first asked for."""

    def characters(self, start: int, end: int) -> int:
        """Return characters of lines `start`..`end`, each with its line end."""
        if not self.sizes:
            # Put in place at once: other threads read the same lines, and half of a list would be wrong sizes to them.
            self.sizes[:] = [*accumulate((len(line) + 1 for line in self.lines), initial=0)]
        return self.sizes[min(end, len(self.lines))] - self.sizes[min(start, len(self.lines) + 1) - 1]

    def tokens(self, counter: TokenCounter, start: int, end: int) -> int:
        """Tokens of lines `start`..`end`, each counted alone with its line end: hardly ever less than together."""
        counts = self.counts.get(counter.name)
        if counts is None:
            counts = self.counts.setdefault(counter.name, array("i", [-1]) * len(self.lines))
        total = 0
        for index in range(start - 1, min(end, len(self.lines))):
            if counts[index] < 0:
                counts[index] = counter.count(f"{self.lines[index]}\n")
            total += counts[index]
        return total

    def text(self, start: int, end: int) -> str:
        """Return lines `start`..`end` (1-based, inclusive), each with its line end."""
        return "\n".join(self.lines[start - 1 : end]) + "\n"

    def seams(self, start: int, end: int) -> set[int]:
        """Return the lines after `start` up to `end` (1-based) that differ in another way than the line before."""
        if not self.marks:
            return set()
        marks = self.marks[start - 1 : end]
        return {start + offset + 1 for offset, (one, other) in enumerate(pairwise(marks)) if one is not other}


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a file cannot be shown; `is_error` where that is a fault rather than a file that is gone or another one."""

    path: str
    reason: str
    is_error: bool = False


class _Entry:
    """A file in the cache, with its outline once somebody needed it."""

    __slots__ = ("lines", "outline", "size")

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.outline: Outline | None = None
        self.size = sum(map(len, lines.lines)) + LINE_OVERHEAD_BYTES * len(lines.lines)


class FileLines:
    """Reads files of one root for display, with a cache bounded in files and in bytes. Safe to share between threads.

    `limit` is the largest file in bytes, `allow` the secrets that are none.
    """

    def __init__(
        self,
        root: Path,
        key: bytes,
        limit: int,
        allow: Sequence[str] = (),
        *,
        most_files: int = CACHED_FILES,
        most_bytes: int = CACHED_BYTES,
    ) -> None:
        self._root, self._key, self._limit, self._allow = root, key, limit, tuple(allow)
        self._most_files, self._most_bytes = most_files, most_bytes
        self._cache: OrderedDict[tuple[str, str], _Entry] = OrderedDict()
        self._bytes = 0
        self._mismatches = 0
        self._guard = threading.Lock()

    def read(self, path: str, content_hash: str = "", stored: Callable[[], str] | None = None) -> Lines | Unreadable:
        """The lines of a file as it is now, or why they cannot be shown. Never follows a link, never leaves the root.

        `stored` gives the text kept for the bytes with `content_hash`; it is asked only when the file still has them.
        """
        unfit = sanitize.unfit_path(path)
        if unfit is not None:
            return Unreadable(path, str(unfit))
        try:
            raw = files.read_bytes(self._root, path, limit=self._limit).raw
        except files.Skipped as skip:
            return Unreadable(path, str(skip.reason), skip.is_error)
        current = files.content_hash(raw, self._key)
        lines = self.cached(path, current)
        if lines is not None:
            return lines
        if current == content_hash and stored is not None:
            return self.keep(path, current, stored())
        decoded = files.decode(raw)
        if decoded is None:
            return Unreadable(path, str(files.SkipReason.BINARY))
        text, _ = redact(clean_text(decoded[0])[0], self._allow)
        return self.keep(path, current, text)

    def keep(self, path: str, content_hash: str, text: str) -> Lines:
        """Lines of a text that is cleaned and redacted, remembered under the hash of the bytes that it came from."""
        entry = _Entry(Lines(path, tuple(text.split("\n")), content_hash))
        with self._guard:
            self._forget((path, content_hash))
            if entry.size <= self._most_bytes:
                self._cache[path, content_hash] = entry
                self._bytes += entry.size
            while len(self._cache) > self._most_files or self._bytes > self._most_bytes:
                self._forget(next(iter(self._cache)))
        return entry.lines

    def cached(self, path: str, content_hash: str) -> Lines | None:
        """Return the lines remembered for this state of a file."""
        entry = self._entry(path, content_hash)
        return entry.lines if entry is not None else None

    def outline(self, lines: Lines, *, is_note: bool = False) -> Outline:
        """Parts and imports of a file, by the parser of the index; worked out once for as long as it is remembered.

        What cannot be parsed at all has no parts.
        """
        entry = self._entry(lines.path, lines.content_hash)
        if entry is not None and entry.outline is not None:
            return entry.outline
        outline = outline_of(lines, is_note=is_note)
        if entry is not None:
            entry.outline = outline
        return outline

    def is_stamped(self, path: str, size: int, mtime_ns: int, changed_ns: int) -> bool:
        """Whether a file still has this size and these times; a `changed_ns` of 0 is not compared. Opens nothing."""
        stamp = files.stamp(self._root, path)
        return stamp is not None and stamp[:2] == (size, mtime_ns) and changed_ns in (0, stamp[2])

    def note_mismatch(self) -> None:
        """Remember that a file was not as it was indexed."""
        with self._guard:
            self._mismatches += 1

    def take_mismatches(self) -> int:
        """Return how many mismatches were noted since this was last asked."""
        with self._guard:
            count, self._mismatches = self._mismatches, 0
        return count

    def clear(self) -> None:
        """Forget every file."""
        with self._guard:
            self._cache.clear()
            self._bytes = 0

    @property
    def cache_size(self) -> tuple[int, int]:
        """Files and bytes in the cache."""
        with self._guard:
            return len(self._cache), self._bytes

    def _entry(self, path: str, content_hash: str) -> _Entry | None:
        with self._guard:
            entry = self._cache.get((path, content_hash))
            if entry is not None:
                self._cache.move_to_end((path, content_hash))
            return entry

    def _forget(self, key: tuple[str, str]) -> None:
        entry = self._cache.pop(key, None)
        if entry is not None:
            self._bytes -= entry.size


def outline_of(lines: Lines, *, is_note: bool = False) -> Outline:
    """Parts and imports of a file, as a note of a vault if it `is_note`. What cannot be parsed at all has no parts."""
    from satchel.sources.outline import outline_file  # here, because a question about unchanged files needs no parser

    try:
        if is_note:
            from satchel.sources.notes.vault import read_note

            return read_note(lines.path, "\n".join(lines.lines))[0]
        return outline_file(lines.path, "\n".join(lines.lines))[1]
    except (RecursionError, MemoryError):  # nesting or size beyond anything written by hand
        return NO_OUTLINE


def without_blank_ends(lines: Sequence[str], start: int, end: int) -> Range:
    """Return the range (from 1) without blank lines at its ends; blank throughout, its first line."""
    first, last = start, min(end, len(lines))
    while last > first and not lines[last - 1].strip():
        last -= 1
    while first < last and not lines[first - 1].strip():
        first += 1
    return first, last


def around(ranges: Sequence[Range], count: int, last_line: int) -> list[Range]:
    """Return the ranges with `count` lines more before and after each, in order, inside lines 1 to `last_line`.

    Ranges that then overlap or touch become one, so no line is named twice. With a count of 0 only that is done.
    """
    widened: list[Range] = []
    for start, end in sorted(ranges):
        first, last = max(start - count, 1), min(end + count, last_line)
        if first > last:
            continue
        if widened and first <= widened[-1][1] + 1:
            widened[-1] = (widened[-1][0], max(widened[-1][1], last))
        else:
            widened.append((first, last))
    return widened
