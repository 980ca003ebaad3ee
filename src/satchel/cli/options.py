"""Options that every command takes, and what they say of this run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

HELP_OPTIONS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(slots=True)
class Invocation:
    """What the options before or behind the command say: `root` or None to look for it, `color` or empty to decide."""

    root: Path | None = None
    color: str = ""
    as_json: bool = False


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Remember the option for the whole run; one that stands behind the command wins."""
    if value is not None and parameter.name is not None:
        setattr(context.ensure_object(Invocation), parameter.name, value)


_ROOT = click.option(
    "--root",
    type=click.Path(path_type=Path),
    metavar="PATH",
    expose_value=False,
    callback=_keep,
    help="The folder to work on; by default the git work tree around the current folder.",
)
_COLOR = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    expose_value=False,
    callback=_keep,
    help="Colours: auto (on a terminal, unless NO_COLOR is set), always, never.",
)


def common_options(function: Function) -> Function:
    """Add the options that work everywhere."""
    return _ROOT(_COLOR(function))


def json_option(what: str) -> Callable[[Function], Function]:
    """`--json` for a command that shows something; it arrives as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=f"Print {what} as one JSON object.")


pass_invocation = click.make_pass_decorator(Invocation, ensure=True)
"""Gives a command the `Invocation` as its first argument."""
