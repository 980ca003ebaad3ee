"""The entry point. It imports nothing before it can catch Ctrl-C, so that even an early one ends quietly."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

HELP = frozenset({"-h", "--help"})
VERSION = (["--version"], ["--version", "--json"], ["--json", "--version"])
FOR_PEOPLE = "log"
"""The sub-command of `satchel hook` for people; every other word after it is an event of a host."""
RESIDENT = frozenset({
    "context", "search", "graph", "why", "expand", "situation", "brief", "premortem", "status", "history",
    "memory list", "memory search", "memory show", "experience list", "experience show", "values list", "values show",
})  # fmt: skip
"""Commands that a resident process of the same root can answer: those that change nothing, so can be run again."""


def main() -> int:
    """Run the command of this process and return its exit code."""
    # numpy's linear algebra would start a thread for each core, 10 ms and more for something no command uses.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if (event := hook_event(sys.argv[1:])) is not None:
        _answer_hook(event)
    if sys.argv[1:] in VERSION and _is_version_written(as_json="--json" in sys.argv):
        return 0
    gc.disable()  # what is imported stays; a command turns it on again when it begins
    try:
        if (code := _resident_code(sys.argv[1:])) is not None:
            return code
        from satchel.cli.application import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        return 130  # exit code after Ctrl-C: 128 and the number of the signal, as shells have it
    finally:
        gc.freeze()  # the system frees everything at once: the interpreter need not look for cycles before
    if _is_reading(sys.argv[1:]):
        _exit_at_once(code)
    return code


def _exit_at_once(code: int) -> NoReturn:
    """End the process without freeing its values one by one, which takes 10 ms. What was written is flushed.

    Only for commands that change nothing: threads that still work are not waited for.
    """
    import atexit

    atexit._run_exitfuncs()  # first what `os._exit` would leave out
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            code = code or 1
    os._exit(code)


def _is_version_written(*, as_json: bool) -> bool:
    """Write the version without loading what commands need, and return whether that was possible."""
    from satchel import __version__

    text = f'{{"name": "satchel", "version": "{__version__}"}}' if as_json else f"satchel, version {__version__}"
    try:
        return os.write(1, f"{text}\n".encode()) > 0
    except OSError:
        return False  # the command meets the same fault and reports it


def hook_event(arguments: list[str]) -> list[str] | None:
    """Return the arguments of `hook` for an event, answered before code is loaded that may end with 2, a refusal."""
    before, arguments = _split(arguments)
    if arguments[:1] != ["hook"] or HELP.intersection(arguments) or FOR_PEOPLE in arguments[1:]:
        return None
    return [*arguments[1:], *before]


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Return the options before the command, and the rest."""
    before: list[str] = []
    while arguments and arguments[0].startswith("--"):
        count = 1 if "=" in arguments[0] else 2
        before, arguments = [*before, *arguments[:count]], arguments[count:]
    return before, arguments


def _resident_code(arguments: list[str]) -> int | None:
    """Return the exit code of a command that a resident process answered; None if none did, or for help and `-`."""
    if not _is_reading(arguments) or {*HELP, "-"}.intersection(arguments):
        return None
    from satchel.system import resident

    return resident.run(arguments)


def _is_reading(arguments: list[str]) -> bool:
    """Return whether the command is one of `RESIDENT`, those that change nothing."""
    words = _split(arguments)[1]
    return bool(RESIDENT.intersection({*words[:1], " ".join(words[:2])}))


def _answer_hook(arguments: list[str]) -> NoReturn:
    try:
        from satchel.hooks.supervise import main as answer

        answer(arguments)
    except BaseException as error:  # noqa: BLE001 - a broken installation must not stop a prompt
        os.write(2, f"satchel hook: {type(error).__name__}: {error}\n".encode())
    os._exit(0)  # a signal that comes while the interpreter ends would still change the exit code


if __name__ == "__main__":
    sys.exit(main())
