"""The socket of `satchel serve`, and uvicorn's servers on it: in this process, or in several that it supervises."""

from __future__ import annotations

import errno
import math
import os
import signal
import socket
import threading
from collections.abc import Callable
from multiprocessing import parent_process
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from satchel.errors import SatchelError, UsageError
from satchel.system import telemetry

if TYPE_CHECKING:
    from starlette.types import ASGIApp

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


def server(app: ASGIApp, drain_seconds: float) -> uvicorn.Server:
    """Return a server for this process. Requests in progress have `drain_seconds` to end when it is stopped."""
    return uvicorn.Server(_config(app, drain_seconds))


def supervisor(worker: Callable[[], ASGIApp], count: int, sock: socket.socket, drain_seconds: float) -> Multiprocess:
    """Return what starts, replaces and ends `count` processes on a socket, each with the application of `worker`."""
    return Multiprocess(_config(worker, drain_seconds, count), [sock])


def _config(app: Callable[..., object], drain_seconds: float, workers: int = 1) -> uvicorn.Config:
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


class Worker:
    """Makes the application of a process beside others. It is sent to that process, which calls it.

    `root` is None for the one around the current folder. `prepare` is called when the engine is open.
    """

    def __init__(self, root: Path | None, origins: Origins, access: Access, prepare: Callable[[], object]) -> None:
        self._root, self._origins, self._access, self._prepare = root, origins, access, prepare

    def __call__(self) -> ASGIApp:
        """Open the engine and return the application, which closes it. Exits if the engine cannot be opened."""
        from satchel.engine import Satchel  # here, because a process that is still loading this counts as hung
        from satchel.web.application import application
        from satchel.web.routes import ServerState

        try:
            engine = Satchel.open(root=self._root)
        except (SatchelError, OSError) as error:
            telemetry.warning("a worker cannot start", reason=str(error))
            raise SystemExit(STARTUP_FAILURE) from error
        self._prepare()
        threading.Thread(target=_end_with_parent, name="satchel-parent", daemon=True).start()
        state = ServerState(engine)
        return application(state, self._origins, self._access, has_siblings=True, at_end=engine.close)


def _end_with_parent() -> None:
    """End this process as soon as the one that started it has ended."""
    if (parent := parent_process()) is not None:
        parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
