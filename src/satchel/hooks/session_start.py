"""Events of a session: its brief at the start, its checkpoint after a compaction, its transcript at the end."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from satchel.hooks import background, hosts
from satchel.hooks.event_context import Answer, EventContext, counted, nothing
from satchel.hooks.hosts import Start
from satchel.system import hook_log
from satchel.tokens import counter

DUPLICATE_SECONDS = 10.0
"""Time in which a second equal event is a duplicate: hooks can be configured in two places."""

BRIEF = "brief"

CHECKPOINT_CHARACTERS = 2_400
"""Length limit of the checkpoint, a quarter of the limit of an answer."""

STATEMENT_CHARACTERS = 300
"""Length limit of each statement of the active experience: `satchel experience show` prints all of it."""

CHECKPOINT_TITLE = "# Before the conversation was compacted"
CHECKPOINT_NOTE = "What this session had been about; notes to go on from, not instructions."

NEVER, COMPACTION, ALWAYS = "never", "compaction", "always"
"""When a conversation is stored: never, when the host shortens it, or also when its session ends."""


def answer(hook: EventContext) -> Answer:
    """Return the brief once per session, and again after the host has emptied or shortened the conversation."""
    start = hook.event.start or Start.STARTUP
    begins_anew = start in (Start.CLEAR, Start.COMPACT)
    if start == Start.FORK:
        hook.claim(BRIEF)
        return nothing("the session is a copy: it has what the other one had")
    is_due = hook.claim(f"{BRIEF}:{start}", DUPLICATE_SECONDS) if begins_anew else hook.claim(BRIEF)
    if not is_due:
        return nothing("the session has its brief")
    if begins_anew:
        forget(hook, everything=start == Start.CLEAR)
    if hook.session is not None:
        hook.session.prune()
    notice = ""
    if hook.is_project:
        is_new = not hook.has_index
        hook.refresh()
        notice = "satchel is indexing this folder; prompts get context as soon as it is done" if is_new else ""
    before = checkpoint(hook) if start == Start.COMPACT else ""
    return hook.packed(lambda tokens: _packed(hook, before, tokens, notice), hook.settings.hooks_start_tokens)


def forget(hook: EventContext, *, everything: bool) -> None:
    """Allow items that the model has lost to be sent again. After a clear the whole state is reset."""
    hook.engine.forget_session(hook.event.session)
    if hook.session is not None:
        hook.session.forget("failure:")
        if everything:
            hook.session.restart()


def checkpoint(hook: EventContext) -> str:
    """List the last prompts, the changed files and the last failed check; empty if none is recorded."""
    if hook.session is None:
        return ""
    kept = hook.session.read()
    lines = [f"- asked: {line}" for line in kept["prompts"]]
    if kept["files"]:
        lines.append(f"- changed: {', '.join(kept['files'])}")
    if kept["failure"]:
        lines.append(f"- failing: {kept['failure']}")
    room = CHECKPOINT_CHARACTERS
    chosen: list[str] = []
    for line in reversed(lines):  # the last lines matter most
        shown = line.replace("`", "'")[:room]
        room -= len(shown) + 1
        if room < 0:
            break
        chosen.append(shown)
    return "\n".join([CHECKPOINT_TITLE, "", CHECKPOINT_NOTE, "", *reversed(chosen)]) if chosen else ""


def active_experience(hook: EventContext) -> str:
    """List the statements of the active experience; empty if there is none."""
    active = hook.active
    if active is None:
        return ""
    statements = {"goal": active.goal, "hypothesis": active.hypothesis, "action": active.action,
            "prediction": active.prediction}  # fmt: skip
    lines = [f"- {name}: {hook.safe_line(text, STATEMENT_CHARACTERS)}" for name, text in statements.items()]
    head = f"## Active experience {active.id} ({active.domain}, {active.strategy})"
    return "\n".join([head, *lines, "- resolve it when its outcome is known (satchel experience resolve)"])


def _packed(hook: EventContext, before: str, tokens: int, notice: str) -> Answer:
    if tokens <= 0:
        return nothing("hooks.start_tokens is 0", notice)
    active = active_experience(hook)
    count = counter(hook.settings.budget_tokenizer).count
    rest = max(tokens - count(before) - count(active), 1)
    request = hook.engine.brief_request(**hook.options(max_tokens=rest))
    context = hook.engine.unrecorded(request)
    brief = context.text if context.items else ""
    text = "\n\n".join(filter(None, (before, active, brief)))
    if not text:
        return nothing("nothing is remembered here yet", notice)
    contexts = (context,) if brief else ()
    parts = ("what was before" if before else "", "the active experience" if active else "",
             counted(len(context.items)) if brief else "")  # fmt: skip
    shown = ", ".join(filter(None, parts))
    notice = notice or f"satchel: {shown} (satchel hook log shows them)"
    return Answer(
        hook_log.INJECTED, shown, text, notice, count(text), contexts, (partial(hook.engine.deliver, request, context),)
    )


def before_compaction(hook: EventContext) -> Answer:
    """Store the conversation. Prompts and changes are stored at every event, and shown after the compaction."""
    if not hook.claim("save", DUPLICATE_SECONDS):
        return nothing("the conversation was saved a moment ago")
    return _captured(hook, is_wanted=hook.settings.hooks_capture != NEVER)


def end(hook: EventContext) -> Answer:
    """Store the conversation if the settings demand it at the end of every session."""
    if not hook.claim("end", DUPLICATE_SECONDS):
        return nothing("the end of the session was told a moment ago")
    return _captured(hook, is_wanted=hook.settings.hooks_capture == ALWAYS)


def _captured(hook: EventContext, *, is_wanted: bool) -> Answer:
    """Import the transcript in the background: it may have megabytes, and each line is redacted."""
    if not is_wanted:
        return nothing(f"hooks.capture is {hook.settings.hooks_capture}")
    event = hook.event
    if event.host != hosts.CLAUDE_CODE.name or not event.transcript:
        return Answer(hook_log.SAVED, "what was asked and changed; the host names no transcript that can be read")
    path = Path(event.transcript).expanduser()
    if not path.is_file():
        return nothing("the transcript is not there")
    background.capture(hook.places.root, str(path.absolute()), hook.folders.state)
    return Answer(hook_log.SAVED, "the conversation")
