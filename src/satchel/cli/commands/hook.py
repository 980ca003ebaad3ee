"""`satchel hook`: answering events of an agent's host, and what people want to know and decide about that.

Events themselves never come here: they are answered before any command line is parsed (`satchel.cli.main`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import click

from satchel.cli import streams
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, json_option, pass_invocation

EVENTS = ("session-start", "prompt", "after-tool", "before-compaction", "session-end")

ENABLED = "hooks.enabled"

FEW_ENTRIES = 20


@click.group("hook", context_settings={**HELP_OPTIONS, "max_content_width": 100}, invoke_without_command=True,
             subcommand_metavar="EVENT | log | on | off",
             epilog=f"Events: {', '.join(EVENTS)}. A host starts `satchel hook EVENT` and writes JSON to its standard "
             "input; the answer is one JSON object, or nothing. It ends with 0 whatever happens, within two seconds. "
             "SATCHEL_HOOKS=0 switches all events off.")  # fmt: skip
@common_options
@click.pass_context
def command(context: click.Context) -> None:
    """Answer an event of an agent's host; show what was injected; switch hooks on and off.

    `satchel setup CLIENT --with-hooks` has a host tell its events. At the start of a session there is a brief, with a
    prompt the little that is relevant, after a failed test or build what failed like it before.
    """
    if context.invoked_subcommand is None:
        streams.say(context.get_help())


@command.command("log", context_settings=HELP_OPTIONS)
@click.option(
    "-n", "most", type=click.IntRange(min=1), default=FEW_ENTRIES, metavar="N", help="The newest N events (20)."
)
@click.option("--all", "everything", is_flag=True, help="Also the events that came to nothing.")
@json_option("the events, those that came to nothing too,")
@common_options
@pass_invocation
def log(invocation: Invocation, *, most: int, everything: bool, as_json: bool) -> int:
    """Show what hooks injected, when, and what it cost.

    The log holds ids and titles, and no text of what was injected.
    """
    from satchel import config, hook_log

    state = config.Folders.from_environment(os.environ).state
    found = hook_log.entries(state)
    if as_json:
        streams.write_json({"entries": found[-most:], "file": str(hook_log.log_file(state))})
        return 0
    shown = [entry for entry in found if everything or entry.get("outcome") != hook_log.NOTHING][-most:]
    if shown:
        streams.write_line("\n".join(line for entry in shown for line in lines_of(entry)))
    silent = len(found) - sum(entry.get("outcome") != hook_log.NOTHING for entry in found)
    if not found:
        streams.note("no event was answered yet: `satchel setup CLIENT --with-hooks` has a host tell them",
                     color=invocation.color)  # fmt: skip
    elif silent and not everything:
        streams.say(
            f"{silent} more came to nothing: `satchel hook log --all` says why", color=invocation.color, dim=True
        )
    return 0


def lines_of(entry: Mapping[str, Any]) -> list[str]:
    """One event: what came of it and what it cost, and a line for each item."""
    cost = f"{entry.get('tokens', 0):,} tokens, {entry.get('ms', 0):,} ms"
    who = " ".join(filter(None, (str(entry.get("host", "")), str(entry.get("session", "")))))
    head = (f"{entry.get('at', '')}  {entry.get('event', ''):<17}  {entry.get('outcome', ''):<8}  {cost:>22}  "
            f"{entry.get('reason', '')}" + (f"  [{who}]" if who else ""))  # fmt: skip
    return [head, *_item_lines(entry.get("items", ()))]


def _item_lines(items: Sequence[Mapping[str, Any]]) -> list[str]:
    return [f"    {item.get('tokens', 0):>5}  {item.get('id', '')}" for item in items]


@command.command("on", context_settings=HELP_OPTIONS)
@common_options
@pass_invocation
def on(invocation: Invocation) -> int:
    """Let hooks answer again."""
    return _switched(invocation, is_on=True)


@command.command("off", context_settings=HELP_OPTIONS)
@common_options
@pass_invocation
def off(invocation: Invocation) -> int:
    """Let hooks answer nothing until `satchel hook on`; what hosts are set up to do stays."""
    return _switched(invocation, is_on=False)


def _switched(invocation: Invocation, *, is_on: bool) -> int:
    from satchel import config
    from satchel.hooks.toggle import toggle

    folders = config.Folders.from_environment(os.environ)
    path = toggle(config.user_file(folders), is_on=is_on)
    streams.write_line(f"hooks are {'on' if is_on else 'off'}: {ENABLED} in {path}")
    loaded = config.load_settings(None, os.environ, {}, folders)
    if loaded.settings.hooks_enabled != is_on:
        streams.note(f"{loaded.origins[ENABLED]} says otherwise, and wins", color=invocation.color)
    if is_on and os.environ.get(config.HOOKS_VARIABLE, "").strip() == "0":
        streams.note(f"{config.HOOKS_VARIABLE}=0 in this environment keeps them off", color=invocation.color)
    return 0
