"""`satchel proxy` as a client starts it: a process with a server behind it, and how both end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from satchel.testing import TinyRepository
from tests.cli.conftest import Satchel
from tests.cli.conftest import home as home
from tests.cli.conftest import satchel as satchel
from tests.mcp.proxied import PATIENCE, SERVER, request

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and process groups of POSIX")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    repository = TinyRepository(tmp_path_factory.mktemp("process") / "shop")
    repository.commit("Begin", {"AGENTS.md": "Keep it short.\n"})
    return repository.root


@contextmanager
def started(root: Path, *options: str) -> Iterator[tuple[subprocess.Popen[bytes], dict[str, int]]]:
    """A proxy with its server, and the processes that the server told of."""
    environ = {**os.environ, "SATCHEL_HOME": str(root.parent / "home"), "SATCHEL_TOOLS_DEADLINE_S": "60"}
    command = [sys.executable, "-P", "-m", "satchel", "proxy", "--root", str(root), "--tools", "echo", "--", *SERVER]
    with subprocess.Popen(
        [*command, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ
    ) as process:
        assert process.stderr is not None
        told: dict[str, int] = {}
        while "ready" not in told:
            name, _, number = process.stderr.readline().decode().partition(" ")
            told[name] = int(number)
        try:
            yield process, told
        finally:
            process.kill()
            for left in told.values():
                if is_running(left):
                    os.kill(left, signal.SIGKILL)


def is_running(number: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_until_gone(*numbers: int) -> None:
    until = time.monotonic() + PATIENCE
    while any(map(is_running, numbers)):
        assert time.monotonic() < until, "a process is left behind"
        threading.Event().wait(0.01)


def test_a_client_gets_context_and_the_end_reaches_the_server(root: Path) -> None:
    with started(root, "code=3") as (process, told):
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(request("echo")).encode() + b"\n")
        process.stdin.flush()
        result = json.loads(process.stdout.readline())["result"]
        assert "Keep it short." in result["content"][1]["text"]
        process.stdin.close()
        assert process.wait(PATIENCE) == 3
        wait_until_gone(*told.values())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=str)
def test_a_signal_ends_both_and_what_the_server_started(root: Path, number: signal.Signals) -> None:
    with started(root, "child") as (process, told):
        process.send_signal(number)
        assert process.wait(PATIENCE) == 128 + number
        wait_until_gone(*told.values())
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read().partition(b"KeyboardInterrupt")[2]


def test_a_server_that_is_killed_ends_the_proxy(root: Path) -> None:
    with started(root, "child") as (process, told):
        os.kill(told["ready"], signal.SIGKILL)
        assert process.wait(PATIENCE) == 128 + signal.SIGKILL
        wait_until_gone(*told.values())


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells a child of its parent's death")
def test_a_proxy_that_is_killed_leaves_no_server(root: Path) -> None:
    with started(root) as (process, told):
        process.kill()
        wait_until_gone(told["ready"])


@pytest.mark.parametrize("is_asked", [False, True], ids=["killed", "asked to end"])
def test_a_server_that_is_deaf_outlives_no_proxy(root: Path, is_asked: bool) -> None:
    with started(root, "ignores-end", "child") as (process, told):
        processes = [*told.values(), *children(process.pid)]
        assert len(processes) == 4
        if is_asked:
            process.terminate()
        else:
            process.kill()
        wait_until_gone(*processes)


def children(process: int) -> list[int]:
    """The processes that a process started and that run."""
    return [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def test_a_proxy_whose_server_reads_nothing_ends_with_its_parent(root: Path) -> None:
    """It waits in the middle of a line then, and does not see the end of what it reads."""
    deaf = "import threading; threading.Event().wait(600)"
    command = [sys.executable, "-P", "-m", "satchel", "proxy", "--root", str(root), "--tools", "*", "--"]
    parent = (
        "import subprocess, sys; child = subprocess.Popen(sys.argv[1:]); print(child.pid, flush=True); child.wait()"
    )
    environ = {**os.environ, "SATCHEL_HOME": str(root.parent / "home")}
    with subprocess.Popen(
        [sys.executable, "-c", parent, *command, sys.executable, "-c", deaf],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        own = int(process.stdout.readline())
        for _ in range(100):  # more than the pipe to the server holds, less than both pipes do
            process.stdin.write(b'{"jsonrpc":"2.0","method":"seen","params":"' + b"x" * 950 + b'"}\n')
        process.stdin.flush()
        process.kill()
        wait_until_gone(own)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--", "server"], "no tool is chosen: name some with --tools 'edit_*'"),
        (["--tools", ",", "--", "server"], "no tool is chosen"),
        (["--tools", "*"], "there is no command: write it after `--`"),
        (["--tools", "*", "--max-tokens", "10", "--", "server"], "--max-tokens is 10: give 50 or more"),
        (["--tools", "*", "--", "no-such-server"], "cannot run 'no-such-server'"),
    ],
)
def test_wrong_use_is_named(satchel: Satchel, arguments: list[str], message: str) -> None:
    ran = satchel("proxy", *arguments)
    assert ran.code == 2
    assert message in ran.err


def test_without_standard_input_nothing_begins(root: Path) -> None:
    command = f"exec {sys.executable} -P -m satchel proxy --tools '*' -- true <&-"
    ran = subprocess.run(["sh", "-c", command], cwd=root, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "standard input or output is closed" in ran.stderr
