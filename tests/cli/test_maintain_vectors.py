"""What `satchel index` says of vectors."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from satchel.cli.commands.maintain import vector_data, vector_summary
from satchel.index.run import VectorCounts, VectorReport
from satchel.testing import HashEmbedder, TinyRepository
from satchel.types import Failure, Kind
from tests.cli.conftest import Satchel

if TYPE_CHECKING:
    from satchel.embed import Vectors

PATIENCE_SECONDS = 300.0

HALF = VectorReport(3, VectorCounts({Kind.DOC: (3, 6)}), Failure("vectors", "the server is away", "later"))


def test_vectors_are_named_where_there_are_new_or_missing_ones() -> None:
    assert vector_summary(HALF) == "; vectors 3 of 6"
    assert vector_summary(VectorReport(0, VectorCounts({Kind.DOC: (6, 6)}))) == ""
    assert vector_summary(None) == ""
    assert vector_data(HALF) == {
        "made": 3, "kinds": {"docs": "3/6"}, "failure": {"message": "the server is away", "hint": "later"},
    }  # fmt: skip
    assert vector_data(None) is None


def test_without_an_embedder_there_are_none_and_that_is_no_failure(shop: TinyRepository, satchel: Satchel) -> None:
    assert shop.root.exists()
    assert satchel("index", "--json").json["vectors"] == {"made": 0, "kinds": {}, "failure": None}
    assert satchel("index", "--json", "--no-vectors").json["vectors"] is None


def test_the_table_makes_its_vectors_with_the_words_unless_the_run_or_the_setting_says_no(
    shop: TinyRepository, satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shop.root.exists()
    docs = '"docs": {"done": %d, "total": 2}'
    monkeypatch.setenv("SATCHEL_EMBED_PROVIDER", "static")
    satchel("index", "--no-vectors")
    assert docs % 0 in json.dumps(satchel("status", "--json").json["vectors"])
    monkeypatch.setenv("SATCHEL_EMBED_PROVIDER", "off")
    satchel("search", "cart", "--json")
    monkeypatch.setenv("SATCHEL_EMBED_PROVIDER", "static")
    assert docs % 0 in json.dumps(satchel("status", "--json").json["vectors"])
    satchel("search", "cart", "--json")
    assert docs % 2 in json.dumps(satchel("status", "--json").json["vectors"])


def test_what_was_configured_and_cannot_be_had_is_noted(
    shop: TinyRepository, satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shop.root.exists()
    monkeypatch.setenv("SATCHEL_EMBED_PROVIDER", "endpoint")
    ran = satchel("index")
    assert ran.code == 0
    assert "note: vectors: embed.endpoint is not set" in ran.err


def test_vectors_are_made_after_the_words(
    shop: TinyRepository, satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shop.root.exists()
    monkeypatch.setattr("satchel.index.vectors.IndexVectors.embedder", property(lambda _: HashEmbedder()))
    found = satchel("index", "--json").json
    assert found["vectors"]["made"] == 6
    assert found["vectors"]["kinds"] == {"code": "4/4", "docs": "2/2"}
    assert "vectors" not in satchel("index").err


class Interrupted(HashEmbedder):
    """Takes long, and is interrupted meanwhile by whoever waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.is_quick = False
        self.let_go = threading.Event()

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        signal.raise_signal(signal.SIGINT)
        assert self.let_go.wait(PATIENCE_SECONDS)
        return super().embed_documents(texts)


def test_ctrl_c_ends_the_run_while_the_first_vectors_are_made(
    shop: TinyRepository, satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shop.root.exists()
    embedder = Interrupted()
    monkeypatch.setattr("satchel.index.vectors.IndexVectors.embedder", property(lambda _: embedder))
    ran = satchel("index", "--json")
    embedder.let_go.set()
    assert ran.code == 130
    assert ran.json["files"] > 0, "the words are kept"
    assert ran.json["vectors"]["made"] == 0


def test_status_says_how_far_the_vectors_are(
    shop: TinyRepository, satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shop.root.exists()
    assert "vectors       none: keyword search only, `satchel doctor` says why\n" in satchel("status").out
    assert satchel("status", "--json").json["vectors"] == {"embedder": None, "kinds": {}, "failure": None}
    monkeypatch.setattr("satchel.index.vectors.IndexVectors.embedder", property(lambda _: HashEmbedder()))
    assert "vectors       nothing to embed yet, by hash@1\n" in satchel("status").out
    satchel("index", "--no-vectors")
    assert (
        "vectors       code 0 of 4, docs 0 of 2, by hash@1; `satchel index` makes the rest\n" in satchel("status").out
    )
    satchel("index")
    found = satchel("status", "--json").json["vectors"]
    assert found == {
        "embedder": "hash@1",
        "kinds": {"code": {"done": 4, "total": 4}, "docs": {"done": 2, "total": 2}},
        "failure": None,
    }


def test_status_says_what_was_configured_and_cannot_be_had(
    shop: TinyRepository, satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shop.root.exists()
    monkeypatch.setenv("SATCHEL_EMBED_PROVIDER", "endpoint")
    assert "embed.endpoint is not set" in satchel("status", "--json").json["vectors"]["failure"]["message"]
    assert "embed.endpoint is not set" in satchel("status").err
