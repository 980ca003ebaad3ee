"""`satchel clean`: remove what can be built again."""

from __future__ import annotations

import click

from satchel.cli import streams
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, json_option, pass_invocation
from satchel.cli.sizes import size_text


@click.command("clean", context_settings=HELP_OPTIONS)
@click.option("--all", "everything", is_flag=True, help="Remove the indexes of all folders, and what they share.")
@json_option("what was removed")
@common_options
@pass_invocation
def command(invocation: Invocation, *, everything: bool, as_json: bool) -> int:
    """Remove the index of a folder; it is built again when needed.

    Memories, settings and keys are never removed.
    """
    from satchel.engine import clean

    removed = clean(root=invocation.root, everything=everything)
    if as_json:
        streams.write_json({"removed": str(removed.folder), "bytes": removed.size})
    elif removed.size:
        streams.say(f"removed {size_text(removed.size)} from {removed.folder}", color=invocation.color)
    else:
        streams.say(f"there is nothing in {removed.folder}", color=invocation.color)
    return 0
