"""Asking every section at once, each with a deadline. What fails or is late becomes a note; the others still answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from satchel import logs
from satchel.assemble.plans import PlannedSection
from satchel.errors import SatchelError
from satchel.search.searcher import SearchResult
from satchel.types import Failure, Hit

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future


Ask = Callable[[PlannedSection], SearchResult]
OpenExecutor = Callable[[], "Executor"]
"""Gives the executor to ask in; called only where there is something to ask beside something else."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """The result of one section; empty where it failed."""

    section: PlannedSection
    result: SearchResult


def gather(
    plan: Sequence[PlannedSection], ask: Ask, open_executor: OpenExecutor | None, deadline_seconds: float
) -> tuple[list[Gathered], list[Failure]]:
    """Results in the order of the plan, and a failure for every section without one.

    Without an executor, or for a single section, the sections are asked one after the other in this thread.
    """
    if open_executor is None or len(plan) < 2:
        return _collect(plan, [_caller(ask, section) for section in plan], deadline_seconds)
    executor = open_executor()
    futures = [executor.submit(ask, section) for section in plan]
    return _collect(plan, [_awaiter(future) for future in futures], deadline_seconds)


def _caller(ask: Ask, section: PlannedSection) -> Callable[[float], SearchResult]:
    return lambda _seconds: ask(section)


def _awaiter(future: Future[SearchResult]) -> Callable[[float], SearchResult]:
    return lambda seconds: future.result(timeout=seconds)


def _collect(
    plan: Sequence[PlannedSection], waits: Sequence[Callable[[float], SearchResult]], deadline_seconds: float
) -> tuple[list[Gathered], list[Failure]]:
    started = time.monotonic()
    gathered, failures = [], []
    for section, wait in zip(plan, waits, strict=True):
        result = SearchResult(())
        try:
            result = wait(max(deadline_seconds - (time.monotonic() - started), 0.0))
        except TimeoutError:
            failures.append(Failure(section.kind.plural, f"no answer within {deadline_seconds:g} s"))
        except Exception as error:  # noqa: BLE001 - one source must not take the others down; it is noted and logged
            is_bug = not isinstance(error, SatchelError)
            logs.warning("source failed", source=section.kind.plural, error=repr(error), exc_info=is_bug)
            failures.append(Failure(section.kind.plural, f"{type(error).__name__}: {error}"))
        gathered.append(Gathered(section, result))
    return gathered, failures


Identity = tuple[str, int]

SPARE = 4
"""Records that a section gets beyond those it may show: some turn out too large, or say what another one says. Each
costs a third of a millisecond to prepare."""


def dealt(gathered: Sequence[Gathered]) -> list[Gathered]:
    """The sections with each record in one of them.

    The sections choose in turn, in their order, each the best that is left of what it found: so every section has its
    best, and a record that stands alone goes to the first section that it fits. Files stay where they are.
    """
    waiting = [list(reversed(row.result.hits)) for row in gathered]
    chosen: list[list[Hit]] = [[] for _ in gathered]
    taken: set[Identity] = set()
    while any(waiting):
        for row, hits, own in zip(gathered, waiting, chosen, strict=True):
            if len(own) == row.section.limit + SPARE and own[0].document.location is None:
                hits.clear()
            while hits:
                hit = hits.pop()
                identity = _identity(hit)
                if identity is None or identity not in taken:
                    own.append(hit)
                    taken |= {identity} if identity is not None else set()
                    break
    return [
        replace(row, result=replace(row.result, hits=tuple(own))) for row, own in zip(gathered, chosen, strict=True)
    ]


def _identity(hit: Hit) -> Identity | None:
    """What is equal for all sides of one record; None for a part of a file."""
    if hit.document.location is not None:
        return None
    return hit.document.kind.value, int(hit.document.fields["bundle"])
