"""What came of one question, and keeping it: a history does not change, so nothing is asked twice.

Only measures are kept, under the id of the fix: no message, no path and no line of code.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path

from satchel import __version__, state_files
from satchel.evaluate.fixes import Fix
from satchel.search.query import analyse
from satchel.settings import Settings
from satchel.sources.roles import is_secondary
from satchel.types import Context, Hit

_FORM = 1
"""Raised when the fields of an answer change: older ones are then asked again."""

_DIGEST_BYTES = 16

FILE_SIGNALS = frozenset(Settings().search_weights)

_HARMLESS = frozenset({"ui_color", "index_workers", "index_lock_wait_s"})


@dataclass(frozen=True, slots=True)
class RankedFile:
    """A file that was looked at: whether the fix changed it, whether it ranks lower as a test, and its signals."""

    is_gold: bool
    is_demoted: bool
    signals: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Answer:
    """One question's measures: the rank of the first changed file (0: not shown), and shares of 0 to 1.

    `file_share` counts changed files with a changed line shown, `span_share` changed ranges with a line shown, `used`
    tokens of the budget. `files` are those of the search, for tuning.
    """

    sha: str
    rank: int
    file_share: float
    span_share: float
    used: float
    gold_files: int
    files: tuple[RankedFile, ...] = ()


def measured(fix: Fix, gold: Mapping[str, Sequence[tuple[int, int]]], context: Context, hits: Sequence[Hit]) -> Answer:
    """The measures of one answer; `gold` are the places of the fix that are indexed at all."""
    shown: dict[str, list[tuple[int, int]]] = {}
    for item in context.items:
        if item.location is not None:
            shown.setdefault(item.location.path, []).extend(item.spans)
    order = list(shown)
    rank = min((order.index(path) + 1 for path in gold if path in shown), default=0)
    hit_ranges = {
        path: [any(start <= end_shown and start_shown <= end for start_shown, end_shown in shown.get(path, ()))
               for start, end in ranges]
        for path, ranges in gold.items()
    }  # fmt: skip
    ranges = [found for row in hit_ranges.values() for found in row]
    return Answer(
        sha=fix.sha,
        rank=rank,
        file_share=sum(any(row) for row in hit_ranges.values()) / len(gold),
        span_share=sum(ranges) / len(ranges),
        used=context.usage.utilization,
        gold_files=len(gold),
        files=ranked_files(hits, gold, asks_for_tests=analyse(fix.question).asks_for_tests),
    )


def ranked_files(hits: Sequence[Hit], gold: Container[str], *, asks_for_tests: bool) -> tuple[RankedFile, ...]:
    """The files of a search, best first, each with the signals that its score was made from."""
    found: dict[str, RankedFile] = {}
    for hit in sorted(hits, key=lambda hit: (-hit.file_score, hit.document.id)):
        location = hit.document.location
        if location is not None and location.path not in found:
            signals = {signal.name: signal.value for signal in hit.signals if signal.name in FILE_SIGNALS}
            is_demoted = is_secondary(location.path) and not asks_for_tests
            found[location.path] = RankedFile(location.path in gold, is_demoted, signals)
    return tuple(found.values())


class Kept:
    """Answers of earlier runs on the same root with the same version, settings and budget; new ones are added."""

    def __init__(self, folder: Path, settings: Settings, max_tokens: int) -> None:
        values = {name: value for name, value in asdict(settings).items() if name not in _HARMLESS}
        asked = json.dumps([_FORM, __version__, max_tokens, sorted(values.items())], default=str)
        name = blake2b(asked.encode(), digest_size=_DIGEST_BYTES).hexdigest()
        self._file = folder / f"{name}.jsonl"
        self._answers = {answer.sha: answer for answer in self._read()}

    def get(self, sha: str) -> Answer | None:
        """The answer of an earlier run, None where there is none."""
        return self._answers.get(sha)

    def add(self, answer: Answer) -> None:
        """Keep one more. Raises OSError."""
        state_files.append(self._file, f"{json.dumps(asdict(answer))}\n".encode())
        self._answers[answer.sha] = answer

    def _read(self) -> list[Answer]:
        """Every line that is whole; one that was cut off by a stop is asked again."""
        try:
            lines = self._file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return []
        found = []
        for line in lines:
            try:
                data = json.loads(line)
                files = tuple(RankedFile(**row) for row in data.pop("files"))
                found.append(Answer(**data, files=files))
            except (ValueError, TypeError, KeyError, AttributeError):
                continue
        return found
