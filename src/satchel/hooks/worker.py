"""Answers one event and logs it; errors give no answer.

After a tool, edited files are indexed again, and a failed check is answered with similar failures.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

from msgspec.structs import replace

from satchel.config import Folders, LoadedSettings, load_settings
from satchel.errors import NoIndexError, SatchelError
from satchel.hooks import answers, edits, event_context, hosts
from satchel.hooks.hosts import Event, HookEvent
from satchel.safety import sanitize
from satchel.system import telemetry
from satchel.system.locations import locate
from satchel.text import pattern, wording

PREMORTEM_SHARE = 0.35
"""Share of the budget for a premortem at the first failure of a session. The failure itself gets the rest."""

SIGNATURE_LINES = 12
"""Number of significant lines that identify a failure."""

_CHECKING = wording("command that checks")

_TELLING = pattern(
    r"^E\s|\bFAILED\b|\b[Ff]ail(?:ed|ure)?\b|(?:Error|Exception|Panic|Warning)\b|\berror(?:\[|:)|panicked|\*\*\*|undefined"
    r"|cannot find|not found|expected|assert"
)
_VARYING = pattern(r"0x[0-9a-f]+|\b\d+(?:\.\d+)?\s?(?:ms|s|sec|seconds)\b|(?:/[\w.@+-]+)+/|\d+|\s+", re.IGNORECASE)
_FAILED_COUNT = wording("failures counted")


def after_tool(hook: event_context.EventContext) -> event_context.Answer:
    """Return similar failures if a check has failed, and nothing after other tools."""
    event = hook.event
    if edits.is_edit(event):
        return _edited(hook)
    if edits.is_look(event) and event.injects and not event.injects_before_edits:
        return edits.lessons(hook)
    if not event.command:
        return event_context.nothing("the tool neither edits nor runs a command")
    if not is_check(event.command):
        return event_context.nothing("the command tests and builds nothing")
    if not (event.failed or shows_failure(event.output)):
        hook.note_failure("")
        return event_context.nothing("the command succeeded")
    hook.note_failure(event.command)
    if not event.injects:
        return event_context.nothing("the host takes no context after this tool")
    if not event.output.strip():
        return event_context.nothing("the command said nothing")
    if not hook.claim(f"failure:{signature(event.output)}"):
        return event_context.nothing("the session knows this failure")
    is_first = hook.claim("premortem")
    # Tokens of context after a command that failed, as many as a premortem has: it comes once for each failure.
    return hook.packed(lambda tokens: _packed(hook, tokens, is_first=is_first), 1_500)


def _edited(hook: event_context.EventContext) -> event_context.Answer:
    if hook.session is not None:
        hook.session.note_files([hook.relative(path) for path in hook.event.files])
    if not hook.is_project:
        return event_context.nothing("this folder is not a project: nothing is indexed unasked")
    hook.refresh()
    edits.bind_experience(hook)
    return event_context.Answer(telemetry.SAVED, "the index is brought up to date")


def _packed(hook: event_context.EventContext, tokens: int, *, is_first: bool) -> event_context.Answer:
    """Pack similar failures; for the first failure of a session also a premortem, if it is known for which work."""
    engine, output = hook.engine, hook.event.output
    answers = []
    if is_first and (active := hook.active) is not None:
        domain, strategy = active.domain, active.strategy
        share = max(int(tokens * PREMORTEM_SHARE), 1)
        premortem = engine.premortem_request(domain, strategy, **hook.options(max_tokens=share))
        answers.append((premortem, engine.answers.unrecorded(premortem)))
    rest = max(tokens - sum(context.usage.used for _, context in answers if context.items), 1)
    told = [item.id.partition("::")[0] for _, context in answers for item in context.items]
    brief = engine.brief_request(output, **hook.options(max_tokens=rest, exclude=told))
    answers.append((brief, engine.answers.unrecorded(brief)))
    shown = [(request, context) for request, context in answers if context.items]
    if not shown:
        has_it = any(context.shown_before for _, context in answers)
        return event_context.nothing("the session has what is known about it" if has_it else "nothing like it is known")
    notice = f"satchel: {event_context.counted(sum(len(context.items) for _, context in shown))} about this failure"
    return event_context.injected(hook, "after a failure", shown, notice)


def is_check(command: str) -> bool:
    """Return whether a shell command tests, builds or checks something."""
    return _CHECKING.search(command) is not None


def shows_failure(output: str) -> bool:
    """Return whether an output reports failed tests or a broken build: a pipe may hide the exit code."""
    return _FAILED_COUNT.search(output) is not None


def signature(output: str) -> str:
    """Return 16 hexadecimal digits that are equal for failures whose lines differ only in numbers, times and places."""
    lines = [line for line in output.splitlines() if _TELLING.search(line)] or output.splitlines()[-SIGNATURE_LINES:]
    plain = dict.fromkeys(_VARYING.sub(" ", line).strip() for line in lines)
    chosen = sorted(filter(None, plain))[:SIGNATURE_LINES]
    return blake2b("\n".join(chosen).encode("utf-8", "replace"), digest_size=8).hexdigest()


HANDLERS: Mapping[Event, Callable[[event_context.EventContext], event_context.Answer]] = {
    Event.SESSION_START: answers.at_start,
    Event.SUBAGENT_START: answers.at_subagent_start,
    Event.PROMPT: answers.at_prompt,
    Event.BEFORE_TOOL: edits.before_tool,
    Event.AFTER_TOOL: after_tool,
    Event.BEFORE_COMPACTION: answers.before_compaction,
    Event.SESSION_END: answers.at_end,
}


def work(arguments: Sequence[str], raw: bytes) -> tuple[str, bytes]:
    """Answer the event `raw`: a line for standard error and the text for the host."""
    began = time.monotonic()
    word, root = _words(arguments)
    kind = hosts.event_of(word)
    if kind is None:
        message = f"give one of {', '.join(Event)}"
        return f"unknown event {word!r}: {message}" if word else message, b""
    event = HookEvent(kind, "", "")
    try:
        event = hosts.read(hosts.parse(raw), kind)
        answer, text = answered(event, root, os.environ, project=_option(arguments, "--project"))
    except Exception as error:  # noqa: BLE001 - an error must not block the prompt; it is logged
        reason = sanitize.line(_description(error), telemetry.REASON_CHARACTERS)
        _log(event, event_context.Answer(telemetry.FAILED, reason), 0, began)
        return reason, b""
    return _log(event, answer, len(text), began), text.encode("utf-8")


def resident_work(arguments: Sequence[str], raw: bytes, process: event_context.AnsweringProcess) -> list[bytes]:
    """Answer an event in a resident process, as `work` does. Errors are raised: the client then works itself."""
    began = time.monotonic()
    word, root = _words(arguments)
    kind = hosts.event_of(word)
    if kind is None:
        raise ValueError(f"unknown event {word!r}")
    event = hosts.read(hosts.parse(raw), kind)
    if event.folder and not Path(event.folder).is_absolute():
        raise ValueError("the folder of the event depends on the process")
    if root is not None:
        root = str(process.folder / Path(root).expanduser())
    answer, text = answered(event, root, os.environ, process, _option(arguments, "--project"))
    return [_log(event, answer, len(text), began).encode("utf-8", "replace"), text.encode("utf-8")]


def answered(
    event: HookEvent,
    root: str | None,
    environ: Mapping[str, str],
    process: event_context.AnsweringProcess | None = None,
    project: str = "",
) -> tuple[event_context.Answer, str]:
    """Return the answer to an event, and the text for the host.

    An event from a folder outside of the `project` that the host names belongs to the project.
    """
    process = process or event_context.AnsweringProcess()
    folders = Folders.from_environment(environ)
    folder = process.folder / event.folder
    if Path(project).is_absolute() and Path(project).is_dir() and not folder.resolve().is_relative_to(project):
        folder = Path(project)
    try:
        places = locate(folder, root, folders)
    except NoIndexError as error:
        return event_context.nothing(str(error)), ""
    loaded = quick(load_settings(places.root, environ, {}, folders))
    if not loaded.settings.hooks_enabled:
        return event_context.nothing("hooks are switched off (satchel config set hooks.enabled true)"), ""
    hook = event_context.EventContext(event, folders, loaded, places, environ, process)
    try:
        answer = HANDLERS[event.kind](hook)
        return answer, event_context.written(event, answer)
    finally:
        hook.close()


def quick(loaded: LoadedSettings) -> LoadedSettings:
    """Return settings without a model, which would take longer to load than a prompt may wait: words and the table."""
    provider = "off" if loaded.settings.embed_provider == "off" else "static"
    return replace(loaded, settings=replace(loaded.settings, embed_provider=provider))


def _words(arguments: Sequence[str]) -> tuple[str, str | None]:
    """Return the event, and the root if one is named: `prompt --root PATH`, `--root=PATH prompt`."""
    word, root = "", None
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if name == "--root":
            root = value if equals else next(rest, None)
        elif name == "--project":
            next(rest, None)
        elif not argument.startswith("-") and not word:
            word = argument
    return word, root


def _option(arguments: Sequence[str], name: str) -> str:
    """Return the value after an option, empty without it."""
    return arguments[arguments.index(name) + 1] if name in arguments[:-1] else ""


def _description(error: Exception) -> str:
    """Describe an error; an unexpected one with the place where it was raised."""
    place = ""
    if not isinstance(error, SatchelError) and error.__traceback__ is not None:
        trace = error.__traceback__
        while trace.tb_next is not None:
            trace = trace.tb_next
        place = f" ({Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno})"
    return f"{type(error).__name__}: {error}{place}"


def _log(event: HookEvent, answer: event_context.Answer, characters: int, began: float) -> str:
    details = {
        "host": event.host,
        "session": event_context.session_mark(event.session)[:8] if event.session else "",
        "folder": sanitize.line(event.folder),
        "tokens": answer.tokens,
        "characters": characters,
        "items": [*answer.items()],
    }
    milliseconds = (time.monotonic() - began) * 1000
    return telemetry.record_hook(str(event.kind), answer.outcome, answer.reason, milliseconds, details)


def log_failure(arguments: Sequence[str], reason: str, milliseconds: float) -> None:
    """Add the entry of an event whose worker could not write its own."""
    event = hosts.event_of(_words(arguments)[0])
    name = str(event) if event is not None else " ".join(arguments)[:40]
    telemetry.record_hook(name, telemetry.FAILED, reason, milliseconds)
