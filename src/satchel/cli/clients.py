"""What `setup` and `remove` share: where clients keep their files, and how changes to them are shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from satchel.cli import streams
from satchel.cli.options import Invocation
from satchel.errors import UsageError

if TYPE_CHECKING:
    from satchel.clients.setup import FileChange
    from satchel.clients.targets import Places

CLIENTS = ("claude-code", "cursor", "vscode", "codex")

Function = TypeVar("Function", bound=Callable[..., Any])


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


def places_of(invocation: Invocation, *, needs_root: bool) -> Places:
    """Where the files lie. The folder is looked for only where one of them is in it: `user` works everywhere."""
    from satchel.clients.targets import Places
    from satchel.config import Folders
    from satchel.roots import find_root

    Folders.from_environment(os.environ)  # says so where there is no home folder
    given = os.environ.get("HOME")
    if given is not None and not Path(given).is_absolute():  # an empty one would stand for `/`
        raise UsageError(f"HOME is {given!r}: set it to the whole path of your home folder, or unset it")
    root = find_root(Path(), invocation.root) if needs_root else Path()
    return Places(Path(given) if given is not None else Path.home(), root, os.environ)


def change_data(change: FileChange) -> dict[str, Any]:
    """One file as plain JSON values."""
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
    import sys

    if not streams.wants_color(sys.stdout, choice):
        return text
    return "\n".join(click.style(line, fg=_COLORS.get(line[:1])) for line in text.split("\n"))
