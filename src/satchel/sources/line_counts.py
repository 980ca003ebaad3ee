"""How many lines the shown commits inserted and deleted, asked of git when they are shown.

Counting means comparing contents: for a whole history it takes longer than everything else that is indexed, for the
few commits of one answer it takes one git process and some milliseconds. A commit never changes, so what was counted
once is remembered.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from satchel import git, logs
from satchel.errors import GitError
from satchel.types import Failure

REMEMBERED_COMMITS = 10_000
"""Counts kept by one process: more than the newest commits that an index reads by default, at 200 bytes each."""

PATIENCE_SECONDS = 1.0
"""How long an answer waits for its counts. Twenty commits take 0.05 s; one that adds a vendored tree can take many
seconds, and nobody waits that long for two numbers."""

Lines = tuple[int, int]
"""Inserted and deleted lines of one commit."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Lines by commit id, None where they are unknown, and why they are."""

    lines: Mapping[str, Lines | None]
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class _Reason:
    """Why a count is unknown, and what to do about it."""

    text: str
    hint: str = ""


class LineCounts:
    """The counts of one root's commits, remembered within bounds. Safe to share between threads."""

    def __init__(self, root: Path, *, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._root = root
        self._patience_seconds = patience_seconds
        self._known: OrderedDict[str, Lines | None] = OrderedDict()
        self._guard = threading.Lock()

    def of(self, shas: Iterable[str]) -> Counted:
        """The counts of these commits, by one git process for all that are not remembered. Never raises GitError."""
        wanted = list(dict.fromkeys(shas))
        with self._guard:
            lines = {sha: self._known[sha] for sha in wanted if sha in self._known}
        missing = [sha for sha in wanted if sha not in lines]
        reason = self._late  # the only reason for which an unknown count is remembered
        if missing:
            counted, reason = self._count(missing)
            lines |= counted
        ordered = {sha: lines.get(sha) for sha in wanted}
        unknown = sum(count is None for count in ordered.values())
        return Counted(ordered, (_failure(unknown, reason),) if unknown else ())

    @property
    def _late(self) -> _Reason:
        return _Reason(f"counting them takes longer than {self._patience_seconds:g} s")

    def _count(self, shas: Sequence[str]) -> tuple[dict[str, Lines | None], _Reason]:
        """The counts, and why those are unknown that are None or left out."""
        from satchel.sources.commits import diff_stat  # here, because most answers show no commits

        deadline = time.monotonic() + self._patience_seconds
        is_late = False

        def should_stop() -> bool:
            nonlocal is_late
            is_late = is_late or time.monotonic() >= deadline
            return is_late

        repository = git.find_repository(self._root)
        if repository is None:
            return {}, _Reason("there is no repository here any more")
        try:
            lines = diff_stat(repository, shas, should_stop=should_stop)
        except GitError as error:
            logs.warning("changed lines not counted", commits=len(shas), error=str(error))
            return {}, _Reason(str(error), "the commits are shown as they were indexed")
        self._remember(lines, [sha for sha in shas if lines[sha] is None][: int(is_late)])
        if is_late:
            return lines, self._late
        if repository.partial:
            return lines, _Reason("this is a partial clone without their contents", "git fetch --refetch --no-filter")
        return lines, _Reason("this shallow clone was cut off there", "git fetch --unshallow")

    def _remember(self, lines: Mapping[str, Lines | None], given_up: Sequence[str]) -> None:
        """Keep the counts, and the commit at which patience ended: it would end there each time."""
        with self._guard:
            for sha, count in lines.items():
                if count is not None or sha in given_up:
                    self._known[sha] = count
            while len(self._known) > REMEMBERED_COMMITS:
                self._known.popitem(last=False)


def _failure(count: int, reason: _Reason) -> Failure:
    commits = "1 commit" if count == 1 else f"{count:,} commits"
    return Failure("commits", f"how many lines {commits} changed is unknown: {reason.text}", reason.hint)
