"""The retriever against the real `llama-index-core`."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import MetadataMode, NodeWithScore
from llama_index.retrievers.satchel import SatchelRetriever

from satchel import Satchel
from satchel.errors import UsageError


def test_it_is_a_retriever_that_gives_packed_nodes(engine: Satchel, question: str, expected: Any) -> None:
    retriever = SatchelRetriever(engine=engine, max_tokens=500)
    assert isinstance(retriever, BaseRetriever)
    nodes = retriever.retrieve(question)
    assert all(isinstance(one, NodeWithScore) for one in nodes)
    assert [(one.node.node_id, one.node.get_content(), one.node.metadata) for one in nodes] == expected
    assert [one.score for one in nodes] == [metadata["score"] for _, _, metadata in expected]
    client = next(one.node for one in nodes if one.node.metadata["path"] == "shop/client.py")
    assert "path: shop/client.py" in client.get_content(MetadataMode.LLM)
    assert "handle" not in client.get_content(MetadataMode.LLM)


def test_it_works_as_a_coroutine_and_with_top_k(engine: Satchel, question: str) -> None:
    retriever = SatchelRetriever(engine=engine, max_tokens=500, top_k=1, options={"types": ["code"]})
    nodes = retriever.retrieve(question)
    assert len(nodes) == 1
    assert [one.node.node_id for one in asyncio.run(retriever.aretrieve(question))] == [nodes[0].node.node_id]


def test_a_folder_is_opened_when_asked_and_closed_by_whoever_opened_it(
    folder: str, engine: Satchel, question: str, expected: Any
) -> None:
    retriever = SatchelRetriever(folder, max_tokens=500)
    retriever.close()
    for _ in range(2):
        assert [one.node.node_id for one in retriever.retrieve(question)] == [item for item, _, _ in expected]
        retriever.close()
    given = SatchelRetriever(engine=engine)
    given.close()
    assert given.retrieve(question)


@pytest.mark.parametrize("impossible", [0, True])
def test_an_impossible_top_k_is_named(impossible: int) -> None:
    with pytest.raises(UsageError, match="top_k"):
        SatchelRetriever(top_k=impossible)


def test_the_program_of_the_readme_runs(readme: dict[str, Any]) -> None:
    assert readme["nodes"][0].node.metadata["kind"]
