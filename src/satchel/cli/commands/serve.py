"""The command `satchel serve`: where it listens, in how many processes, and how it ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from multiprocessing import active_children, get_context
from typing import TYPE_CHECKING

import click

from satchel.cli import streams
from satchel.cli.options import Invocation, command
from satchel.cli.session import Interrupt, collect_seldom, opened
from satchel.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from socket import socket

    from uvicorn.supervisors import Multiprocess

    from satchel.engine import Satchel
    from satchel.web.middleware import Access, Origins


@command("serve")
@click.option("--host", default="127.0.0.1", metavar="HOST", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), default=0, metavar="N", show_default=True,
              help="The port; 0 chooses a free one.")  # fmt: skip
@click.option("--show-token", is_flag=True, help="Print the token for scripts and MCP clients, and exit.")
@click.option("--allow-remote", is_flag=True, help="Listen on an address that other machines can reach.")
@click.option("--allow-host", "others", multiple=True, metavar="NAME[:PORT]",
              help="Also accept this host name, as a proxy or another machine sends it.")  # fmt: skip
@click.option("--workers", type=click.IntRange(1, 64), default=1, metavar="N", show_default=True,
              help="Number of processes; for a team or many agents, one per processor.")  # fmt: skip
def serve_command(
    invocation: Invocation,
    *,
    host: str,
    port: int,
    show_token: bool,
    allow_remote: bool,
    others: Sequence[str],
    workers: int,
) -> int:
    """Serve the page, the HTTP API and MCP at /mcp, for this machine.

    Prints one line, the address of the page. It works once and signs that browser in. Scripts and MCP clients send
    `Authorization: Bearer TOKEN` instead, with the token that --show-token prints, or the value of SATCHEL_HTTP_TOKEN.
    GET /openapi.json describes the API. Ctrl-C ends it after the requests in progress, a second Ctrl-C at once.
    """
    from satchel.config import Folders
    from satchel.web.middleware import load_token

    token = load_token(Folders.from_environment().state, os.environ)
    if show_token:
        streams.write_line(token)
        return 0
    check_reach(host, os.environ, allow_remote=allow_remote)
    try:
        from satchel.web.middleware import Access, bracketed, own_origins
        from satchel.web.server import Worker, listening, reachable, supervisor
    except ImportError as error:
        raise MissingExtraError(f"`satchel serve` needs {error.name}: pip install '.[mcp]' in a checkout") from error
    with listening(host, port) as sock:
        own_port = sock.getsockname()[1]
        unused = get_context("spawn").Semaphore() if workers > 1 else None
        access, origins = Access(token, own_port, unused), own_origins(host, own_port, others)
        address = f"http://{bracketed(reachable(host))}:{own_port}/?token={access.ticket}"
        started = partial(announce, address)
        with opened(invocation) as satchel:
            drain_seconds = satchel.settings.serve_drain_s
            if workers == 1:
                return _alone(satchel, sock, origins, access, started, invocation.color)
        worker = Worker(invocation.root, origins, access, collect_seldom)
        return _several(supervisor(worker, workers, sock, drain_seconds), sock, started)


def _alone(
    satchel: Satchel, sock: socket, origins: Origins, access: Access, started: Callable[[], None], color: str
) -> int:
    """Serve in this process, which answers hooks and commands of its root too; returns the exit code."""
    from satchel.cli.resident import Resident
    from satchel.web.application import application
    from satchel.web.routes import ServerState
    from satchel.web.server import END_SECONDS, server

    state = ServerState(satchel)
    running = server(application(state, origins, access), satchel.settings.serve_drain_s)
    collect_seldom()
    with Resident(lambda: satchel, ".", satchel.places.root) as resident:
        try:
            with Interrupt(lambda: setattr(running, "should_exit", True)) as interrupt:
                started()
                running.run([sock])
        finally:
            has_ended = state.close() and resident.close(END_SECONDS)
    if not has_ended:
        give_up(_end_code(interrupt), color)
    return _end_code(interrupt)


def _several(processes: Multiprocess, sock: socket, started: Callable[[], None]) -> int:
    """Serve in several processes; returns the exit code."""

    def end() -> None:
        raise KeyboardInterrupt

    with Interrupt(end) as interrupt:
        try:
            started()
            processes.run()
        except KeyboardInterrupt:
            sock.close()  # else new connections would wait for a process that accepts them
            processes.terminate_all()
            processes.join_all()
        finally:
            for process in active_children():
                process.kill()
    return _end_code(interrupt) if interrupt.received() else 1  # no process could start


def _end_code(interrupt: Interrupt) -> int:
    """Return the exit code after a signal: 0 after SIGTERM, which asked for this end."""
    return 0 if interrupt.received() == signal.SIGTERM else interrupt.exit_code


def check_reach(host: str, environ: Mapping[str, str], *, allow_remote: bool) -> None:
    """Raise UsageError for a host that other machines reach, unless allowed and with a token of the user."""
    from satchel.web.middleware import TOKEN_VARIABLE, is_loopback

    if is_loopback(host):
        return
    if not allow_remote:
        raise UsageError(
            f"--host {host} can be reached by other machines, which could read your code and memories: "
            "leave it out, or add --allow-remote"
        )
    if not environ.get(TOKEN_VARIABLE):
        raise UsageError(f"--allow-remote needs a token of your own: set {TOKEN_VARIABLE} to a long random text")


def announce(address: str) -> None:
    """Print the address of the page, with hints on standard error."""
    streams.write_line(address)
    streams.say("this link works once; Ctrl-C ends the server")


def give_up(exit_code: int, color: str) -> None:
    """End the process despite running work; the stores survive that like a crash."""
    streams.note("requests in progress did not stop in time and were cut off", color=color)
    streams.flush()
    os._exit(exit_code)
