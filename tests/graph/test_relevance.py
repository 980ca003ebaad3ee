"""One scale a request: meaning counts only where every node has a vector, and a walk out of time says so."""

from __future__ import annotations

import itertools
from pathlib import Path

from satchel import Satchel
from satchel.embed import fingerprint
from satchel.services.graph import assemble_graph
from satchel.services.open_root import attempts, resources_of
from satchel.store.vectors import encode
from satchel.testing import HashEmbedder
from satchel.types import RECORD_KINDS, Kind
from tests.graph.workspaces import NOW, Export

SYNONYMS = {"automobile": "car", "vehicle": "car"}


def export() -> Export:
    made = Export().node("home", "Home")
    for number in range(6):
        made.node(f"line{number}", f"Line {number} about gardens and soil", owner="home")
    made.node("car", "The vehicle in the shed", owner="home")
    return made.node("shed", "The shed with an automobile", owner="home", references=["car"])


def opened(tmp_path: Path, embedder: HashEmbedder) -> Satchel:
    return export().open(tmp_path, settings={"graph.cache_s": 0.0}, embedder=embedder)


def scores(satchel: Satchel, query: str) -> dict[str, float]:
    context = satchel.graph(query, now=NOW, refresh=False, depth=2)
    return {item.metadata["node"]["id"]: item.relevance for item in context.items}


def relevances(satchel: Satchel, query: str) -> dict[str, float]:
    context = satchel.graph(query, now=NOW, refresh=False, depth=2)
    return {
        item.metadata["node"]["id"]: signal.value
        for item in context.items
        for signal in item.signals
        if signal.name == "relevance"
    }


def test_with_vectors_for_all_what_means_the_same_is_relevant(tmp_path: Path) -> None:
    with opened(tmp_path, HashEmbedder(synonyms=SYNONYMS)) as satchel:
        before = relevances(satchel, "automobile shed")
        satchel.embed()
        after = relevances(satchel, "automobile shed")
        assert satchel.graph("automobile shed", refresh=False).meta["embeddings"][0].split("/") == ["9", "9"]
    assert before != after


def test_26_with_vectors_for_half_of_the_nodes_all_are_rated_by_words(tmp_path: Path) -> None:
    with opened(tmp_path, HashEmbedder(synonyms=SYNONYMS)) as satchel:
        by_words = relevances(satchel, "automobile shed garden")
        embedder = satchel.vectors.embedder
        assert embedder is not None
        mark = fingerprint(embedder)
        rows = satchel.store.without_vector([Kind.NOTE], mark)[::2]
        with satchel.store.write() as writer:
            writer.put_vectors(
                mark, list(zip(rows, encode(embedder.embed_documents(["car"] * len(rows))), strict=True))
            )
        half = satchel.graph("automobile shed garden", now=NOW, refresh=False)
        assert half.meta["embeddings"] == [f"{len(rows)}/9"]
        mixed = relevances(satchel, "automobile shed garden")
        assert {key: mixed[key] for key in by_words if key in mixed} == {
            key: value for key, value in by_words.items() if key in mixed
        }


def test_a_pair_of_neighbours_that_covers_the_question_is_relevant_together(tmp_path: Path) -> None:
    made = Export().node("a", "Actress who played Susan", references=["b"]).node("b", "Natalie: the sibling is Lana")
    made.node("c", "Susan of the garden").node("d", "The sibling rivalry of plants")
    with made.open(tmp_path) as satchel:
        result = relevances(satchel, "sibling of the actress who played Susan")
    assert result["b"] > result["d"]


def test_a_walk_out_of_time_says_how_far_it_came(tmp_path: Path) -> None:
    with export().open(tmp_path) as satchel:
        request = satchel.graphs.graph_request("home", depth=3, now=NOW)
        ticks = itertools.count(0.0, request.deadline_seconds * 0.7)
        for attempt in attempts(satchel.opened):
            with attempt as states:
                context = assemble_graph(request, resources_of(states), lambda: next(ticks))
    assert context.meta["timed_out"]
    assert any("stopped after 3 s at distance 1" in warning for warning in context.meta["warnings"])


def test_an_embedder_that_fails_is_a_note_and_words_answer(tmp_path: Path) -> None:
    embedder = HashEmbedder()
    with opened(tmp_path, embedder) as satchel:
        satchel.embed()
        embedder.fails = True
        context = satchel.graph("shed with an automobile", refresh=False)
    assert context.items
    assert [failure.source for failure in context.failures] == ["vectors"]
    assert any("vectors" in warning for warning in context.meta["warnings"])


def test_notes_are_records() -> None:
    assert Kind.NOTE in RECORD_KINDS
