"""A retriever that asks satchel: `SatchelRetriever(root=".").invoke("where are retries handled?")`."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, PrivateAttr

from satchel import Context, ContextItem, Satchel
from satchel.errors import UsageError


class SatchelRetriever(BaseRetriever):
    """The items of one packed context as documents, most relevant first, together within `max_tokens`.

    `root` is any folder of the project, opened at the first question; an `engine` (an open `Satchel`) replaces it.
    `top_k` bounds the documents, None means all that fit. `options` are those of `Satchel.assemble`: `types`,
    `session`, `min_score` ... An empty question or an impossible option is a UsageError.
    """

    root: str = "."
    max_tokens: int = 4000
    top_k: int | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    engine: Any = Field(default=None, exclude=True)
    _opened: Satchel | None = PrivateAttr(default=None)

    def close(self) -> None:
        """Close the folder if it was opened here; the next question opens it again."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:  # noqa: ARG002 - LangChain passes it by name
        return _documents(self._asked().assemble(query, **self._options()))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 - as above
    ) -> list[Document]:
        return _documents(await self._asked().aassemble(query, **self._options()))

    def _asked(self) -> Satchel:
        if self.engine is not None:
            engine: Satchel = self.engine
            return engine
        if self._opened is None:
            self._opened = Satchel.open(self.root)
        return self._opened

    def _options(self) -> dict[str, Any]:
        options = {**self.options, "max_tokens": self.max_tokens}
        if self.top_k is None:
            return options
        if self.top_k < 1:
            raise UsageError(f"top_k is {self.top_k!r}: give at least 1, or none for all that fit")
        return options | {"entity_limit": self.top_k}


def _documents(context: Context) -> list[Document]:
    """Return the items by relevance, which kinds have in common; equal ones keep their order."""
    items = sorted(context.items, key=lambda item: -item.relevance)
    return [Document(page_content=item.content, metadata=_metadata(item), id=item.id) for item in items]


def _metadata(item: ContextItem) -> dict[str, Any]:
    """Return where an item is from; `path` and `lines` (`10-40,60-71`) of a record are empty."""
    return {
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
