"""What an index run says of itself, and how it is watched and stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from satchel.types import Failure, Kind


class Progress(Protocol):
    """Watches a run. Calls come from the thread that runs it."""

    def phase(self, name: str, total: int) -> None:
        """A phase of `total` steps starts."""

    def advance(self, count: int) -> None:
        """So many steps are done."""


class Quiet:
    """A progress that shows nothing."""

    def phase(self, name: str, total: int) -> None:
        """Ignore it."""

    def advance(self, count: int) -> None:
        """Ignore it."""


@dataclass(frozen=True, slots=True)
class IndexReport:
    """The outcome of one run.

    `files` are in the index afterwards. `cached` counts those of the new and changed ones that another work tree had
    read before; `skipped` counts files by reason, `errors` those among them that failed to be read.
    """

    files: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    cached: int = 0
    commits_added: int = 0
    commits_hidden: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    errors: int = 0
    redacted: int = 0
    cleaned: int = 0
    interrupted: bool = False
    notes: tuple[Failure, ...] = ()
    seconds: float = 0.0

    @property
    def is_fresh(self) -> bool:
        """Whether nothing had to be written."""
        return not (self.added or self.changed or self.removed or self.commits_added)


@dataclass(frozen=True, slots=True)
class VectorCounts:
    """How far the vectors are: for each kind that has documents, how many have one, of how many."""

    kinds: Mapping[Kind, tuple[int, int]] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """Documents with a vector."""
        return sum(done for done, _ in self.kinds.values())

    @property
    def total(self) -> int:
        """Documents that are to have one."""
        return sum(total for _, total in self.kinds.values())

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing."""
        return self.done == self.total


@dataclass(frozen=True, slots=True)
class VectorReport:
    """What a run did: how many vectors are new, how far it is, and what stopped it."""

    made: int
    counts: VectorCounts
    failure: Failure | None = None
