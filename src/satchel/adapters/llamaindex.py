"""A retriever for LlamaIndex.

from satchel.adapters.llamaindex import SatchelRetriever

nodes = SatchelRetriever(root=".", max_tokens=4000).retrieve("where are retries handled?")
"""

from __future__ import annotations

from typing import Any

from satchel.adapters import ContextPacker, PackedItem, missing

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise missing("llamaindex", "llama-index-core") from error

_UNSHOWN = ["id", "score", "tokens", "handle"]
"""Metadata for programs; a model gets path, lines, kind and trust with the text."""


class SatchelRetriever(BaseRetriever):
    """The items of one packed context as nodes, most relevant first, their texts together within `max_tokens`.

    `root` is any folder of the project; an `engine` (an open `Satchel`) replaces it. `top_k` bounds the nodes, None
    means all that fit. `options` are those of `Satchel.assemble`; LlamaIndex gets all other arguments.
    """

    def __init__(
        self,
        root: str = ".",
        *,
        max_tokens: int = 4000,
        top_k: int | None = None,
        options: dict[str, Any] | None = None,
        engine: Any = None,
        **base: Any,
    ) -> None:
        self._packer = ContextPacker(root, max_tokens, options, engine)
        self._top_k = top_k
        super().__init__(**base)

    def close(self) -> None:
        """Release the folder, if it was opened here."""
        self._packer.close()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(item) for item in self._packer.ask(query_bundle.query_str, self._top_k)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(item) for item in await self._packer.aask(query_bundle.query_str, self._top_k)]


def _node(item: PackedItem) -> NodeWithScore:
    node = TextNode(
        id_=item.id,
        text=item.text,
        metadata=dict(item.metadata),
        excluded_llm_metadata_keys=_UNSHOWN,
        excluded_embed_metadata_keys=_UNSHOWN,
    )
    return NodeWithScore(node=node, score=item.score)
