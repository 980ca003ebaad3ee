"""A tool has run: what was changed is indexed again, and what failed is met with what is known of such failures."""

from __future__ import annotations

from functools import partial

from satchel import hook_log
from satchel.hooks.commands import is_check, shows_failure, signature
from satchel.hooks.desk import Answer, Desk, counted, nothing
from satchel.vocabulary import Domain

EDITING = frozenset({
    "edit", "write", "multiedit", "notebookedit", "apply_patch", "str_replace", "create", "delete", "search_replace",
    "edit_file", "write_file", "create_file", "str_replace_editor", "str_replace_based_edit_tool",
})  # fmt: skip
"""Tools of hosts that change files, in lower case."""

PREMORTEM_SHARE = 0.35
"""Of the budget, at the first failure of a session: what went wrong before in such work. This failure gets the rest."""

COMMAND_CHARACTERS = 120


def answer(desk: Desk) -> Answer:
    """Nothing after most tools; after a check that failed, what failed like it before."""
    happening = desk.happening
    if happening.files and happening.tool.lower() in EDITING:
        return _edited(desk)
    if not happening.command:
        return nothing("the tool neither edits nor runs a command")
    if not is_check(happening.command):
        return nothing("the command tests and builds nothing")
    has_failed = happening.failed or shows_failure(happening.output)
    if desk.session is not None:
        command = desk.safe_line(happening.command, COMMAND_CHARACTERS)
        desk.session.note_failure(command if has_failed else "")
    if not has_failed:
        return nothing("the command succeeded")
    if not happening.injects:
        return nothing("the host takes no context after this tool")
    if not happening.output.strip() or not desk.settings.hooks_failure_tokens:
        return nothing(
            "the command said nothing" if desk.settings.hooks_failure_tokens else "hooks.failure_tokens is 0"
        )
    if not desk.claim(f"failure:{signature(happening.output)}"):
        return nothing("the session knows this failure")
    is_first = desk.claim("premortem")
    return desk.packed(lambda tokens: _packed(desk, tokens, is_first=is_first), desk.settings.hooks_failure_tokens)


def _edited(desk: Desk) -> Answer:
    if desk.session is not None:
        desk.session.note_files([desk.relative(path) for path in desk.happening.files])
    if not desk.is_project:
        return nothing("this folder is no project: nothing is indexed unasked")
    desk.refresh()
    return Answer(hook_log.SAVED, "the index is brought up to date")


def _packed(desk: Desk, tokens: int, *, is_first: bool) -> Answer:
    """What failed like this before and where, and at the first failure what goes wrong in such work."""
    engine, output = desk.engine, desk.happening.output
    found = []
    if is_first:
        active = desk.active
        domain = active.domain if active is not None else Domain.DEBUGGING
        strategy = active.strategy if active is not None else None
        share = max(int(tokens * PREMORTEM_SHARE), 1)
        premortem = engine.premortem_request(domain, strategy, **desk.options(max_tokens=share))
        found.append((premortem, engine.unrecorded(premortem)))
    rest = max(tokens - sum(context.usage.used for _, context in found if context.items), 1)
    brief = engine.brief_request(output, **desk.options(max_tokens=rest))
    found.append((brief, engine.unrecorded(brief)))
    shown = [(request, context) for request, context in found if context.items]
    if not shown and any(context.shown_before for _, context in found):
        return nothing("the session has what is known of it")
    if not shown:
        return nothing("nothing like it is known")
    contexts = tuple(context for _, context in shown)
    notice = f"satchel: {counted(sum(len(context.items) for context in contexts))} about this failure"
    return Answer(
        hook_log.INJECTED,
        "after a failure",
        "\n\n".join(context.text for context in contexts),
        notice,
        sum(context.usage.used for context in contexts),
        contexts,
        tuple(partial(engine.deliver, request, context) for request, context in shown),
    )
