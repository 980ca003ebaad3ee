"""The operations of the engine: names, arguments, schemas and answers.

The command line, MCP, HTTP and the page offer the operations of `satchel.operations.registry`; the envelope of an
answer is the same for all of them, and the command line prints it with `--json`.
"""
