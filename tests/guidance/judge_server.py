"""A local endpoint that judges as it is told, and fails in the ways that real ones do."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class JudgeServer:
    """`answer` makes the text of the model from the request, `whole` a whole answer; `status` and `raw` are faults."""

    answer: Callable[[dict[str, Any]], object] = lambda _: "1: true"
    whole: Callable[[dict[str, Any]], object] | None = None
    status: int = 200
    raw: bytes | None = None
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    hangs: bool = False
    url: str = ""


@contextmanager
def judge_server() -> Iterator[JudgeServer]:
    """A running server on this machine."""
    fake = JudgeServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            fake.requests.append({"path": self.path, **body})
            fake.keys.append(self.headers.get("Authorization", ""))
            if fake.hangs:
                fake.released.wait(600)
                return
            chat = {"choices": [{"message": {"content": fake.answer(body)}}]}
            content = chat if fake.whole is None else fake.whole(body)
            raw = fake.raw if fake.raw is not None else json.dumps(content).encode()
            self.send_response(fake.status)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    fake.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield fake
    finally:
        fake.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
