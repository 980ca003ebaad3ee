"""A case of `promises.py`: a small folder, what is asked there, and what has to be answered."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

Files = Mapping[str, str | bytes]


class Run(NamedTuple):
    """One command in the folder, after `before` (shell commands), with texts that must and must not be printed."""

    command: str
    present: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    before: tuple[str, ...] = ()


class Case(NamedTuple):
    """A case: its number, what is tried, what was answered before, its files and commands, and its test."""

    number: str
    steps: str
    before: str
    files: Files = MappingProxyType({})
    runs: tuple[Run, ...] = ()
    test: str = ""
