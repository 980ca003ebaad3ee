"""The retriever against the real `langchain-core`."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_satchel import SatchelRetriever

from satchel import Satchel
from satchel.errors import UsageError


def test_it_is_a_retriever_that_gives_packed_documents(engine: Satchel, question: str, expected: Any) -> None:
    retriever = SatchelRetriever(engine=engine, max_tokens=500)
    assert isinstance(retriever, BaseRetriever)
    documents = retriever.invoke(question)
    assert all(isinstance(one, Document) for one in documents)
    assert [(one.id, one.page_content, one.metadata) for one in documents] == expected


def test_it_works_as_a_coroutine_in_batches_and_in_a_chain(engine: Satchel, question: str) -> None:
    retriever = SatchelRetriever(engine=engine, max_tokens=500, top_k=2, options={"types": ["code"]})
    documents = retriever.invoke(question)
    assert 1 <= len(documents) <= 2
    assert asyncio.run(retriever.ainvoke(question)) == documents
    assert retriever.batch([question, question]) == [documents, documents]
    paths = (retriever | RunnableLambda(lambda found: [one.metadata["path"] for one in found])).invoke(question)
    assert "shop/client.py" in paths


def test_a_folder_is_opened_when_asked_and_closed_by_whoever_opened_it(
    folder: str, engine: Satchel, question: str, expected: Any
) -> None:
    retriever = SatchelRetriever(root=folder, max_tokens=500)
    retriever.close()
    for _ in range(2):
        assert [one.id for one in retriever.invoke(question)] == [item for item, _, _ in expected]
        retriever.close()
    given = SatchelRetriever(engine=engine)
    given.close()
    assert given.invoke(question)


def test_an_impossible_top_k_is_named(engine: Satchel, question: str) -> None:
    with pytest.raises(UsageError, match="top_k is 0"):
        SatchelRetriever(engine=engine, top_k=0).invoke(question)


def test_the_program_of_the_readme_runs(readme: dict[str, Any]) -> None:
    assert readme["document"].metadata["kind"]
