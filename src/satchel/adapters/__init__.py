"""Retrievers for other people's frameworks, one module each: `satchel.adapters.langchain`, `llamaindex`, `haystack`.

Each needs the extra of its name. Here are their common parts: the items of one packed context as documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from satchel.engine import Satchel
from satchel.errors import MissingExtraError, UsageError
from satchel.types import Context, ContextItem


class PackedItem(NamedTuple):
    """One file or record: its shown text, its relevance (0 to 1), and its origin.

    `metadata` has `id`, `kind`, `path` and `lines` (`10-40,60-71`; both empty for a record), `title`, `score`,
    `tokens`, `handle` (for `Satchel.expand`) and `trust`.
    """

    id: str
    text: str
    score: float
    metadata: Mapping[str, Any]


class ContextPacker:
    """Gets contexts from one engine. Opens the folder `root` at the first question, unless an `engine` is passed.

    `options` are those of `Satchel.assemble`. Only an engine that was opened here is closed by `close`.
    """

    def __init__(
        self, root: str, max_tokens: int, options: Mapping[str, Any] | None = None, engine: Satchel | None = None
    ) -> None:
        self._root, self._engine, self._own = root, engine, False
        self._options = {**(options or {}), "max_tokens": max_tokens}

    def ask(self, query: str, top_k: int | None = None) -> list[PackedItem]:
        """Return the items that answer a query, most relevant first: as many as fit into the budget, at most `top_k`.

        Raises UsageError for an empty query or impossible options.
        """
        return _packed_items(self._opened().assemble(query, **self._limited(top_k)))

    async def aask(self, query: str, top_k: int | None = None) -> list[PackedItem]:
        """`ask` as a coroutine."""
        return _packed_items(await self._opened().aassemble(query, **self._limited(top_k)))

    def close(self) -> None:
        """Close the engine if it was opened here; the next question opens it again."""
        if self._own and self._engine is not None:
            self._engine.close()
            self._engine, self._own = None, False

    def _limited(self, top_k: int | None) -> dict[str, Any]:
        if top_k is None:
            return dict(self._options)
        if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
            raise UsageError(f"top_k is {top_k!r}: give at least 1, or none for all that fit")
        return self._options | {"entity_limit": top_k}

    def _opened(self) -> Satchel:
        if self._engine is None:
            self._engine, self._own = Satchel.open(self._root), True
        return self._engine


def _packed_items(context: Context) -> list[PackedItem]:
    """Return the items of a context by relevance, comparable between kinds; equal ones keep their order."""
    return [_packed_item(item) for item in sorted(context.items, key=lambda item: -item.relevance)]


def _packed_item(item: ContextItem) -> PackedItem:
    metadata = {
        "id": item.id,
        "kind": item.source,
        "path": item.location.path if item.location is not None else "",
        "lines": ",".join(f"{start}-{end}" for start, end in item.spans),
        "title": item.title,
        "score": item.relevance,
        "tokens": item.tokens,
        "handle": item.handle,
        "trust": item.trust.value,
    }
    return PackedItem(item.id, item.content, item.relevance, metadata)


def missing(extra: str, package: str) -> MissingExtraError:
    """Return the error for a framework that is not installed."""
    return MissingExtraError(f"the adapter needs {package}: pip install 'satchel[{extra}]'")
