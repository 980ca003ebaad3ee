"""Spans by their published names, without content unless that is wanted."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from satchel import Satchel
from satchel.errors import UsageError
from satchel.search.dense import Meaning
from satchel.testing import HashEmbedder
from tests.e2e.sample import sample_repository
from tests.e2e.test_question import QUESTION

EXPORTER = InMemorySpanExporter()


@pytest.fixture(scope="module")
def provider() -> TracerProvider:
    """A program has one provider for good, so this one only begins to be read here."""
    made = TracerProvider()
    made.add_span_processor(SimpleSpanProcessor(EXPORTER))
    return made


@pytest.fixture
def spans(provider: TracerProvider, monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    EXPORTER.clear()
    yield EXPORTER
    EXPORTER.clear()


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    folder = tmp_path_factory.mktemp("telemetry")
    root = sample_repository(folder / "shop").root
    with Satchel.open(root, environ={"SATCHEL_HOME": str(folder / "home")}) as opened:
        opened.index()
        yield opened


def attributes(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def test_an_answer_is_a_retrieval_without_content(engine: Satchel, spans: InMemorySpanExporter) -> None:
    context = engine.assemble(QUESTION, limit=7, refresh=False)
    (span,) = spans.get_finished_spans()
    source = engine.places.index.name
    assert span.name == f"retrieval {source}"
    assert attributes(span) == {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.data_source.id": source,
        "gen_ai.request.top_k": 7,
        "satchel.tokens.limit": 4000,
        "satchel.tokens.used": context.usage.used,
        "satchel.items": len(context.items),
        "satchel.failures": 0,
    }


def test_content_is_in_a_span_only_when_the_settings_say_so(
    engine: Satchel, spans: InMemorySpanExporter, tmp_path: Path
) -> None:
    environ = {"SATCHEL_HOME": str(tmp_path), "SATCHEL_TELEMETRY_CONTENT": "true"}
    with Satchel.open(engine.places.root, environ=environ) as telling:
        context = telling.assemble(QUESTION)
    told = attributes(spans.get_finished_spans()[-1])
    assert told["gen_ai.retrieval.query.text"] == QUESTION
    found = json.loads(str(told["gen_ai.retrieval.documents"]))
    assert found == [{"id": item.id, "score": item.relevance} for item in context.items]


def test_graphs_and_situations_are_retrievals_and_memories_have_names_of_their_own(
    engine: Satchel, spans: InMemorySpanExporter
) -> None:
    engine.graph("client", refresh=False)
    engine.situation({"task": QUESTION}, refresh=False)
    made = engine.memories.add("Orders are sent again three times").memory
    engine.memories.search("orders")
    new = engine.memories.supersede(made.id, "Orders are sent again four times").memory
    engine.memories.forget([new.id])
    names = [span.name.partition(" ")[0] for span in spans.get_finished_spans()]
    assert names[:2] == ["retrieval", "retrieval"]
    assert {"create_memory", "search_memory", "update_memory", "delete_memory"} <= set(names)
    assert not any("Orders" in str(attributes(span)) for span in spans.get_finished_spans())


def test_the_vector_of_a_question_is_an_operation_of_its_model(spans: InMemorySpanExporter) -> None:
    Meaning(HashEmbedder(), "orders").vector()
    (span,) = spans.get_finished_spans()
    assert span.name == f"embeddings {HashEmbedder().id}"
    assert attributes(span)["gen_ai.request.model"] == HashEmbedder().id


def test_an_error_is_told_by_its_type_and_nothing_else(engine: Satchel, spans: InMemorySpanExporter) -> None:
    with pytest.raises(UsageError):
        engine.memories.add("a secret thing", importance=7.0)
    (span,) = spans.get_finished_spans()
    assert attributes(span)["error.type"] == "UsageError"
    assert not span.status.is_ok
    assert not span.events
    assert "secret" not in span.to_json()


def test_a_program_that_traces_nothing_loads_nothing_for_it(engine: Satchel) -> None:
    root, home = str(engine.places.root), str(engine.places.state.parent)
    program = f"""
import sys
from satchel import Satchel
from satchel.system import telemetry
with Satchel.open({root!r}, environ={{"SATCHEL_HOME": {home!r}}}) as satchel:
    assert satchel.assemble({QUESTION!r}, refresh=False).items
with telemetry.span("retrieval") as span:
    span.set_attribute("any", 1)
assert not [name for name in sys.modules if name.startswith("opentelemetry")]
"""
    subprocess.run([sys.executable, "-c", program], check=True)
