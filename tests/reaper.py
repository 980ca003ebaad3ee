"""Ends what a run of the tests left running, also when the run itself was killed.

`watch` starts this file as a process that reads paths from a pipe. The pipe ends with the run, however that ends; then
every process that began after it and works below one of the paths, or names one in its environment, is killed, and
folders that belong to a server are removed. Older processes are not of the run: the make or the shell that started it,
whose variables may name the folder, too. Where there is no /proc, nothing is done.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO

ROUNDS = 5
"""Searches for processes: one that was just killed may have started another."""

REMOVED = "remove "


@cache
def _reaper() -> IO[bytes]:
    command = [sys.executable, "-I", __file__]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd="/", env={}, start_new_session=True
    )
    assert process.stdin is not None
    process.returncode = 0  # it outlives this process, so nobody waits for it
    return process.stdin


def watch(folder: Path, *, is_removed: bool = False) -> None:
    """Have the processes that use a folder ended after this process, and the folder removed if it `is_removed`."""
    pipe = _reaper()
    pipe.write(f"{REMOVED if is_removed else ''}{folder}\n".encode())
    pipe.flush()


def begun(process: Path) -> int:
    """Return when a process of /proc began, in ticks since the machine did. Raises OSError."""
    return int((process / "stat").read_bytes().rpartition(b")")[2].split()[19])


def users_of(folders: Sequence[str]) -> Iterator[int]:
    """Yield the processes after this one that work below a folder or have one in their environment."""
    names = b"|".join(re.escape(os.fsencode(folder)) for folder in folders)
    below = re.compile(rb"(?<![\w.-])(?:" + names + rb")(?![\w.-])")  # `/run-1` is not in `/run-12`, nor in `/a/run-1`
    own = begun(Path("/proc/self"))
    for process in Path("/proc").glob("[0-9]*"):
        if int(process.name) == os.getpid():
            continue
        with suppress(OSError):  # it ended, or belongs to somebody else
            place = bytes((process / "cwd").readlink())
            is_user = below.match(place) or below.search((process / "environ").read_bytes())
            if is_user and begun(process) >= own:
                yield int(process.name)


def main() -> None:
    """Read paths until the pipe ends, then end the processes that use them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run may still clean up when its terminal interrupts it
    lines = [os.fsdecode(line.rstrip(b"\n")) for line in sys.stdin.buffer]
    folders = [line.removeprefix(REMOVED) for line in lines]
    for _ in range(ROUNDS if folders else 0):
        for process in users_of(folders):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
    for line in lines:
        if line.startswith(REMOVED):
            shutil.rmtree(line.removeprefix(REMOVED), ignore_errors=True)


if __name__ == "__main__":
    main()
