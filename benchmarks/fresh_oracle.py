"""What an answer over changed files may show, judged without the code that decides it."""

from __future__ import annotations

import ast
import stat
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from satchel import Satchel
from satchel.answer import weights
from satchel.answer.render.labels import IMPORTS
from satchel.safety.sanitize import clean_text, redact
from satchel.sources.code.languages import extent
from satchel.types import ContextItem, Detail, Freshness, Kind, Piece

LARGEST_FILE = 1_000_000
"""Bytes that a file may have to be read, by default."""

MAX_STRETCHES = 3
"""A shown range may hold the end of one part and the beginning of another: each has moved, but not as far."""

Lines = list[str]


def text_of(raw: bytes) -> str | None:
    """What satchel may show of these bytes at most, None for what is not a text."""
    if b"\0" in raw:
        return None
    text = raw.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return redact(clean_text(text)[0])[0]


def live_lines(path: Path) -> Lines | None:
    """The lines of a file as it is now, None where there is no regular file with text."""
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            return None
        whole, head = extent(path.name, LARGEST_FILE)
        raw = path.read_bytes()
        text = text_of(raw if len(raw) <= whole else raw[: raw.rfind(b"\n", 0, head) + 1])
    except OSError:
        return None
    return text.split("\n") if text is not None else None


def runs(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """The lines (from 1) at which `wanted` begins."""
    size = len(wanted)
    first = wanted[0]
    return [
        number + 1
        for number, line in enumerate(lines)
        if line == first and list(lines[number : number + size]) == list(wanted)
    ]


def defined_at_top(lines: Sequence[str]) -> list[str]:
    """Names of the functions and classes of a Python file, none where it does not parse."""
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError):
        return []
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]


def trimmed(lines: Sequence[str]) -> Lines:
    """The lines without blank ones at both ends."""
    kept = list(lines)
    while kept and not kept[-1].strip():
        kept.pop()
    while kept and not kept[0].strip():
        kept.pop(0)
    return kept


def is_excerpt(shown: Sequence[str], lines: Sequence[str]) -> bool:
    """Whether one line is shown in part, with an ellipsis at each end that is cut."""
    if len(shown) != 1 or len(lines) != 1:
        return False
    kept = shown[0].removeprefix("… ").removesuffix(" …")
    starts, ends = shown[0].startswith("… "), shown[0].endswith(" …")
    fits = kept in lines[0] and (starts or lines[0].startswith(kept)) and (ends or lines[0].rstrip().endswith(kept))
    return fits and (starts or ends)


@dataclass(slots=True)
class Outcome:
    """What all rounds did and what was wrong."""

    edits: Counter[str] = field(default_factory=Counter)
    questions: int = 0
    edited_files_shown: int = 0
    pieces: Counter[str] = field(default_factory=Counter)
    wrong_slices: list[str] = field(default_factory=list)
    wrong_labels: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class OldPart:
    """A part of an indexed file, as the index has it."""

    name: str
    start: int
    end: int


