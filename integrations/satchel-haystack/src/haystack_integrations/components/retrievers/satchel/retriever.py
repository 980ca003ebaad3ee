"""A retriever component that asks satchel: `SatchelRetriever(root=".").run("where are retries handled?")`."""

from __future__ import annotations

from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict

from satchel import Context, ContextItem, Satchel
from satchel.errors import UsageError


@component
class SatchelRetriever:
    """The items of one packed context as documents, most relevant first, together within `max_tokens`.

    `root` is any folder of the project, opened at the first question; an `engine` (an open `Satchel`) replaces it and
    is not written to a pipeline. `top_k` bounds the documents, None means all that fit. `options` are those of
    `Satchel.assemble`: `types`, `session`, `min_score` ... An empty question or an impossible option is a UsageError.
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
        self._engine: Satchel | None = engine
        self._opened: Satchel | None = None

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """Return the documents that answer a query, at most `top_k`."""
        return {"documents": _documents(self._asked().assemble(query, **self._limited(top_k)))}

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """`run` as a coroutine."""
        return {"documents": _documents(await self._asked().aassemble(query, **self._limited(top_k)))}

    def close(self) -> None:
        """Close the folder if it was opened here; the next question opens it again."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

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

    def _asked(self) -> Satchel:
        if self._engine is not None:
            return self._engine
        if self._opened is None:
            self._opened = Satchel.open(self.root)
        return self._opened

    def _limited(self, top_k: int | None) -> dict[str, Any]:
        options, limit = {**self.options, "max_tokens": self.max_tokens}, self.top_k if top_k is None else top_k
        if limit is None:
            return options
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise UsageError(f"top_k is {limit!r}: give at least 1, or none for all that fit")
        return options | {"entity_limit": limit}


def _documents(context: Context) -> list[Document]:
    """Return the items by relevance, which kinds have in common; equal ones keep their order."""
    items = sorted(context.items, key=lambda item: -item.relevance)
    return [Document(id=item.id, content=item.content, meta=_meta(item), score=item.relevance) for item in items]


def _meta(item: ContextItem) -> dict[str, Any]:
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
