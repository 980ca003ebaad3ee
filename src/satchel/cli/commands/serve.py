"""The command `satchel serve`: where it listens, in how many processes of uvicorn, and how it ends."""

from __future__ import annotations

import errno
import math
import os
import signal
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from typing import TYPE_CHECKING

import click

from satchel.cli import streams
from satchel.cli.options import Invocation, command
from satchel.cli.session import Interrupt, collect_seldom, opened
from satchel.errors import MissingExtraError, SatchelError, UsageError
from satchel.system import telemetry

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

    from satchel.engine import Satchel
    from satchel.web.middleware import Access, Origins

END_SECONDS = 5.0
"""Seconds for a process to end after its requests: connections, running work and stores close."""

IDLE_SECONDS = 30
"""Seconds that a connection without a request is kept; the page opens a new one later."""

EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not listened on
"""Wildcard address -> the loopback address that a browser on this machine opens."""

PORT_ERRORS = frozenset({errno.EADDRINUSE, errno.EACCES})
"""Errors that another port avoids; all others concern the host."""

BACKLOG = 512
"""Connections that wait to be accepted: more than requests may wait, so that those get a 503."""


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
    for name in ("starlette", "uvicorn", "mcp"):  # before the token is made and anything listens
        if find_spec(name) is None:
            from satchel.system.installed import with_extra

            raise MissingExtraError(f"`satchel serve` needs {name}: {with_extra('mcp')}")
    from satchel.config import Folders
    from satchel.web.middleware import Access, bracketed, load_token, own_origins

    token = load_token(Folders.from_environment().state, os.environ)
    if show_token:
        streams.write_line(token)
        return 0
    check_reach(host, os.environ, allow_remote=allow_remote)
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
        worker = partial(application_of_worker, invocation.root, origins, access)
        return _several(configured(worker, drain_seconds, workers), sock, started)


def _alone(
    satchel: Satchel, sock: socket.socket, origins: Origins, access: Access, started: Callable[[], None], color: str
) -> int:
    """Serve in this process, which answers hooks and commands of its root too; returns the exit code."""
    import uvicorn

    from satchel.cli.resident import Resident
    from satchel.web.application import application
    from satchel.web.routes import ServerState

    state = ServerState(satchel)
    running = uvicorn.Server(configured(application(state, origins, access), satchel.settings.serve_drain_s))
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


def _several(config: uvicorn.Config, sock: socket.socket, started: Callable[[], None]) -> int:
    """Serve in several processes, which uvicorn starts, replaces and ends; returns the exit code."""
    from uvicorn.supervisors import Multiprocess

    processes = Multiprocess(config, [sock])

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


def configured(app: Callable[..., object], drain_seconds: float, workers: int = 1) -> uvicorn.Config:
    """Return how uvicorn serves an application, or in several processes that of each, which `app` makes.

    Requests in progress have `drain_seconds` to end when it is stopped.
    """
    import uvicorn

    return uvicorn.Config(
        app,
        factory=workers > 1,
        workers=workers,
        http="h11",  # the one that is always there, so that odd requests are treated alike everywhere
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        log_level="error",  # a line for each malformed request would let anybody fill the disk
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=math.ceil(drain_seconds),
        # Seconds without a sign of life until a process counts as hung and is replaced: starting takes 1 to 5.
        timeout_worker_healthcheck=15,
    )


def application_of_worker(root: Path | None, origins: Origins, access: Access) -> ASGIApp:
    """Open the engine of a process beside others and return its application, which closes it.

    `root` is None for the one around the current folder. Exits if the engine cannot be opened.
    """
    from uvicorn.config import STARTUP_FAILURE

    from satchel.engine import Satchel  # here, because a process that is still loading this counts as hung
    from satchel.web.application import application
    from satchel.web.routes import ServerState

    try:
        engine = Satchel.open(root=root)
    except (SatchelError, OSError) as error:
        telemetry.warning("a worker cannot start", reason=str(error))
        raise SystemExit(STARTUP_FAILURE) from error
    collect_seldom()
    threading.Thread(target=_end_with_parent, name="satchel-parent", daemon=True).start()
    return application(ServerState(engine), origins, access, has_siblings=True, at_end=engine.close)


def _end_with_parent() -> None:
    """End this process as soon as the one that started it has ended."""
    if (parent := parent_process()) is not None:
        parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _end_code(interrupt: Interrupt) -> int:
    """Return the exit code after a signal: 0 after SIGTERM, which asked for this end."""
    return 0 if interrupt.received() == signal.SIGTERM else interrupt.exit_code


def reachable(host: str) -> str:
    """Return the host to open on this machine, also for a wildcard address."""
    return EVERYWHERE.get(host.strip("[]"), host)


def listening(host: str, port: int) -> socket.socket:
    """Return a listening socket; `port` 0 means a free one. Raises UsageError on failure."""
    plain = host.strip("[]")
    try:
        family, _, _, _, address = socket.getaddrinfo(plain, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server((address[0], port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:
        code = getattr(error, "errno", None)
        # The system's own words: those of `create_server` name the address a second time.
        reason = os.strerror(code) if code in PORT_ERRORS else getattr(error, "strerror", None) or str(error)
        step = "`--port 0` takes a free port" if code in PORT_ERRORS else "--host has to be an address of this machine"
        raise UsageError(f"cannot listen on {host!r} port {port}: {reason.partition(' (')[0]}; {step}") from error


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
