"""Hooks that come at once without a server: one of them works, and the others get their answers from it."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from satchel.system import state_files
from tests.e2e.command import PATIENCE_SECONDS, Ran
from tests.e2e.test_resident import ALONE, QUESTIONS, Place, built, folder, place, program, until

__all__ = ["built", "folder", "place"]

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there are no Unix sockets here")

ONE_TURN = "import os; os.cpu_count = lambda: 1; s.TURN_SECONDS = 60.0; marks = os.environ['MARKS']; "
FIRST = program(
    ONE_TURN
    + """import time, satchel.hooks.worker as w
def work(*given, own=w.work):
    answer = own(*given)
    while len(os.listdir(marks)) < 7:
        time.sleep(0.02)
    return answer
w.work, w.OTHERS_SECONDS = work, 5.0
"""
)
"""The command with one turn for all hooks, which it keeps until seven others wait."""
WAITING = program(
    ONE_TURN
    + """
def locked(name, *, is_shared, own=s._locked):
    lock = own(name, is_shared=is_shared)
    if is_shared:
        open(f"{marks}/{os.getpid()}", "w").close()
    return lock
s._locked = locked
sys.modules["satchel.hooks.worker"] = None
"""
)
"""The command that cannot answer by itself, and leaves a mark when it waits."""


def test_one_of_eight_hooks_without_a_server_works_and_the_others_get_their_answers_from_it(
    place: Place,
    tmp_path: Path,
) -> None:
    environ = place.environ | {"MARKS": str(tmp_path)}
    prompts = {f"turn-{number}": QUESTIONS[number % len(QUESTIONS)] for number in range(8)}
    expected = [place(*ALONE, "hook", "prompt", event=place.prompt(f"alone {one}", prompts[one])) for one in prompts]

    def started(command: Sequence[str], session: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [*command, "hook", "prompt"], cwd=place.root, env=environ,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(json.dumps(place.prompt(session, prompts[session])).encode())
        process.stdin.close()
        process.stdin = None
        place.running.append(process)
        return process

    def has_turn() -> bool:
        with (place.state / "hooks" / "turn-0").open("a") as turn:
            return not state_files.try_lock(turn.fileno())

    first, *others = prompts
    until(lambda: not has_turn())  # the last worker above has ended
    processes = [started(FIRST, first)]
    until(has_turn)
    processes += [started(WAITING, session) for session in others]
    done = [process.communicate(timeout=PATIENCE_SECONDS) for process in processes]
    assert [Ran(0, out.decode(), err.decode()) for out, err in done] == expected
    until(lambda: not has_turn())
    assert not place.socket.exists()
