"""What clients know of satchel: `satchel setup` and `satchel remove`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satchel.cli import streams
from satchel.cli.options import Function, Invocation, command
from satchel.cli.session import NOTHING_FOUND
from satchel.errors import NoIndexError, UsageError

if TYPE_CHECKING:
    from satchel.clients.setup import FileChange
    from satchel.clients.targets import ClientPlaces

CLIENTS = ("claude-code", "cursor", "vscode", "codex")


def client_options(function: Function) -> Function:
    """CLIENT, --scope, --force and --dry-run."""
    for option in reversed(
        (
            click.argument("client", type=click.Choice(CLIENTS)),
            click.option("--scope", type=click.Choice(["local", "project", "user"]),
                         help="Whose settings: yours here (local), everybody's here (project), yours everywhere."),
            click.option("--force", is_flag=True, help="Also where an entry of this name is not satchel's."),
            click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing."),
        )
    ):  # fmt: skip
        function = option(function)
    return function


def places_of(invocation: Invocation, *, needs_root: bool) -> ClientPlaces:
    """Return where the files lie. The folder is looked for only where one of them is in it: `user` works everywhere."""
    from satchel.clients.targets import ClientPlaces
    from satchel.config import Folders
    from satchel.system.locations import find_root

    Folders.from_environment(os.environ)  # says so where there is no home folder
    home = os.environ.get("HOME")
    if home is not None and not Path(home).is_absolute():  # an empty one would stand for `/`
        raise UsageError(f"HOME is {home!r}: set it to the whole path of your home folder, or unset it")
    root = find_root(Path(), invocation.root) if needs_root else Path()
    return ClientPlaces(Path(home) if home is not None else Path.home(), root, os.environ)


def change_data(change: FileChange) -> dict[str, Any]:
    """Return one file as plain JSON values."""
    from satchel.clients.edits import diff

    file = str(change.target.file)
    return {"file": file, "action": change.action, "diff": diff(file, change.before, change.after)}


def show_changes(changes: Sequence[FileChange], *, is_dry: bool, color: str) -> None:
    """The diff of each file on standard output, what was done with it on standard error."""
    from satchel.clients.edits import diff, display

    for change in changes:
        name = display(change.target.file)
        if shown := diff(name, change.before, change.after):
            streams.write_line(_colored(shown, color))
    for change in changes:
        streams.say(f"{_WORDS[change.action, is_dry]} {display(change.target.file)}", color=color)


_WORDS = {
    ("added", False): "added to",
    ("updated", False): "updated",
    ("removed", False): "removed from",
    ("unchanged", False): "already set up in",
    ("absent", False): "not set up in",
    ("added", True): "would add to",
    ("updated", True): "would update",
    ("removed", True): "would remove from",
    ("unchanged", True): "already set up in",
    ("absent", True): "not set up in",
}

_COLORS = {"+": "green", "-": "red", "@": "cyan"}


def _colored(text: str, choice: str) -> str:
    if not streams.wants_color(sys.stdout, choice):
        return text
    return "\n".join(click.style(line, fg=_COLORS.get(line[:1])) for line in text.split("\n"))


@command("setup", shows="the files, their diffs and the next steps")
@client_options
@click.option("--with-hooks", is_flag=True, help="Also let the client call satchel when something happens.")
@click.option("--command", "command_text", metavar="TEXT", help="How satchel is started; by default as it was now.")
def setup_command(
    invocation: Invocation,
    /,
    *,
    client: str,
    scope: str | None,
    with_hooks: bool,
    command_text: str | None,
    force: bool,
    dry_run: bool,
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
    wanted_targets = targets.targets(client, chosen, places, started, with_hooks=with_hooks)
    changes = [setup.planned(target, state, force=force) for target in wanted_targets]
    if not dry_run:
        setup.apply(changes, state)
    steps = targets.next_steps(client, chosen, with_hooks=with_hooks)
    if invocation.as_json:
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


@command("remove", shows="the files and their diffs")
@client_options
def remove_command(invocation: Invocation, /, *, client: str, scope: str | None, force: bool, dry_run: bool) -> int:
    """Take satchel out of a client again.

    Server and hooks go, of every scope unless --scope names one. A file in which nothing else changed since set-up
    gets back the very bytes that it had. What satchel remembers stays where it is. Ends with 1 when there was nothing
    to remove.
    """
    from satchel.clients import settings_file, setup, targets
    from satchel.clients.edits import display
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
    wanted_targets = [target for chosen in scopes for target in targets.all_targets(client, chosen, places)]
    changes = setup.removals(wanted_targets, state, force=force)
    if scope is None:
        changes = [change for change in changes if change.is_change]
    if not dry_run:
        setup.apply(changes, state)
    if invocation.as_json:
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
