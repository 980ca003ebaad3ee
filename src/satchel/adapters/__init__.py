"""Retrievers for other people's frameworks, one module each: `satchel.adapters.langchain`, `llamaindex`, `haystack`.

Each needs the extra of its name; `packed` has their common parts.
"""
