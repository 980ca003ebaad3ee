"""The component against the real `haystack-ai`."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from haystack import Document, Pipeline
from haystack_integrations.components.retrievers.satchel import SatchelRetriever

from satchel import Satchel
from satchel.errors import UsageError


def test_it_is_a_component_that_gives_packed_documents(engine: Satchel, question: str, expected: Any) -> None:
    documents = SatchelRetriever(engine=engine, max_tokens=500).run(question)["documents"]
    assert all(isinstance(one, Document) for one in documents)
    assert [(one.id, one.content, one.meta) for one in documents] == expected
    assert [one.score for one in documents] == [meta["score"] for _, _, meta in expected]


def test_it_runs_in_pipelines_with_the_top_k_of_the_call(engine: Satchel, question: str) -> None:
    retriever = SatchelRetriever(engine=engine, max_tokens=500, top_k=5)
    pipeline = Pipeline()
    pipeline.add_component("satchel", retriever)
    given = {"satchel": {"query": question, "top_k": 1}}
    found = pipeline.run(given)["satchel"]["documents"]
    assert len(found) == 1
    assert asyncio.run(retriever.run_async(question, 1))["documents"] == found


def test_it_survives_being_written_down(folder: str, engine: Satchel) -> None:
    options = {"types": ["code"]}
    written = SatchelRetriever(folder, 700, 3, options, engine).to_dict()
    assert written["init_parameters"] == {"root": folder, "max_tokens": 700, "top_k": 3, "options": options}
    assert SatchelRetriever.from_dict(written).to_dict() == written
    pipeline = Pipeline()
    pipeline.add_component("satchel", SatchelRetriever(max_tokens=300))
    module = "haystack_integrations.components.retrievers.satchel.retriever"
    loaded = Pipeline.loads(pipeline.dumps(), allowed_modules=[module])
    assert loaded.get_component("satchel").max_tokens == 300


def test_a_folder_is_opened_when_asked_and_closed_by_whoever_opened_it(
    folder: str, engine: Satchel, question: str, expected: Any
) -> None:
    retriever = SatchelRetriever(folder, 500)
    retriever.close()
    for _ in range(2):
        assert [one.id for one in retriever.run(question)["documents"]] == [item for item, _, _ in expected]
        retriever.close()
    given = SatchelRetriever(engine=engine)
    given.close()
    assert given.run(question)["documents"]


@pytest.mark.parametrize("impossible", [0, True])
def test_an_impossible_top_k_is_named(engine: Satchel, question: str, impossible: int) -> None:
    with pytest.raises(UsageError, match="top_k"):
        SatchelRetriever(engine=engine).run(question, impossible)


def test_the_program_of_the_readme_runs(readme: dict[str, Any]) -> None:
    assert readme["documents"][0].meta["kind"]
