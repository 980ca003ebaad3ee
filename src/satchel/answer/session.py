"""Leave text out of an answer that its session has received already, and the ledgers of the items received.

Shown lines of a file are left out even if they moved, until they change; a record is left out until its text changes or
more of it can be shown. One reference line names each item that would have been shown.

A ledger is one file for each session, with one line for each answer: a list of `SentItem`s without text, ids, line
numbers and keyed hashes only. The name of the file is a hash of the session's id, because an id may have any
characters.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import structs

from satchel.answer import weights as answer_weights
from satchel.answer.candidates import Candidate, Step
from satchel.answer.items import build_item
from satchel.answer.pins import Pin, Pinned
from satchel.answer.render.labels import listed_title
from satchel.answer.sections import FindCompanions, Group, Section, by_priority, outer_range, subtract
from satchel.answer.source_lines import Lines, joined
from satchel.answer.truncation import CHARACTERS_PER_TOKEN
from satchel.safety.trust import handle
from satchel.system import state_files, telemetry
from satchel.types import ContextItem, Detail, Failure, Freshness, Kind, Range, ShownBefore
from satchel.vocabulary import DAY_SECONDS

MAX_BYTES = 200_000
"""Size above which the older half is dropped, and its items may be shown again. It is about 100 answers, read in 5 ms;
an agent that received more has compacted its context long ago."""

EMPTY = "0"
"""The state of an empty ledger."""

_ENCODE = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


class SentLines(NamedTuple):
    """Lines of a file as they were shown, with keyed hashes of all of them and of the first one."""

    start: int
    end: int
    digest: str
    first: str


class SentItem(NamedTuple):
    """One item that was shown.

    A file has `lines`. A record has the `digest` of its full text and the number of characters that were shown, -1 for
    all. With `places` the answer named places and showed no text.
    """

    key: str
    digest: str = ""
    length: int = -1
    lines: tuple[SentLines, ...] = ()
    places: bool = False


class Ledger(NamedTuple):
    """The content of one file: its rows, oldest first, and a hash of them as its state."""

    items: tuple[SentItem, ...] = ()
    state: str = EMPTY


class SessionFile:
    """The ledger of one session in one root. All methods raise OSError if the disk fails."""

    def __init__(self, folder: Path, root_name: str, session: str) -> None:
        name = blake2b(session.encode("utf-8", "surrogatepass"), digest_size=16, person=b"satchel session").hexdigest()
        self.path = folder / f"{root_name}-{name}.jsonl"

    def read(self, state: str = "") -> Ledger:
        """Return the ledger, or its former `state` if the file still has it."""
        raw = state_files.read(self.path) or b""
        length, _, _ = state.partition("-")
        former = raw[: int(length)] if length.isdecimal() else raw
        return _parsed(former if _state(former) == state else raw)

    def append(self, sent_items: Sequence[SentItem]) -> None:
        """Add the items of one answer."""
        state_files.append(self.path, f"{_ENCODE(sent_items)}\n".encode("ascii"), most=MAX_BYTES)

    def forget(self) -> bool:
        """Remove it. Returns whether there was one."""
        try:
            self.path.unlink()
        except FileNotFoundError:
            return False
        return True


def recent_ledgers(folder: Path, root_name: str, since: float) -> Iterator[Ledger]:
    """Yield the ledgers of a root whose last answer was at `since` (seconds since the epoch) or later."""
    for path in sorted(folder.glob(f"{root_name}-*.jsonl")):
        with suppress(FileNotFoundError):  # another process removes old ones
            if path.stat().st_mtime >= since:
                yield _parsed(path.read_bytes())


def read_ledger(file: SessionFile, state: str) -> tuple[Ledger, tuple[Failure, ...]]:
    """Return the ledger in a former `state` (now if empty). If it cannot be read, everything counts as new."""
    try:
        return file.read(state), ()
    except OSError as error:
        return Ledger(), (_unusable(error),)


def add_items(file: SessionFile, ledger: Ledger, sent_items: Sequence[SentItem]) -> Failure | None:
    """Add the items of an answer to a ledger. The first answer of a session removes ledgers unchanged for long."""
    try:
        file.append(sent_items)
    except OSError as error:
        return _unusable(error)
    if ledger.state == EMPTY:
        try:
            # Days after its last answer for which a ledger is kept: a session that is resumed later begins with a
            # summary.
            state_files.prune_older(file.path.parent, 14 * DAY_SECONDS)
        except OSError as error:
            telemetry.warning("old session not removed", path=str(error.filename), reason=error.strerror or str(error))
    return None


def _unusable(error: OSError) -> Failure:
    reason = error.strerror or str(error)
    message = f"the ledger of this session cannot be kept ({reason}): what is shown now may be shown again"
    return Failure("session", message, "see whether the state folder can be written")


def _state(raw: bytes) -> str:
    return f"{len(raw)}-{blake2b(raw, digest_size=8).hexdigest()}" if raw else EMPTY


def _parsed(raw: bytes) -> Ledger:
    """Return the rows of a file, without a line that a crash cut in two: what it had is shown again."""
    sent_items: list[SentItem] = []
    for line in raw.split(b"\n"):
        with suppress(ValueError, TypeError):
            sent_items += [_item(*fields) for fields in json.loads(line)]
    return Ledger(tuple(sent_items), _state(raw))


def _item(key: Any, digest: Any, length: Any, lines: Any, places: Any) -> SentItem:
    shown = tuple(SentLines(int(start), int(end), digest, first) for start, end, digest, first in lines)
    return SentItem(key, digest, int(length), shown, bool(places))


FIRST_LINE_BYTES = 4


class _Referral(NamedTuple):
    """A reference to a record, or to these `ranges` of a file."""

    reference: ShownBefore
    ranges: list[Range]


class _History(NamedTuple):
    """The ranges of a file that the session has; `is_complete` is false if some have changed since."""

    lines: Lines
    ranges: list[Range]
    is_complete: bool = True


@dataclass(frozen=True, slots=True)
class Account:
    """The text that one answer may leave out for its session, and its references; one object for each answer.

    `session` is the id as it may be shown; `file` is its ledger, `ledger` the items received before, `failures` are
    those of reading it.
    Lines of `pins` are shown again. Without `shows_lines` the answer names places in files, and places that
    were named before count as shown.
    """

    session: str
    key: bytes
    file: SessionFile
    ledger: Ledger
    failures: tuple[Failure, ...] = ()
    pins: tuple[Pin, ...] = ()
    shows_lines: bool = True
    _lines: dict[str, list[SentLines]] = field(default_factory=dict)
    _records: dict[str, int] = field(default_factory=dict)
    _digests: dict[str, str] = field(default_factory=dict)
    _histories: dict[str, _History] = field(default_factory=dict)
    _referrals: dict[str, _Referral] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key, digest, length, lines, places in self.ledger.items:
            if lines and not (places and self.shows_lines):
                self._lines.setdefault(key, []).extend(lines)
            if digest:
                longest = self._records.get(digest, 0)
                self._records[digest] = -1 if -1 in (longest, length) else max(longest, length)

    @property
    def meta(self) -> dict[str, str]:
        """The session and the state of its ledger, for the `meta` of the answer."""
        return {"session": self.session, "ledger": self.ledger.state}

    def sift(
        self, candidates: Sequence[Candidate], lines: Mapping[str, Lines], room: float
    ) -> tuple[list[Candidate], dict[str, Lines]]:
        """Return the candidates without what the session has, and the lines marked with the ranges that it has.

        Candidates that begin within the first `room` tokens get a reference.
        """
        kinds = {candidate.group: candidate.kind for candidate in candidates}
        history = {
            group: self._history(kinds[group], group, lines_of_file)
            for group, lines_of_file in lines.items()
            if group in kinds
        }
        kept: list[Candidate] = []
        spent = 0.0
        for candidate in by_priority(candidates):
            is_referred, spent = spent < room, spent + candidate.size
            if candidate.chunk.location is None:
                rest = self._record(candidate, is_referred=is_referred)
            else:
                rest = self._part(candidate, history[candidate.group], is_referred=is_referred)
            kept += [rest] if rest is not None else []
        sent = {
            group: replace(other.lines, sent=tuple(other.ranges)) for group, other in history.items() if other.ranges
        }
        return kept, {**lines, **sent}

    def filtered(self, section: Section) -> Section:
        """Return a section without what the session has, and without the imports that it has."""
        candidates, lines = self.sift(section.candidates, section.lines, section.share)
        find_companions = None if section.find_companions is None else self._unsent(section.find_companions, lines)
        return replace(section, candidates=by_priority(candidates), lines=lines, find_companions=find_companions)

    def _unsent(self, find_companions: FindCompanions, lines: Mapping[str, Lines]) -> FindCompanions:
        """Return companions without the imports that the session has; these get no reference."""

        def unsent(candidate: Candidate, step: Step, group: Group) -> list[Candidate]:
            kept = []
            for companion in find_companions(candidate, step, group):
                rest: Candidate | None = companion
                if companion.steps[0].detail is Detail.LINE:
                    text = lines[companion.group]
                    rest = self._part(companion, _History(text, list(text.sent)), is_referred=False)
                kept += [rest] if rest is not None else []
            return kept

        return unsent

    def sift_pin(self, pin: Pinned) -> Pinned | None:
        """Return the rest of a pin, None if the session has all of it."""
        group = pin.candidate.group
        kept, lines = self.sift([pin.candidate], {group: pin.lines}, sys.maxsize)
        return structs.replace(pin, candidate=kept[0], lines=lines[group]) if kept else None

    def new_part(self, candidate: Candidate) -> Candidate | None:
        """Return the part of a record that the session lacks, None if it has all; what it has is referred to."""
        return self._record(candidate, is_referred=True)

    def sift_node(
        self, candidate: Candidate, shown_range: tuple[Lines, Range] | None, *, is_referred: bool
    ) -> Candidate | None:
        """Return the part of a node of a graph that the session lacks; the node may have a `shown_range` in a file."""
        if shown_range is not None:
            lines, span = shown_range
            history = self._ranges(f"{candidate.kind}:{lines.path}", lines)
            if history.ranges and not _remaining([span], history, answer_weights.SLIVER_TOKENS):
                if is_referred:
                    self._refer_to_lines(
                        candidate.kind, lines.path, history, subtract([span], subtract([span], history.ranges))
                    )
                return None
        return self._record(candidate, is_referred=is_referred)

    def references(self) -> tuple[ShownBefore, ...]:
        """Return the references to omitted items, in the order of the candidates."""
        return tuple(
            structs.replace(referral.reference, spans=tuple(referral.ranges), handle=_handle(referral))
            if referral.ranges
            else referral.reference
            for referral in self._referrals.values()
        )

    def sent_items(self, items: Iterable[ContextItem]) -> list[SentItem]:
        """Return the items of the answer as rows of the ledger."""
        sent_items = []
        for item in items:
            if item.location is not None and item.spans:
                sent_items.append(SentItem(item.id, lines=self._sent_pieces(item), places=not self.shows_lines))
                continue
            length = -1 if item.detail is Detail.FULL else len(item.content)
            digests = {self._digests.get(identity, "") for identity in (item.id, *item.origins)} - {""}
            sent_items += [
                SentItem(item.id, digest, length) for digest in sorted(digests) or [self.digest(item.content)]
            ]
            sent_items += self._sent_node(item)
        return sent_items

    def _sent_pieces(self, item: ContextItem) -> tuple[SentLines, ...]:
        """Return a row for each piece, so that unedited definitions still count as shown after an edit."""
        return tuple(
            self._sent(piece.text, (piece.start, piece.end), stale=piece.freshness is Freshness.STALE)
            for piece in item.pieces
            if any(start <= piece.start and piece.end <= end for start, end in item.spans)
        )

    def digest(self, text: str, *, stale: bool = False, size: int = 8) -> str:
        """Return a keyed hash of a text without line ends around it; a `stale` text has another one."""
        person = b"satchel stale" if stale else b"satchel sent"
        raw = text.strip("\n").encode("utf-8", "surrogatepass")
        return blake2b(raw, key=self.key, digest_size=size, person=person).hexdigest()

    def _sent(self, text: str, span: Range, *, stale: bool) -> SentLines:
        first = self.digest(text.partition("\n")[0], size=FIRST_LINE_BYTES)
        return SentLines(*span, self.digest(text, stale=stale), first)

    def _sent_node(self, item: ContextItem) -> list[SentItem]:
        """Return a complete node of a file as lines of that file, because the next answer may show the file."""
        location = item.metadata.get("node", {}).get("location")
        if location is None or item.detail is not Detail.FULL or Kind(item.source) is Kind.NOTE:
            return []
        start, _, end = location["lines"].partition("-")
        stale = "freshness" in item.metadata["node"]
        return [
            SentItem(
                f"{item.source}:{location['file']}",
                lines=(self._sent(item.content, (int(start), int(end)), stale=stale),),
            )
        ]

    def _history(self, kind: Kind, group: str, lines: Lines) -> _History:
        """Return the ranges of a file that the session has, without pinned ones."""
        history = self._ranges(f"{kind}:{group}", lines)
        pinned = [(pin.start or 1, pin.end or len(lines.lines)) for pin in self.pins if pin.path == lines.path]
        if not pinned or not history.ranges:
            return history
        return history._replace(ranges=subtract(history.ranges, joined(pinned)))

    def _ranges(self, key: str, lines: Lines) -> _History:
        """Return the present ranges of a file whose text is as it was when shown."""
        sent = dict.fromkeys(self._lines.get(key, ()))
        if not sent:
            return _History(lines, [])
        history = self._histories.get(key)
        if history is None or history.lines is not lines:
            there = [
                (sent_lines.start, sent_lines.end)
                for sent_lines in sent
                if self._reads(sent_lines, sent_lines.start, lines)
            ]
            if len(there) < len(sent):
                firsts = self._firsts(lines)
                elsewhere = [
                    self._moved(sent_lines, firsts, lines)
                    for sent_lines in sent
                    if not self._reads(sent_lines, sent_lines.start, lines)
                ]
                there += filter(None, elsewhere)
            history = self._histories[key] = _History(lines, joined(there), len(there) == len(sent))
        return history

    def _moved(self, sent: SentLines, firsts: Mapping[str, Sequence[int]], lines: Lines) -> Range | None:
        """Return the present place of lines, if there is only one. `firsts` are the lines of the file by their hash."""
        height = sent.end - sent.start
        # Fewest lines that are searched in a changed file, because lines like `return None` are in many places.
        if height + 1 < 3:
            return None
        indices = [start for start in firsts.get(sent.first, ()) if self._reads(sent, start, lines)]
        return (indices[0], indices[0] + height) if len(indices) == 1 else None

    def _reads(self, sent: SentLines, start: int, lines: Lines) -> bool:
        end = start + sent.end - sent.start
        if end > len(lines.lines):
            return False
        stale = Freshness.STALE in lines.marks[start - 1 : end]
        return self.digest(lines.text(start, end), stale=stale) == sent.digest

    def _firsts(self, lines: Lines) -> Mapping[str, list[int]]:
        """Return the lines of a file by their hash."""
        numbers: dict[str, list[int]] = {}
        for number, line in enumerate(lines.lines, 1):
            numbers.setdefault(line, []).append(number)
        return {self.digest(line, size=FIRST_LINE_BYTES): every for line, every in numbers.items()}

    def _part(self, candidate: Candidate, history: _History, *, is_referred: bool) -> Candidate | None:
        """Return a part without the lines that the session has, None if nothing remains."""
        location = candidate.chunk.location
        assert location is not None
        if not history.ranges:
            return candidate
        is_companion = candidate.companion_of is not None  # then its lines are not those of its chunk
        full_range = (location.start_line, location.end_line)
        new = subtract([full_range], history.ranges)
        if not is_companion and new == [full_range]:
            return candidate
        minimum = 0 if is_companion else answer_weights.SLIVER_TOKENS
        # Where the session has everything that the candidate could show, its steps need not be computed.
        is_sent = not is_companion and not any(
            map(str.strip, (line for a, b in new for line in history.lines.lines[a - 1 : b]))
        )
        # A strategy of truncation may have no way to show it in this budget.
        whole = [full_range] if is_sent or not candidate.steps else joined(candidate.steps[0].ranges)
        rest = [] if is_sent else _remaining(whole, history, minimum)
        if rest == whole:
            return candidate
        if is_referred:
            shared = subtract(whole, subtract(whole, history.ranges))
            self._refer_to_lines(candidate.kind, candidate.group, history, shared)
        if not rest:
            return None
        size = min(candidate.size, _tokens(rest, history.lines))
        return candidate.trimmed(lambda ranges: _remaining(ranges, history, minimum), size)

    def _record(self, candidate: Candidate, *, is_referred: bool) -> Candidate | None:
        """Return a record without the forms that the session has, None if nothing remains."""
        identity = candidate.chunk.id
        digest = self._digests[identity] = self.digest(candidate.body or candidate.steps[0].text)
        length = self._records.get(digest)
        if length is None:
            return candidate
        rest = [
            step
            for step in candidate.steps
            # A record that was shown in part is shown again only in full, or with this many times as much text.
            if length >= 0 and (step.detail is Detail.FULL or len(step.text) >= 2 * length)
        ]
        if rest:
            return candidate.offering(rest)
        if is_referred and identity not in self._referrals:
            self._referrals[identity] = _Referral(_record_reference(candidate), [])
        return None

    def _refer_to_lines(self, kind: Kind, group: str, history: _History, ranges: Sequence[Range]) -> None:
        """Refer to these lines, and to the few between them that the session has as well."""
        key, lines = f"{kind}:{group}", history.lines
        made = ShownBefore(key, kind.value, lines.path, lines.path, content_hash=lines.content_hash)
        referral = self._referrals.get(key, _Referral(made, []))
        together = joined([*referral.ranges, *ranges], answer_weights.JOIN_LINES)
        self._referrals[key] = _Referral(referral.reference, subtract(together, subtract(together, history.ranges)))


def _remaining(ranges: Sequence[Range], history: _History, minimum: float) -> list[Range]:
    """Return new lines of some ranges with a word, none below `minimum` tokens; all if shown lines have changed."""
    whole = joined(ranges)
    rest = subtract(whole, history.ranges)
    if rest == whole or not history.is_complete:
        return rest
    worded = [(start, end) for start, end in rest if any(map(str.isalnum, history.lines.text(start, end)))]
    return worded if _tokens(worded, history.lines) >= minimum else []


def _tokens(ranges: Sequence[Range], lines: Lines) -> float:
    return sum(len(lines.text(start, end)) for start, end in ranges) / CHARACTERS_PER_TOKEN


def _handle(referral: _Referral) -> str:
    """Return the handle of the lines of a reference, from first to last; the handle of an item means the whole file."""
    shown = referral.reference
    return handle(f"{shown.id}::", shown.content_hash, (outer_range(referral.ranges),))


def _record_reference(candidate: Candidate) -> ShownBefore:
    step = next(iter(candidate.steps), Step(Detail.FULL, text=candidate.body))  # a small budget may have no way to show
    item = build_item(Group(candidate.kind, candidate.group, None).admitted(candidate, step, 0), b"")
    # Guidance without a file, such as the situation itself, has nothing to expand.
    is_stored = candidate.kind is not Kind.CONTEXT or "file" in candidate.chunk.fields
    return ShownBefore(item.id, item.source, listed_title(item), handle=item.handle if is_stored else "")
