from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from satchel.embed import fingerprint
from satchel.embed import minilm as minilm_module
from satchel.embed.minilm import (
    HEADS,
    LAYERS,
    MODEL_FILE,
    VOCABULARY_FILE,
    WEIGHTS_FILE,
    WIDTH,
    Array,
    MiniLM,
    built,
    built_folder,
    missing_parts,
    read_tensors,
)
from satchel.embed.minilm import weights_folder as find_weights
from satchel.embed.wordpiece import WordPiece, read_vocabulary
from satchel.errors import EmbeddingError, MissingExtraError

TEXTS = [
    "The connection pool was exhausted under load.",
    "All database connections were in use at peak time.",
    "Bananas are rich in potassium.",
]


def reference(tensors: dict[str, Array], ids: list[int]) -> Array:
    """The published model in 32 bits, written down in numpy."""
    from math import erf

    def linear(state: Array, name: str) -> Array:
        product: Array = state @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]
        return product

    def norm(state: Array, name: str) -> Array:
        spread = np.sqrt(state.var(-1, keepdims=True) + 1e-12)
        even: Array = (state - state.mean(-1, keepdims=True)) / spread
        return even * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]

    table = "embeddings.{}_embeddings.weight".format
    state = tensors[table("word")][ids] + tensors[table("position")][: len(ids)] + tensors[table("token_type")][0]
    state = norm(state, "embeddings.LayerNorm")
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        query, key, value = (
            linear(state, f"{at}attention.self.{name}").reshape(len(ids), HEADS, -1).transpose(1, 0, 2)
            for name in ("query", "key", "value")
        )
        share = np.exp(query @ key.transpose(0, 2, 1) / np.sqrt(WIDTH / HEADS))
        share /= share.sum(-1, keepdims=True)
        taken = (share @ value).transpose(1, 0, 2).reshape(len(ids), WIDTH)
        state = norm(linear(taken, f"{at}attention.output.dense") + state, f"{at}attention.output.LayerNorm")
        wide = linear(state, f"{at}intermediate.dense")
        wide = wide * 0.5 * (1 + np.vectorize(erf)(wide / np.sqrt(2)))
        state = norm(linear(wide, f"{at}output.dense") + state, f"{at}output.LayerNorm")
    mean: Array = state.mean(0)
    return mean / np.linalg.norm(mean)


def test_vectors_are_those_of_the_published_model_up_to_their_eight_bits(minilm: MiniLM, model_cache: Path) -> None:
    folder = find_weights()
    assert folder is not None
    tensors = read_tensors(folder / WEIGHTS_FILE)
    pieces = WordPiece(read_vocabulary(built(model_cache) / VOCABULARY_FILE))
    for text, vector in zip(TEXTS, minilm.embed_documents(TEXTS), strict=True):
        assert float(vector @ reference(tensors, pieces.ids(text, 256))) > 0.975


def test_texts_that_mean_the_same_are_nearer_than_others(minilm: MiniLM) -> None:
    one, other, foreign = minilm.embed_documents(TEXTS)
    assert one @ other > 0.5 > 0.2 > one @ foreign
    assert np.allclose(np.linalg.norm([one, other, foreign], axis=1), 1.0, atol=1e-5)


def test_a_vector_does_not_depend_on_its_companions(minilm: MiniLM) -> None:
    together = minilm.embed_documents(TEXTS)
    assert np.array_equal(together[1], minilm.embed_query(TEXTS[1]))
    assert minilm.embed_documents([]).shape == (0, minilm.dimension)
    assert np.isfinite(minilm.embed_query("")).all()
    assert np.array_equal(minilm.embed_query("run " * 300), minilm.embed_query("run " * 5_000))


def test_the_fingerprint_is_known_before_anything_is_loaded(tmp_path: Path) -> None:
    embedder = MiniLM(tmp_path / "nothing")
    assert fingerprint(embedder) == f"{minilm_module.MODEL}@{minilm_module.REVISION}/384/body/1"
    assert embedder.max_tokens == 256
    assert not embedder.is_quick
    assert not (tmp_path / "nothing").exists()


def _build(cache: str) -> None:
    built(Path(cache))


def test_two_processes_may_build_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_build, args=(str(tmp_path),)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert [path.name for path in (tmp_path / "models").iterdir()] == [built_folder(tmp_path).name]
    assert MiniLM(tmp_path).is_quick


def test_a_damaged_model_file_is_built_again(model_cache: Path, tmp_path: Path, minilm: MiniLM) -> None:
    shutil.copytree(built(model_cache), built_folder(tmp_path))
    (built_folder(tmp_path) / MODEL_FILE).write_bytes(b"no model")
    assert np.array_equal(MiniLM(tmp_path).embed_query("again"), minilm.embed_query("again"))


def test_other_weights_than_the_published_ones_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "weights"
    folder.mkdir()
    (folder / WEIGHTS_FILE).write_bytes(b"x" * 100)
    with pytest.raises(EmbeddingError, match=r"is not the published file.*SHA-256"):
        built(tmp_path, str(folder))
    shutil.copy(folder / WEIGHTS_FILE, folder / "other")
    (folder / WEIGHTS_FILE).unlink()
    with pytest.raises(EmbeddingError, match=r"does not contain model\.safetensors"):
        built(tmp_path, str(folder))
    assert missing_parts(tmp_path, str(folder))


def test_without_the_package_the_message_names_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_cache: Path, minilm: MiniLM
) -> None:
    minilm.embed_query("builds the model")
    monkeypatch.setattr(minilm_module, "PACKAGE", "no_such_package_anywhere")
    with pytest.raises(EmbeddingError, match="no installed package has the weights: `satchel doctor` says how"):
        MiniLM(tmp_path).embed_query("x")
    assert not missing_parts(model_cache), "what is built needs no weights any more"
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match="onnxruntime"):
        MiniLM(model_cache).embed_query("x")


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(EmbeddingError, match="could not be put into"):
        built(tmp_path)
    assert list((tmp_path / "models").iterdir()) == [], "nothing half-done is left"


def test_the_library_reports_nothing_to_its_vendor(model_cache: Path, tmp_path: Path) -> None:
    """Where it reports, it keeps what it has not sent yet below the home folder."""
    loaded = "from pathlib import Path; from satchel.embed.minilm import MiniLM"
    program = f"{loaded}; MiniLM(Path({str(model_cache)!r})).embed_query('x')"
    environment = {
        key: value
        for key, value in os.environ.items()
        if key not in ("CI", "XDG_CACHE_HOME", minilm_module.NO_TELEMETRY)
    }
    subprocess.run([sys.executable, "-c", program], env=environment | {"HOME": str(tmp_path)}, check=True)
    assert not list(tmp_path.rglob("*onnxruntime*"))
