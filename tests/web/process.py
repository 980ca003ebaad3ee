"""`satchel serve` as a process of its own, and what can be asked of it over a socket."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.web.asking import TOKEN, environment

PATIENCE_SECONDS = 300
"""Far longer than anything here takes; what hangs fails its test instead of stopping all."""


@dataclass(frozen=True)
class Server:
    """A running server: the link that it printed, and its process."""

    link: str
    process: subprocess.Popen[str]

    @property
    def port(self) -> int:
        port = urlsplit(self.link).port
        assert port is not None
        return port

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def raw(self, request: bytes) -> bytes:
        """All that comes back for these bytes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_SECONDS) as connection:
            parts = []
            with contextlib.suppress(OSError):  # what we still had to send was not wanted
                connection.sendall(request)
                connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):
                while part := connection.recv(65_536):
                    parts.append(part)
        return b"".join(parts)

    def ask(self, operation: str, arguments: Mapping[str, Any], host: str = "127.0.0.1") -> tuple[int, bytes]:
        """The status and the body of one operation."""
        connection = http.client.HTTPConnection(host, self.port, timeout=PATIENCE_SECONDS)
        try:
            own = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
            connection.request("POST", f"/api/{operation}", json.dumps(arguments).encode(), own)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        """What a path shows, as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
            answer = connection.getresponse()
            body = answer.read()
            assert answer.status == 200, body
            return json.loads(body)
        finally:
            connection.close()


def started(root: Path, home: Path, *options: str) -> subprocess.Popen[str]:
    """The command, started."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "satchel", "serve", *options],
        cwd=root,
        env={**environment(home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@contextmanager
def serving(root: Path, home: Path, *options: str) -> Iterator[Server]:
    """A server while the block runs."""
    process = started(root, home, *options)
    try:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        assert link, process.communicate(timeout=PATIENCE_SECONDS)[1]
        yield Server(link, process)
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)


def resident_bytes(process: subprocess.Popen[str]) -> int:
    """Memory of a process that is in use now."""
    pages = int(Path(f"/proc/{process.pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
