"""Tests for the options of the scripts: a bad value is told before anything is measured."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import pytest
from options import folder, natural, output, positive


@pytest.mark.parametrize(("number", "text"), [(natural, "-1"), (natural, "many"), (natural, ""), (positive, "0")])
def test_a_number_out_of_its_range_is_told(number: Callable[[str], int], text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=f"^{text} is not a number of [01] or more"):
        number(text)


def test_numbers_in_their_range_are_taken() -> None:
    assert (natural("0"), natural("12"), positive("1")) == (0, 12, 1)


def test_a_file_that_cannot_be_written_is_told_and_the_folder_of_another_is_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "below"):
        with pytest.raises(argparse.ArgumentTypeError, match="cannot be written"):
            output(str(path))
    assert output(str(tmp_path / "new" / "out.json")) == tmp_path / "new" / "out.json"
    assert (tmp_path / "new").is_dir()


@pytest.mark.parametrize("text", ["", "/nonexistent"])
def test_a_folder_that_is_not_there_is_told(text: str, tmp_path: Path) -> None:
    assert folder(str(tmp_path)) == tmp_path
    with pytest.raises(argparse.ArgumentTypeError, match="is not a folder"):
        folder(text)