class Oracle:
    """Knows the indexed text, reads the live one, and judges what is shown."""

    def __init__(self, root: Path, satchel: Satchel, outcome: Outcome) -> None:
        self._root, self._outcome = root, outcome
        self.old: dict[str, Lines] = {}
        self.parts: dict[str, list[OldPart]] = {}
        store = satchel.store
        for kind in (Kind.CODE, Kind.DOC):
            for path in store.iterate_keys(kind):
                document = store.document(kind, path)
                lines = live_lines(root / path)
                assert document is not None
                assert lines is not None
                rows = store.chunks(document.rows)
                self.old[path] = lines
                self.parts[path] = [OldPart(rows[row].name, rows[row].start, rows[row].end) for row in sorted(rows)]

    def judge(self, item: ContextItem, what: str, *, is_refreshed: bool = False) -> None:
        """Check all pieces of an item that shows lines of a file; those of a refreshed index have no mark."""
        if item.location is None:
            return
        path = item.location.path
        live = live_lines(self._root / path)
        for piece in item.pieces:
            now = (live or [])[piece.start - 1 : piece.end]
            if is_excerpt(piece.text.split("\n"), now):
                piece = replace(piece, text=now[0])
            self._outcome.pieces["refreshed" if is_refreshed else str(piece.freshness or "unmarked")] += 1
            place = f"{what}: {path}:{piece.start}-{piece.end} {piece.freshness or ''} {piece.name}"
            wrong = self._slice_fault(path, piece, live)
            if wrong:
                self._outcome.wrong_slices.append(f"{place}: {wrong}")
                continue
            if is_refreshed:
                self._outcome.wrong_labels += [f"{place}: marked, but the index is new"] if piece.freshness else []
                continue
            wrong = self._label_fault(path, piece, live or [])
            if wrong:
                self._outcome.wrong_labels.append(f"{place}: {wrong}")

    def _slice_fault(self, path: str, piece: Piece, live: Lines | None) -> str:
        shown = piece.text.split("\n")
        if piece.freshness is Freshness.STALE:
            old = self.old.get(path, [])
            return "" if old[piece.start - 1 : piece.end] == shown else "stale, but never was in the index"
        if live is None:
            return "the file is not a text any more, and the piece is not stale"
        return "" if live[piece.start - 1 : piece.end] == shown else "not what the file has at these lines"

    def _label_fault(self, path: str, piece: Piece, live: Lines) -> str:
        shown = piece.text.split("\n")
        if piece.freshness is Freshness.STALE:
            return self._stale_fault(path, piece, live)
        if piece.freshness is Freshness.CHANGED:
            return self._changed_fault(path, piece)
        while len(shown) > 1 and not shown[-1].strip():  # blank lines say nothing about where they were
            shown.pop()
        if piece.freshness is None:
            was = self.old.get(path, [])[piece.start - 1 : piece.start - 1 + len(shown)]
            return "" if was == shown else "unmarked, but was not there"
        return "" if self._was_elsewhere(path, piece.start, shown, live) else "moved, but was in no other place"

    def _was_elsewhere(self, path: str, start: int, kept: Lines, live: Lines) -> bool:
        if self._stretches(path, start, kept) <= MAX_STRETCHES:
            return True
        renamed = [old for old, lines in self.old.items() if old != path and lines == live]
        return any(not (self._root / old).is_file() for old in renamed)

    def _stretches(self, path: str, start: int, kept: Lines) -> int:
        """How many stretches of the old text, none of them at its old lines, these lines consist of."""
        old, count = self.old.get(path, []), 0
        while kept and count <= MAX_STRETCHES:
            size = len(kept)
            while size and not any(found != start for found in runs(old, kept[:size])):
                size -= 1
            if not size:
                return MAX_STRETCHES + 1
            kept, start, count = kept[size:], start + size, count + 1
        return count

    def _changed_fault(self, path: str, piece: Piece) -> str:
        if piece.name in ("", IMPORTS):
            was = self.old.get(path, [])[piece.start - 1 : piece.end]
            closes_gap = (
                piece.end - piece.start < weights.JOIN_LINES
            )  # such lines may be of a definition that changed elsewhere
            return "changed, but reads as it did" if was == piece.text.split("\n") and not closes_gap else ""
        olds = [part for part in self.parts.get(path, []) if part.name == piece.name]
        if not olds:
            return "changed, but no such name was indexed"
        if piece.detail is not Detail.FULL:  # lines of a definition may be as they were though others of it are not
            return ""
        bodies = [trimmed(self.old[path][part.start - 1 : part.end]) for part in olds]
        return "changed, but reads as it did" if trimmed(piece.text.split("\n")) in bodies else ""

    def _stale_fault(self, path: str, piece: Piece, live: Lines) -> str:
        if not live:
            return ""
        owner = next(part for part in self.parts[path] if part.start <= piece.start <= part.end)
        body = trimmed(self.old[path][owner.start - 1 : owner.end])
        if body and runs(live, body):
            return "stale, but its text is still there"
        if path.endswith(".py") and owner.name.isidentifier():
            names = defined_at_top(live)
            if names.count(owner.name) == 1 and defined_at_top(self.old[path]).count(owner.name) == 1:
                return "stale, but its definition still stands there"
        return ""
