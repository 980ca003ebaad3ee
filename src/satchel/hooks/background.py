"""Background work of hooks: updating an index, and importing a conversation.

It runs in a process of its own that survives the hook and shares no streams, folder or session with the host. One
process works for each root; others leave a mark, and the running one looks again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from satchel.system import state_files, telemetry

if TYPE_CHECKING:
    from satchel.engine import Satchel

REFRESH, CAPTURE, LEARN = "refresh", "capture", "learn"

NICENESS = 10
"""Priority below that of the session."""


def start(words: Sequence[str], state: Path) -> None:
    """Run `words` in a detached process. Raises OSError if it cannot be started."""
    import subprocess

    # No modules are imported from the current folder or that of a script: both belong to the repository.
    command = [sys.executable, "-P", "-m", "satchel.hooks.background", *words]
    state_files.make_folder(state)
    subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=state,
        start_new_session=True,
        close_fds=True,
    )


def refresh(root: Path, state: Path, name: str) -> bool:
    """Update the index of a root in the background; returns whether a process was started for it.

    `name` is that of the index. If a process is at work already, it will look once more.
    """
    mark = _mark(state, name)
    state_files.make_folder(mark.parent)
    mark.touch()
    with _alone(mark) as is_alone:
        if not is_alone:
            return False
    start([REFRESH, os.fspath(root)], state)
    return True


def capture(tasks: Sequence[str], root: Path, transcript: str, state: Path) -> None:
    """Import a transcript in the background, or learn from it, or both."""
    start([*tasks, os.fspath(root), transcript], state)


def _mark(state: Path, name: str) -> Path:
    return state / "hooks" / "refresh" / name


def _alone(mark: Path) -> AbstractContextManager[bool]:
    """Lock the work for a root; yields whether no other process has the lock."""
    return state_files.locked(mark.with_name(f"{mark.name}.lock"), 0.0)


def _read(satchel: Satchel, tasks: Sequence[str], transcripts: Sequence[str]) -> int:
    """Import transcripts, or learn from them, or both."""
    if CAPTURE in tasks:
        satchel.memory.import_transcripts(transcripts)
    _, failures = satchel.memory.learn_from(transcripts) if LEARN in tasks else (0, ())
    for failure in failures:
        telemetry.record_hook("background learn", telemetry.FAILED, failure.message, 0.0)
    return 0


def run(words: Sequence[str]) -> int:
    """Do the work of one background process: `refresh ROOT`, or `[capture] [learn] ROOT TRANSCRIPT`."""
    from satchel.engine import Satchel

    if hasattr(os, "nice"):
        os.nice(NICENESS)
    tasks = [word for word in words[:2] if word in (REFRESH, CAPTURE, LEARN)]
    root, *rest = words[len(tasks) :]
    with Satchel.open(root, root=root, settings={"embed.provider": "off"}) as satchel:
        if tasks != [REFRESH]:
            return _read(satchel, tasks, rest)
        mark = _mark(satchel.places.state, satchel.places.index.name)
        for _ in range(20):  # limit of the updates of one process: each follows a change during the one before
            with _alone(mark) as is_alone:
                if not is_alone:
                    return 0
                while mark.exists():
                    mark.unlink()
                    satchel.index(wait_seconds=60.0)  # time to wait for another process that builds the same index
            # A mark that was left before the lock was released is the duty of this process.
            if not mark.exists():
                return 0
    return 0


def main(words: Sequence[str]) -> int:
    """Run one task; errors are written to the hook log."""
    try:
        return run(words)
    except BaseException as error:  # noqa: BLE001 - a detached process can only log its errors
        name = " ".join(["background", *words[:1]])
        telemetry.record_hook(name, telemetry.FAILED, f"{type(error).__name__}: {error}", 0.0)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
