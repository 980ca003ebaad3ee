"""`satchel mcp` as a command: its help, and what it says where it cannot run. `tests/mcp` speaks to it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Satchel

BLOCKED = """
import sys
class Missing:
    def find_spec(self, name, *_):
        if name.split(".")[0] in {"mcp", "mcp_types"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from satchel.cli.main import main
sys.argv = ["satchel", "mcp"]
sys.exit(main())
"""


def test_help_shows_the_set_up_lines_of_clients(satchel: Satchel) -> None:
    shown = satchel("mcp", "--help").out
    for line in (
        "claude mcp add satchel -- satchel mcp",
        '{"mcpServers": {"satchel": {"command": "satchel", "args": ["mcp"]}}}',
        '{"servers": {"satchel": {"command": "satchel", "args": ["mcp"]}}}',
        "[mcp_servers.satchel]",
    ):
        assert line in shown


def test_without_the_extra_one_line_says_how_to_install_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED], cwd=tmp_path, env=dict(os.environ), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: the MCP server needs the extra mcp: pip install 'satchel[mcp]'\n"
