"""The progress bar. Importing this module takes 0.1 s, so only long work on a terminal does."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

_DRAWINGS_A_SECOND = 8


class _Count(ProgressColumn):
    """Steps done, and the total if known."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.completed:,.0f}/{task.total:,.0f}" if task.total is not None else "")


class _Rate(ProgressColumn):
    """Steps a second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:,.0f}/s" if task.speed else "")


class Bar:
    """A bar on standard error that disappears when it is closed. `total` is 0 if unknown."""

    def __init__(self, name: str, total: int, done: int, *, color: bool) -> None:
        console = Console(file=sys.stderr, no_color=not color, force_terminal=True, highlight=False)
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            _Count(),
            _Rate(),
            TimeRemainingColumn(compact=True),
            console=console,
            transient=True,
            refresh_per_second=_DRAWINGS_A_SECOND,
        )
        self._task = self._progress.add_task(name, total=total or None, completed=done)
        self._progress.start()

    def restart(self, name: str, total: int) -> None:
        """Start another phase."""
        self._progress.remove_task(self._task)
        self._task = self._progress.add_task(name, total=total or None)

    def move(self, done: int) -> None:
        """Set the number of finished steps."""
        self._progress.update(self._task, completed=done)

    def close(self) -> None:
        """Remove the bar."""
        self._progress.stop()
