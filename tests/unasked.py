"""What a plain question about an unchanged tree must not load: each of these has users of its own.

A process that answers one question spends most of its time on loading, so what it does not need costs everybody.
"""

from __future__ import annotations

UNASKED = frozenset({
    # of others: what draws, parses, reads settings in TOML, or brings ten modules for one function
    "asyncio", "bz2", "importlib.resources", "lzma", "numpy.ma", "structlog", "tempfile", "tomllib", "tree_sitter",
    # questions about a change, files that have changed, neighbours
    "satchel.search.relations", "satchel.sources.outline", "satchel.search.change_impact",
    "satchel.sources.change",
    # situations and records without a question
    "satchel.answer.situation", "satchel.guidance.situation", "satchel.search.rank_without_query",
    # conversations, notes, vectors
    "satchel.index.embedding", "satchel.sources.conversations",
    "satchel.sources.notes", "satchel.store.vectors",
    # reading and writing what is indexed
    "satchel.store.extract", "satchel.store.writer", "satchel.store.postgres", "psycopg",
})  # fmt: skip

LOOKS_FURTHER = frozenset({"tree_sitter", "satchel.search.relations"})
"""What an answer for finding needs beside: it follows the names that shown lines use. That of a prompt does not."""

UNCOUNTED = frozenset({"rs_bpe", "satchel.answer.pipeline", "subprocess"})
"""What a list of matches does without: it has no budget of tokens, and as text no counts of lines from git."""
