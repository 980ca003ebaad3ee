"""How long work is watched: a bar on a terminal, a line now and then elsewhere, nothing when asked to be quiet.

Nothing appears before the work has taken a while, so that a check that finds nothing to do stays silent.
"""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from satchel.cli import streams
from satchel.index.report import Progress, Quiet

if TYPE_CHECKING:
    from rich.progress import Progress as Bar, TaskID

QUIET_SECONDS = 0.5
"""Work that ends sooner needs no explanation, and drawing a bar would make it longer."""

LINE_SECONDS = 10.0
"""Where lines cannot be redrawn: often enough to see that it lives, rare enough for a log."""

PHASES = {"files": "reading files", "history": "reading history"}

_BARS_A_SECOND = 8


class Watch(Progress, Protocol):
    """A progress with a beginning and an end."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def watch(*, quiet: bool = False, color: str = "auto") -> Watch:
    """A progress for this process's standard error."""
    if quiet or sys.stderr is None:
        return QuietWatch()
    if streams.can_redraw(sys.stderr):
        return BarWatch(color)
    return LineWatch(color)


class QuietWatch(Quiet):
    """Shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class LineWatch(QuietWatch):
    """Says in one line every `LINE_SECONDS` how far the work is."""

    def __init__(self, color: str = "auto", clock: type[time.monotonic] | None = None) -> None: ...


class BarWatch(QuietWatch): ...
