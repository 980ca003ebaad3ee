"""The component against the real `haystack-ai`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from haystack import Document, Pipeline

from satchel import Satchel
from satchel.adapters import ContextPacker
from satchel.adapters.haystack import SatchelRetriever
from tests.adapters.conftest import QUESTION, run_documented


def test_it_is_a_component_that_gives_packed_documents(engine: Satchel) -> None:
    documents = SatchelRetriever(engine=engine, max_tokens=500).run(QUESTION)["documents"]
    assert all(isinstance(one, Document) for one in documents)
    expected = ContextPacker(".", 500, engine=engine).ask(QUESTION)
    assert [(one.id, one.content, one.meta, one.score) for one in documents] == [
        (item.id, item.text, item.metadata, item.score) for item in expected
    ]


def test_it_runs_in_pipelines_with_the_top_k_of_the_call(engine: Satchel) -> None:
    retriever = SatchelRetriever(engine=engine, max_tokens=500, top_k=5)
    pipeline = Pipeline()
    pipeline.add_component("satchel", retriever)
    given = {"satchel": {"query": QUESTION, "top_k": 1}}
    found = pipeline.run(given)["satchel"]["documents"]
    assert len(found) == 1
    assert asyncio.run(retriever.run_async(QUESTION, 1))["documents"] == found


def test_it_survives_being_written_down(engine: Satchel) -> None:
    options = {"types": ["code"]}
    written = SatchelRetriever(str(engine.places.root), 700, 3, options, engine).to_dict()
    assert written["init_parameters"] == {
        "root": str(engine.places.root), "max_tokens": 700, "top_k": 3, "options": options,
    }  # fmt: skip
    again = SatchelRetriever.from_dict(written)
    assert again.to_dict() == written
    pipeline = Pipeline()
    pipeline.add_component("satchel", SatchelRetriever(max_tokens=300))
    loaded = Pipeline.loads(pipeline.dumps(), allowed_modules=["satchel.adapters.haystack"])
    assert loaded.get_component("satchel").max_tokens == 300
    again.close()


def test_the_documented_program_runs(engine: Satchel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path))
    variables = run_documented("haystack", engine.places.root)
    assert variables["documents"][0].meta["path"]
