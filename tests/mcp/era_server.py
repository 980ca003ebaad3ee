"""A server of the official SDK, which speaks both eras of the protocol."""

from __future__ import annotations

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("eras", instructions="Adds numbers.")


@server.tool()
def add(first: int, second: int) -> int:
    """Add two numbers."""
    return first + second


@server.tool()
async def steps(count: int, context: Context) -> str:
    """Report progress, then be done."""
    for number in range(count):
        await context.report_progress(number, count)
    return "done"


@server.tool()
def refuse() -> str:
    """Fail in any case."""
    raise ValueError("refused")


server.run("stdio")
