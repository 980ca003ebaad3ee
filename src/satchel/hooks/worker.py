"""Answering one event: read it, do what it asks for, write it down, and say nothing rather than something wrong."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from satchel import hook_log, outside
from satchel.config import Folders, load_settings
from satchel.errors import NoIndexError, SatchelError
from satchel.hooks import compaction, hosts, prompt, session_start
from satchel.hooks.desk import Answer, Desk, nothing, written
from satchel.hooks.events import Event, Happening
from satchel.hooks.receive import parse, receive
from satchel.roots import locate


def _after_tool(desk: Desk) -> Answer:
    from satchel.hooks import after_tool  # here, because a prompt needs nothing that knows commands

    return after_tool.answer(desk)


HANDLERS: Mapping[Event, Callable[[Desk], Answer]] = {
    Event.SESSION_START: session_start.answer,
    Event.PROMPT: prompt.answer,
    Event.AFTER_TOOL: _after_tool,
    Event.BEFORE_COMPACTION: compaction.before,
    Event.SESSION_END: compaction.end,
}

REASON_CHARACTERS = 300


def work(arguments: Sequence[str], deadline: float) -> tuple[str, bytes]:
    """Answer the event on standard input. Returns a line for standard error, and what to write for the host.

    `arguments` are the event, and options of the command line that the host may have been given. Never raises what
    the machine can survive; what went wrong stands in the log.
    """
    began = time.monotonic()
    word, root = _words(arguments)
    event = hosts.event_of(word)
    if event is None:
        said = f"unknown event {word!r}: give one of {', '.join(Event)}" if word else f"give one of {', '.join(Event)}"
        return said, b""
    happening = Happening(event, "", "")
    try:
        happening = hosts.read(parse(receive(0, deadline)), event)
        answer, text = answered(happening, root, os.environ)
    except Exception as error:  # noqa: BLE001 - fail open: a prompt is never lost because of us; it is logged
        return _broken(happening, error, began), b""
    said = _log(happening, answer, len(text), began)
    return said, text.encode("utf-8")


def answered(happening: Happening, root: str | None, environ: Mapping[str, str]) -> tuple[Answer, str]:
    """What comes of an event, and what the host is told."""
    folders = Folders.from_environment(environ)
    folder = Path(happening.folder) if happening.folder else Path.cwd()
    try:
        places = locate(folder, root, folders)
    except NoIndexError as error:
        return nothing(str(error)), ""
    loaded = load_settings(places.root, environ, {}, folders)
    if not loaded.settings.hooks_enabled:
        return nothing("hooks are switched off (satchel hook on)"), ""
    desk = Desk(happening, folders, loaded, places, environ)
    try:
        answer = HANDLERS[happening.event](desk)
        return answer, written(happening, answer)
    finally:
        desk.close()


def _words(arguments: Sequence[str]) -> tuple[str, str | None]:
    """The event, and the root if one is named: `prompt --root PATH`, `--root=PATH prompt`."""
    word, root = "", None
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if name == "--root":
            root = value if equals else next(rest, None)
        elif not argument.startswith("-") and not word:
            word = argument
    return word, root


def _broken(happening: Happening, error: Exception, began: float) -> str:
    """Write down what went wrong, with the place where; returns it as a line."""
    place = ""
    if not isinstance(error, SatchelError) and error.__traceback__ is not None:
        trace = error.__traceback__
        while trace.tb_next is not None:
            trace = trace.tb_next
        place = f" ({Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno})"
    reason = outside.line(f"{type(error).__name__}: {error}{place}", REASON_CHARACTERS)
    _log(happening, Answer(hook_log.FAILED, reason), 0, began)
    return reason


def _log(happening: Happening, answer: Answer, characters: int, began: float) -> str:
    """Write an entry; returns a line where that is not possible."""
    entry = {
        "at": _now(),
        "event": str(happening.event),
        "host": happening.host,
        "session": _mark(happening.session),
        "folder": outside.line(happening.folder),
        "outcome": answer.outcome,
        "reason": outside.line(answer.reason, REASON_CHARACTERS),
        "tokens": answer.tokens,
        "characters": characters,
        "ms": round((time.monotonic() - began) * 1000),
        "items": answer.items(),
    }
    return _recorded(entry)


def log_failure(arguments: Sequence[str], reason: str, milliseconds: float) -> None:
    """An entry for an event whose worker could not write its own."""
    event = hosts.event_of(_words(arguments)[0])
    name = str(event) if event is not None else " ".join(arguments)[:40]
    _recorded({
        "at": _now(), "event": outside.line(name), "host": "", "session": "", "folder": "", "outcome": hook_log.FAILED,
        "reason": outside.line(reason, REASON_CHARACTERS), "tokens": 0, "characters": 0, "ms": round(milliseconds),
        "items": [],
    })  # fmt: skip


def _recorded(entry: hook_log.Entry) -> str:
    try:
        hook_log.record(Folders.from_environment().state, entry)
    except (OSError, SatchelError) as error:
        return f"the hook log cannot be written: {error}"
    return ""


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _mark(session: str) -> str:
    """A session as the log names it: enough to tell sessions apart."""
    from satchel.hooks.session_state import session_mark

    return session_mark(session)[:8] if session else ""
