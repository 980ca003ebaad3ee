"""A retriever that asks satchel: `SatchelRetriever(root=".").retrieve("where are retries handled?")`."""

from __future__ import annotations

from typing import Any

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from satchel import Context, ContextItem, Satchel
from satchel.errors import UsageError

_UNSHOWN = ["id", "score", "tokens", "handle"]
"""Metadata for programs; a model gets path, lines, kind and trust with the text."""


class SatchelRetriever(BaseRetriever):
    """The items of one packed context as nodes, most relevant first, their texts together within `max_tokens`.

    `root` is any folder of the project, opened at the first question; an `engine` (an open `Satchel`) replaces it.
    `top_k` bounds the nodes, None means all that fit. `options` are those of `Satchel.assemble`: `types`, `session`,
    `min_score` ... An empty question or an impossible option is a UsageError. LlamaIndex gets all other arguments.
    """

    def __init__(
        self,
        root: str = ".",
        *,
        max_tokens: int = 4000,
        top_k: int | None = None,
        options: dict[str, Any] | None = None,
        engine: Satchel | None = None,
        **base: Any,
    ) -> None:
        self._root, self._engine = root, engine
        self._opened: Satchel | None = None
        self._options = _checked({**(options or {}), "max_tokens": max_tokens}, top_k)
        super().__init__(**base)

    def close(self) -> None:
        """Close the folder if it was opened here; the next question opens it again."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(self._asked().assemble(query_bundle.query_str, **self._options))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(await self._asked().aassemble(query_bundle.query_str, **self._options))

    def _asked(self) -> Satchel:
        if self._engine is not None:
            return self._engine
        if self._opened is None:
            self._opened = Satchel.open(self._root)
        return self._opened


def _checked(options: dict[str, Any], top_k: int | None) -> dict[str, Any]:
    if top_k is None:
        return options
    if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
        raise UsageError(f"top_k is {top_k!r}: give at least 1, or none for all that fit")
    return options | {"entity_limit": top_k}


def _nodes(context: Context) -> list[NodeWithScore]:
    """Return the items by relevance, which kinds have in common; equal ones keep their order."""
    items = sorted(context.items, key=lambda item: -item.relevance)
    return [NodeWithScore(node=_node(item), score=item.relevance) for item in items]


def _node(item: ContextItem) -> TextNode:
    """Return the shown text with where it is from; `path` and `lines` (`10-40,60-71`) of a record are empty."""
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
    return TextNode(
        id_=item.id,
        text=item.content,
        metadata=metadata,
        excluded_llm_metadata_keys=_UNSHOWN,
        excluded_embed_metadata_keys=_UNSHOWN,
    )
