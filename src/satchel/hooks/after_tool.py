"""Events after a tool: edited files are indexed again, and a failed check is answered with similar failures."""

from __future__ import annotations

import re
from hashlib import blake2b

from satchel.hooks.event_context import Answer, EventContext, counted, injected, nothing
from satchel.system import hook_log
from satchel.text import wording
from satchel.vocabulary import Domain

EDITING = frozenset({
    "edit", "write", "multiedit", "notebookedit", "apply_patch", "str_replace", "create", "delete", "search_replace",
    "edit_file", "write_file", "create_file", "str_replace_editor", "str_replace_based_edit_tool",
})  # fmt: skip
"""Tools of hosts that change files, in lower case."""

SIGNATURE_LINES = 12
"""Number of significant lines that identify a failure."""

_CHECKING = wording("command that checks")

_TELLING = re.compile(
    r"^E\s|\bFAILED\b|\b[Ff]ail(?:ed|ure)?\b|(?:Error|Exception|Panic|Warning)\b|\berror(?:\[|:)|panicked|\*\*\*|undefined"
    r"|cannot find|not found|expected|assert"
)
_VARYING = re.compile(r"0x[0-9a-f]+|\b\d+(?:\.\d+)?\s?(?:ms|s|sec|seconds)\b|(?:/[\w.@+-]+)+/|\d+|\s+", re.IGNORECASE)
_FAILED_COUNT = wording("failures counted")


def answer(hook: EventContext) -> Answer:
    """Return similar failures if a check has failed, and nothing after other tools."""
    event = hook.event
    if event.files and event.tool.lower() in EDITING:
        return _edited(hook)
    if not event.command:
        return nothing("the tool neither edits nor runs a command")
    if not is_check(event.command):
        return nothing("the command tests and builds nothing")
    has_failed = event.failed or shows_failure(event.output)
    hook.note_failure(event.command if has_failed else "")
    if not has_failed:
        return nothing("the command succeeded")
    if not event.injects:
        return nothing("the host takes no context after this tool")
    if not event.output.strip():
        return nothing("the command said nothing")
    if not hook.claim(f"failure:{signature(event.output)}"):
        return nothing("the session knows this failure")
    is_first = hook.claim("premortem")
    # Tokens of context after a command that failed, as many as a premortem has: it comes once for each failure.
    return hook.packed(lambda tokens: _packed(hook, tokens, is_first=is_first), 1_500)


def _edited(hook: EventContext) -> Answer:
    if hook.session is not None:
        hook.session.note_files([hook.relative(path) for path in hook.event.files])
    if not hook.is_project:
        return nothing("this folder is not a project: nothing is indexed unasked")
    hook.refresh()
    return Answer(hook_log.SAVED, "the index is brought up to date")


def _packed(hook: EventContext, tokens: int, *, is_first: bool) -> Answer:
    """Pack similar failures; for the first failure of a session also a premortem."""
    engine, output = hook.engine, hook.event.output
    answers = []
    if is_first:
        active = hook.active
        domain, strategy = (active.domain, active.strategy) if active is not None else (Domain.DEBUGGING, None)
        # Share of the budget for a premortem at the first failure of a session. The failure itself gets the rest.
        share = max(int(tokens * 0.35), 1)
        premortem = engine.premortem_request(domain, strategy, **hook.options(max_tokens=share))
        answers.append((premortem, engine.unrecorded(premortem)))
    rest = max(tokens - sum(context.usage.used for _, context in answers if context.items), 1)
    told = [item.id.partition("::")[0] for _, context in answers for item in context.items]
    brief = engine.brief_request(output, **hook.options(max_tokens=rest, exclude=told))
    answers.append((brief, engine.unrecorded(brief)))
    shown = [(request, context) for request, context in answers if context.items]
    if not shown:
        has_it = any(context.shown_before for _, context in answers)
        return nothing("the session has what is known about it" if has_it else "nothing like it is known")
    notice = f"satchel: {counted(sum(len(context.items) for _, context in shown))} about this failure"
    return injected(hook, "after a failure", shown, notice)


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
