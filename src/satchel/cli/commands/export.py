"""`satchel export`: everything that is remembered, as plain lines of JSON."""

from __future__ import annotations

from pathlib import Path

import click

from satchel import state_files
from satchel.cli import streams
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, pass_invocation
from satchel.cli.session import opened
from satchel.errors import UsageError

STANDARD_OUTPUT = "-"


@click.command("export", context_settings=HELP_OPTIONS)
@click.argument("target", metavar="[FILE|-]", default=STANDARD_OUTPUT)
@click.option("--force", is_flag=True, help="Write over a FILE that exists.")
@common_options
@pass_invocation
def command(invocation: Invocation, target: str, *, force: bool) -> int:
    """Write everything that is remembered as JSON Lines.

    Memories, experiences, values and conversations of all repositories, replaced and active ones too: enough to bring
    everything back with `satchel import`. FILE is written whole or not at all.
    """
    path = Path(target)
    if target != STANDARD_OUTPUT and path.exists() and not force:
        raise UsageError(f"{target} exists: name another file, or write over it with --force")
    with opened(invocation) as satchel:
        lines = list(satchel.export_memory())
    text = "".join(f"{line}\n" for line in lines)
    if target == STANDARD_OUTPUT:
        streams.write(text)
        return 0
    state_files.replace(path, text.encode())
    streams.say(f"wrote {len(lines) - 1} records to {target}", color=invocation.color)
    return 0
