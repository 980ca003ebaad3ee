"""The Inspector's command line against `satchel mcp`: what people try a server with."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from satchel.operations.registry import TOOLS
from satchel.testing import TinyRepository
from tests.mcp.serving import PATIENCE_SECONDS, command
from tests.operations.conftest import FILES

INSPECTOR = Path(__file__).parents[1] / "peers" / "node_modules" / ".bin" / "mcp-inspector"

pytestmark = pytest.mark.skipif(
    not INSPECTOR.exists(), reason="the Inspector is not installed: scripts/install_peers.sh installs it"
)


def inspect(root: Path, *arguments: str) -> tuple[Any, str]:
    """What the Inspector prints, and what it says about it."""
    done = subprocess.run(
        [str(INSPECTOR), "--cli", *command(), *arguments], cwd=root, env=dict(os.environ), capture_output=True,
        check=True, text=True, timeout=2 * PATIENCE_SECONDS,
    )  # fmt: skip
    return json.loads(done.stdout), done.stderr


def test_the_inspector_lists_and_calls_the_tools_and_finds_no_fault_in_them(tmp_path: Path) -> None:
    TinyRepository(tmp_path / "shop").commit("Send orders again with backoff", FILES)
    listed, said = inspect(tmp_path / "shop", "--method", "tools/list", "--strict")
    assert [tool["name"] for tool in listed["tools"]] == [one.name for one in TOOLS]
    assert "warning" not in said.lower()
    called, _ = inspect(
        tmp_path / "shop", "--method", "tools/call", "--tool-name", "context_query",
        "--tool-arg", "question=where is backoff?", "--tool-arg", "max_tokens=500", "--tool-arg", 'types=["code"]',
    )  # fmt: skip
    assert "def backoff" in called["content"][0]["text"]
    assert called["structuredContent"]["usage"]["limit"] == 500
