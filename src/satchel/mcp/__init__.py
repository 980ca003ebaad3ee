"""The MCP edge: satchel as a server, and a proxy that adds context to the answers of another one."""
