"""The real command as a process of its own, in folders of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from satchel import Satchel as Engine
from satchel.store.sqlite import SqliteStore
from tests.index.indexing import look
from tests.postgres import own_home
from tests.soundness import contents, faults

COMMAND = (sys.executable, "-P", "-m", "satchel")
PATIENCE_SECONDS = 600
"""Far longer than anything here takes; a command that hangs fails its test instead of stopping all."""


@dataclass(frozen=True)
class Ran:
    """What one command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


@dataclass(frozen=True)
class Satchel:
    """Runs commands in the folder `root`. `before` is run in the child before the command."""

    root: Path
    home: Path
    before: Callable[[], None] | None = None

    @property
    def variables(self) -> dict[str, str]:
        """The environment of a command."""
        return {**os.environ, **own_home(self.home), "SATCHEL_KEY": "07" * 32}

    def start(self, *arguments: str, program: Sequence[str] = COMMAND, **variables: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*program, *arguments],
            cwd=self.root,
            env={**self.variables, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=self.before,
        )

    def __call__(self, *arguments: str, program: Sequence[str] = COMMAND, **variables: str) -> Ran:
        return finish(self.start(*arguments, program=program, **variables))

    @property
    def index(self) -> Path:
        """The index file, or a copy of it in a file where it is on a server."""
        if "SATCHEL_STORE" not in os.environ:
            (found,) = self.home.glob(f"cache/index/{self.root.name}-*/index.db")
            return found
        copy = self.home / "copy.db"
        with Engine.open(self.root, environ=self.variables) as engine, closing(SqliteStore(copy)) as file:
            file.fill(engine.store.tables())
        return copy

    def faults(self) -> list[str]:
        return list(look(self.index, faults))

    def contents(self) -> dict[str, Any]:
        return dict(look(self.index, contents))


def finish(process: subprocess.Popen[str]) -> Ran:
    """Wait for a command."""
    try:
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return Ran(process.returncode, out, err)
