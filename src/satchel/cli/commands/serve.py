"""`satchel serve`: the page, the HTTP API and MCP over HTTP, for this machine."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence

import click

from satchel.cli import streams
from satchel.cli.interrupt import Interrupt
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, pass_invocation
from satchel.cli.session import opened
from satchel.errors import MissingExtraError, UsageError

HIGHEST_PORT = 65_535


@click.command("serve", context_settings=HELP_OPTIONS)
@click.option("--host", default="127.0.0.1", metavar="HOST", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, HIGHEST_PORT),
    default=0,
    metavar="N",
    show_default=True,
    help="The port; 0 takes a free one.",
)
@click.option("--open", "is_opened", is_flag=True, help="Open the page in the browser.")
@click.option("--show-token", is_flag=True, help="Print the token for scripts and MCP clients, and end.")
@click.option("--allow-remote", is_flag=True, help="Listen on an address that other machines reach.")
@click.option(
    "--allow-host",
    "others",
    multiple=True,
    metavar="NAME[:PORT]",
    help="Answer to this name too, as a proxy or another machine writes it.",
)
@common_options
@pass_invocation
def command(
    invocation: Invocation,
    *,
    host: str,
    port: int,
    is_opened: bool,
    show_token: bool,
    allow_remote: bool,
    others: Sequence[str],
) -> int:
    """Serve the page, the HTTP API and MCP at /mcp, for this machine.

    Prints one line, the address of the page. It works once and signs that browser in. Scripts and MCP clients send
    `Authorization: Bearer TOKEN` instead, with the token that --show-token prints, or that SATCHEL_HTTP_TOKEN holds.
    GET /openapi.json describes the API. Ctrl-C ends it.
    """
    from satchel.config import Folders
    from satchel.web.access import load_token

    token = load_token(Folders.from_environment().state, os.environ)
    if show_token:
        streams.write_line(token)
        return 0
    check_reach(host, os.environ, allow_remote=allow_remote)
    try:
        from satchel.web import server
    except ImportError as error:
        raise MissingExtraError(f"`satchel serve` needs {error.name}: pip install 'satchel[mcp]'") from error
    with Interrupt() as interrupt, opened(invocation) as satchel:
        is_ended = server.run(
            satchel,
            token,
            host,
            port,
            others,
            should_stop=interrupt.requested,
            announce=announcer(is_opened=is_opened),
        )
        if not is_ended:
            give_up(interrupt.exit_code, invocation.color)
    return interrupt.exit_code


def check_reach(host: str, environ: Mapping[str, str], *, allow_remote: bool) -> None:
    """Raise UsageError for a host that others reach, unless that is wanted and the token was chosen for it."""
    from satchel.web.access import TOKEN_VARIABLE, is_loopback

    if is_loopback(host):
        return
    if not allow_remote:
        raise UsageError(
            f"--host {host} is reached by other machines, which could read your code and memories: "
            "leave it out, or add --allow-remote"
        )
    if not environ.get(TOKEN_VARIABLE):
        raise UsageError(f"--allow-remote needs a token of your own: set {TOKEN_VARIABLE} to a long random text")


def announcer(*, is_opened: bool) -> Callable[[str], None]:
    """Says where the page is: the address on standard output, the rest on standard error."""

    def announce(address: str) -> None:
        streams.write_line(address)
        streams.say("this link works once; Ctrl-C ends the server")
        if is_opened:
            # Not here: the server answers only after this, and a browser in a terminal returns when it is left.
            threading.Thread(target=_open, args=(address,), name="satchel-browser", daemon=True).start()

    return announce


def _open(address: str) -> None:
    import webbrowser

    if not webbrowser.open(address):
        streams.note("no browser was found: open the address above")


def give_up(exit_code: int, color: str) -> None:
    """End the process around work that does not stop; to the stores that is a crash, which they survive."""
    streams.note("work that was going on did not stop in time and was cut off", color=color)
    streams.flush()
    os._exit(exit_code)
