"""A retriever for LangChain.

from satchel.adapters.langchain import SatchelRetriever

documents = SatchelRetriever(root=".", max_tokens=4000).invoke("where are retries handled?")
"""

from __future__ import annotations

from typing import Any

from satchel.adapters import ContextPacker, PackedItem, missing

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import Field, PrivateAttr
except ImportError as error:
    raise missing("langchain", "langchain-core") from error


class SatchelRetriever(BaseRetriever):
    """The items of one packed context as documents, most relevant first, together within `max_tokens`.

    `root` is any folder of the project; an `engine` (an open `Satchel`) replaces it. `top_k` bounds the documents, None
    means all that fit. `options` are those of `Satchel.assemble`: `types`, `session`, `min_score` ...
    """

    root: str = "."
    max_tokens: int = 4000
    top_k: int | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    engine: Any = Field(default=None, exclude=True)
    _packer: ContextPacker = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Make the packer after pydantic has set the fields."""
        super().model_post_init(context)
        self._packer = ContextPacker(self.root, self.max_tokens, self.options, self.engine)

    def close(self) -> None:
        """Release the folder, if it was opened here."""
        self._packer.close()

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:  # noqa: ARG002 - LangChain passes it by name
        return [_document(item) for item in self._packer.ask(query, self.top_k)]

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 - as above
    ) -> list[Document]:
        return [_document(item) for item in await self._packer.aask(query, self.top_k)]


def _document(item: PackedItem) -> Document:
    return Document(page_content=item.text, metadata=dict(item.metadata), id=item.id)
