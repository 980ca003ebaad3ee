"""`satchel setup`: write into a client's settings how satchel is started."""

from __future__ import annotations

import os

import click

from satchel.cli import streams
from satchel.cli.clients import change_data, client_options, places_of, show_changes
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, json_option, pass_invocation


@click.command("setup", context_settings=HELP_OPTIONS)
@client_options
@click.option("--with-hooks", is_flag=True, help="Also let the client call satchel when something happens.")
@click.option("--command", "command_text", metavar="TEXT", help="How satchel is started; by default as it was now.")
@json_option("the files, their diffs and the next steps")
@common_options
@pass_invocation
def command(
    invocation: Invocation,
    /,
    *,
    client: str,
    scope: str | None,
    with_hooks: bool,
    command_text: str | None,
    force: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Set satchel up in a client: its MCP server, and its hooks if wanted.

    Shows the difference and writes it; everything else in the file stays as it was, comments and order included.
    Without --scope it is you in this folder (claude-code), everybody in this folder (cursor, vscode), or you
    everywhere (codex). Hooks send what you type to satchel on this machine: --with-hooks is a choice of its own.
    `satchel remove CLIENT` takes it all back.
    """
    from satchel.clients import setup, targets
    from satchel.config import Folders

    chosen = targets.check_scope(client, scope)
    places = places_of(invocation, needs_root=chosen != "user")
    started = (
        targets.parse_command(command_text)
        if command_text is not None
        else targets.find_launch(is_shared=targets.is_shared(chosen))
    )
    state = Folders.from_environment(os.environ).state
    wanted = targets.targets(client, chosen, places, started, with_hooks=with_hooks)
    changes = [setup.planned(target, state, force=force) for target in wanted]
    if not dry_run:
        setup.apply(changes, state)
    steps = targets.next_steps(client, chosen, with_hooks=with_hooks)
    if as_json:
        streams.write_json(
            {
                "client": client,
                "scope": chosen,
                "command": list(started.words),
                "written": not dry_run and any(change.is_change for change in changes),
                "changes": [change_data(change) for change in changes],
                "notes": list(started.notes),
                "next": list(steps),
            }
        )
        return 0
    show_changes(changes, is_dry=dry_run, color=invocation.color)
    for note in started.notes:
        streams.note(note, color=invocation.color)
    if not dry_run:
        streams.say("\n".join(["to see that it works:", *(f"  {step}" for step in steps)]), color=invocation.color)
    return 0
