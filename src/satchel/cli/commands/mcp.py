"""`satchel mcp`: the MCP server of a folder, over standard input and output."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from satchel.cli import streams
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, pass_invocation
from satchel.errors import MissingExtraError

if TYPE_CHECKING:
    from satchel.engine import Satchel

PROJECT_VARIABLE = "CLAUDE_PROJECT_DIR"
"""Set by the host for the servers that it starts: the folder that its user works in."""

MISSING = "the MCP server needs the extra mcp: pip install 'satchel[mcp]'"

EPILOG = """\b
Set-up in clients (`satchel setup CLIENT` does it for you):
  Claude Code  claude mcp add satchel -- satchel mcp
  Cursor       .cursor/mcp.json    {"mcpServers": {"satchel": {"command": "satchel", "args": ["mcp"]}}}
  VS Code      .vscode/mcp.json    {"servers": {"satchel": {"command": "satchel", "args": ["mcp"]}}}
  Codex        ~/.codex/config.toml
                 [mcp_servers.satchel]
                 command = "satchel"
                 args = ["mcp", "--root", "/path/to/project"]
"""


@click.command("mcp", context_settings={**HELP_OPTIONS, "max_content_width": 120}, epilog=EPILOG)
@common_options
@pass_invocation
def command(invocation: Invocation) -> int:
    """Serve a folder to an MCP client over standard input and output.

    A client starts this command and ends it. The folder is that of --root, else of CLAUDE_PROJECT_DIR, else the git
    work tree around the current folder. Tools: context_query, graph_context, premortem, situation_context, search,
    expand, remember, experience.
    """
    import gc

    from satchel.mcp.process import take_pipes

    pipes = take_pipes()
    gc.disable()  # until the SDK is loaded: it makes hundreds of thousands of objects that all stay
    root = invocation.root
    try:
        from satchel.mcp.stdio import run
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("satchel"):
            raise
        raise MissingExtraError(MISSING) from error

    around = os.environ.get(PROJECT_VARIABLE) or "."
    is_closed = run(lambda: _opened(Path(around), root), pipes)
    if not is_closed:  # a thread is still at work, which would keep the process; the store outlives that
        streams.note("ended while a call was at work", color=invocation.color)
        os._exit(0)
    return 0


def _opened(around: Path, root: Path | None) -> Satchel:
    """The engine, loaded when the first question comes: a client waits for the list of tools, not for this."""
    from satchel.engine import Satchel

    return Satchel.open(around, root=root)
