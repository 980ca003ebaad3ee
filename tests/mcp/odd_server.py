"""A server for tests: a few lines of JSON-RPC without any library, which misbehaves as it is told.

python odd_server.py [ignores-end] [code=N] [child]
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from typing import Any

OPTIONS = sys.argv[1:]
TOOLS = ["echo", "fails", "asks", "odd_echo", "big", "junk", "broken", "quits"]


def write(line: str | bytes) -> None:
    raw = line if isinstance(line, bytes) else line.encode()
    sys.stdout.buffer.write(raw + b"\n")
    sys.stdout.buffer.flush()


def text(said: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}]}


def result_of(tool: str, params: dict[str, Any]) -> dict[str, Any]:
    if tool == "fails":
        return text("it failed") | {"isError": True}
    if tool == "asks":
        return {"resultType": "input_required", "content": [], "inputRequests": {}}
    if tool == "big":
        return text("x" * params["size"])
    if tool == "junk":
        for line in (b"plain words", b'{"level": "info"}', b"", b"\xff\xfe"):
            write(line)
        write('{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"before"}}')
    if tool == "quits":
        sys.exit(7)
    return text(json.dumps(params, sort_keys=True)) | {"structuredContent": {"number": 1.10}, "_meta": {"own": 1}}


def main() -> None:
    if "ignores-end" in OPTIONS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "child" in OPTIONS:
        child = subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL)
        print(f"child {child.pid}", file=sys.stderr, flush=True)
    print(f"ready {os.getpid()}", file=sys.stderr, flush=True)
    for line in sys.stdin.buffer:
        try:
            message = json.loads(line)
        except ValueError:
            write('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no JSON"}}')
            continue
        method, identity = message.get("method"), message.get("id")
        if method == "tools/list":
            answer: dict[str, Any] = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
        elif method == "tools/call":
            answer = result_of(message["params"]["name"], message["params"].get("arguments", {}))
        elif method == "asks/you":
            write('{"jsonrpc":"2.0","id":1,"method":"roots/list"}')
            continue
        elif identity is None or method is None:
            write(b'{"jsonrpc":"2.0","method":"seen","params":' + line.rstrip(b"\n") + b"}")
            continue
        else:
            answer = {"echo": message}
        write(json.dumps({"jsonrpc": "2.0", "id": identity, "result": answer}))
    if "ignores-end" in OPTIONS:
        threading.Event().wait(600)
    sys.exit(int(next((option[5:] for option in OPTIONS if option.startswith("code=")), "0")))


main()
