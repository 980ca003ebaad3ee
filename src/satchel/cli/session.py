"""Running a command on the engine: open it, run operations with progress and Ctrl-C, and print the answer."""

from __future__ import annotations

import gc
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import click
from msgspec import field

from satchel.cli import streams
from satchel.cli.options import COLLECTED_AFTER, Invocation
from satchel.errors import LockedError
from satchel.operations.operation import Answered, Caller, Operation, Spelling, StoppedError
from satchel.system.signals import signals_to
from satchel.text import pattern
from satchel.types import UNFINISHED, Failure

if TYPE_CHECKING:
    from satchel.engine import Satchel

PATIENCE_SECONDS = 0.5
"""Seconds before a terminal shows progress: shorter work needs none."""

LINE_SECONDS = 10.0
"""Seconds between two lines where lines cannot be redrawn, as in a log."""

M_ARENA_MAX = -8
"""The number of the option of `mallopt` that limits the pools of free memory."""

PHASES = {"files": "reading files", "history": "reading history", "vectors": "making vectors"}


class Watch:
    """Shows progress on standard error: a line now and then, or on a terminal one that changes and goes at the end.

    Short work shows nothing, a `quiet` watch never does. `clock` returns monotonic seconds.
    """

    def __init__(self, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._quiet, self._clock = quiet, clock
        self._redraws, self._is_drawn = streams.can_redraw(sys.stderr), False
        self._began = clock()
        self._next = self._began + (PATIENCE_SECONDS if self._redraws else LINE_SECONDS)
        self._name, self._total, self._done = "", 0, 0

    def phase(self, name: str, total: int) -> None:
        """Start a phase of `total` steps, 0 if unknown."""
        self._name, self._total, self._done = PHASES.get(name, name), total, 0
        self._began = self._clock()
        self.advance(0)

    def advance(self, count: int) -> None:
        """Count more finished steps, and show how far it is if that was not shown lately."""
        self._done += count
        now = self._clock()
        if self._quiet or now < self._next:
            return
        line = progress_line(self._name, self._done, self._total, now - self._began)
        if self._redraws:
            streams.redraw(line)
            self._is_drawn = True
        else:
            streams.say(line)
        self._next = now + (PATIENCE_SECONDS / 5 if self._redraws else LINE_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_drawn:
            streams.redraw()


def progress_line(name: str, done: int, total: int, seconds: float) -> str:
    """`reading files: 1,200 of 5,000, 240/s, 16 s left`."""
    line = f"{name}: {done:,}" + (f" of {total:,}" if total else "")
    if seconds <= 0 or not done:
        return line
    rate = done / seconds
    remaining = f", {(total - done) / rate:.0f} s left" if total > done else ""
    return f"{line}, {rate:,.0f}/s{remaining}"


NOTHING_FOUND = 1
PARTLY_DONE = 3

SPELLING = Spelling(
    min_score="--min-score 0", max_tokens="--max-tokens", limit="--limit", expand="`satchel expand HANDLE`",
    remember="`satchel remember TEXT`", experience="`satchel experience start`",
    resolve="`satchel experience resolve --session {session} ...`",
    forget="`satchel memory forget {old}` keeps only the new one", restore="`satchel memory restore ID`",
    supersede="`satchel memory supersede {old} {new}` links them",
)  # fmt: skip
"""The spelling of options and commands on the command line."""


class Interrupt:
    """While the block runs, SIGINT, SIGTERM and SIGHUP set a flag; a second one raises KeyboardInterrupt.

    The first asks the work to stop and keep what is done, and calls `then`.
    """

    def __init__(self, then: Callable[[], object] = lambda: None) -> None:
        self._then = then
        self._received = 0
        self._handled = ExitStack()

    def requested(self) -> bool:
        """Return whether to stop. Cheap, and callable from any thread."""
        return self._received != 0

    def received(self) -> int:
        """Return the number of the signal, 0 without one."""
        return self._received

    @property
    def exit_code(self) -> int:
        """128 plus the number of the signal, 130 for Ctrl-C; 0 without a signal."""
        return 128 + self._received if self._received else 0  # first exit code

    def end(self) -> None:
        """Raise click's Exit if a signal arrived."""
        if self._received:
            raise click.exceptions.Exit(self.exit_code)

    def _handle(self, number: int) -> None:
        if self._received:
            raise KeyboardInterrupt
        self._received = number
        self._then()

    def __enter__(self) -> Self:
        self._handled.enter_context(signals_to(self._handle))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._handled.close()
        if self._received and isinstance(value, LockedError):  # interrupted while it waited for the lock
            raise KeyboardInterrupt from value


class Terminal(Caller, frozen=True):
    """The command line as a caller: a refresh shows progress and ends with the first Ctrl-C."""

    interrupt: Interrupt = field(default_factory=Interrupt)
    color: str = ""

    def refresh(self, engine: Satchel, workspaces: Sequence[str] = (), *, files_first: bool = False) -> list[Failure]:
        """Bring the index up to date; returns the failures for the answer. Raises click's Exit if interrupted."""
        started = time.monotonic()
        with Watch(quiet=streams.is_recorded()) as progress:
            notes = engine.refresh(
                progress=progress, should_stop=self.should_stop, at_once=True, workspaces=workspaces,
                files_first=files_first,
            )  # fmt: skip
        seconds = time.monotonic() - started
        if seconds > PATIENCE_SECONDS:
            done = "brought the index up to date in"
            if self.interrupt.requested():
                done = "stopped updating the index after"
            elif any(note.source == UNFINISHED for note in notes):
                done = "waited for the index for"
            streams.say(f"{done} {seconds:.1f} s", color=self.color, dim=True)
        self.interrupt.end()
        if self.should_stop():
            raise StoppedError("nobody waits for the answer any more")
        return notes


@contextmanager
def opened(
    invocation: Invocation, path: str = ".", *, quiet: bool = False, settings: Mapping[str, Any] | None = None
) -> Iterator[Satchel]:
    """Yield the engine for `--root` or the root around `path`. Problems of settings are noted unless `quiet`.

    `settings` override those of files and environment, for commands that no resident process answers.
    """
    open_engine = invocation.open_engine or partial(_engine().open, settings=settings)
    with open_engine(path, root=invocation.root) as satchel:
        invocation.color = invocation.color or satchel.settings.ui_color
        if not quiet:
            for failure in satchel.opened.loaded.notes:
                streams.failure(failure, color=invocation.color)
        yield satchel


def _engine() -> type[Satchel]:
    """Return the engine class, imported without garbage collection, which would take a tenth of a question's time."""
    is_first = "satchel.engine" not in sys.modules and gc.isenabled()
    if is_first:
        gc.disable()
    try:
        from satchel.engine import Satchel
    finally:
        if is_first:
            gc.freeze()
            gc.enable()
    return Satchel


def collect_seldom() -> None:
    """Set up the memory of a process that answers many questions, after its engine was opened.

    What is loaded by now stays, so it is not looked at again. Questions make few cycles and many objects that live as
    long as an answer, for which the thresholds of Python start a collection every few milliseconds.
    Measured by `benchmarks/http_load.py`: 13 % less processor time for a warm question. Threads share two pools of free
    memory, where each would have its own: 8 MB less with sixteen questions at once.
    """
    import ctypes  # here, because a command that answers once needs none

    gc.freeze()
    gc.set_threshold(*COLLECTED_AFTER)
    with suppress(OSError, AttributeError):  # another allocator than that of glibc
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 2)


@contextmanager
def asking(invocation: Invocation) -> Iterator[tuple[Satchel, Terminal]]:
    """Yield the engine, and this terminal as the caller of operations; the first Ctrl-C stops resumable work."""
    with Interrupt() as interrupt, opened(invocation) as satchel:
        try:
            should_stop = invocation.should_stop or interrupt.requested
            yield (
                satchel,
                Terminal(
                    None,
                    should_stop,
                    SPELLING,
                    shows_data=invocation.as_json,
                    interrupt=interrupt,
                    color=invocation.color,
                ),
            )
        except StoppedError:
            interrupt.end()
            raise


def ask(invocation: Invocation, operation: Operation, arguments: Mapping[str, Any]) -> Answered:
    """Return the answer of an operation for the root of this command. Arguments are checked before opening it."""
    if invocation.workspace and any(parameter.name == "workspace" for parameter in operation.parameters):
        invocation.asks_several, arguments = True, {**arguments, "workspace": invocation.workspace}
    checked = operation.checked(arguments)
    if not operation.reads_tree:
        with opened(invocation) as satchel:
            return operation.run(satchel, checked, Caller(spelling=SPELLING))
    with asking(invocation) as (satchel, terminal):
        return operation.run(satchel, checked, terminal)


def show(invocation: Invocation, answered: Answered, *, strict: bool = False) -> int:
    """Print the answer or its envelope, and notes and failures on standard error; returns the exit code.

    A counted text is printed byte for byte and names its failures itself. `strict` is 3 after a failure, 1 without
    results.
    """
    envelope, text = answered.envelope, answered.text
    is_counted = "usage" in envelope and "handles" not in envelope
    if invocation.as_json:
        streams.write_json(envelope)
    elif "usage" in envelope:
        streams.write_text(painted(text, context_styles, invocation.color))
    elif text:
        streams.write_line(painted(text, hit_styles, invocation.color).removesuffix("\n"))
    for note in answered.notes:
        streams.note(note, color=invocation.color)
    if not invocation.as_json and not (is_counted and text):
        for row in envelope.get("failures", ()):
            streams.failure(Failure(**row), color=invocation.color)
    return _exit_code(envelope, strict=strict)


def _exit_code(envelope: Mapping[str, Any], *, strict: bool) -> int:
    if not strict:
        return 0
    if envelope["failures"]:
        return PARTLY_DONE
    is_something = envelope["items"] or envelope.get("shown_before") or envelope["meta"].get("reached")
    return 0 if is_something else NOTHING_FOUND


Styles = Callable[[str], Iterable[tuple[str, Mapping[str, Any]]]]
"""A function from a text to its parts, each with the style of click that it has on a terminal."""

_FENCE = pattern(r"`{3,}|~{3,}")
_HIT = pattern(r"^(\S+)(  [01]\.\d\d)(.*)$", re.DOTALL)
_LABEL = pattern(r"^([a-z ]{13} )(.*)$", re.DOTALL)


def painted(text: str, styles: Styles, color: str) -> str:
    """Return a text with colours, if standard output is a terminal or --color always; it is counted without them."""
    if not streams.wants_color(sys.stdout, color):
        return text
    return "".join(
        f"{click.style(plain, **style)}{part[len(plain) :]}" if style and (plain := part.rstrip("\n")) else part
        for part, style in styles(text)
    )


def context_styles(text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the lines of a context: headings outside of code are bold, fences are dim, line numbers yellow."""
    fence = ""
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if mark and (not fence or line.strip() == fence):
            fence = "" if fence else mark[0]
            yield line, {"dim": True}
        else:
            is_place = bool(fence) and line.startswith("@@")
            heading = {"bold": True, "fg": "cyan"} if line.startswith("#") and not fence else {}
            yield line, {"fg": "yellow"} if is_place else heading


def hit_styles(text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the parts of matches: the place in colour, the relevance dim."""
    for line in text.splitlines(keepends=True):
        place, score, rest = hit.groups() if (hit := _HIT.match(line)) else ("", "", line)
        yield from ((place, {"fg": "cyan"}), (score, {"dim": True}), (rest, {}))


def label_styles(text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the parts of lines that begin with a label of 13 characters, which is bold."""
    for line in text.splitlines(keepends=True):
        label, rest = row.groups() if (row := _LABEL.match(line)) else ("", line)
        yield from ((label, {"bold": True}), (rest, {}))


def report(
    invocation: Invocation,
    data: Mapping[str, Any],
    lines: Iterable[str] = (),
    *,
    nothing: str = "",
    message: str = "",
    failures: Iterable[Failure] = (),
    styles: Styles | None = None,
) -> None:
    """Print `data` with --json; else the lines, and on standard error `message` and the failures.

    `styles` are those of the lines on a terminal, `nothing` is a note for an answer without lines.
    """
    if invocation.as_json:
        streams.write_json(data)
        return
    rows = [*lines]
    if rows:
        streams.write_line(painted("\n".join(rows), styles, invocation.color) if styles else "\n".join(rows))
    elif nothing:
        streams.note(nothing, color=invocation.color)
    if message:
        streams.say(message, color=invocation.color)
    for failure in failures:
        streams.failure(failure, color=invocation.color)
