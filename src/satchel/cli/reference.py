"""The reference of all commands as Markdown: `python -m satchel.cli.reference` writes docs/cli.md."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from satchel.cli.application import PROGRAM, application
from satchel.cli.options import Invocation

WIDTH = 100
"""Columns of the help texts, whatever the terminal: the page must not depend on it."""


def reference() -> str:
    """One section for the program, for each command and each of its sub-commands, with the text of its help."""
    sections = ["# The command line\n\nThis page is generated from the help of the commands."]
    for context in _contexts(application, PROGRAM, None):
        depth = context.command_path.count(" ") + 2
        sections.append(f"{'#' * min(depth, 3)} `{context.command_path}`\n\n```text\n{context.get_help()}\n```")
    return "\n\n".join(sections) + "\n"


def _contexts(command: click.Command, name: str, parent: click.Context | None) -> Iterator[click.Context]:
    context = click.Context(
        command, parent, info_name=name, obj=Invocation(), terminal_width=WIDTH, **command.context_settings
    )
    yield context
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None
            yield from _contexts(found, below, context)


if __name__ == "__main__":
    sys.stdout.write(reference())
