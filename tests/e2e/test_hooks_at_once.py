"""Hooks that come at once without a server: each answers in its own time or says nothing, and none harms another."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence

import pytest

from tests.e2e.command import PATIENCE_SECONDS, Ran
from tests.e2e.test_resident import ALONE, QUESTIONS, Place, built, folder, place, program

__all__ = ["built", "folder", "place"]

ALONE_IN_TIME = program("import satchel.system.resident as r; r.address = lambda _: ''; ", patience="import sys; ")
"""The command without a resident process, with its own deadlines."""


def at_once(place: Place, command: Sequence[str], sessions: Sequence[str]) -> list[Ran]:
    """Run a prompt's hook for each session at the same time."""
    processes = [
        subprocess.Popen(
            [*command, "hook", "prompt"], cwd=place.root, env=place.environ,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for _ in sessions
    ]  # fmt: skip
    place.running += processes
    for number, (process, session) in enumerate(zip(processes, sessions, strict=True)):
        assert process.stdin is not None
        event = place.prompt(session, QUESTIONS[number % len(QUESTIONS)])
        process.stdin.write(json.dumps(event).encode())
        process.stdin.close()
        process.stdin = None
    done = [process.communicate(timeout=PATIENCE_SECONDS) for process in processes]
    return [
        Ran(process.returncode, out.decode(), err.decode()) for process, (out, err) in zip(processes, done, strict=True)
    ]


@pytest.mark.parametrize("is_patient", [True, False], ids=["with time", "in two seconds"])
def test_eight_hooks_at_once_without_a_server_do_not_harm_each_other(place: Place, is_patient: bool) -> None:
    sessions = [f"{is_patient}-{number}" for number in range(8)]
    expected = [ran.out for ran in at_once(place, ALONE, [f"alone {session}" for session in sessions])]
    assert any(expected)
    answers = at_once(place, ALONE if is_patient else ALONE_IN_TIME, sessions)
    assert {ran.code for ran in answers} == {0}
    if is_patient:
        assert [ran.out for ran in answers] == expected
        return
    for ran, answer in zip(answers, expected, strict=True):
        assert ran.out in {answer, ""}
        assert ran.err in {"", "satchel hook: no answer within 1.6 s\n"}
