from __future__ import annotations

import io
import sys

import pytest

from satchel.cli.session import LINE_SECONDS, PATIENCE_SECONDS, Watch, progress_line
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
    with Watch() as progress:
        run(progress)
    assert capsys.readouterr().err == ""


def test_long_work_says_now_and_then_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    progress = Watch(clock=clock)
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


def in_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal of 40 columns as standard error."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    return stream


def test_on_a_terminal_one_line_changes_and_disappears(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = in_terminal(monkeypatch)
    clock = Clock()
    with Watch(clock=clock) as progress:
        clock.seconds = PATIENCE_SECONDS
        progress.phase("files", 10)
        clock.seconds += 1
        progress.advance(4)
        progress.advance(1)  # too soon after the last one
        clock.seconds += 1
        progress.phase("a phase with a name that is longer than the line", 0)
    assert terminal.getvalue().split("\r")[1:] == [
        "reading files: 0 of 10\x1b[K",
        "reading files: 4 of 10, 4/s, 2 s left\x1b[K",
        "a phase with a name that is longer than\x1b[K",
        "\x1b[K",
    ]


def test_a_terminal_shows_nothing_of_short_work(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = in_terminal(monkeypatch)
    clock = Clock()
    with Watch(clock=clock) as progress:
        run(progress)
        clock.seconds = PATIENCE_SECONDS
    assert terminal.getvalue() == ""


def test_without_standard_error_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    clock = Clock()
    with Watch(clock=clock) as progress:
        clock.seconds = LINE_SECONDS
        run(progress)


def test_a_quiet_watch_takes_everything(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Watch(quiet=True, clock=clock) as progress:
        clock.seconds = LINE_SECONDS
        run(progress)
    assert capsys.readouterr() == ("", "")
