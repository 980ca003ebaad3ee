"""Commands of the terminal: their common options, and commands whose options are the parameters of an operation."""

from __future__ import annotations

import gc
import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import Struct

from satchel.cli.streams import read_question
from satchel.errors import UsageError
from satchel.operations.operation import Operation, Parameter, Shape

if TYPE_CHECKING:
    from satchel.engine import Satchel

HELP_OPTIONS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}

COLLECTED_AFTER = (50_000, 20, 50)
"""Thresholds of the garbage collector: a question makes few cycles, and many objects that live as long as it."""

COLLECTED_LATE = (200_000, 20, 50)
"""Those of a process with one command: a question and what it loads make 60,000 to 120,000 objects, few of them cycles.

A collection among them takes 10 ms of processor time and frees 30 objects.
"""

Function = TypeVar("Function", bound=Callable[..., Any])
Run = Callable[..., "int | None"]
Completion = Callable[[click.Context, click.Parameter, str], list[str]]


class Invocation(Struct):
    """The common options, from before or after the command. An empty `color` is decided by the stream.

    `given_root` is the path of `--root`, `workspace_root` that of the first name of `--workspace`, whose text is
    `workspace`; only a command that `asks_several` takes more names. A resident process sets `open_engine`, which is
    called as `Satchel.open`, `should_stop`, and the `folder` in which the command was given.
    """

    given_root: Path | None = None
    color: str = ""
    as_json: bool = False
    workspace: str = ""
    workspace_root: Path | None = None
    asks_several: bool = False
    open_engine: Callable[..., AbstractContextManager[Satchel]] | None = None
    should_stop: Callable[[], bool] | None = None
    folder: Path | None = None

    @property
    def root(self) -> Path | None:
        """The root of the options, None to search for it. Raises UsageError for two."""
        if "," in self.workspace and not self.asks_several:
            raise UsageError(
                "this command works on one workspace: context, search and graph take several names in --workspace"
            )
        if self.workspace_root is not None and self.given_root is not None:
            raise UsageError("--root and --workspace both name the root: give one of them")
        return self.workspace_root or self.given_root


class Command(click.Command):
    """A command whose errors name arguments as the command line writes them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take a text such as `- [ ] fix the login` for an argument: no option has a blank after its dash."""
        texts = [arg for arg in args if arg.startswith("- ")]
        others = [arg for arg in args if arg not in texts] if texts and "--" not in args else args
        return super().parse_args(ctx, args if others is args else [*others, "--", *texts])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Raises UsageError in the spelling of the options."""
        if not gc.isenabled():
            gc.freeze()
            gc.set_threshold(*COLLECTED_LATE)
            gc.enable()
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
    """Save the root of the workspace, of several that of the first."""
    if value is None or context.resilient_parsing:
        return
    from satchel.config import Folders
    from satchel.system.locations import Registry

    registry = Registry(Folders.from_environment())
    roots = [registry.get(name.strip()).path for name in value.split(",")]
    context.ensure_object(Invocation).workspace_root = roots[0]
    _keep(context, parameter, value)


def _complete_workspace(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of workspaces that begin so; after a comma those of the next one."""
    from satchel.config import Folders
    from satchel.system.locations import Registry

    names = [workspace.name for workspace in Registry(Folders.from_environment()).all()]
    return completing(names)(_context, _parameter, incomplete)


def common_options() -> list[click.Parameter]:
    """Return the options of every command."""
    return [
        click.Option(
            ["--root", "given_root"], type=click.Path(path_type=Path), metavar="PATH", expose_value=False,
            callback=_keep, help="The folder to work on; by default the git work tree around the current folder.",
        ),
        click.Option(
            ["--workspace"], metavar="NAME[,NAME]", expose_value=False, callback=_keep_workspace,
            shell_complete=_complete_workspace,
            help="A workspace by its name, in place of --root; several for context, search and graph.",
        ),
        click.Option(
            ["--color"], type=click.Choice(["auto", "always", "never"]), expose_value=False, callback=_keep,
            help="Colours: auto (on a terminal, unless NO_COLOR is set), always, never.",
        ),
    ]  # fmt: skip


class CommandGroup(click.Group):
    """A group of commands, whose help has the whole first sentence of each command."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, each with the first paragraph of its help."""
        listed = [(name, self.commands[name]) for name in self.list_commands(ctx)]
        rows = [
            (name, " ".join((listed_command.help or "").split("\n\n")[0].split()))
            for name, listed_command in listed
            if not listed_command.hidden
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def group(name: str, **settings: Any) -> Callable[[Callable[..., Any]], click.Group]:
    """Return a decorator for a group of commands."""
    settings = {"cls": CommandGroup, "context_settings": HELP_OPTIONS, **settings}
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
    "--strict", is_flag=True, help="Exit with status 1 if nothing was found, 3 if something failed."
)


CHECKED_BY_PARSER = frozenset({"format", "view", "purpose", "tokenizer"})
"""Arguments whose choices the parser checks; the engine checks all others and suggests near ones."""

_METAVARS = {Shape.COUNT: "N", Shape.NUMBER: "X", Shape.MOMENT: "TIME", Shape.OBJECT: "JSON", Shape.COUNTS: "TYPE=N"}
_TYPES: Mapping[Shape, Any] = {Shape.COUNT: int, Shape.NUMBER: float}


