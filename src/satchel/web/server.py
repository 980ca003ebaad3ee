"""The server of the application: its socket, its connections with their limits, and its end.

Connections are accepted one at a time, so that processes that share the socket share the work. A connection that has
not sent the token yet is a stranger: a few seconds for its request, a limited number of them, and the oldest is closed
for the next one. So half-open connections take no place from others.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import resource
import signal
import socket
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState as UvicornState

from satchel.engine import Satchel
from satchel.errors import UsageError
from satchel.system import telemetry
from satchel.web.access import Access, Origins
from satchel.web.application import application
from satchel.web.middleware import BODY_SECONDS, SIGNED_IN, Metrics
from satchel.web.state import ServerState, server_state

GRACE_SECONDS = 1
"""Seconds for connections to end after the work; a stream that stays open is cut."""

IDLE_SECONDS = 30
"""Seconds that a connection without a request is kept; the page opens a new one later."""

HEADER_SECONDS = 5.0
"""Seconds for the header of a request to arrive: one packet, which takes milliseconds."""

MOST_STRANGERS = 512
"""Connections of one process that have not sent the token yet, or half of its file descriptors if that is less."""

FULL_SECONDS = 0.05
"""Pause after a connection that could not be accepted because all file descriptors are in use."""

QUIET_SECONDS = 60.0
"""Least time between two messages about closed strangers."""

TURN_SECONDS = 0.002
MOST_TURNS = 10
"""A process with more connections than another waits this often and long for that one to take the next."""

EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not listened on
"""Wildcard address -> the loopback address that a browser on this machine opens."""

PORT_ERRORS = frozenset({errno.EADDRINUSE, errno.EACCES})
"""Errors that another port avoids; all others concern the host."""

FULL = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""Errors of accepting that closing a connection avoids."""

BACKLOG = 512
"""Connections that wait to be accepted: more than requests may wait, so that those get a 503."""


