"""The process around the application: a socket, a loop, and an end within seconds."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
from collections.abc import Callable, Collection, Iterator

import uvicorn
from starlette.types import ASGIApp

from satchel.engine import Satchel
from satchel.errors import UsageError
from satchel.web.access import Access, bracketed, own_origins
from satchel.web.application import application
from satchel.web.state import server_state

GRACE_SECONDS = 1
"""For connections to end by themselves. What runs was asked to stop before that; a stream that stays open is cut."""

IDLE_SECONDS = 30
"""A connection without a request is kept so long: a person looks at the page longer than that, and it opens anew."""

EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not listened on
"""Addresses that stand for all of a machine, and the one of them that a browser on it opens."""

PORT_ERRORS = frozenset({errno.EADDRINUSE, errno.EACCES})
"""Where another port helps; everything else is the host."""

BACKLOG = 512
"""Connections that wait to be accepted: more than the requests that may wait, so that those get their 503."""


def run(
    engine: Satchel,
    token: str,
    host: str,
    port: int,
    others: Collection[str] = (),
    *,
    should_stop: Callable[[], bool],
    announce: Callable[[str], None],
) -> bool:
    """Serve an engine until `should_stop`; `announce` gets the address of the page as soon as it answers.

    Returns whether all work ended in time, so that the engine can be closed. Raises UsageError for an address that
    cannot be listened on.
    """
    with listening(host, port) as sock:
        own_port = sock.getsockname()[1]
        access = Access(token, own_port)
        shared = server_state(engine)
        app = application(shared, own_origins(host, own_port, others), access)
        announce(f"http://{bracketed(reachable(host))}:{own_port}/?token={access.ticket}")
        try:
            serve(app, sock, should_stop, shared.stop)
        finally:
            is_ended = shared.close()
    return is_ended


def reachable(host: str) -> str:
    """The name to open on this machine: an address that stands for all of them leads nowhere by itself."""
    return EVERYWHERE.get(host.strip("[]"), host)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; `port` 0 takes a free one. Raises UsageError where it cannot."""
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


def serve(app: ASGIApp, sock: socket.socket, should_stop: Callable[[], bool], on_stop: Callable[[], None]) -> None:
    """Answer on the socket until `should_stop`; `on_stop` is called at once then, before connections are closed."""
    config = uvicorn.Config(
        app,
        http="h11",  # the one that is always there, so that odd requests are treated alike everywhere
        ws="none",
        loop="asyncio",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    asyncio.run(_Server(config, should_stop, on_stop).serve([sock]))


class _Server(uvicorn.Server):
    """Leaves signals to the command, which asks for the end through `should_stop`."""

    def __init__(self, config: uvicorn.Config, should_stop: Callable[[], bool], on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._should_stop = should_stop
        self._on_stop = on_stop

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take no signals."""
        yield

    async def on_tick(self, counter: int) -> bool:
        """Called every 0.1 s: whether to end."""
        if self._should_stop() and not self.should_exit:
            self.should_exit = True
            self._on_stop()
        return await super().on_tick(counter)
