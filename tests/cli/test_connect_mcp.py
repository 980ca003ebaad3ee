"""`satchel mcp` as a command: its help, and that it runs alone. `tests/mcp` speaks to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Satchel
from tests.mcp.serving import HELLO

LISTED = {"id": 2, "method": "tools/list"}

BLOCKED = """
import sys
class Missing:
    def find_spec(self, name, *_):
        if name.split(".")[0] in {"mcp", "mcp_types", "pydantic", "anyio"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from satchel.cli.main import main
sys.argv = ["satchel", "mcp"]
sys.exit(main())
"""


def test_help_says_how_a_client_gets_the_server(satchel: Satchel) -> None:
    shown = " ".join(satchel("mcp", "--help").out.split())
    assert "`satchel setup CLIENT` adds it to a client; in any other one the command is `satchel mcp`." in shown


def test_the_server_needs_no_extra(tmp_path: Path) -> None:
    asked = b"".join(json.dumps({"jsonrpc": "2.0", **one}).encode() + b"\n" for one in ({"id": 1, **HELLO}, LISTED))
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED],
        cwd=tmp_path,
        env=dict(os.environ),
        input=asked,
        capture_output=True,
        check=True,
    )
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2]
    assert not done.stderr
