from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from satchel.config import Folders, load_settings
from satchel.embed import Embedder
from satchel.embed.minilm import MiniLM
from satchel.embed.providers import Choice, Endpoint, choose, embedded_kinds
from satchel.embed.sentence import SentenceModel
from satchel.embed.static import StaticTable
from satchel.settings import SETTINGS
from satchel.types import Kind

ENDPOINT: dict[str, Any] = {"embed.endpoint": "http://localhost:1/v1", "embed.model": "m", "embed.dimension": 8}


def chosen(tmp_path: Path, environ: dict[str, str] | None = None, **overrides: Any) -> Choice:
    folders = Folders(*(tmp_path / name for name in ("config", "data", "state", "cache")))
    dotted = {key.replace("__", "."): value for key, value in overrides.items()}
    settings = load_settings(None, {}, dotted, folders).settings
    return choose(settings, tmp_path / "cache", environ or {})


def test_auto_takes_the_model_that_is_installed_and_an_endpoint_before_it(tmp_path: Path) -> None:
    assert isinstance(chosen(tmp_path).embedder, MiniLM)
    assert isinstance(chosen(tmp_path, **ENDPOINT).embedder, Endpoint)
    assert isinstance(chosen(tmp_path, **ENDPOINT, embed__provider="minilm").embedder, MiniLM)
    assert isinstance(chosen(tmp_path, embed__provider="static").embedder, StaticTable)
    assert chosen(tmp_path, **ENDPOINT, embed__provider="off") == Choice(None)


def test_a_missing_model_is_a_failure_if_it_was_asked_for_and_else_the_static_table_is_used(tmp_path: Path) -> None:
    missing = chosen(tmp_path, embed__provider="minilm", embed__weights=str(tmp_path))
    assert missing.embedder is None
    assert missing.failure is not None
    assert "`satchel doctor`" in missing.failure.hint
    assert chosen(tmp_path).failure is None


def test_a_folder_that_cannot_be_used_is_said_and_the_static_table_takes_its_place(tmp_path: Path) -> None:
    empty = chosen(tmp_path, embed__weights=str(tmp_path))
    assert isinstance(empty.embedder, StaticTable)
    assert empty.failure is not None
    assert "neither an ONNX model nor model.safetensors" in empty.failure.message
    (tmp_path / "model.onnx").write_bytes(b"")
    half = chosen(tmp_path, embed__weights=str(tmp_path))
    assert isinstance(half.embedder, StaticTable)
    assert half.failure is not None
    assert "has neither modules.json nor 1_Pooling/config.json" in half.failure.message
    assert chosen(tmp_path, embed__weights=str(tmp_path), embed__provider="minilm").embedder is None
    assert chosen(tmp_path, embed__weights=str(tmp_path), embed__provider="static").failure is None


def test_a_folder_with_a_model_in_onnx_form_comes_before_the_model_that_is_installed(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"")
    (tmp_path / "vocab.txt").write_text("[UNK]\n", encoding="utf-8")
    pooling = tmp_path / "1_Pooling" / "config.json"
    pooling.parent.mkdir()
    pooling.write_text('{"word_embedding_dimension": 3, "pooling_mode": "mean"}', encoding="utf-8")
    for provider in ("auto", "minilm"):
        choice = chosen(tmp_path, embed__weights=str(tmp_path), embed__provider=provider)
        assert (type(choice.embedder), choice.failure) == (SentenceModel, None)
    assert isinstance(chosen(tmp_path, **ENDPOINT, embed__weights=str(tmp_path)).embedder, Endpoint)


def test_without_its_runtime_a_folder_with_a_model_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("satchel.embed.minilm.find_spec", lambda _: None)
    (tmp_path / "model.onnx").write_bytes(b"")
    choice = chosen(tmp_path, embed__weights=str(tmp_path))
    assert isinstance(choice.embedder, StaticTable)
    assert choice.failure is not None
    assert "needs onnxruntime" in choice.failure.message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"embed.endpoint": "ftp://x"}, "must begin with http"),
        ({"embed.model": ""}, "embed.model is not set"),
        ({"embed.dimension": 0}, "embed.dimension is not set"),
        ({"embed.key_variable": "MY_KEY"}, "names MY_KEY, which is not set"),
    ],
    ids=["scheme", "model", "dimension", "key"],
)
def test_an_endpoint_that_is_half_configured_is_a_failure_that_names_what_is_wrong(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    choice = chosen(tmp_path, **{**ENDPOINT, **changes})
    assert choice.embedder is None
    assert choice.failure is not None
    assert message in choice.failure.message


def test_the_key_comes_from_the_variable_that_the_settings_name(tmp_path: Path) -> None:
    choice = chosen(tmp_path, {"MY_KEY": "value"}, **ENDPOINT, embed__key_variable="MY_KEY")
    assert isinstance(choice.embedder, Endpoint)
    assert choice.embedder._options.key == "value"


def test_a_repository_can_set_nothing_of_it() -> None:
    assert not [key for key, row in SETTINGS.items() if key.startswith("embed.") and row.safe]


def test_commits_get_no_vectors_unless_they_are_named_and_code_is_not_sent_to_an_endpoint(tmp_path: Path) -> None:
    folders = Folders(*(tmp_path / name for name in ("config", "data", "state", "cache")))

    def kinds(embedder: Embedder | None, **settings: object) -> set[Kind]:
        named = {f"embed.{name}": value for name, value in settings.items()}
        return {*embedded_kinds(load_settings(None, {}, named, folders).settings, embedder)}

    endpoint = chosen(tmp_path, **ENDPOINT).embedder
    assert {*Kind} - kinds(MiniLM(tmp_path)) == {Kind.COMMIT, Kind.CONTEXT}
    assert {*Kind} - kinds(endpoint) == {Kind.CODE, Kind.COMMIT, Kind.CONTEXT}
    assert {*Kind} - kinds(StaticTable()) == {Kind.CODE, Kind.COMMIT, Kind.CONTEXT, Kind.NOTE}
    assert kinds(endpoint, kinds=["commits", "code"]) == {Kind.CODE, Kind.COMMIT}
    assert Kind.CODE not in kinds(MiniLM(tmp_path), kinds=["code"], code_chunks=0)
