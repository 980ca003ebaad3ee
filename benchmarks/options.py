"""Types of command line options for argparse, which tells a bad value before anything is measured, and results."""

from __future__ import annotations

import json
import os
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any


def natural(text: str) -> int:
    """A number of 0 or more. Raises ArgumentTypeError."""
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text} is not a number of 0 or more")
    return int(text)


def positive(text: str) -> int:
    """A number of 1 or more. Raises ArgumentTypeError."""
    if not text.isdecimal() or int(text) == 0:
        raise ArgumentTypeError(f"{text} is not a number of 1 or more")
    return int(text)


def folder(text: str) -> Path:
    """A folder that is there; an empty text, as of a variable that is not set, is none. Raises ArgumentTypeError."""
    if not text or not Path(text).is_dir():
        raise ArgumentTypeError(f"{text!r} is not a folder")
    return Path(text)


def output(text: str) -> Path:
    """A file that can be written; its folder is made. Raises ArgumentTypeError."""
    file = Path(text)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ArgumentTypeError(f"{text} cannot be written: {problem.strerror}") from None
    if file.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK):
        raise ArgumentTypeError(f"{text} cannot be written: it is a folder, or may not be changed")
    return file


def keep(result: Any, out: Path | None) -> None:
    """Print a result, and store it where a file is given."""
    text = json.dumps(result, indent=1, ensure_ascii=False)
    print(text)
    if out is not None:
        out.write_text(text + "\n", encoding="utf-8")


def keep_under(label: str, result: Any, out: Path | None) -> None:
    """Print a result, and add it under its label to what a file has."""
    print(json.dumps(result))
    if out is not None:
        stored = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
        out.write_text(json.dumps({**stored, label: result}, indent=1) + "\n", encoding="utf-8")
