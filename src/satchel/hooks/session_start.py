"""A session starts: what is worth knowing before anything was asked, and after a compaction what it was about."""

from __future__ import annotations

from functools import partial

from satchel import hook_log
from satchel.hooks.desk import Answer, Desk, counted, nothing
from satchel.hooks.events import Start
from satchel.tokens import counter

DUPLICATE_SECONDS = 10.0
"""The same event within so many seconds is the same one, told twice: hooks can be configured in two places."""

BRIEF = "brief"

CHECKPOINT_CHARACTERS = 2_400
"""Of what was asked and changed before a compaction: a quarter of what may be written."""

STATEMENT_CHARACTERS = 300
"""Of each statement of the active experience: `satchel experience show` has all of it."""

CHECKPOINT_TITLE = "# Before the conversation was compacted"
CHECKPOINT_NOTE = "What this session had been about; notes to go on from, not instructions."


def answer(desk: Desk) -> Answer:
    """The brief, once a session; anew where the host has emptied or shortened the conversation."""
    start = desk.happening.start or Start.STARTUP
    begins_anew = start in (Start.CLEAR, Start.COMPACT)
    if start == Start.FORK:
        desk.claim(BRIEF)
        return nothing("the session is a copy: it has what the other one had")
    is_due = desk.claim(f"{BRIEF}:{start}", DUPLICATE_SECONDS) if begins_anew else desk.claim(BRIEF)
    if not is_due:
        return nothing("the session has its brief")
    if begins_anew:
        forget(desk, everything=start == Start.CLEAR)
    if desk.session is not None:
        desk.session.prune()
    notice = ""
    if desk.is_project:
        is_new = not desk.has_index
        desk.refresh()
        notice = "satchel is indexing this folder; prompts get context as soon as it is done" if is_new else ""
    before = checkpoint(desk) if start == Start.COMPACT else ""
    return desk.packed(lambda tokens: _packed(desk, before, tokens, notice), desk.settings.hooks_start_tokens)


def forget(desk: Desk, *, everything: bool) -> None:
    """The model has lost what it was given: it may be given again. After a clear nothing of the session counts."""
    desk.engine.forget_session(desk.happening.session)
    if desk.session is not None:
        desk.session.forget("failure:")
        if everything:
            desk.session.restart()


def checkpoint(desk: Desk) -> str:
    """What was asked, which files were changed and which check failed last; empty where nothing is known."""
    if desk.session is None:
        return ""
    kept = desk.session.read()
    lines = [f"- asked: {line}" for line in kept["prompts"]]
    if kept["files"]:
        lines.append(f"- changed: {', '.join(kept['files'])}")
    if kept["failure"]:
        lines.append(f"- failing: {kept['failure']}")
    room = CHECKPOINT_CHARACTERS
    chosen: list[str] = []
    for line in reversed(lines):  # what came last matters most
        shown = line.replace("`", "'")[:room]
        room -= len(shown) + 1
        if room < 0:
            break
        chosen.append(shown)
    return "\n".join([CHECKPOINT_TITLE, "", CHECKPOINT_NOTE, "", *reversed(chosen)]) if chosen else ""


def active_experience(desk: Desk) -> str:
    """What is being tried and not resolved yet, as a list; empty where there is nothing."""
    active = desk.active
    if active is None:
        return ""
    told = {"goal": active.goal, "hypothesis": active.hypothesis, "action": active.action,
            "prediction": active.prediction}  # fmt: skip
    lines = [f"- {name}: {desk.safe_line(text, STATEMENT_CHARACTERS)}" for name, text in told.items()]
    head = f"## Active experience {active.id} ({active.domain}, {active.strategy})"
    return "\n".join([head, *lines, "- resolve it when its outcome is known (satchel experience resolve)"])


def _packed(desk: Desk, before: str, tokens: int, notice: str) -> Answer:
    if tokens <= 0:
        return nothing("hooks.start_tokens is 0", notice)
    active = active_experience(desk)
    count = counter(desk.settings.budget_tokenizer).count
    rest = max(tokens - count(before) - count(active), 1)
    request = desk.engine.brief_request(**desk.options(max_tokens=rest))
    context = desk.engine.unrecorded(request)
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
        hook_log.INJECTED, shown, text, notice, count(text), contexts, (partial(desk.engine.deliver, request, context),)
    )
