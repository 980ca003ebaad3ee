"""`satchel proxy`: another MCP server, with context in the results of the tools you choose."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, pass_invocation, session_option
from satchel.errors import UsageError

if TYPE_CHECKING:
    from satchel.engine import Satchel

MAX_TOKENS = 1_000
"""Of one context: it comes with every result of the chosen tools, so it is a quarter of what a question gets."""

LEAST_TOKENS = 50
"""Below this not even the frame of a context fits."""


@click.command(
    "proxy", context_settings={**HELP_OPTIONS, "ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.option(
    "--tools", "globs", metavar="GLOB", multiple=True, help="Tools whose results get context, as in 'edit_*'."
)
@click.option(
    "--max-tokens", type=int, default=MAX_TOKENS, show_default=True, metavar="N", help="The budget of one context."
)
@session_option
@common_options
@click.argument("server", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND...")
@pass_invocation
def command(
    invocation: Invocation, /, server: Sequence[str], *, globs: Sequence[str], max_tokens: int, session: str | None
) -> int:
    """Run another MCP server, with context in the results of the tools you choose.

    COMMAND starts a server that speaks over standard input and output. Everything passes as it is, in both directions
    and in every version of the protocol; only a successful result of a tool that --tools names gets one more item of
    text: what guides this call and what history knows of it, as `satchel situation` packs it. Where no context can be
    assembled in time, the result passes unchanged. Ends with the exit code of the server.
    """
    chosen = [glob for given in globs for glob in given.split(",") if glob]
    if not chosen:
        raise UsageError("no tool is chosen: name some with --tools 'edit_*' (repeat it), or all with --tools '*'")
    if not server:
        raise UsageError("there is no command: write it behind `--`, as in `satchel proxy --tools '*' -- npx SERVER`")
    if max_tokens < LEAST_TOKENS:
        raise UsageError(f"--max-tokens is {max_tokens}: give {LEAST_TOKENS} or more, {MAX_TOKENS:,} is the default")
    root = invocation.root
    from satchel.mcp.proxy import ProxyContexts, has_standard_streams, run_proxy

    if not has_standard_streams():
        raise UsageError("standard input or output is closed: an MCP client starts this command with both")

    def opened() -> Satchel:
        from satchel.engine import Satchel

        return Satchel.open(root=root)

    is_ending = threading.Event()
    return run_proxy(server, chosen, ProxyContexts(opened, max_tokens, is_ending, session or ""), is_ending)
