"""The process around the server: its pipes, and its parent."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from satchel.mcp.pipes import Parent, end_after, take_pipes
from tests.mcp.serving import PATIENCE_SECONDS


def test_standard_input_and_output_are_kept_for_the_protocol(capfd: pytest.CaptureFixture[str]) -> None:
    kept = [os.dup(number) for number in (0, 1)]
    try:
        pipes = take_pipes()
        os.write(1, b"a word\n")
        os.write(pipes.sink, b"a message\n")
        assert os.read(0, 10) == b""
        assert min(pipes.source, pipes.sink) > 2
        assert not os.get_inheritable(pipes.sink)
    finally:
        for number, saved in enumerate(kept):
            os.dup2(saved, number)
            os.close(saved)
        os.close(pipes.source)
        os.close(pipes.sink)
    shown = capfd.readouterr()
    assert (shown.out, shown.err) == ("a message\n", "a word\n")


def test_without_standard_error_stray_words_go_nowhere() -> None:
    script = (
        "import os\nos.close(2)\nfrom satchel.mcp.pipes import take_pipes\npipes = take_pipes()\n"
        "os.write(1, b'a word')\nos.write(pipes.sink, b'a message')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"a message"


def test_a_parent_that_is_gone_is_noticed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    gone, ended = threading.Event(), threading.Event()
    monkeypatch.setattr(os, "_exit", lambda _code: ended.set())
    parent = Parent(gone.set, 0.001, 0.001)
    monkeypatch.setattr(os, "getppid", lambda: -1)
    parent.watch()
    assert gone.wait(PATIENCE_SECONDS)
    assert ended.wait(PATIENCE_SECONDS)


def test_a_parent_that_lives_is_left_alone() -> None:
    parent = Parent(lambda: pytest.fail("it is alive"), 0.001)
    parent.stop()
    parent.watch()


def test_the_last_resort_ends_the_process_unless_it_is_called_off(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    monkeypatch.setattr(os, "_exit", lambda _code: ended.set())
    end_after(1_000).cancel()
    end_after(0.001)
    assert ended.wait(PATIENCE_SECONDS)


def test_the_pipes_are_taken_before_the_sdk_is_loaded() -> None:
    script = "import sys, satchel.mcp.pipes\nprint([m for m in sys.modules if m == 'mcp' or m.startswith('mcp.')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert done.stdout == "[]\n"
    assert Path(sys.executable).exists()
