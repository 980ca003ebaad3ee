"""`satchel remove`: take satchel out of a client's settings."""

from __future__ import annotations

import os

import click

from satchel.cli import streams
from satchel.cli.clients import change_data, client_options, places_of, show_changes
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, json_option, pass_invocation
from satchel.clients.edits import display
from satchel.errors import NoIndexError

NOTHING_FOUND = 1


@click.command("remove", context_settings=HELP_OPTIONS)
@client_options
@json_option("the files and their diffs")
@common_options
@pass_invocation
def command(
    invocation: Invocation, /, *, client: str, scope: str | None, force: bool, dry_run: bool, as_json: bool
) -> int:
    """Take satchel out of a client again.

    Server and hooks go, of every scope unless --scope names one. A file in which nothing else changed since set-up
    gets back the very bytes that it had. What satchel remembers stays where it is. Ends with 1 when there was nothing
    to remove.
    """
    from satchel.clients import settings_file, setup, targets
    from satchel.config import Folders

    scopes = targets.SCOPES[client] if scope is None else (targets.check_scope(client, scope),)
    try:
        places = places_of(invocation, needs_root=scopes != ("user",))
    except NoIndexError:
        if scope is not None:
            raise
        scopes, places = ("user",), places_of(invocation, needs_root=False)
        streams.note("there is no project here: only your settings for every folder are looked at")
    state = Folders.from_environment(os.environ).state
    wanted = [target for chosen in scopes for target in targets.all_targets(client, chosen, places)]
    changes = setup.removals(wanted, state, force=force)
    if scope is None:
        changes = [change for change in changes if change.is_change]
    if not dry_run:
        setup.apply(changes, state)
    if as_json:
        streams.write_json(
            {
                "client": client,
                "scopes": list(scopes),
                "written": not dry_run and any(change.is_change for change in changes),
                "changes": [change_data(change) for change in changes],
                "elsewhere": [str(file) for file in settings_file.files_set_up(state)],
            }
        )
    else:
        show_changes(changes, is_dry=dry_run, color=invocation.color)
        if not changes:
            streams.say(f"satchel is not set up in {client}", color=invocation.color)
        if not dry_run and (others := settings_file.files_set_up(state)):
            listed = ", ".join(display(file) for file in others)
            streams.note(f"still set up in {listed}: run `satchel remove` for that client, in that folder")
    return 0 if any(change.is_change for change in changes) else NOTHING_FOUND