def run(
    engine: Satchel,
    sock: socket.socket,
    origins: Origins,
    access: Access,
    should_stop: Callable[[], bool],
    metrics: Metrics | None = None,
    slot: int = 0,
) -> bool:
    """Answer on a listening socket until `should_stop`; requests in progress have `serve.drain_s` to end.

    Several processes on one socket share `metrics`, in which `slot` is the row of this process.
    Returns whether all work ended in time, so that the engine can be closed.
    """
    shared = server_state(engine, slot, metrics)
    config = uvicorn.Config(
        application(shared, origins, access),
        http="h11",  # the one that is always there, so that odd requests are treated alike everywhere
        ws="none",
        loop="asyncio",
        log_config=None,
        log_level="error",  # a line for each malformed request would let anybody fill the disk
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    try:
        asyncio.run(_Server(config, sock, shared, should_stop).serve())
    finally:
        is_ended = shared.close()
    return is_ended


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


class Strangers:
    """The connections that have not sent the token yet, the oldest first."""

    def __init__(self) -> None:
        descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        is_unlimited = descriptors == resource.RLIM_INFINITY
        self._most = MOST_STRANGERS if is_unlimited else min(MOST_STRANGERS, descriptors // 2)
        self._rows: dict[Connection, None] = {}
        self._quiet_until = 0.0

    def add(self, connection: Connection) -> None:
        """Count a new connection, and close the oldest above the limit."""
        self._rows[connection] = None
        if len(self._rows) > self._most:
            self.close_oldest()

    def remove(self, connection: Connection) -> None:
        """Forget a connection that sent the token, or ended."""
        self._rows.pop(connection, None)

    def close_oldest(self) -> None:
        """Close the connection that has waited longest, where there is one."""
        oldest = next(iter(self._rows), None)
        if oldest is None:
            return
        self.remove(oldest)
        oldest.transport.abort()
        if time.monotonic() >= self._quiet_until:
            self._quiet_until = time.monotonic() + QUIET_SECONDS
            telemetry.warning("many connections send no request: the oldest are closed", most=self._most)


class Connection(H11Protocol):
    """A connection whose requests have to arrive in time: the header, then the body."""

    def __init__(
        self, config: uvicorn.Config, state: UvicornState, app_state: dict[str, Any], strangers: Strangers
    ) -> None:
        super().__init__(config, state, {**app_state, SIGNED_IN: lambda: strangers.remove(self)})
        self._strangers = strangers
        self._awaited: Any = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._strangers.add(self)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        super().connection_lost(exc)
        self._strangers.remove(self)
        self._stop_timer()

    def data_received(self, data: bytes) -> None:
        """Read what arrived, and go on waiting for what is missing."""
        super().data_received(data)
        self._watch()

    def _watch(self) -> None:
        """Start the time of the part of the request that is awaited now, unless it runs."""
        state = self.conn.their_state
        if state is self._awaited:
            return
        self._stop_timer()
        # The middleware answers to a slow body first; this ends a body that nobody reads because it was refused.
        seconds = {h11.IDLE: HEADER_SECONDS, h11.SEND_BODY: BODY_SECONDS + 1}.get(state)
        if seconds is not None:
            self._awaited = state
            self._timer = self.loop.call_later(seconds, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._awaited = self._timer = None


class _Server(uvicorn.Server):
    """Leaves signals to the command, which asks for the end through `should_stop`."""

    def __init__(
        self, config: uvicorn.Config, sock: socket.socket, shared: ServerState, should_stop: Callable[[], bool]
    ) -> None:
        super().__init__(config)
        self._sock = sock
        self._shared = shared
        self._should_stop = should_stop
        self._loads, self._slot = shared.metrics.loads, shared.metrics.slot
        self._strangers = Strangers()
        self._drained_by: float | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle no signals."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002 - an override
        """Start the application, then to accept connections."""
        await super().startup(sockets=[])
        self._sock.settimeout(0)
        self._accepting = asyncio.create_task(self._accept())

    async def on_tick(self, counter: int) -> bool:
        """Return whether to end; called every 0.1 s."""
        self._loads[self._slot] = len(self.server_state.connections)
        if self._drained_by is None:
            if self._accepting.done():
                self._accepting.result()  # raises why it ended
            if self._should_stop():
                await self._close()
        elif not self.should_exit and (self._shared.is_idle or time.monotonic() >= self._drained_by):
            self.should_exit = True
            self._shared.stop()
        return await super().on_tick(counter)

    async def _close(self) -> None:
        """Accept nothing more, and let the requests in progress end."""
        self._accepting.cancel()
        await asyncio.wait({self._accepting})
        self._sock.close()
        self._shared.drain()
        self._drained_by = time.monotonic() + self._shared.engine.settings.serve_drain_s

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            for _ in range(MOST_TURNS):
                self._loads[self._slot] = mine = len(self.server_state.connections)
                if mine <= min(self._loads):
                    break
                await asyncio.sleep(TURN_SECONDS)
            try:
                connection, _ = await loop.sock_accept(self._sock)
            except ConnectionAbortedError:
                continue
            except OSError as error:
                if error.errno not in FULL:
                    raise
                self._strangers.close_oldest()
                await asyncio.sleep(FULL_SECONDS)
                continue
            await loop.connect_accepted_socket(self._connection, connection)

    def _connection(self) -> Connection:
        return Connection(self.config, self.server_state, self.lifespan.state, self._strangers)


LOOK_SECONDS = 0.05
"""Seconds between two looks at the workers and for a signal."""

MOST_RESTARTS = 5
RESTART_SECONDS = 60.0
"""Workers that end by themselves are replaced, but not more than `MOST_RESTARTS` of them within this time."""

FAILED = 1


class Workers:
    """Keeps `count` workers running on a socket. `work` gets the number of its worker and returns the exit code."""

    def __init__(self, count: int, sock: socket.socket, work: Callable[[int], int], say: Callable[[str], None]) -> None:
        self._sock = sock
        self._count = count
        self._work = work
        self._say = say
        self._slots: dict[int, int] = {}
        self._deaths: deque[float] = deque(maxlen=MOST_RESTARTS)

    def start(self) -> None:
        """Start all workers."""
        for slot in range(self._count):
            self._start(slot)

    def watch(self, signaled: Callable[[], int], patience: float) -> int:
        """Replace workers that end until a signal arrives, then end all; returns an exit code, 0 after SIGTERM.

        Workers that run on for `patience` seconds after the signal, or until a second signal, are killed.
        """
        try:
            is_well = True
            while is_well and not signaled():
                time.sleep(LOOK_SECONDS)
                for slot, code in self._ended():
                    is_well = is_well and self._replaced(slot, code)
            self._sock.close()  # else new connections would wait for a process that accepts them
            self._stop(signaled() or signal.SIGTERM, patience)
        finally:
            self._signal(signal.SIGKILL)
        return FAILED if not is_well else 0 if signaled() == signal.SIGTERM else 128 + signaled()

    def _start(self, slot: int) -> None:
        pid = os.fork()
        if pid:
            self._slots[pid] = slot
            return
        code = FAILED
        try:
            os.setpgid(0, 0)
            code = self._work(slot)
        except BaseException:  # noqa: BLE001 - the process ends here, and the code of the parent must not run on in it
            traceback.print_exc()
        finally:
            os._exit(code)

    def _ended(self) -> list[tuple[int, int]]:
        """Return the number and exit code of workers that ended; a negative code is a signal."""
        rows = []
        for pid in [*self._slots]:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                rows.append((self._slots.pop(pid), os.waitstatus_to_exitcode(status)))
        return rows

    def _replaced(self, slot: int, code: int) -> bool:
        """Start a worker in place of one that ended; returns false if too many did."""
        cause = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        now = time.monotonic()
        if len(self._deaths) == MOST_RESTARTS and now - self._deaths[0] < RESTART_SECONDS:
            self._say(f"worker {slot + 1} ended ({cause}), the {MOST_RESTARTS + 1}th within a minute: the server ends")
            return False
        self._deaths.append(now)
        self._say(f"worker {slot + 1} ended ({cause}): another one is started")
        self._start(slot)
        return True

    def _stop(self, number: int, patience: float) -> None:
        self._signal(number)
        deadline = time.monotonic() + patience
        while self._slots and time.monotonic() < deadline:
            self._ended()
            time.sleep(LOOK_SECONDS)
        if self._slots:
            self._say(f"{len(self._slots)} workers did not end in time and were killed")

    def _signal(self, number: int) -> None:
        for pid in self._slots:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
