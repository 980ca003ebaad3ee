"""Reads one event, answers it and logs it; errors give no answer.

Not every host closes standard input, so a complete object ends an event.
"""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from satchel.config import Folders, load_settings
from satchel.errors import NoIndexError, SatchelError
from satchel.hooks import answers, hosts
from satchel.hooks.event_context import Answer, EventContext, nothing, session_mark, written
from satchel.hooks.hosts import Event, HookEvent
from satchel.safety import sanitize
from satchel.system import hook_log
from satchel.system.locations import locate


def _after_tool(hook: EventContext) -> Answer:
    from satchel.hooks import after_tool  # imported here, because a prompt does not need it

    return after_tool.answer(hook)


HANDLERS: Mapping[Event, Callable[[EventContext], Answer]] = {
    Event.SESSION_START: answers.at_start,
    Event.PROMPT: answers.at_prompt,
    Event.AFTER_TOOL: _after_tool,
    Event.BEFORE_COMPACTION: answers.before_compaction,
    Event.SESSION_END: answers.at_end,
}

MOST_BYTES = 16_000_000
"""Size limit of an event: a tool that wrote a large file sends all of it."""

SILENCE_SECONDS = 0.3
"""Time after which the event of a silent host is complete."""

PAUSE_SECONDS = 0.01
"""Pause of the host after which the object may be complete and is checked."""

_CHUNK = 1 << 20


def work(arguments: Sequence[str], deadline: float) -> tuple[str, bytes]:
    """Answer the event on standard input. Returns a line for standard error, and what to write for the host.

    `arguments` are the event, and options of the command line. Errors are logged, not raised.
    """
    began = time.monotonic()
    word, root = _words(arguments)
    kind = hosts.event_of(word)
    if kind is None:
        message = f"give one of {', '.join(Event)}"
        return f"unknown event {word!r}: {message}" if word else message, b""
    event = HookEvent(kind, "", "")
    try:
        event = hosts.read(parse(receive(0, deadline)), kind)
        answer, text = answered(event, root, os.environ)
    except Exception as error:  # noqa: BLE001 - an error must not block the prompt; it is logged
        reason = sanitize.line(_description(error), hook_log.REASON_CHARACTERS)
        _log(event, Answer(hook_log.FAILED, reason), 0, began)
        return reason, b""
    return _log(event, answer, len(text), began), text.encode("utf-8")


def answered(event: HookEvent, root: str | None, environ: Mapping[str, str]) -> tuple[Answer, str]:
    """Return the answer to an event, and the text for the host."""
    folders = Folders.from_environment(environ)
    folder = Path(event.folder) if event.folder else Path.cwd()
    try:
        places = locate(folder, root, folders)
    except NoIndexError as error:
        return nothing(str(error)), ""
    # Answers compare words alone: a model would take longer to load than a prompt may wait.
    loaded = load_settings(places.root, environ, {"embed.provider": "off"}, folders)
    if not loaded.settings.hooks_enabled:
        return nothing("hooks are switched off (satchel hook on)"), ""
    hook = EventContext(event, folders, loaded, places, environ)
    try:
        answer = HANDLERS[event.kind](hook)
        return answer, written(event, answer)
    finally:
        hook.close()


def _words(arguments: Sequence[str]) -> tuple[str, str | None]:
    """Return the event, and the root if one is named: `prompt --root PATH`, `--root=PATH prompt`."""
    word, root = "", None
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if name == "--root":
            root = value if equals else next(rest, None)
        elif not argument.startswith("-") and not word:
            word = argument
    return word, root


def _description(error: Exception) -> str:
    """Describe an error; an unexpected one with the place where it was raised."""
    place = ""
    if not isinstance(error, SatchelError) and error.__traceback__ is not None:
        trace = error.__traceback__
        while trace.tb_next is not None:
            trace = trace.tb_next
        place = f" ({Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno})"
    return f"{type(error).__name__}: {error}{place}"


def _log(event: HookEvent, answer: Answer, characters: int, began: float) -> str:
    return hook_log.record_event(
        str(event.kind),
        answer.outcome,
        answer.reason,
        (time.monotonic() - began) * 1000,
        host=event.host,
        session=session_mark(event.session)[:8] if event.session else "",
        folder=event.folder,
        tokens=answer.tokens,
        characters=characters,
        items=answer.items(),
    )


def log_failure(arguments: Sequence[str], reason: str, milliseconds: float) -> None:
    """Add the entry of an event whose worker could not write its own."""
    event = hosts.event_of(_words(arguments)[0])
    name = str(event) if event is not None else " ".join(arguments)[:40]
    hook_log.record_event(name, hook_log.FAILED, reason, milliseconds)


def receive(descriptor: int, deadline: float) -> bytes:
    """Read to the end of the stream, or of a JSON object that nothing follows; at most `MOST_BYTES`.

    Stops at the deadline (monotonic seconds). Standard input that is closed or a terminal is empty.
    """
    try:
        if os.isatty(descriptor):
            return b""
        return _received(descriptor, deadline)
    except OSError:
        return b""


def _received(descriptor: int, deadline: float) -> bytes:
    received = bytearray()
    quiet_since = time.monotonic()
    while time.monotonic() < deadline and len(received) < MOST_BYTES:
        if select.select([descriptor], [], [], PAUSE_SECONDS)[0]:
            chunk = os.read(descriptor, _CHUNK)
            if not chunk:
                break
            received += chunk
            quiet_since = time.monotonic()
        elif _is_object(received) or time.monotonic() - quiet_since > SILENCE_SECONDS:
            break
    return bytes(received)


def _is_object(received: bytearray) -> bool:
    return received.rstrip().endswith(b"}") and bool(parse(bytes(received)))


def parse(received: bytes) -> dict[str, Any]:
    """Return the object that was sent; empty for anything else."""
    try:
        value = json.loads(received.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
