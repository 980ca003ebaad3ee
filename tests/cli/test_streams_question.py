from __future__ import annotations

import io
import sys

import pytest

from satchel.cli.streams import MAX_BYTES, read_question
from satchel.errors import UsageError
from satchel.vocabulary import parse_moment


def standard_input(monkeypatch: pytest.MonkeyPatch, raw: bytes) -> None:
    """Give the process this input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))


def test_words_become_one_question() -> None:
    assert read_question(["where is", "retry", "handled"]) == "where is retry handled"


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert read_question(["caf\udce9"]) == "caf\ufffd"


def test_a_dash_reads_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    standard_input(monkeypatch, "Größe\nfällt".encode() + b"\xff")
    assert read_question(["-"]) == "Größe\nfällt\ufffd"


def test_a_dash_among_words_is_a_word() -> None:
    assert read_question(["-", "x"]) == "- x"


def test_a_huge_question_is_cut_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    standard_input(monkeypatch, b"a" * (MAX_BYTES + 1))
    assert len(read_question(["-"])) == MAX_BYTES
    assert capsys.readouterr().err == "note: the question is cut after 1,000,000 bytes\n"


def test_a_question_of_just_the_limit_is_not_cut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    standard_input(monkeypatch, b"a" * MAX_BYTES)
    assert len(read_question(["-"])) == MAX_BYTES
    assert capsys.readouterr().err == ""


def test_a_closed_standard_input_is_wrong_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UsageError, match="closed"):
        read_question(["-"])


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("1714559400.5", 1714559400.5),
        ("1970-01-02", 86400.0),
        ("1970-01-01T01:00:00", 3600.0),
        ("1970-01-01T01:00:00+01:00", 0.0),
        ("1970-01-01T00:00:10Z", 10.0),
    ],
)
def test_a_moment_is_a_date_or_epoch_seconds(text: str, seconds: float) -> None:
    assert parse_moment(text) == seconds


@pytest.mark.parametrize("text", ["", "yesterday", "nan", "inf", "-5", "2024-13-01", "999999999999999"])
def test_any_other_moment_is_wrong_usage(text: str) -> None:
    with pytest.raises(UsageError, match="now is"):
        parse_moment(text)
