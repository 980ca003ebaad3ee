"""The command `satchel serve`: where it listens, in how many processes, and how it ends."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from satchel.cli import streams
from satchel.cli.options import Invocation, command
from satchel.cli.session import Interrupt, collect_seldom, opened
from satchel.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from satchel.engine import Satchel
    from satchel.web.access import UserTokens

HIGHEST_PORT = 65_535

MOST_WORKERS = 64

END_SECONDS = 5.0
"""Seconds for a worker to end after its requests, before it is killed: connections, running work and stores close."""


@command("serve")
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
@click.option("--add-token", "added", metavar="NAME", help="Print a new token for a user, and end.")
@click.option("--read-only", is_flag=True, help="With --add-token: this user may ask, and changes nothing.")
@click.option("--remove-token", "removed", metavar="NAME", help="Remove the token of a user, and end.")
@click.option("--allow-remote", is_flag=True, help="Listen on an address that other machines reach.")
@click.option(
    "--allow-host",
    "others",
    multiple=True,
    metavar="NAME[:PORT]",
    help="Answer to this name too, as a proxy or another machine writes it.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, MOST_WORKERS),
    default=1,
    metavar="N",
    show_default=True,
    help="Processes that answer: as many as processors for a team or many agents.",
)
def serve_command(
    invocation: Invocation,
    *,
    host: str,
    port: int,
    is_opened: bool,
    show_token: bool,
    added: str | None,
    read_only: bool,
    removed: str | None,
    allow_remote: bool,
    others: Sequence[str],
    workers: int,
) -> int:
    """Serve the page, the HTTP API and MCP at /mcp, for this machine.

    Prints one line, the address of the page. It works once and signs that browser in. Scripts and MCP clients send
    `Authorization: Bearer TOKEN` instead, with the token that --show-token prints, or the value of SATCHEL_HTTP_TOKEN,
    or one of a user of their own. A running server knows at once when a user's token is added or removed.
    GET /openapi.json describes the API. Ctrl-C ends it after the requests in progress, a second one at once.
    """
    from satchel.config import Folders
    from satchel.web.access import UserTokens, load_token

    state = Folders.from_environment().state
    users, token = UserTokens(state), load_token(state, os.environ)
    if show_token:
        streams.write_line(token)
    if _change_tokens(users, added, removed, read_only=read_only) or show_token:
        return 0
    check_reach(host, os.environ, allow_remote=allow_remote, has_users=bool(users.names()))
    try:
        from satchel.web.access import Access, bracketed, own_origins
        from satchel.web.middleware import Metrics
        from satchel.web.server import Workers, listening, reachable, run
    except ImportError as error:
        raise MissingExtraError(f"`satchel serve` needs {error.name}: pip install 'satchel[mcp]'") from error
    with Interrupt() as interrupt, listening(host, port) as sock:
        own_port = sock.getsockname()[1]
        access, origins = Access(token, own_port, users), own_origins(host, own_port, others)
        metrics = Metrics(workers)

        def serve(satchel: Satchel, should_stop: Callable[[], bool], slot: int = 0) -> int:
            collect_seldom()
            if not run(satchel, sock, origins, access, should_stop, metrics, slot):
                give_up(_end_code(interrupt), invocation.color)
            return _end_code(interrupt)

        def start() -> None:
            announcer(is_opened=is_opened)(f"http://{bracketed(reachable(host))}:{own_port}/?token={access.ticket}")

        with opened(invocation) as satchel:
            if workers == 1:
                start()
                return _alone(satchel, lambda: serve(satchel, interrupt.requested), invocation.color)
            patience = satchel.settings.serve_drain_s + END_SECONDS
        supervisor = Workers(
            workers,
            sock,
            _worker(invocation, interrupt, serve),
            lambda text: streams.note(text, color=invocation.color),
        )
        supervisor.start()
        start()
        return supervisor.watch(interrupt.received, patience)


def _change_tokens(users: UserTokens, added: str | None, removed: str | None, *, read_only: bool) -> bool:
    """Add or remove the token of a user; returns whether that was asked for."""
    from satchel.web.access import Rights

    if read_only and added is None:
        raise UsageError("--read-only says nothing without --add-token NAME")
    if removed is not None:
        users.remove(removed)
    if added is not None:
        streams.write_line(users.add(added, Rights.READ if read_only else Rights.WRITE))
    return bool(added or removed)


def _alone(satchel: Satchel, serve: Callable[[], int], color: str) -> int:
    """Serve in this process, which answers hooks and commands of its root too."""
    from satchel.cli.resident import Resident

    with Resident(lambda: satchel, ".", satchel.places.root) as resident:
        code = serve()
        if not resident.close(END_SECONDS):
            give_up(code, color)
    return code


def _worker(
    invocation: Invocation, interrupt: Interrupt, serve: Callable[[Satchel, Callable[[], bool], int], int]
) -> Callable[[int], int]:
    """Return the work of a process that is forked from this one: it ends with this process, or by its own signal."""
    parent = os.getpid()

    def work(slot: int) -> int:
        with Interrupt() as own, opened(invocation, quiet=True) as satchel:

            def should_stop() -> bool:
                return own.requested() or interrupt.requested() or os.getppid() != parent

            return serve(satchel, should_stop, slot)

    return work


def _end_code(interrupt: Interrupt) -> int:
    """Return the exit code after a signal: 0 after SIGTERM, which asked for this end."""
    return 0 if interrupt.received() == signal.SIGTERM else interrupt.exit_code


def check_reach(host: str, environ: Mapping[str, str], *, allow_remote: bool, has_users: bool = False) -> None:
    """Raise UsageError for a host that other machines reach, unless allowed and with a token of the user or users."""
    from satchel.web.access import TOKEN_VARIABLE, is_loopback

    if is_loopback(host):
        return
    if not allow_remote:
        raise UsageError(
            f"--host {host} is reached by other machines, which could read your code and memories: "
            "leave it out, or add --allow-remote"
        )
    if not environ.get(TOKEN_VARIABLE) and not has_users:
        raise UsageError(
            f"--allow-remote needs a token of your own: set {TOKEN_VARIABLE} to a long random text, or add one for "
            "each user with --add-token NAME"
        )


def announcer(*, is_opened: bool) -> Callable[[str], None]:
    """Return a function that prints the address of the page, and hints on standard error."""

    def announce(address: str) -> None:
        streams.write_line(address)
        streams.say("this link works once; Ctrl-C ends the server")
        if is_opened:
            # In a thread: the server answers only after this returns, and a browser in a terminal blocks.
            threading.Thread(target=_open, args=(address,), name="satchel-browser", daemon=True).start()

    return announce


def _open(address: str) -> None:
    import webbrowser

    if not webbrowser.open(address):
        streams.note("no browser was found: open the address above")


def give_up(exit_code: int, color: str) -> None:
    """End the process despite running work; the stores survive that like a crash."""
    streams.note("work that was going on did not stop in time and was cut off", color=color)
    streams.flush()
    os._exit(exit_code)
