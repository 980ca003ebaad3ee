"""`satchel completion`: the script that a shell needs to complete commands and options."""

from __future__ import annotations

import sys

import click

from satchel.cli import streams
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, pass_invocation

INSTALL_HINTS = {
    "bash": 'add to ~/.bashrc:  eval "$(satchel completion bash)"',
    "zsh": 'add to ~/.zshrc:  eval "$(satchel completion zsh)"',
    "fish": "run once:  satchel completion fish > ~/.config/fish/completions/satchel.fish",
}


@click.command("completion", context_settings=HELP_OPTIONS)
@click.argument("shell", type=click.Choice([*INSTALL_HINTS]))
@common_options
@pass_invocation
def command(invocation: Invocation, shell: str) -> int:
    """Print the script that completes commands in a shell."""
    from click.shell_completion import get_completion_class

    from satchel.cli.application import COMPLETE_VARIABLE, PROGRAM, application

    completion = get_completion_class(shell)
    assert completion is not None
    streams.write(completion(application, {}, PROGRAM, COMPLETE_VARIABLE).source())
    if streams.is_terminal(sys.stdout):
        streams.note(INSTALL_HINTS[shell], color=invocation.color)
    return 0
