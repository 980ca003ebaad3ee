"""Candidates in the order of a reranker, asked at a local endpoint that behaves like the real ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel
from satchel.answer.user_models import reordered
from satchel.testing import TinyRepository
from satchel.types import Context
from tests.guidance.judge_server import JudgeServer, judge_server

FILES = {
    "port/vessels.py": "def moor_vessel(vessel):\n    return vessel.rope\n",
    "port/cranes.py": "def lift_vessel(vessel):\n    return vessel.hook\n",
    "port/tugs.py": "def pull_vessel(vessel):\n    return vessel.engine\n",
}
QUESTION = "what is done to a vessel"


def common(body: dict[str, Any]) -> object:
    """The form of Jina, Cohere, vLLM and llama.cpp: sorted by relevance, with the numbers of the documents."""
    rows = [{"index": at, "relevance_score": score_of(text)} for at, text in enumerate(body["documents"])]
    return {"id": "1", "results": sorted(rows, key=lambda row: -row["relevance_score"]), "usage": {"total_tokens": 9}}


def score_of(text: str) -> float:
    return 0.9 if "pull_vessel" in text else 0.1


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with judge_server() as fake:
        fake.whole = common
        yield fake


def opened(folder: Path, **settings: Any) -> Satchel:
    repository = TinyRepository(folder / "port")
    repository.commit("Moor", FILES)
    environ = {"SATCHEL_HOME": str(folder / "home"), "RANK_KEY": "abc"}
    satchel = Satchel.open(root=repository.root, environ=environ, settings=settings)
    satchel.index()
    return satchel


def options(server: JudgeServer) -> dict[str, str]:
    return {"rerank.endpoint": server.url, "rerank.model": "judge-of-texts", "rerank.key_variable": "RANK_KEY"}


def order(context: Context) -> list[str]:
    return list(dict.fromkeys(item.location.path for item in context.items if item.location is not None))


def test_the_model_orders_the_candidates_and_is_asked_once(server: JudgeServer, tmp_path: Path) -> None:
    with opened(tmp_path) as satchel:
        before = satchel.assemble(QUESTION, types=["code"])
        assert server.requests == [], "off by default"
    with Satchel.open(tmp_path / "port", environ=environment(tmp_path), settings=options(server)) as satchel:
        first, second = (satchel.assemble(QUESTION, types=["code"]) for _ in range(2))
    assert order(before)[0] != "port/tugs.py"
    assert order(first)[0] == "port/tugs.py"
    assert (first.text, first.failures) == (second.text, ())
    (request,) = server.requests
    assert (request["path"], request["model"], request["query"]) == ("/v1/rerank", "judge-of-texts", QUESTION)
    assert request["top_n"] == len(request["documents"]) == len(FILES)
    assert request["documents"][0].startswith(f"{order(before)[0]}\n")
    assert server.keys == ["Bearer abc"]


def environment(folder: Path) -> dict[str, str]:
    return {"SATCHEL_HOME": str(folder / "home"), "RANK_KEY": "abc"}


def test_a_server_that_wants_texts_gets_them(server: JudgeServer, tmp_path: Path) -> None:
    def tei(body: dict[str, Any]) -> object:
        if "texts" not in body:
            server.status = 422
            return "Failed to deserialize the JSON body into the target type: missing field `texts`"
        server.status = 200
        return [{"index": at, "score": score_of(text)} for at, text in enumerate(body["texts"])]

    server.whole = tei
    with opened(tmp_path, **options(server)) as satchel:
        context = satchel.assemble(QUESTION, types=["code"])
    assert order(context)[0] == "port/tugs.py"
    assert [sorted({"documents", "texts"} & {*request}) for request in server.requests] == [["documents"], ["texts"]]


@pytest.mark.parametrize(
    ("status", "answer", "message"),
    [
        (500, {"detail": "out of memory"}, "answered 500"),
        (200, {"results": [{"index": 0, "relevance_score": 0.5}]}, "an answer that cannot be parsed"),
        (200, {"results": [{"index": at, "relevance_score": float("nan")} for at in range(3)]}, "NaN or infinity"),
        (200, {"results": "none"}, "an answer that cannot be parsed"),
    ],
)
def test_after_a_fault_the_order_of_the_search_stays_and_is_told(
    server: JudgeServer, tmp_path: Path, status: int, answer: object, message: str
) -> None:
    with opened(tmp_path / "plain") as satchel:
        before = satchel.assemble(QUESTION, types=["code"])
    server.status, server.whole = status, lambda _: answer
    with opened(tmp_path, **options(server)) as satchel:
        context = satchel.assemble(QUESTION, types=["code"])
    assert order(context) == order(before)
    (failure,) = context.failures
    assert (failure.source, failure.hint) == ("rerank", "the order of the search stays")
    assert message in failure.message


def test_settings_that_lack_a_model_are_told_and_a_repository_sets_nothing(server: JudgeServer, tmp_path: Path) -> None:
    with opened(tmp_path, **{"rerank.endpoint": "http://127.0.0.1:9/v1"}) as satchel:
        (failure,) = satchel.assemble(QUESTION).failures
        assert failure.message == "rerank.model is not set: an endpoint that reranks needs the name of its model"
    (tmp_path / "port/.satchel.toml").write_text(f'[rerank]\nendpoint = "{server.url}"\nmodel = "tiny"\n')
    with Satchel.open(tmp_path / "port", environ=environment(tmp_path)) as satchel:
        satchel.index()
        satchel.assemble(QUESTION)
    assert server.requests == []


def test_a_trace_and_the_impact_of_a_change_are_not_reranked(server: JudgeServer, tmp_path: Path) -> None:
    with opened(tmp_path, **options(server)) as satchel:
        satchel.assemble("what breaks if I rename moor_vessel")
        satchel.assemble(
            'Traceback (most recent call last):\n  File "port/tugs.py", line 2, in pull_vessel\nKeyError: 1'
        )
    assert server.requests == []


def test_the_model_counts_twice_and_each_place_keeps_its_relevance(tmp_path: Path) -> None:
    with opened(tmp_path) as satchel:
        hits = satchel.search(QUESTION, types=["code"])
    changed = reordered(hits, [0.1, 0.2, 0.9])
    assert [hit.chunk.id for hit in changed] == [hits[2].chunk.id, hits[1].chunk.id, hits[0].chunk.id]
    assert [hit.relevance for hit in changed] == [hit.relevance for hit in hits]
    assert [max(span.value for span in hit.spans) for hit in changed] == pytest.approx([hit.score for hit in hits])
    assert [hit.chunk.id for hit in reordered(hits, [3.0, 2.0, 1.0])] == [hit.chunk.id for hit in hits]
