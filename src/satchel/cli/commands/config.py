"""`satchel config` and `satchel completion`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from satchel.cli import streams
from satchel.cli.options import Invocation, command, group

if TYPE_CHECKING:
    from satchel.config import Folders, LoadedSettings


@group("config")
def config_command() -> None:
    """Show the settings in force and where they come from.

    Later wins: defaults, your satchel.toml, the .satchel.toml of a repository (harmless settings only), SATCHEL_...
    variables, options.
    """


@command("show", config_command, shows="the settings")
@click.option("--origin", is_flag=True, help="Say where each value comes from.")
def show(invocation: Invocation, *, origin: bool) -> int:
    """Show the value of every setting."""
    from satchel.settings import SETTINGS

    loaded, _ = _load(invocation)
    if invocation.as_json:
        streams.write_json(
            {
                "settings": {
                    key: {
                        "value": plain(loaded.settings.value(key)),
                        "origin": loaded.origins[key],
                        "meaning": row.meaning,
                        "allowed": row.allowed,
                    }
                    for key, row in SETTINGS.items()
                }
            }
        )
    else:
        streams.write_line("\n".join(setting_lines(loaded, origin=origin)))
    for note in loaded.notes:
        streams.failure(note, color=invocation.color)
    return 0


@command("path", config_command, shows="the folders")
def path(invocation: Invocation) -> int:
    """Show where your settings, memories, marks and indexes lie."""
    _, folders = _load(invocation)
    from satchel.config import user_file

    named = {
        "settings": user_file(folders),
        "config": folders.config,
        "data": folders.data,
        "state": folders.state,
        "cache": folders.cache,
    }
    if invocation.as_json:
        streams.write_json({name: str(place) for name, place in named.items()})
    else:
        streams.write_line("\n".join(f"{name:<9} {place}" for name, place in named.items()))
    return 0


def _load(invocation: Invocation) -> tuple[LoadedSettings, Folders]:
    """Return the settings for the root, or without a repository's where there is no root."""
    import os
    from pathlib import Path

    from satchel.config import Folders, load_settings
    from satchel.errors import NoIndexError
    from satchel.system.locations import find_root

    folders = Folders.from_environment()
    try:
        root = find_root(Path(), invocation.root)
    except NoIndexError:
        if invocation.root is not None:
            raise
        root = None
    loaded = load_settings(root, os.environ, {}, folders)
    invocation.color = invocation.color or loaded.settings.ui_color
    return loaded, folders


def setting_lines(loaded: LoadedSettings, *, origin: bool) -> list[str]:
    """`budget.max_tokens = 4000`, and behind it the origin where that is asked for, in one column."""
    from satchel.settings import SETTINGS

    lines = [f"{key} = {written(loaded.settings.value(key))}" for key in SETTINGS]
    if not origin:
        return lines
    width = max(map(len, lines))
    return [f"{line:<{width}}  # {loaded.origins[key]}" for line, key in zip(lines, SETTINGS, strict=True)]


def written(value: Any) -> str:
    """Return a value as the settings file has it: TOML, `auto` for none."""
    if value is None:
        return '"auto"'
    return streams.json_text(plain(value))


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    return list(value) if isinstance(value, tuple) else value


INSTALL_HINTS = {
    "bash": 'add to ~/.bashrc:  eval "$(satchel completion bash)"',
    "zsh": 'add to ~/.zshrc:  eval "$(satchel completion zsh)"',
    "fish": "run once:  satchel completion fish > ~/.config/fish/completions/satchel.fish",
}


@command("completion")
@click.argument("shell", type=click.Choice([*INSTALL_HINTS]))
def completion_command(invocation: Invocation, shell: str) -> int:
    """Print the script that completes commands in a shell."""
    from click.shell_completion import get_completion_class

    from satchel.cli.application import COMPLETE_VARIABLE, PROGRAM, application

    completion = get_completion_class(shell)
    assert completion is not None
    streams.write(completion(application, {}, PROGRAM, COMPLETE_VARIABLE).source())
    if streams.is_terminal(sys.stdout):
        streams.note(INSTALL_HINTS[shell], color=invocation.color)
    return 0
