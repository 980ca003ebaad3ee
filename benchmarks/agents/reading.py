"""Read an answer as an agent reads it: from the top, line by line, at the price of its tokens.

Only the text counts, not what the JSON beside it claims. A line of it is one of these:

| form | meaning |
|---|---|
| `### PATH`, `=== file PATH 123`, `<file path="PATH">`, a line with nothing but a path | the file of what follows |
| `@@12-20 name`, `<lines range="12-20">`, `--- 12-20:`, `*PATH:12-20*` | a label: names the lines, code follows |
| `12  code`, `12: code`, `12| code`, `12-code` | a numbered line of the file |
| code below a label | the next line of the file, or after a gap the next one that reads the same |
| `PATH:12-20 name`, `1 PATH: name (12-20)`, below a file `12-20 name` | a place: names the lines |
| `... 12-20`, `# 9 lines left out (12-20)` | a gap in a file: names the lines |

A line is *shown* only if the file has this text there, but for white space, escapes of XML and a cut end (`…`, `...`),
so that code, which may look like any of these forms, is never mistaken for long. A place is *named* if its file exists.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import unescape
from itertools import accumulate

from localization.counting import encoding

LinesOf = Callable[[str], Sequence[str]]
"""The lines of a file of the tree, none for what is not a file of it."""

ENOUGH_CHARACTERS = 4
"""Fewest characters of a line that tells where the text goes on after a gap; `)` and `else` are everywhere."""

_FILE = re.compile(r'(?:#{2,4} |=== (?:file|places) |<file path=")(?P<path>[^"]+?)(?:"| \d{6,})?(?: |>|/>|$)')
_LABEL = re.compile(r'(?:@@|<lines range="|--- )(?P<ranges>\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)(?=[\s":]|$)')
_NUMBERED = re.compile(r"\s*(?P<number>\d{1,6})(?:[:|│→\t-] ?|  ?|$)(?P<code>.*)$")
_PLACE = re.compile(r"(?P<path>[\w.@+/~-]*[\w+~-]):(?P<ranges>\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)(?!\w)[`*:]?")
_LISTED = re.compile(r"\s*(?:[-*•] |\d+[.)]? )?`?(?P<path>[\w.@+/~-]*[\w+~-])`?: ")
_RANGE_BELOW = re.compile(r"\s*(?:[-*•] )?(?:lines? )?L?(?P<ranges>\d+-L?\d+(?:,\d+-\d+)*)(?= |:|$)")
_IN_BRACKETS = re.compile(r"\((?:lines? )?(?P<ranges>\d+-\d+(?:,\d+-\d+)*)\)")
_GAP = re.compile(r"\W*(?:…|\.\.\.) ?(?:lines? )?(?P<ranges>\d+-\d+)\b|.*\bleft out \((?P<between>\d+-\d+)\)")
_END_OF_FILE = re.compile(r"#{1,2} |---$|\*\*(?!Code:|Imports:)\w|=== \d+$|</file>")


@dataclass(frozen=True, slots=True)
class Shown:
    """A line of a file that the text shows; `tokens` are those of the text up to its end."""

    path: str
    number: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Named:
    """A range of lines that the text names; `tokens` are those of the text up to the end of the line that does."""

    path: str
    first: int
    last: int
    tokens: int


@dataclass(slots=True)
class Reading:
    """Everything that an agent gets from an answer, in the order of the text; `tokens` are those of all of it."""

    tokens: int
    shown: list[Shown] = field(default_factory=list)
    named: list[Named] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


def read(text: str, lines_of: LinesOf) -> Reading:
    """Read the text of an answer about the tree behind `lines_of`."""
    lines = text.split("\n")
    ends = _token_ends(lines)
    reader = _Reader(Reading(ends[-1]), lines_of)
    for line, tokens in zip(lines, ends, strict=True):
        reader.take(line.rstrip("\r"), tokens)
    return reader.reading


def _token_ends(lines: Sequence[str]) -> list[int]:
    """Return the tokens (o200k_base) of the text up to the end of each line."""
    table = encoding()
    pieces = table.decode_tokens_bytes(table.encode_ordinary("\n".join(lines)))
    starts = [0, *accumulate(map(len, pieces))][:-1]
    ends = accumulate(len(line.encode("utf-8", "surrogatepass")) + 1 for line in lines)
    return [bisect_left(starts, end) for end in ends]


def is_same(shown: str, real: str) -> bool:
    """Return whether a shown line is that of the file, white space apart; its end may be cut off with `…` or `...`."""
    shown, real = " ".join(shown.split()), " ".join(real.split())
    if shown == real or ("&" in shown and unescape(shown) == real):
        return True
    for mark in ("…", "..."):
        start = shown.removesuffix(mark).rstrip()
        if shown.endswith(mark) and len(start) >= ENOUGH_CHARACTERS and real.startswith(start):
            return True
    return False


class _Reader:
    """Where the reading is: the file, and between labels the next line and the last one of the labelled range."""

    def __init__(self, reading: Reading, lines_of: LinesOf) -> None:
        self.reading = reading
        self._lines_of = lines_of
        self._path = ""
        self._next = self._last = 0

    def take(self, line: str, tokens: int) -> None:
        """Read one line; the first of these forms that fits it counts."""
        forms = (self._code, self._file, self._label, self._numbered, self._gap, self._places, self._after_gap)
        if not any(form(line, tokens) for form in forms) and _END_OF_FILE.match(line):
            self._enter("")

    def _enter(self, path: str) -> None:
        if path and path not in self.reading.paths:
            self.reading.paths.append(path)
        self._path, self._next, self._last = path, 0, 0

    def _line(self, number: int) -> str | None:
        lines = self._lines_of(self._path) if self._path else ()
        return lines[number - 1] if 1 <= number <= len(lines) else None

    def _show(self, number: int, tokens: int) -> None:
        self.reading.shown.append(Shown(self._path, number, tokens))

    def _name(self, ranges: str, tokens: int) -> tuple[int, int]:
        """Name ranges such as `3-7,12` of the file; return the first and the last line of all."""
        numbers = []
        for text in ranges.replace("L", "").split(","):
            first, _, last = text.partition("-")
            numbers += [int(first), int(last or first)]
            self.reading.named.append(Named(self._path, numbers[-2], numbers[-1], tokens))
        return min(numbers), max(numbers)

    def _code(self, line: str, tokens: int) -> bool:
        """Code at the very place where it is expected."""
        real = self._line(self._next) if 0 < self._next <= self._last else None
        if real is None or not is_same(line, real):
            return False
        self._show(self._next, tokens)
        self._next += 1
        return True

    def _after_gap(self, line: str, tokens: int) -> bool:
        """Code below a label that goes on further down: what is between was left out, redacted or shortened."""
        if not self._next or len(line.strip()) < ENOUGH_CHARACTERS:
            return False
        for number in range(self._next, self._last + 1):
            real = self._line(number)
            if real is not None and is_same(line, real):
                self._show(number, tokens)
                self._next = number + 1
                return True
        return False

    def _file(self, line: str, _tokens: int) -> bool:
        match = _FILE.match(line)
        path = match["path"] if match else line.strip().lstrip("-*• ").rstrip(":").strip("`*")
        is_new = bool(path) and " " not in path and path != self._path and bool(self._lines_of(path))
        if is_new or (match and path == self._path):
            self._enter(path)
            return True
        return False

    def _label(self, line: str, tokens: int) -> bool:
        match = _LABEL.match(line) if self._path else None
        if match is None:
            return False
        self._next, self._last = self._name(match["ranges"], tokens)
        return True

    def _numbered(self, line: str, tokens: int) -> bool:
        match = _NUMBERED.match(line) if self._path else None
        real = self._line(int(match["number"])) if match else None
        if match is None or real is None or not is_same(match["code"], real):
            return False
        self._show(int(match["number"]), tokens)
        self._next = max(self._next, int(match["number"]) + 1) if self._next else 0
        return True

    def _gap(self, line: str, tokens: int) -> bool:
        match = _GAP.match(line) if self._path else None
        if match is None:
            return False
        self._name(match["ranges"] or match["between"], tokens)
        return True

    def _places(self, line: str, tokens: int) -> bool:
        """Places with their paths, the first of which is that of the rows below; or ranges of the file above."""
        places = [match for match in _PLACE.finditer(line) if self._lines_of(match["path"])]
        listed = _LISTED.match(line)
        if places:
            self._row_of_places(line, places, tokens)
        elif listed and self._lines_of(listed["path"]):
            self._enter(listed["path"])
            for match in _IN_BRACKETS.finditer(line):
                self._name(match["ranges"], tokens)
        elif self._path and (below := _RANGE_BELOW.match(line)) and not self._next:
            self._name(below["ranges"], tokens)
        else:
            return False
        return True

    def _row_of_places(self, line: str, places: Sequence[re.Match[str]], tokens: int) -> None:
        for match in reversed(places):  # the file of the first place is that of what follows
            self._enter_again(match["path"])
            first, last = self._name(match["ranges"], tokens)
        rest = line[places[0].end() :]
        real = self._line(first)
        if first == last and real is not None and rest.strip() and is_same(rest, real):
            self._show(first, tokens)
        elif line.startswith("*") and len(places) == 1:  # the label of a view, above its code
            self._next, self._last = first, last
        for match in places:
            if match["path"] not in self.reading.paths:
                self.reading.paths.append(match["path"])

    def _enter_again(self, path: str) -> None:
        self._path, self._next, self._last = path, 0, 0
