from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from satchel.config import Folders, load_settings
from satchel.doctor.check import Check, Outcome
from satchel.doctor.embedding import vectors
from satchel.embed import minilm


def examine(tmp_path: Path, settings: Mapping[str, Any]) -> Check:
    homes = Folders(*(tmp_path / name for name in ("config", "data", "state", "cache")))
    return vectors(load_settings(None, {}, settings, homes), homes, {})


def test_a_model_that_is_missing_is_a_warning_with_the_way_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minilm, "find_spec", lambda _: None)
    found = examine(tmp_path, {"embed.provider": "auto"})
    assert found.outcome is Outcome.WARN
    assert found.message == "words alone answer: the model that runs here lacks onnxruntime and its weights"
    assert found.fix == minilm.INSTALL
    asked = examine(tmp_path, {"embed.provider": "minilm"})
    assert (asked.outcome, asked.fix) == (Outcome.WARN, minilm.INSTALL)


def test_a_model_that_is_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "missing_parts", lambda *_: [])
    found = examine(tmp_path, {"embed.provider": "auto"})
    assert (found.outcome, found.message) == (Outcome.OK, "made by all-MiniLM-L6-v2-int8@1")


def test_without_vectors_on_purpose_all_is_well(tmp_path: Path) -> None:
    assert examine(tmp_path, {"embed.provider": "off"}).outcome is Outcome.OK


def test_an_endpoint_is_named_by_its_host_alone(tmp_path: Path) -> None:
    address = "http://somebody:word@localhost:11434/v1"
    found = examine(tmp_path, {"embed.endpoint": address, "embed.model": "nomic", "embed.dimension": 8})
    assert found.outcome is Outcome.OK
    assert found.message.endswith("at localhost:11434")
    assert "word" not in found.message
    half = examine(tmp_path, {"embed.endpoint": address})
    assert half.outcome is Outcome.WARN
    assert "embed.model is not set" in half.message
