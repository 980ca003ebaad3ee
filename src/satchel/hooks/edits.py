"""Before an edit: the lessons that are bound to the files which a tool is about to change.

A host that takes no context before a tool gets them once the file was read, which agents do before they edit it.
"""

from __future__ import annotations

from satchel.hooks.answers import below
from satchel.hooks.event_context import Answer, EventContext, counted, nothing
from satchel.hooks.hosts import HookEvent
from satchel.intent import Intent, intent_of
from satchel.system import telemetry

LESSON_TOKENS = 120
"""Tokens of lessons before one edit: two to four lines, so that they are read and not paid for often."""

_EDITING = frozenset({
    "edit", "write", "multiedit", "notebookedit", "apply_patch", "applypatch", "str_replace", "create", "delete",
    "search_replace", "edit_file", "write_file", "create_file", "str_replace_editor", "str_replace_based_edit_tool",
    "replace", "editfiles", "createfile", "replace_string_in_file", "multi_replace_string_in_file",
    "insert_edit_into_file",
})  # fmt: skip
"""Tools of hosts that change files, in lower case."""

_LOOKING = frozenset({"read", "read_file", "view"})
"""Tools of hosts without context before an edit that read one file, in lower case."""


def is_edit(event: HookEvent) -> bool:
    """Return whether a tool changes files."""
    return bool(event.files) and event.tool.lower() in _EDITING


def is_look(event: HookEvent) -> bool:
    """Return whether a tool reads a file."""
    return bool(event.files) and event.tool.lower() in _LOOKING


def before_tool(hook: EventContext) -> Answer:
    """Return the lessons bound to the files that a tool is about to edit. The tool is never stopped or changed."""
    if not is_edit(hook.event):
        return nothing("the tool edits no file")
    if not hook.event.injects:
        return nothing("the host takes no context before a tool")
    return lessons(hook)


def lessons(hook: EventContext) -> Answer:
    """Return the lessons bound to the files of a tool, each once a session.

    After a prompt that leaves the behaviour as it is, only those that count whatever is done with a file.
    """
    files = _below_root(hook)
    if not files:
        return nothing("the files are outside of this folder")
    if not hook.has_memory:
        return nothing("nothing is remembered here yet")
    if not hook.has_index:
        return nothing("there is no index yet")
    prompts = hook.session.read()["prompts"] if hook.session is not None else []
    tidies = bool(prompts) and intent_of(prompts[-1]) is Intent.TIDIES
    return hook.packed(lambda tokens: _packed(hook, files, tokens, tidies=tidies), LESSON_TOKENS)


def bind_experience(hook: EventContext) -> None:
    """Bind the active experience to the files that its session has changed."""
    active, files = hook.active, _below_root(hook)
    if active is not None and files and not {*files} <= {*active.files}:
        hook.engine.experiences.touch(active.id, files)


def _packed(hook: EventContext, files: list[str], tokens: int, *, tidies: bool) -> Answer:
    context, deliver = hook.engine.lessons.told(files, ruling=tidies, **hook.options(max_tokens=tokens))
    if not context.items and tidies:
        return nothing("the last prompt changes no behaviour")
    if not context.items:
        return nothing("the session has what is known" if context.shown_before else "nothing is bound to these files")
    shown = f"bound to the files of the edit, {counted(len(context.items))}"
    return Answer(telemetry.INJECTED, shown, context.text, "", context.usage.used, (context,), (deliver,))


def _below_root(hook: EventContext) -> list[str]:
    """Return the files of the tool relative to the root, without those outside of it."""
    paths = (below(hook.places.root, hook.folder / path) for path in hook.event.files)
    return list(dict.fromkeys(path for path in paths if path is not None))
