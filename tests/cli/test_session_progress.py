from __future__ import annotations

import io
import sys

import pytest

from satchel.cli.session import LINE_SECONDS, BarWatch, LineWatch, Watch, progress_line, watch
from satchel.index.run import Progress


class Clock:
    """Seconds that pass only when told to."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class Terminal(io.StringIO):
    """A stream that a person looks at."""

    def isatty(self) -> bool:
        return True


def run(progress: Progress) -> None:
    """A small piece of watched work."""
    progress.phase("files", 3)
    progress.advance(1)
    progress.advance(2)
    progress.phase("history", 0)


def test_work_that_is_short_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with LineWatch() as progress:
        run(progress)
    assert capsys.readouterr().err == ""


def test_long_work_says_now_and_then_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    progress = LineWatch(clock)
    progress.phase("files", 300)
    for _ in range(25):
        clock.seconds += 1
        progress.advance(10)
    assert capsys.readouterr().err.splitlines() == [
        "reading files: 100 of 300, 10/s, 20 s left",
        "reading files: 200 of 300, 10/s, 10 s left",
    ]
    assert LINE_SECONDS == 10


@pytest.mark.parametrize(
    ("done", "total", "seconds", "line"),
    [
        (0, 0, 5, "x: 0"),
        (0, 10, 0, "x: 0 of 10"),
        (1200, 5000, 5, "x: 1,200 of 5,000, 240/s, 16 s left"),
        (7, 0, 2, "x: 7, 4/s"),
        (10, 10, 1, "x: 10 of 10, 10/s"),
    ],
)
def test_a_line_holds_what_is_known(done: int, total: int, seconds: float, line: str) -> None:
    assert progress_line("x", done, total, seconds) == line


def test_a_bar_appears_when_work_takes_long_and_disappears_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    progress = BarWatch(color=False, patience_seconds=0.0)
    with progress:
        progress._timer.join()
        run(progress)
        progress.phase("files", 10)
        progress.advance(4)
    shown = terminal.getvalue()
    assert "reading files" in shown
    assert "reading files: 4 of 10" in shown
    assert shown.rstrip().endswith(("\x1b[2K", "\x1b[?25h"))
    assert "\x1b[3" not in shown


def test_a_bar_never_appears_for_short_work(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    progress = BarWatch(color=True, patience_seconds=3600.0)
    with progress:
        run(progress)
    progress._show()
    assert terminal.getvalue() == ""


def test_the_watch_suits_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    assert type(watch(quiet=True)) is Watch
    assert type(watch()) is LineWatch
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert type(watch()) is LineWatch  # TERM=dumb
    monkeypatch.setenv("TERM", "xterm")
    assert type(watch()) is BarWatch
    monkeypatch.setattr(sys, "stderr", None)
    assert type(watch()) is Watch


def test_a_quiet_watch_takes_everything(capsys: pytest.CaptureFixture[str]) -> None:
    with Watch() as progress:
        run(progress)
    assert capsys.readouterr() == ("", "")
