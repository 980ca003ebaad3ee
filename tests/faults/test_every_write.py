"""A call that writes fails, or the process dies there: nothing is damaged, lost or left that grows.

A small run of `benchmarks/faults.py`, which tries every call of every writer: its result is in `benchmarks/results`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pytest

from satchel.cli.application import application
from tests.faults.injection import WRITERS, run


@pytest.mark.skipif(sys.platform != "linux", reason="the shim of system calls is for Linux")
@pytest.mark.parametrize(
    ("fault", "writers"),
    [
        ("killed", ("index, first", "memory", "memory, migration", "memory, restore", "client set-up")),
        ("EIO once", ("index, update", "memory, import", "hooks")),
        ("ENOSPC from there on", ("index, clean", "memory, first", "sessions and receipts")),
    ],
)
def test_a_fault_at_a_call_that_writes_harms_nothing(tmp_path: Path, fault: str, writers: tuple[str, ...]) -> None:
    results = list(run(tmp_path, writers=writers, faults=[fault], most=4))
    assert [result["writer"] for result in results] == [*writers]
    for result in results:
        assert result["bad"] == []
        assert 0 < result["points"] <= result["calls"]
        assert {name for name in result["left_files"] if not name.startswith("home/data/memory.partial")} == set()


@pytest.mark.parametrize("writer", [name for name in WRITERS if name != "hooks"])  # these get events
def test_every_writer_has_its_commands(writer: str) -> None:
    for words in WRITERS[writer].commands:
        command: click.Command | None = application
        for word in words:
            if not isinstance(command, click.Group):
                break
            command = command.get_command(click.Context(command), word)
            assert command is not None, words
