"""The retriever against the real `llama-index-core`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import MetadataMode, NodeWithScore

from satchel import Satchel
from satchel.adapters import ContextPacker
from satchel.adapters.llamaindex import SatchelRetriever
from tests.adapters.conftest import QUESTION, run_documented


def test_it_is_a_retriever_that_gives_packed_nodes(engine: Satchel) -> None:
    retriever = SatchelRetriever(engine=engine, max_tokens=500)
    assert isinstance(retriever, BaseRetriever)
    nodes = retriever.retrieve(QUESTION)
    assert all(isinstance(one, NodeWithScore) for one in nodes)
    expected = ContextPacker(".", 500, engine=engine).ask(QUESTION)
    assert [(one.node.node_id, one.node.get_content(), one.score) for one in nodes] == [
        (item.id, item.text, item.score) for item in expected
    ]
    client = next(one.node for one in nodes if one.node.metadata["path"] == "shop/client.py")
    assert "path: shop/client.py" in client.get_content(MetadataMode.LLM)
    assert "handle" not in client.get_content(MetadataMode.LLM)


def test_it_works_as_a_coroutine_and_with_top_k(engine: Satchel) -> None:
    retriever = SatchelRetriever(engine=engine, max_tokens=500, top_k=1, options={"types": ["code"]})
    nodes = retriever.retrieve(QUESTION)
    assert len(nodes) == 1
    assert [one.node.node_id for one in asyncio.run(retriever.aretrieve(QUESTION))] == [nodes[0].node.node_id]
    retriever.close()


def test_the_documented_program_runs(engine: Satchel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path))
    variables = run_documented("llamaindex", engine.places.root)
    assert variables["nodes"][0].node.metadata["path"]
