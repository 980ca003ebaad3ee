"""How the running satchel can be started again: what a client has to write into its settings."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from satchel.errors import UsageError

PROGRAM = "satchel"

UVX = ("uvx", "--from", "satchel[mcp]", PROGRAM)
"""Without an installation: uv fetches it at the first start and keeps it."""

_UVX_FOLDERS = frozenset({"archive-v0", "builds-v0", "environments-v2"})
"""Folders of uv's cache that hold environments for one run: a path into them is gone after the next clean-up."""


@dataclass(frozen=True, slots=True)
class Launch:
    """The words that start satchel, and what should be known about them."""

    words: tuple[str, ...]
    notes: tuple[str, ...] = ()


def parse_command(text: str) -> Launch:
    """The words of `--command`, split as a shell would. Raises UsageError."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--command {text!r} cannot be split into words: {error}") from None
    if not words:
        raise UsageError("--command is empty: write it as in 'uvx --from satchel[mcp] satchel'")
    return Launch(tuple(words), _missing_program(words))


def find_launch(
    *,
    is_shared: bool,
    started_as: str | None = None,
    prefix: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Launch:
    """The words that start this very satchel.

    A file of the user alone gets the whole path, which works wherever the client was started from. A file that is
    shared with others gets a name that means the same for all of them, where there is one. `started_as` is the script
    that runs, `prefix` its environment.
    """
    notes = () if importlib.util.find_spec("mcp") else (_WITHOUT_SERVER,)
    if _UVX_FOLDERS & set(Path(prefix or sys.prefix).parts):
        return Launch(UVX, (*notes, *_missing_program(UVX, environ)))
    script = Path(started_as if started_as is not None else sys.argv[0]).absolute()
    if script.stem != PROGRAM or not script.is_file():
        return Launch((sys.executable, "-m", PROGRAM), (*notes, *((_OWN_PATH,) if is_shared else ())))
    on_path = shutil.which(PROGRAM, path=environ.get("PATH", os.defpath))
    is_same = on_path is not None and Path(on_path).resolve() == script.resolve()
    if is_shared and is_same:
        return Launch((PROGRAM,), notes)
    path = str(Path(on_path).absolute()) if is_same and on_path is not None else str(script)
    return Launch((path,), (*notes, *((_OWN_PATH,) if is_shared else ())))


_WITHOUT_SERVER = "the server needs an extra that is not installed here: pip install 'satchel[mcp]'"

_OWN_PATH = "the file is shared, but the command is a path of this machine: --command names one that works for all"


def _missing_program(words: Sequence[str], environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    if shutil.which(words[0], path=environ.get("PATH", os.defpath)) is None:
        return (f"{words[0]} is not found on the PATH here",)
    return ()


def runs_satchel(words: Sequence[str], command: str) -> bool:
    """Whether these words start `satchel COMMAND`, by whatever way: a path, uvx, `python -m`."""
    names = [Path(word.replace("\\", "/")).name.removesuffix(".exe") for word in words]
    return any(name == PROGRAM and words[at + 1] == command for at, name in enumerate(names[:-1]))
