"""Seconds of the tests by room: printed at the end of a run, and added as a line to the file SATCHEL_SECONDS names.

Wall time says how long somebody waits; processor time, with that of ended child processes, changes little on a busy
machine.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

PROPERTY = "processor seconds"
LONGEST = 25
_started: dict[str, float] = {}


def processor_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    return sum(os.times()[:4])


def pytest_runtest_logstart(nodeid: str) -> None:
    """Note the processor time before a test."""
    _started[nodeid] = processor_seconds()


def note_seconds(report: pytest.TestReport) -> None:
    """Add the processor time of a test to the report of its end."""
    if report.when == "teardown" and report.nodeid in _started:
        report.user_properties.append((PROPERTY, round(processor_seconds() - _started.pop(report.nodeid), 4)))


def room_of(test: str) -> str:
    """Return the folder below `tests` that a test is in, or its file."""
    return test.partition("::")[0].removeprefix("tests/").partition("/")[0]


def summary(reports: Iterable[pytest.TestReport]) -> dict[str, Any]:
    """Return the seconds of rooms and of the longest tests, the largest processor time first."""
    wall, processor = defaultdict[str, float](float), defaultdict[str, float](float)
    for report in reports:
        wall[report.nodeid] += report.duration
        processor[report.nodeid] += dict[str, Any](report.user_properties).get(PROPERTY, 0.0)
    rooms = {room_of(test): {"tests": 0, "wall": 0.0, "processor": 0.0} for test in wall}
    for test, room in ((test, rooms[room_of(test)]) for test in wall):
        room["tests"] += 1
        room["wall"] += wall[test]
        room["processor"] += processor[test]
    ordered = sorted(rooms, key=lambda room: (-rooms[room]["processor"], room))
    return {
        "rooms": {room: {name: round(value, 2) for name, value in rooms[room].items()} for room in ordered},
        "longest": {
            test: round(seconds, 2) for test, seconds in sorted(processor.items(), key=lambda row: -row[1])[:LONGEST]
        },
    }


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the seconds of each room, and write them where they are asked for."""
    stats = terminalreporter.stats.values()
    reports = [report for reports in stats for report in reports if isinstance(report, pytest.TestReport)]
    if not reports:
        return
    seconds = summary(reports)
    terminalreporter.section("seconds by room")
    for room, row in seconds["rooms"].items():
        terminalreporter.write_line(
            f"{room:<24} {row['tests']:>5} tests {row['wall']:>8.1f} s wall {row['processor']:>8.1f} s processor"
        )
    is_worker = "PYTEST_XDIST_WORKER" in os.environ  # its tests are among those of the whole run
    if (target := os.environ.get("SATCHEL_SECONDS")) and not is_worker:
        with Path(target).open("a", encoding="utf-8") as file:
            file.write(json.dumps(seconds) + "\n")
