"""What can be asked of the engine: one home for names, arguments, schemas and answers of all operations.

The command line, MCP, HTTP and the page offer what `satchel.operations.registry` lists; the envelope of an answer is
the same at every door, and what the command line prints with `--json`.
"""
