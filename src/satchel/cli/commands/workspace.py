"""`satchel workspace`: names for the roots that questions are about."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satchel.cli import streams
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, json_option, pass_invocation

if TYPE_CHECKING:
    from satchel.workspaces import Registry, Workspace

TYPES = ("repository", "vault", "tana")


@click.group("workspace", context_settings=HELP_OPTIONS)
@common_options
def command() -> None:
    """Name repositories, vaults and exports of notes, to ask them from anywhere.

    `satchel context QUESTION --workspace NAME` then answers from the one of that name. A vault is a folder of Markdown
    notes (Obsidian and the like); its files are then notes, with their links, fields and tags. The file of a Tana
    export (.json) is a workspace too.
    """


def _registry() -> Registry:
    from satchel.config import Folders
    from satchel.workspaces import Registry

    return Registry(Folders.from_environment(os.environ))


@command.command("add")
@click.argument("name")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--type", "kind", type=click.Choice(TYPES), help="What it is; guessed if not given.")
@json_option("the workspace")
@common_options
@pass_invocation
def add(invocation: Invocation, *, name: str, path: Path, kind: str | None, as_json: bool) -> int:
    """Give the root at PATH a name.

    A folder with `.obsidian` is a vault, a .json file a Tana export, any other folder a repository, unless --type says
    otherwise. Nothing is read yet: the first question does it, or `satchel index --workspace NAME`.
    """
    from satchel.workspaces import WorkspaceType

    added = _registry().add(name, path, WorkspaceType(kind) if kind is not None else None)
    if as_json:
        streams.write_json({"workspace": workspace_data(added)})
    else:
        streams.say(f"{added.name} is the {added.type} {_place(added)}", color=invocation.color)
    return 0


@command.command("list")
@json_option("the workspaces")
@common_options
@pass_invocation
def listed(invocation: Invocation, *, as_json: bool) -> int:
    """List the workspaces by name."""
    found = _registry().all()
    if as_json:
        streams.write_json({"workspaces": [workspace_data(one) for one in found]})
    elif found:
        width = max(len(one.name) for one in found)
        streams.write_line("\n".join(f"{one.name:<{width}}  {one.type:<10}  {_line(one)}" for one in found))
    else:
        streams.say("there is no workspace: `satchel workspace add NAME PATH` adds one", color=invocation.color)
    return 0


@command.command("remove")
@click.argument("name")
@json_option("the workspace")
@common_options
@pass_invocation
def remove(invocation: Invocation, *, name: str, as_json: bool) -> int:
    """Forget a name. Its files and its index stay; `satchel clean --root PATH` removes the index."""
    gone = _registry().remove(name)
    if as_json:
        streams.write_json({"removed": workspace_data(gone)})
    else:
        streams.say(f"{gone.name} was the {gone.type} {_place(gone)}", color=invocation.color)
    return 0


def workspace_data(workspace: Workspace) -> dict[str, Any]:
    """A workspace as plain JSON values; `exists` says whether its root is there."""
    return {
        "name": workspace.name,
        "path": _place(workspace),
        "type": workspace.type.value,
        "exists": workspace.path.exists(),
    }


def _line(workspace: Workspace) -> str:
    return _place(workspace) + ("" if workspace.path.exists() else "  (gone)")


def _place(workspace: Workspace) -> str:
    from satchel.files import escape_name

    return escape_name(str(workspace.path))
