"""`satchel trust`: say of a folder that its instruction files may guide agents, or take that back."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satchel.cli import streams
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, json_option, pass_invocation
from satchel.errors import UsageError
from satchel.files import escape_name

if TYPE_CHECKING:
    from satchel.trust import TrustMark


@click.command("trust", context_settings=HELP_OPTIONS)
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--list", "listed", is_flag=True, help="Show the folders that are trusted, and change nothing.")
@click.option("--remove", is_flag=True, help="Trust the folder no more; a PATH may be one that is gone.")
@json_option("the folders that are trusted, or what was changed")
@common_options
@pass_invocation
def command(invocation: Invocation, *, path: Path | None, listed: bool, remove: bool, as_json: bool) -> int:
    """Trust the instruction files of a folder.

    Without PATH it is the root that questions are about. Its instruction files (AGENTS.md, CLAUDE.md and the like) are
    then shown to agents as guidance to follow; all other text stays data. The decision is kept in your state folder:
    no file of the folder itself can make it.
    """
    from satchel import config, trust

    if listed and (remove or path is not None):
        raise UsageError("--list shows all folders: give it neither PATH nor --remove")
    state = config.Folders.from_environment(os.environ).state
    if listed:
        return _show(trust.trusted_roots(state), as_json=as_json)
    root = _root(path, invocation.root, must_exist=not remove)
    if remove:
        return _removed(root, trust.distrust(root, state), as_json=as_json, color=invocation.color)
    is_new = not trust.is_trusted(root, state)
    if is_new:
        streams.say(trust.MEANING, color=invocation.color)
    mark = trust.trust(root, state)
    if as_json:
        streams.write_json({"trusted": mark_data(mark), "is_new": is_new})
    else:
        ending = "trusted now; `satchel trust --remove` takes it back" if is_new else f"trusted since {day(mark)}"
        streams.write_line(f"{escape_name(mark.root)}: {ending}")
    return 0


def _root(path: Path | None, explicit: Path | None, *, must_exist: bool) -> Path:
    """The folder that is meant: the root around PATH or the current folder; for one that is gone, PATH itself."""
    from satchel.roots import find_root

    if path is not None and explicit is not None:
        raise UsageError("PATH and --root both name the folder: give one of them")
    if path is not None and not must_exist and not path.exists():
        return path
    if path is not None and path.exists() and not path.is_dir():
        raise UsageError(f"{path} is a file: name the folder that you want to trust")
    return find_root(path or Path(), explicit)


def _show(marks: list[TrustMark], *, as_json: bool) -> int:
    if as_json:
        streams.write_json({"trusted": [mark_data(mark) for mark in marks]})
    elif marks:
        streams.write_line("\n".join(f"{escape_name(mark.root)}  since {day(mark)}" for mark in marks))
    else:
        streams.say("no folder is trusted: `satchel trust PATH` trusts one")
    return 0


def _removed(root: Path, gone: list[TrustMark], *, as_json: bool, color: str) -> int:
    if as_json:
        streams.write_json({"removed": [mark_data(mark) for mark in gone]})
    elif gone:
        streams.write_line(f"{escape_name(gone[0].root)}: trusted no more")
    else:
        streams.say(
            f"{escape_name(str(root.resolve()))} was not trusted; `satchel trust --list` shows what is", color=color
        )
    return 0


def mark_data(mark: TrustMark) -> dict[str, Any]:
    """A mark as plain JSON values; `repository` is None without git."""
    return {"root": mark.root, "repository": mark.repository or None, "since": iso(mark)}


def iso(mark: TrustMark) -> str:
    """The second (UTC) since which it holds: `2026-05-01T10:30:00Z`."""
    return f"{datetime.fromtimestamp(mark.since, UTC):%Y-%m-%dT%H:%M:%SZ}"


def day(mark: TrustMark) -> str:
    """The day (UTC) since which it holds."""
    return iso(mark)[: len("2026-05-01")]
