"""The `satchel` command: lazily loaded sub-commands, and the report of every failure.

Exit codes: 0 done, 1 a negative answer or an error, 2 wrong usage, 3 partly done, 10 nothing to index here, 11 locked,
130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from satchel import __version__
from satchel.cli import streams
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options
from satchel.errors import SatchelError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

PROGRAM = "satchel"

COMPLETE_VARIABLE = "_SATCHEL_COMPLETE"
"""Set by the shell while it asks for completions."""


def _groups() -> Iterator[tuple[str, Mapping[str, str]]]:
    text = Path(__file__).with_name("commands.txt").read_text(encoding="utf-8")
    for block in text.strip().split("\n\n")[1:]:
        heading, *lines = block.split("\n")
        yield heading.strip("[]"), {name: summary for name, _, summary in (line.partition(": ") for line in lines)}


GROUPS = dict(_groups())
"""Heading of the help -> sub-command -> its summary, which is also the first line of its own help."""

COMMANDS: Mapping[str, str] = {name: text for group in GROUPS.values() for name, text in group.items()}
"""Sub-command -> summary."""

MODULES: Mapping[str, tuple[str, ...]] = {
    "ask": (
        "context", "search", "graph", "why", "expand", "replay", "premortem", "brief", "situation", "rules", "trust",
    ),
    "remember": ("remember", "memory", "experience", "values"),
    "explore": ("history", "status", "stats", "doctor", "eval"),
    "connect": ("setup", "remove", "mcp", "proxy", "hook"),
    "serve": ("serve",),
    "transfer": ("export", "import"),
    "maintain": ("index", "clean", "workspace", "store", "config", "completion"),
}  # fmt: skip
"""Module -> its commands."""

_MODULE_OF = {name: module for module, names in MODULES.items() for name in names}

_NAME_COLUMN = max(map(len, COMMANDS))

EPILOG = (
    "The first question in a folder builds its index; nothing is downloaded and nothing is sent. "
    "Text goes to standard output, everything else to standard error."
)


class LazyGroup(click.Group):
    """A group with the names and summaries of its commands that imports only the one that runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the names do not depend on it
        """Return names in the order of `COMMANDS`."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        """Return the command of this name, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"satchel.cli.commands.{_MODULE_OF[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments name. Raises click.UsageError with suggestions."""
        name = args[0]
        if name not in COMMANDS and not ctx.resilient_parsing:
            raise click.UsageError(unknown_command(name), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        """List the commands in their groups without importing them."""
        for heading, commands in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(_NAME_COLUMN), text) for name, text in commands.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer commands without importing them, and the options of the group."""
        from click.shell_completion import CompletionItem

        matches = [CompletionItem(name, help=text) for name, text in COMMANDS.items() if name.startswith(incomplete)]
        return [*matches, *click.Command.shell_complete(self, ctx, incomplete)]


def unknown_command(name: str) -> str:
    """Return the message for a command that does not exist."""
    import difflib

    close = difflib.get_close_matches(name, COMMANDS, n=2, cutoff=0.5)
    if close:
        return f"there is no command {name!r}: did you mean {' or '.join(close)}?"
    if " " in name:
        return f"{name!r} is not a command: to ask a question, write `{PROGRAM} context {name!r}`"
    return f"there is no command {name!r}: the commands are {', '.join(COMMANDS)}"


@click.group(
    PROGRAM,
    cls=LazyGroup,
    params=common_options(),
    context_settings={**HELP_OPTIONS, "max_content_width": 100},
    epilog=EPILOG,
)
@click.version_option(__version__, "--version", prog_name=PROGRAM)
def application() -> None:
    """Everything your agent should know, packed to fit.

    Collects the code, docs, commits, notes and past lessons that matter for a task and packs them into a token
    budget that it never exceeds. Runs offline: no language model, no API key, no daemon.
    """


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code. Only an internal error is raised."""
    if COMPLETE_VARIABLE in os.environ:
        application.main(args=[*arguments], prog_name=PROGRAM, complete_var=COMPLETE_VARIABLE)
    invocation = Invocation(as_json=wants_json(arguments))
    try:
        with application.make_context(PROGRAM, [*arguments], obj=invocation) as context:
            code = application.invoke(context)
        streams.flush()
    except click.exceptions.Exit as end:
        return _ended(end.exit_code, invocation)
    except click.exceptions.NoArgsIsHelpError as error:
        streams.say(error.format_message())
        return error.exit_code
    except click.ClickException as error:
        return _report(_usage_message(error), "UsageError", error.exit_code, invocation)
    except click.Abort:
        return _report("interrupted", "KeyboardInterrupt", 130, invocation)
    except SatchelError as error:
        return _report(str(error), type(error).__name__, error.exit_code, invocation)
    except BrokenPipeError:
        return streams.abandon()
    except OSError as error:
        return _report(_system_message(error), "OSError", 1, invocation)
    return int(code or 0)


def _system_message(error: OSError) -> str:
    """`src/a.py: Permission denied`, or the reason alone."""
    return ": ".join(filter(None, (str(error.filename or ""), error.strerror or str(error))))


def wants_json(arguments: Sequence[str]) -> bool:
    """Return whether errors have to be JSON too. Checked before parsing, because parsing itself may fail."""
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in before


_ADVICE = frozenset(
    ("allow", "ask", "change", "choose", "did", "export", "give", "import", "leave", "move", "name", "pip", "remove",
     "repeat", "run", "save", "say", "set", "supersede", "try", "use", "wait", "write")
)  # fmt: skip
"""First words of advice."""


def next_step(message: str) -> str:
    """Return the advice at the end of a message, empty if none: `choose from a, b` of `unknown lens: choose ...`."""
    before, _, hint = message.rpartition(": ")
    return hint if before and hint.partition(" ")[0] in _ADVICE else ""


def _ended(code: int, invocation: Invocation) -> int:
    """Flush a help text or version that was shown; returns the exit code."""
    try:
        streams.flush()
    except BrokenPipeError:
        return streams.abandon()
    except SatchelError as error:
        return _report(str(error), type(error).__name__, error.exit_code, invocation)
    return code


def _usage_message(error: click.ClickException) -> str:
    message = error.format_message().rstrip(".")
    path = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx is not None else PROGRAM
    if isinstance(error, click.NoSuchOption) and " " in error.option_name:  # a question, not an option
        return f"{message}\nwrite `--` before a text that begins with a dash"
    return f"{message}\ntry `{path} --help`"


def _report(message: str, kind: str, exit_code: int, invocation: Invocation) -> int:
    """Report an error as text or JSON, without secrets, and return the exit code."""
    from satchel.safety.sanitize import redact  # here, because most commands end without an error

    message = redact(message)[0]
    try:
        if invocation.as_json:
            first, _, rest = message.partition("\n")
            hint = " ".join(rest.split()) or next_step(first)
            error = {"type": kind, "message": first, "exit_code": exit_code}
            streams.write_json({"error": error | ({"hint": hint} if hint else {})})
        else:
            streams.error(message, color=invocation.color)
        streams.flush()
    except (OSError, SatchelError):
        streams.abandon()
        if sys.stderr is not None:
            streams.error(message, color=invocation.color)
    return exit_code
