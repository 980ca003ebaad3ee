"""Answers one event and logs it; errors give no answer."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from satchel.config import Folders, load_settings
from satchel.errors import NoIndexError, SatchelError
from satchel.hooks import answers, hosts
from satchel.hooks.event_context import Answer, AnsweringProcess, EventContext, nothing, session_mark, written
from satchel.hooks.event_input import parse, receive
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


def work(arguments: Sequence[str], deadline: float, raw: bytes | None = None) -> tuple[str, bytes]:
    """Answer the event `raw`, or that on standard input: a line for standard error and the text for the host."""
    began = time.monotonic()
    word, root = _words(arguments)
    kind = hosts.event_of(word)
    if kind is None:
        message = f"give one of {', '.join(Event)}"
        return f"unknown event {word!r}: {message}" if word else message, b""
    event = HookEvent(kind, "", "")
    try:
        event = hosts.read(parse(receive(0, deadline) if raw is None else raw), kind)
        answer, text = answered(event, root, os.environ)
    except Exception as error:  # noqa: BLE001 - an error must not block the prompt; it is logged
        reason = sanitize.line(_description(error), hook_log.REASON_CHARACTERS)
        _log(event, Answer(hook_log.FAILED, reason), 0, began)
        return reason, b""
    return _log(event, answer, len(text), began), text.encode("utf-8")


def resident_work(arguments: Sequence[str], raw: bytes, process: AnsweringProcess) -> list[bytes]:
    """Answer an event in a resident process, as `work` does. Errors are raised: the client then works itself."""
    began = time.monotonic()
    word, root = _words(arguments)
    kind = hosts.event_of(word)
    if kind is None:
        raise ValueError(f"unknown event {word!r}")
    event = hosts.read(parse(raw), kind)
    if event.folder and not Path(event.folder).is_absolute():
        raise ValueError("the folder of the event depends on the process")
    if root is not None:
        root = str(process.folder / Path(root).expanduser())
    answer, text = answered(event, root, os.environ, process)
    return [_log(event, answer, len(text), began).encode("utf-8", "replace"), text.encode("utf-8")]


def answered(
    event: HookEvent, root: str | None, environ: Mapping[str, str], process: AnsweringProcess | None = None
) -> tuple[Answer, str]:
    """Return the answer to an event, and the text for the host."""
    process = process or AnsweringProcess()
    folders = Folders.from_environment(environ)
    folder = process.folder / event.folder
    try:
        places = locate(folder, root, folders)
    except NoIndexError as error:
        return nothing(str(error)), ""
    # Answers compare words alone: a model would take longer to load than a prompt may wait.
    loaded = load_settings(places.root, environ, {"embed.provider": "off"}, folders)
    if not loaded.settings.hooks_enabled:
        return nothing("hooks are switched off (satchel hook on)"), ""
    hook = EventContext(event, folders, loaded, places, environ, process)
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
