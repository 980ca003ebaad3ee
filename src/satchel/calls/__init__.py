"""What outsiders may ask of the engine: one home for names, arguments, schemas and answers of all operations.

MCP, HTTP and the page offer what `satchel.calls.registry` lists; the envelope of an answer is what the command line
prints with `--json` for the same request.
"""
