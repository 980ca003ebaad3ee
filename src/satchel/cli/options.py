"""Commands of the terminal and their common options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from satchel.errors import UsageError

HELP_OPTIONS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}

Function = TypeVar("Function", bound=Callable[..., Any])
Run = Callable[..., "int | None"]


@dataclass(slots=True)
class Invocation:
    """The common options, from before or after the command. An empty `color` is decided by the stream.

    `given_root` is the path of `--root`; `workspaces` are the roots of `--workspace`, whose text is `workspace`.
    """

    given_root: Path | None = None
    color: str = ""
    as_json: bool = False
    workspace: str = ""
    workspaces: tuple[Path, ...] = ()

    @property
    def root(self) -> Path | None:
        """The root of the options, None to search for it. Raises UsageError for more than one."""
        if self.workspaces and self.given_root is not None:
            raise UsageError("--root and --workspace both name the root: give one of them")
        if len(self.workspaces) > 1:
            raise UsageError(f"{self.workspace} are {len(self.workspaces)} workspaces: this command takes one")
        return self.workspaces[0] if self.workspaces else self.given_root


class Command(click.Command):
    """A command whose errors name arguments as the command line writes them."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Raises UsageError in the spelling of the options."""
        try:
            return super().invoke(ctx)
        except UsageError as error:
            error.args = (error.spelled(self.spelling),)
            raise

    def spelling(self, name: str) -> str:
        """`--max-tokens` for `max_tokens`; an argument without an option is written as the help does."""
        for parameter in self.params:
            if parameter.name == name and isinstance(parameter, click.Argument):
                return parameter.metavar or name
            if parameter.name == name:
                return max(parameter.opts, key=len)
        return f"--{name.replace('_', '-')}"


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Save the option for the run; one after the command wins."""
    if value is not None and parameter.name is not None:
        setattr(context.ensure_object(Invocation), parameter.name, value)


def _keep_workspace(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """Save the roots of these workspaces."""
    if value is None or context.resilient_parsing:
        return
    from satchel.config import Folders
    from satchel.system.locations import Registry

    registry = Registry(Folders.from_environment())
    names = list(dict.fromkeys(name.strip() for name in value.split(",")))
    context.ensure_object(Invocation).workspaces = tuple(registry.get(name).path for name in names)
    _keep(context, parameter, value)


def common_options() -> list[click.Parameter]:
    """Return the options of every command."""
    return [
        click.Option(
            ["--root", "given_root"], type=click.Path(path_type=Path), metavar="PATH", expose_value=False,
            callback=_keep, help="The folder to work on; by default the git work tree around the current folder.",
        ),
        click.Option(
            ["--workspace"], metavar="NAME[,NAME]", expose_value=False, callback=_keep_workspace,
            help="A workspace by its name, in place of --root; `satchel workspace list` shows them.",
        ),
        click.Option(
            ["--color"], type=click.Choice(["auto", "always", "never"]), expose_value=False, callback=_keep,
            help="Colours: auto (on a terminal, unless NO_COLOR is set), always, never.",
        ),
    ]  # fmt: skip


def group(name: str, **settings: Any) -> Callable[[Callable[..., Any]], click.Group]:
    """Return a decorator for a group of commands."""
    settings = {"context_settings": HELP_OPTIONS, **settings}
    return click.group(name, params=common_options(), **settings)


def command(
    name: str,
    parent: click.Group | None = None,
    *,
    shows: str = "",
    params: Sequence[click.Parameter] = (),
    **settings: Any,
) -> Callable[[Run], Command]:
    """Return a decorator for a command, below `parent` if set. It is called with the `Invocation` and its options.

    `shows` is what `--json` prints; without it there is no such option. `params` come before those of the function.
    """

    def made(function: Run) -> Command:
        own = list(reversed(getattr(function, "__click_params__", ())))
        shown = click.Option(["--json", "as_json"], is_flag=True, expose_value=False, callback=_keep,
                             help=f"Print {shows} as one JSON object.")  # fmt: skip
        every = [*params, *own, *([shown] if shows else ()), *common_options()]
        context_settings = {**HELP_OPTIONS, **settings.pop("context_settings", {})}

        def called(**options: Any) -> Any:
            return function(click.get_current_context().ensure_object(Invocation), **options)

        made = Command(name, context_settings=context_settings, callback=called, params=every,
                       help=inspect.cleandoc(function.__doc__ or ""), **settings)  # fmt: skip
        if parent is not None:
            parent.add_command(made)
        return made

    return made


strict_option = click.option(
    "--strict", is_flag=True, help="End with 1 if nothing was found, with 3 if something failed."
)
refresh_option = click.option(
    "--refresh/--no-refresh", default=True, help="Bring the index up to date first (the default)."
)
