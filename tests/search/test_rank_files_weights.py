"""The weights of a file's signals are settings: they change the ranking, and they are part of a saved request."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.answer.request import request_data, request_from
from satchel.errors import UsageError
from satchel.search.rank_files import FILE_WEIGHTS
from satchel.settings import Settings
from satchel.testing import TinyRepository

FILES = {
    "shop/parcel.py": "def send(order):\n    return order\n",
    "shop/other.py": "def unrelated(value):\n    # a parcel, a parcel, a parcel weight\n    return value\n",
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    TinyRepository(tmp_path / "repository").commit("Begin", FILES)
    return tmp_path / "repository"


def order(root: Path, **weights: float) -> list[str]:
    settings = {f"search.weights.{name}": value for name, value in weights.items()}
    with Satchel.open(root, settings=settings) as satchel:
        hits = satchel.search("parcel", types=["code"])
    return list(dict.fromkeys(hit.chunk.location.path for hit in hits if hit.chunk.location is not None))


def test_the_settings_have_the_weights_of_the_recipe() -> None:
    assert dict(Settings().search_weights) == {name: FILE_WEIGHTS[name] for name in FILE_WEIGHTS if name != "vectors"}


def test_another_weight_gives_another_order(root: Path) -> None:
    by_name = order(root, best_part=0.0, top_three_parts=0.0, whole_file=0.0, history=0.0, name=5.0)
    by_words = order(root, best_part=5.0, top_three_parts=5.0, whole_file=5.0, history=0.0, name=0.0)
    assert by_name[0] == "shop/parcel.py"
    assert by_words[0] == "shop/other.py"


def test_signals_are_shown_with_the_weight_that_they_had(root: Path) -> None:
    with Satchel.open(root, settings={"search.weights.name": 0.25}) as satchel:
        hits = satchel.search("parcel", types=["code"])
        assert {signal.weight for hit in hits for signal in hit.signals if signal.name == "name"} == {0.25}
        assert {signal.weight for hit in hits for signal in hit.signals if signal.name == "whole file"} == {0.5}


def test_a_saved_request_asks_with_the_weights_of_its_time(root: Path) -> None:
    with Satchel.open(root, settings={"search.weights.name": 2.0}) as satchel:
        request = satchel.request("parcel")
    assert request.file_weights == (("name", 2.0),)
    assert request_from(json.loads(json.dumps(request_data(request)))) == request
    with pytest.raises(UsageError, match="there is no signal smell"):
        request_from({**request_data(request), "file_weights": [["smell", 1.0]]})


def test_the_usual_weights_are_not_written_down(root: Path) -> None:
    with Satchel.open(root) as satchel:
        assert request_data(satchel.request("parcel"))["file_weights"] == []
