"""Progress of long work: a bar on a terminal, a line every few seconds elsewhere, nothing with `quiet`.

Short work shows nothing, so that a check without changes is silent.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from satchel.cli import streams

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE_SECONDS = 0.5
"""Seconds before a bar appears: shorter work needs none, and loading the bar would make it longer."""

LINE_SECONDS = 10.0
"""Seconds between two lines where lines cannot be redrawn, as in a log."""

FIRST_PHASE = "looking for changes"
PHASES = {"files": "reading files", "history": "reading history", "vectors": "making vectors"}


class Watch:
    """A progress that shows nothing."""

    def phase(self, name: str, total: int) -> None:
        """Start a phase of `total` steps, 0 if unknown."""

    def advance(self, count: int) -> None:
        """Count more finished steps."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the watch, also after an error."""


def watch(*, quiet: bool = False, color: str = "") -> Watch:
    """Return the watch for standard error."""
    if quiet or sys.stderr is None:
        return Watch()
    if streams.can_redraw(sys.stderr):
        return BarWatch(color=streams.wants_color(sys.stderr, color))
    return LineWatch()


class LineWatch(Watch):
    """Writes the progress on one line every `LINE_SECONDS`. `clock` returns monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last_line = self._began = clock()
        self._name, self._total, self._done = FIRST_PHASE, 0, 0

    def phase(self, name: str, total: int) -> None:
        """Start counting anew."""
        self._name, self._total, self._done = PHASES.get(name, name), total, 0
        self._began = self._clock()

    def advance(self, count: int) -> None:
        """Count finished steps, and write a line if the last one is old."""
        self._done += count
        now = self._clock()
        if now - self._last_line >= LINE_SECONDS:
            self._last_line = now
            streams.say(self._line())

    def _line(self) -> str:
        return progress_line(self._name, self._done, self._total, self._clock() - self._began)


def progress_line(name: str, done: int, total: int, seconds: float) -> str:
    """`reading files: 1,200 of 5,000, 240/s, 16 s left`."""
    line = f"{name}: {done:,}" + (f" of {total:,}" if total else "")
    if seconds <= 0 or not done:
        return line
    rate = done / seconds
    remaining = f", {(total - done) / rate:.0f} s left" if total > done else ""
    return f"{line}, {rate:,.0f}/s{remaining}"


class BarWatch(LineWatch):
    """Draws a bar and the progress on one line once the work has taken `PATIENCE_SECONDS`.

    A timer draws the bar, because work may run long before its first report. It disappears at the end.
    """

    def __init__(self, *, color: bool, patience_seconds: float = PATIENCE_SECONDS) -> None:
        super().__init__()
        self._color = color
        self._guard = threading.Lock()
        self._bar: Progress | None = None
        self._ended = False
        self._timer = threading.Timer(patience_seconds, self._show)
        self._timer.daemon = True

    def _show(self) -> None:
        from rich.console import Console  # here, because it takes 0.1 s
        from rich.progress import BarColumn, Progress, TextColumn

        console = Console(file=sys.stderr, no_color=not self._color, force_terminal=True, highlight=False)
        with self._guard:
            if self._ended:
                return
            columns = TextColumn("{task.description}", markup=False), BarColumn(bar_width=None)
            self._bar = Progress(*columns, console=console, transient=True, refresh_per_second=8)
            self._bar.add_task(self._line(), total=self._total or None, completed=self._done)
            self._bar.start()

    def phase(self, name: str, total: int) -> None:
        """Start counting anew."""
        with self._guard:
            super().phase(name, total)
            if self._bar is not None:
                self._bar.remove_task(self._bar.task_ids[0])
                self._bar.add_task(self._line(), total=total or None)

    def advance(self, count: int) -> None:
        """Count finished steps."""
        with self._guard:
            self._done += count
            if self._bar is not None:
                self._bar.update(self._bar.task_ids[0], completed=self._done, description=self._line())

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._guard:
            self._ended = True
            if self._bar is not None:
                self._bar.stop()
