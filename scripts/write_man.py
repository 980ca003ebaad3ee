"""Write the manual page from the help of every command.

python scripts/write_man.py [FILE]        satchel.1 by default
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import click

from satchel import __version__
from satchel.cli.application import application

EXIT_CODES = """0, an answer, an empty one too; 1 and 3 as each command says; 2, a wrong call; 10, no folder that could
be indexed; 11, another process holds the index; 130, interrupted."""


ENVIRONMENT = """SATCHEL_SECTION_KEY sets the setting section.key (`satchel config show` lists all); SATCHEL_HOME puts
all folders below one; SATCHEL_HOOKS=0 switches hooks off; XDG_CACHE_HOME, XDG_CONFIG_HOME, XDG_DATA_HOME and
XDG_STATE_HOME move one folder each; NO_COLOR switches colours off."""

FILES = """`satchel config path` prints the folders of cache (indexes), configuration, data (memories) and state (keys,
logs, sessions). .satchel.toml and .satchelignore in a project are its settings and what is left out."""


def escaped(text: str) -> str:
    """Return the text as roff shows it unchanged: no escapes, no hyphens for minus signs, no requests."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("\b", "")
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)


def paragraphs(text: str) -> list[str]:
    """Return help text as roff paragraphs; what click keeps as it is (after a backspace) stays as it is."""
    lines = []
    for part in filter(None, (part.strip("\n") for part in re.split(r"\n\s*\n", inspect.cleandoc(text)))):
        kept = part.lstrip().startswith("\b") or any(line.startswith("  ") for line in part.splitlines())
        body = escaped(part).strip("\n")
        lines += [".PP", *([".nf", body, ".fi"] if kept else [" ".join(body.split())])]
    return lines


def section(command: click.Command, context: click.Context) -> list[str]:
    """Return one command with its usage, description and options."""
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f".SS {escaped(context.command_path)}", f".B {escaped(context.command_path)}", escaped(usage)]
    lines += paragraphs(command.help or "")
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and record[1]:  # an argument has no text: the description above tells it
            lines += [".TP", f".B {escaped(record[0])}", escaped(" ".join(record[1].split()))]
    return lines + paragraphs(command.epilog or "")


def sections(command: click.Command, context: click.Context) -> list[str]:
    """Return a command and all below it; hidden ones are left out."""
    lines = section(command, context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None and not child.hidden:
                lines += sections(child, click.Context(child, info_name=name, parent=context))
    return lines


def manual() -> str:
    """Return the whole page."""
    context = click.Context(application, info_name="satchel")
    head = [f'.TH SATCHEL 1 "" "satchel {__version__}"', ".SH NAME"]
    head += ["satchel \\- everything your agent should know, packed to fit", ".SH SYNOPSIS"]
    head += [".B satchel", escaped("COMMAND [OPTIONS] [ARGUMENT]..."), ".SH COMMANDS"]
    tail = [".SH EXIT STATUS", escaped(" ".join(EXIT_CODES.split()))]
    tail += [".SH ENVIRONMENT", escaped(" ".join(ENVIRONMENT.split())), ".SH FILES", escaped(" ".join(FILES.split()))]
    return "\n".join([*head, *sections(application, context), *tail]) + "\n"


if __name__ == "__main__":
    Path(*(sys.argv[1:] or ["satchel.1"])).write_text(manual(), encoding="utf-8")
