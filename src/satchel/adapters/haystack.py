"""A retriever component for Haystack 2.

from satchel.adapters.haystack import SatchelRetriever

documents = SatchelRetriever(root=".", max_tokens=4000).run("where are retries handled?")["documents"]
"""

from __future__ import annotations

from typing import Any

from satchel.adapters import ContextPacker, PackedItem, missing

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ImportError as error:
    raise missing("haystack", "haystack-ai") from error


@component
class SatchelRetriever:
    """The items of one packed context as documents, most relevant first, together within `max_tokens`.

    `root` is any folder of the project; an `engine` (an open `Satchel`) replaces it and is not written to a pipeline.
    `top_k` bounds the documents, None means all that fit. `options` are those of `Satchel.assemble`.
    """

    def __init__(
        self,
        root: str = ".",
        max_tokens: int = 4000,
        top_k: int | None = None,
        options: dict[str, Any] | None = None,
        engine: Any = None,
    ) -> None:
        self.root, self.max_tokens, self.top_k, self.options = root, max_tokens, top_k, dict(options or {})
        self._packer = ContextPacker(root, max_tokens, self.options, engine)

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """Return the documents that answer a query, at most `top_k`."""
        items = self._packer.ask(query, self.top_k if top_k is None else top_k)
        return {"documents": [_document(item) for item in items]}

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """`run` as a coroutine."""
        items = await self._packer.aask(query, self.top_k if top_k is None else top_k)
        return {"documents": [_document(item) for item in items]}

    def close(self) -> None:
        """Release the folder, if it was opened here."""
        self._packer.close()

    def to_dict(self) -> dict[str, Any]:
        """Return the component as plain values."""
        written: dict[str, Any] = default_to_dict(
            self, root=self.root, max_tokens=self.max_tokens, top_k=self.top_k, options=self.options
        )
        return written

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SatchelRetriever:
        """Return the component that `to_dict` wrote."""
        retriever: SatchelRetriever = default_from_dict(cls, data)
        return retriever


def _document(item: PackedItem) -> Document:
    return Document(id=item.id, content=item.text, meta=dict(item.metadata), score=item.score)