def operation_command(
    operation: Operation,
    name: str,
    parent: click.Group | None = None,
    *,
    shows: str,
    positional: Mapping[str, str] | None = None,
    only: Sequence[str] | None = None,
    without: Sequence[str] = (),
    needed: Sequence[str] = (),
    flags: Mapping[str, Sequence[str]] | None = None,
) -> Callable[[Run], Command]:
    """Return a decorator for a command with an option per parameter, limited by `only` and `without`.

    The function gets the present arguments, in the types of `operation.run`, and its own options. `positional` maps
    a name to its metavar: with `|-` its words become one text, which `-` reads from standard input; brackets make it
    optional. `needed` names further required parameters, `flags` other option names.
    """
    places, flags = positional or {}, flags or {}
    offered = _offered(operation, only, without)
    placed = sorted(
        (parameter for parameter in offered if parameter.name in places),
        key=lambda parameter: [*places].index(parameter.name),
    )
    arguments = [_argument(parameter, places[parameter.name]) for parameter in placed]
    options = [
        _option(
            parameter,
            flags.get(parameter.name, parameter.flags),
            is_needed=parameter.name in needed or parameter.is_required,
        )
        for parameter in offered
        if parameter.name not in places
    ]

    def decorate(function: Run) -> Command:
        def run(invocation: Invocation, **values: Any) -> int | None:
            texts = {
                parameter.name for parameter in offered if places.get(parameter.name, "").rstrip("]").endswith("|-")
            }
            taken: dict[str, Any] = {}
            for parameter in offered:
                value = values.pop(parameter.name)
                if parameter.name in texts and value != ():
                    taken[parameter.name] = read_question(value, color=invocation.color)
                elif value not in (None, ()):
                    taken[parameter.name] = _value(
                        parameter, value, is_listed=not flags.get(parameter.name, parameter.flags)
                    )
            return function(invocation, taken, **values)

        run.__doc__ = function.__doc__
        run.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
        return command(name, parent, shows=shows, params=[*arguments, *options])(run)

    return decorate


def options_of(operation: Operation, names: Sequence[str]) -> list[click.Parameter]:
    """Return the options of some parameters of an operation, none of them required."""
    return [
        _option(parameter, parameter.flags, is_needed=False)
        for parameter in operation.parameters
        if parameter.name in names
    ]


def _offered(operation: Operation, only: Sequence[str] | None, without: Sequence[str]) -> list[Parameter]:
    names = {parameter.name for parameter in operation.parameters} if only is None else {*only}
    return [parameter for parameter in operation.parameters if parameter.name in names - {*without}]


def _argument(parameter: Parameter, metavar: str) -> click.Argument:
    is_list = parameter.shape is Shape.TEXTS or metavar.rstrip("]").endswith("|-")
    return click.Argument(
        [parameter.name], nargs=-1 if is_list else 1, required=not metavar.startswith("["), metavar=metavar
    )


def _option(parameter: Parameter, flags: Sequence[str], *, is_needed: bool) -> click.Option:
    shape, written = parameter.shape, list(flags) or [f"--{parameter.name.replace('_', '-')}"]
    help_text = _help(parameter)
    if shape is Shape.SWITCH:
        return _switch(parameter, written, help_text)
    values: dict[str, Any] = {"type": _TYPES.get(shape, str)}
    if parameter.name in CHECKED_BY_PARSER:
        values["type"] = click.Choice(parameter.choices)
    else:
        values["shell_complete"] = completing(parameter.choices) if parameter.choices else None
        values["metavar"] = _METAVARS.get(shape, "TEXT,..." if shape is Shape.TEXTS and not flags else "TEXT")
    if parameter.bare is not None:
        values |= {"is_flag": False, "flag_value": parameter.bare, "metavar": f"[{values['metavar']}]"}
    is_repeated = shape in (Shape.TEXTS, Shape.COUNTS)
    return click.Option([*written, parameter.name], required=is_needed, help=help_text, multiple=is_repeated, **values)


def _switch(parameter: Parameter, flags: Sequence[str], help_text: str) -> click.Option:
    is_pair = parameter.default is not False
    spelled = [f"{flag}/--no-{flag[2:]}" for flag in flags] if is_pair else flags
    shown = f"{help_text[:-1]} (the default)." if parameter.default is True else help_text
    return click.Option([*spelled, parameter.name], is_flag=True, default=None, help=shown)


def completing(names: Iterable[str]) -> Completion:
    """Return the completion of an option by these values; in a list, of its last one: `code,do` -> `code,docs`."""

    def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in names if name.startswith(last)]

    return complete


def _help(parameter: Parameter) -> str:
    """Return the meaning without its action, and the choices unless the parser lists them."""
    head, _, rest = parameter.meaning.partition(": ")
    is_of_action = bool(rest) and head.split(", ")[0].islower() and head.split()[0] not in parameter.choices
    meaning = f"{rest[0].upper()}{rest[1:]}" if is_of_action else parameter.meaning
    if not parameter.choices or parameter.name in CHECKED_BY_PARSER:
        return meaning
    return f"{meaning} One of {', '.join(parameter.choices)}."


def _value(parameter: Parameter, value: Any, *, is_listed: bool) -> Any:
    """Return the argument of the operation for the text of an option."""
    if parameter.shape is Shape.TEXTS:
        return [name for text in value for name in text.split(",")] if is_listed else list(value)
    if parameter.shape is Shape.COUNTS:
        return dict(_count(parameter.name, text) for text in value)
    if parameter.shape is not Shape.OBJECT:
        return value
    try:
        return json.loads(value)
    except ValueError as error:
        example = '{"path": "src/a.py"}'
        raise UsageError(f"{parameter.name} is not JSON ({error}): write it as '{example}'", parameter.name) from None


def _count(option: str, text: str) -> tuple[str, int]:
    name, _, count = text.partition("=")
    if not count.strip().isdecimal():
        raise UsageError(f"{option} {text!r} has no number of tokens: write it as memories=300", option)
    return name.strip(), int(count)
