"""The retriever against the real `langchain-core`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda

from satchel import Satchel
from satchel.adapters import ContextPacker
from satchel.adapters.langchain import SatchelRetriever
from tests.adapters.conftest import QUESTION, run_documented


def test_it_is_a_retriever_that_gives_packed_documents(engine: Satchel) -> None:
    retriever = SatchelRetriever(engine=engine, max_tokens=500)
    assert isinstance(retriever, BaseRetriever)
    documents = retriever.invoke(QUESTION)
    assert all(isinstance(one, Document) for one in documents)
    expected = ContextPacker(".", 500, engine=engine).ask(QUESTION)
    assert [(one.id, one.page_content, one.metadata) for one in documents] == [
        (item.id, item.text, item.metadata) for item in expected
    ]


def test_it_works_as_a_coroutine_in_batches_and_in_a_chain(engine: Satchel) -> None:
    retriever = SatchelRetriever(engine=engine, max_tokens=500, top_k=2, options={"types": ["code"]})
    documents = retriever.invoke(QUESTION)
    assert 1 <= len(documents) <= 2
    assert asyncio.run(retriever.ainvoke(QUESTION)) == documents
    assert retriever.batch([QUESTION, QUESTION]) == [documents, documents]
    paths = (retriever | RunnableLambda(lambda found: [one.metadata["path"] for one in found])).invoke(QUESTION)
    assert "shop/client.py" in paths
    retriever.close()


def test_the_documented_program_runs(engine: Satchel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path))
    variables = run_documented("langchain", engine.places.root)
    assert variables["document"].metadata["path"]
