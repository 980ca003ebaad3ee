from __future__ import annotations

import io
import json
import os
import sys
import threading
from pathlib import Path

import pytest

from satchel.cli import streams
from satchel.errors import UsageError


class Terminal(io.StringIO):
    """A stream that a person looks at."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("choice", "environment", "terminal", "expected"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"FORCE_COLOR": "0"}, False, False),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("always", {"NO_COLOR": "1", "TERM": "dumb"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_colour_follows_the_option_then_the_environment_then_the_stream(
    choice: str, environment: dict[str, str], terminal: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert streams.wants_color(Terminal() if terminal else io.StringIO(), choice) is expected


def test_a_terminal_that_cannot_move_its_cursor_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert not streams.can_redraw(Terminal())
    monkeypatch.setenv("TERM", "xterm")
    assert streams.can_redraw(Terminal())


def test_text_that_was_counted_is_written_byte_for_byte(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    streams.write_text("größe 日本")
    assert capfdbinary.readouterr().out == "größe 日本".encode()


def test_only_a_terminal_gets_a_line_break_after_the_counted_text(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "is_terminal", lambda stream: stream is sys.stdout)
    streams.write_text("one line")
    streams.write_text("an end of its own\n")
    assert capfdbinary.readouterr().out == b"one line\nan end of its own\n"


def test_an_empty_text_writes_nothing(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    streams.write_text("")
    assert capfdbinary.readouterr().out == b""


def test_json_keeps_its_letters_unless_they_cannot_be_written() -> None:
    assert streams.json_text({"a": "ü"}) == '{"a": "ü"}'
    half = {"a": "\ud83d"}
    assert json.loads(streams.json_text(half)) == half
    streams.json_text(half).encode("utf-8")


def test_a_closed_standard_output_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(streams.OutputError, match="standard output is closed"):
        streams.write("x")


def test_a_full_disk_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    raw = os.fdopen(os.open("/dev/full", os.O_WRONLY), "wb", buffering=0)
    with io.TextIOWrapper(io.BufferedWriter(raw), write_through=True) as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        with pytest.raises(streams.OutputError, match="No space left"):
            streams.write("x" * 100_000)
        streams.abandon()


def test_what_standard_error_does_not_take_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    streams.error("nobody reads this")
    streams.note("nor this")
    monkeypatch.setattr(sys, "stderr", None)
    streams.say("nor this")


def test_lines_after_the_first_of_an_error_are_hints(capsys: pytest.CaptureFixture[str]) -> None:
    streams.error("it broke\nmend it")
    assert capsys.readouterr().err == "error: it broke\n  mend it\n"


def test_colour_is_in_the_label_only(capsys: pytest.CaptureFixture[str]) -> None:
    streams.error("it broke", color="always")
    assert capsys.readouterr().err == "\x1b[31m\x1b[1merror:\x1b[0m it broke\n"


def test_the_lines_of_a_pipe_are_read_as_they_come_and_nobody_waits_for_one_that_is_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    monkeypatch.setattr(streams, "WRITER_SECONDS", 0.01)
    with pytest.raises(UsageError, match="nobody writes"):
        [*streams.lines_of_pipe(str(pipe), 3_600.0)]
    monkeypatch.setattr(streams, "WRITER_SECONDS", 60.0)

    def write() -> None:
        with pipe.open("wb") as file:
            file.write(b'{"a": 1}\n{"b"')
            file.flush()
            file.write(b": 2}")

    writer = threading.Thread(target=write)
    writer.start()
    assert [*streams.lines_of_pipe(str(pipe))] == [b'{"a": 1}', b'{"b": 2}']
    writer.join()


def test_a_line_without_an_end_and_a_file_without_one_are_refused_as_soon_as_they_are_too_long(tmp_path: Path) -> None:
    class Endless(io.RawIOBase):
        """Gives the same line again and again."""

        def readline(self, size: int | None = -1) -> bytes:
            return b"x" * (size or 0) if self.is_one_line else b"abc\n"

        is_one_line = True

    endless = Endless()
    with pytest.raises(UsageError, match=r"the input has a line of more than 1,000 bytes"):
        [*streams.lines_of(endless, "the input", 1_000)]  # type: ignore[arg-type]
    endless.is_one_line = False
    with pytest.raises(UsageError, match=r"the input has more than 400 bytes"):
        [*streams.lines_of(endless, "the input", 1_000, 400)]  # type: ignore[arg-type]
    file = tmp_path / "lines"
    file.write_bytes(b"a\nbc")
    with file.open("rb") as opened:
        assert [*streams.lines_of(opened, "lines")] == [b"a\n", b"bc"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_without_a_line_end_is_refused_as_soon_as_it_is_too_long(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[b"x" * 2_000])
    writer.start()
    with pytest.raises(UsageError, match=r"has a line of more than 1,000 bytes"):
        [*streams.lines_of_pipe(str(pipe), longest=1_000)]
    writer.join()


def test_plain_tables_align_and_end_without_blanks() -> None:
    assert streams.table(("a", ">number", "b"), [["long cell", "7", ""], ["x", "1,000", "y"]]) == [
        "a          number  b",
        "long cell       7",
        "x           1,000  y",
    ]
