"""Files of lines that several processes add to: whole lines or none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from satchel.assemble.receipts.line_file import LineFile


def half(descriptor: int, raw: bytes) -> int:
    """Write as a full disk does."""
    return os.writev(descriptor, [raw[: len(raw) // 2]])


def test_a_line_that_does_not_fit_on_the_disk_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = LineFile(tmp_path / "lines.jsonl")
    file.append(b"one\n", most=100, kept=50)
    monkeypatch.setattr("satchel.assemble.receipts.line_file.os.write", half)
    with pytest.raises(OSError, match="No space left"):
        file.append(b"second line\n", most=100, kept=50)
    with pytest.raises(OSError, match="No space left"):
        file.replace(b"another beginning\n")
    assert file.read() == b"one\n"
    assert [path.name for path in tmp_path.iterdir()] == ["lines.jsonl"]


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="no regular file"):
        LineFile(tmp_path / "pipe").read()
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    with pytest.raises(OSError, match=r"symbolic links|link"):
        LineFile(tmp_path / "link").read()
