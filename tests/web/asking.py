"""Asking the application in this process, as a program or a browser would."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from satchel.engine import Satchel
from satchel.web.application import application
from satchel.web.middleware import Access, own_origins
from satchel.web.routes import ServerState

PORT = 8123
ADDRESS = f"http://127.0.0.1:{PORT}"
TOKEN = "of-the-tests-" * 3


def environment(home: Path) -> Mapping[str, str]:
    """Variables for a process or an engine with folders of its own and marks that are the same in every run."""
    own = {"SATCHEL_HOME": str(home / "home"), "SATCHEL_KEY": "07" * 32, "SATCHEL_HTTP_TOKEN": TOKEN}
    return {**os.environ, **own}


@contextmanager
def client_of(engine: Satchel, access: Access | None = None, shared: ServerState | None = None) -> Iterator[TestClient]:
    """A client that sends the token, around a new application whose index is brought up to date first."""
    shared = shared or ServerState(engine)
    app = application(shared, own_origins("127.0.0.1", PORT), access or Access(TOKEN, PORT))
    headers = {"Authorization": f"Bearer {TOKEN}"}
    try:
        with TestClient(app, base_url=ADDRESS, headers=headers, follow_redirects=False) as client:
            yield client
    finally:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("satchel.web.routes.END_SECONDS", 300.0)
            assert shared.close()


async def nothing(_scope: Scope, _receive: Receive, _send: Send) -> None:
    """Stands for an application of which only the route is looked at."""
