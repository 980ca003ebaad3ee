"""Options that every command takes, and what they say of this run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from satchel.errors import UsageError

HELP_OPTIONS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(slots=True)
class Invocation:
    """What the options before or behind the command say: `color` is empty to decide.

    `given_root` is that of `--root`, `workspaces` are the roots that `--workspace` named (as `workspace` says).
    """

    given_root: Path | None = None
    color: str = ""
    as_json: bool = False
    workspace: str = ""
    workspaces: tuple[Path, ...] = ()

    @property
    def root(self) -> Path | None:
        """The one root that was named, None to look for it. Raises UsageError for more than one."""
        if self.workspaces and self.given_root is not None:
            raise UsageError("--root and --workspace both name the root: give one of them")
        if len(self.workspaces) > 1:
            raise UsageError(f"{self.workspace} are {len(self.workspaces)} workspaces: this command takes one")
        return self.workspaces[0] if self.workspaces else self.given_root


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Remember the option for the whole run; one that stands behind the command wins."""
    if value is not None and parameter.name is not None:
        setattr(context.ensure_object(Invocation), parameter.name, value)


_ROOT = click.option(
    "--root",
    "given_root",
    type=click.Path(path_type=Path),
    metavar="PATH",
    expose_value=False,
    callback=_keep,
    help="The folder to work on; by default the git work tree around the current folder.",
)


def _keep_workspace(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """Remember the roots that these names stand for, as `--root` does."""
    if value is None or context.resilient_parsing:
        return
    from satchel.config import Folders
    from satchel.workspaces import Registry

    registry = Registry(Folders.from_environment())
    names = list(dict.fromkeys(name.strip() for name in value.split(",")))
    invocation = context.ensure_object(Invocation)
    invocation.workspaces = tuple(registry.get(name).path for name in names)
    _keep(context, parameter, value)


_WORKSPACE = click.option(
    "--workspace",
    metavar="NAME[,NAME]",
    expose_value=False,
    callback=_keep_workspace,
    help="A workspace by its name, in place of --root; `satchel workspace list` shows them.",
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
    return _ROOT(_WORKSPACE(_COLOR(function)))


def json_option(what: str) -> Callable[[Function], Function]:
    """`--json` for a command that shows something; it arrives as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=f"Print {what} as one JSON object.")


session_option = click.option(
    "--session",
    metavar="ID",
    help="For whom: what this session received before is only named, unless it changed.",
)
"""For whom an answer is, as an agent's host names the session."""

pass_invocation = click.make_pass_decorator(Invocation, ensure=True)
"""Gives a command the `Invocation` as its first argument."""
