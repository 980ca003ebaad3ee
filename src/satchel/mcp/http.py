"""The MCP server over streamable HTTP, as an ASGI application to mount at `/mcp`.

served = mcp_app(engine)
Starlette(routes=[Route("/mcp", served.app)], lifespan=...)    # which enters `served.running()`
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from satchel.mcp.pipes import END_SECONDS
from satchel.mcp.running import EngineRunner
from satchel.mcp.server import build

if TYPE_CHECKING:
    from satchel.engine import Satchel

LOOPBACK_HOSTS = ("127.0.0.1:*", "localhost:*", "[::1]:*")
"""Allowed values of Host by default, on any port."""

MOST_SESSIONS = 200
"""Sessions of clients of the older protocol; each uses a stream and some tasks."""


@dataclass(frozen=True, slots=True)
class Mounted:
    """The application and its lifespan. It can be run once; the engine stays open."""

    app: ASGIApp
    _manager: StreamableHTTPSessionManager
    _runner: EngineRunner

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve while the block runs; at its end all running calls are asked to stop."""
        async with self._manager.run():
            try:
                yield
            finally:
                self._runner.stop()
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._runner.wait, END_SECONDS)


def mcp_app(
    engine: Satchel,
    hosts: Iterable[str] = LOOPBACK_HOSTS,
    origins: Iterable[str] | None = None,
    *,
    body_bytes: int | None = None,
) -> Mounted:
    """Return the server around an engine that the caller closes.

    `hosts` are the allowed values of Host, `:*` for any port; `origins` those of Origin, by default the hosts with
    `http://` before them. `body_bytes` is the largest body of a request.
    """
    runner, host_names = EngineRunner(lambda: engine), sorted(hosts)
    allowed = [f"http://{host}" for host in host_names] if origins is None else sorted(origins)
    manager = StreamableHTTPSessionManager(
        app=build(runner),
        security_settings=TransportSecuritySettings(
            enable_dns_rebinding_protection=True, allowed_hosts=host_names, allowed_origins=allowed
        ),
        max_request_body_size=body_bytes or engine.settings.serve_body_bytes,
        max_sessions=MOST_SESSIONS,
    )
    return Mounted(StreamableHTTPASGIApp(manager), manager, runner)
