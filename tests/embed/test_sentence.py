"""Sentence models in a folder, as sentence-transformers lays it out, with tiny models that are built here."""

from __future__ import annotations

import json
import shutil
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from satchel.embed import Embedder
from satchel.embed.minilm import VOCABULARY_FILE, Graph, weights_folder
from satchel.embed.sentence import MAX_TOKENS, SentenceModel
from satchel.embed.wordpiece import WordPiece, read_vocabulary
from satchel.errors import EmbeddingError, MissingExtraError

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "car", "fast", "query", ":", "Car"]
ROWS = np.array([[piece + 1, (piece * 7) % 5 - 2, piece % 3] for piece in range(len(PIECES))], dtype=np.float32)
"""The vector that the tiny model gives to each piece."""

Pooled = Callable[[npt.NDArray[np.float32]], npt.NDArray[np.float32]]


def tiny_model(**sources: str) -> bytes:
    """Return a model whose token vectors are the rows of its pieces, where the mask has 1."""
    graph = Graph()
    rows = graph.node("Gather", graph.constant(ROWS), "input_ids")
    if "attention_mask" in sources:
        mask = graph.node("Cast", "attention_mask", to=1)
        rows = graph.node("Mul", rows, graph.node("Unsqueeze", mask, graph.constant(np.array([2]))))
    shape: Sequence[int | str] = [1, "tokens"]
    inputs: list[tuple[str, str, Sequence[int | str]]] = [(name, kind, shape) for name, kind in sources.items()]
    return graph.model((rows, "float32", [1, "tokens", ROWS.shape[1]]), *inputs)


USUAL: Mapping[str, str] = {"input_ids": "int64", "attention_mask": "int64", "token_type_ids": "int64"}


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def modules(*kinds: str) -> list[dict[str, Any]]:
    return [
        {"idx": number, "path": f"{number}_{kind}" if number else "", "type": f"sentence_transformers.models.{kind}"}
        for number, kind in enumerate(("Transformer", *kinds))
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny-model"
    (folder / "onnx").mkdir(parents=True)
    (folder / "onnx" / "model.onnx").write_bytes(tiny_model(**USUAL))
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    write_json(folder / "modules.json", modules("Pooling", "Normalize"))
    pool(folder, pooling_mode_cls_token=False, pooling_mode_mean_tokens=True)
    return folder


def pool(folder: Path, **modes: object) -> None:
    write_json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": ROWS.shape[1], **modes})


def unit(vector: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    result: npt.NDArray[np.float32] = vector / np.linalg.norm(vector)
    return result


def states(*pieces: str) -> npt.NDArray[np.float32]:
    return ROWS[[PIECES.index(piece) for piece in pieces]]


FAST_CAR = states("[CLS]", "fast", "car", "[SEP]")


def test_a_text_has_the_mean_of_its_tokens_scaled_to_length_1(folder: Path) -> None:
    model: Embedder = SentenceModel(folder)
    assert model.embed_query("Fast car") == pytest.approx(unit(FAST_CAR.mean(axis=0)), abs=1e-6)
    assert model.embed_documents(["fast car", "car"]).shape == (2, model.dimension) == (2, 3)
    assert model.embed_documents([]).shape == (0, 3)


@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        ({"pooling_mode_cls_token": True}, lambda rows: rows[0]),
        ({"pooling_mode_max_tokens": True}, lambda rows: rows.max(axis=0)),
        ({"pooling_mode_mean_sqrt_len_tokens": True}, lambda rows: rows.sum(axis=0) / 2),
        ({"pooling_mode_weightedmean_tokens": True}, lambda rows: np.array([1, 2, 3, 4]) @ rows / 10),
        ({"pooling_mode_lasttoken": True}, lambda rows: rows[-1]),
        ({"pooling_mode": "mean"}, lambda rows: rows.mean(axis=0)),
        (
            {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True},
            lambda rows: np.concatenate([rows[0], rows.mean(axis=0)]),
        ),
    ],
    ids=["first", "max", "root", "weighted", "last", "by name", "two joined"],
)
def test_the_pooling_is_that_of_its_file(folder: Path, modes: Mapping[str, object], expected: Pooled) -> None:
    pool(folder, **modes)
    model = SentenceModel(folder)
    assert model.embed_query("fast car") == pytest.approx(unit(expected(FAST_CAR)), abs=1e-6)
    assert model.dimension == len(expected(FAST_CAR))


def test_questions_and_documents_have_the_prefixes_of_its_prompts(folder: Path) -> None:
    write_json(folder / "config_sentence_transformers.json", {"prompts": {"query": "query: ", "passage": "fast "}})
    model = SentenceModel(folder)
    asked = states("[CLS]", "query", ":", "car", "[SEP]").mean(axis=0)
    assert model.embed_query("car") == pytest.approx(unit(asked), abs=1e-6)
    assert model.embed_documents(["car"])[0] == pytest.approx(unit(FAST_CAR.mean(axis=0)), abs=1e-6)


def test_the_default_prompt_is_the_prefix_of_both(folder: Path) -> None:
    prompts = {"prompts": {"fast": "fast "}, "default_prompt_name": "fast"}
    write_json(folder / "config_sentence_transformers.json", prompts)
    model = SentenceModel(folder)
    assert np.array_equal(model.embed_query("car"), model.embed_documents(["car"])[0])
    assert model.embed_query("car") == pytest.approx(unit(FAST_CAR.mean(axis=0)), abs=1e-6)


def write_tensors(path: Path, **tensors: npt.NDArray[np.float32]) -> None:
    """Write a safetensors file."""
    table, data = {}, b""
    for name, array in tensors.items():
        raw = np.ascontiguousarray(array, dtype="<f4").tobytes()
        table[f"linear.{name}"] = {
            "dtype": "F32",
            "shape": array.shape,
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    head = json.dumps(table).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + data)


def test_steps_follow_in_the_order_of_modules_json(folder: Path) -> None:
    weight = np.array([[1, 0, 2], [0, -1, 1]], dtype=np.float32)
    bias = np.array([0.5, -0.25], dtype=np.float32)
    write_json(folder / "modules.json", modules("Pooling", "Normalize", "Dense"))
    settings = {"out_features": 2, "activation_function": "torch.nn.modules.activation.Tanh"}
    write_json(folder / "3_Dense" / "config.json", settings)
    with pytest.raises(EmbeddingError, match=r"3_Dense.model\.safetensors is missing"):
        SentenceModel(folder).embed_query("car")
    write_tensors(folder / "3_Dense" / "model.safetensors", weight=weight, bias=bias)
    model = SentenceModel(folder)
    expected = np.tanh(weight @ unit(FAST_CAR.mean(axis=0)) + bias)
    assert model.embed_query("fast car") == pytest.approx(unit(expected), abs=1e-6)
    assert model.dimension == 2
    write_json(folder / "3_Dense" / "config.json", {**settings, "activation_function": "torch.nn.ReLU"})
    with pytest.raises(EmbeddingError, match="activation 'ReLU'"):
        SentenceModel(folder).embed_query("car")


def wordpiece(**changes: object) -> dict[str, Any]:
    """Return the `tokenizer.json` of a cased model with marks of its own."""
    return {
        "normalizer": {"type": "BertNormalizer", "lowercase": False, "strip_accents": None},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "RobertaProcessing", "cls": ["[PAD]", 0], "sep": ["[UNK]", 1]},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "vocab": {piece: number for number, piece in enumerate(PIECES)},
        },
        **changes,
    }


def test_tokenizer_json_comes_before_vocab_txt_and_its_case_and_marks_count(folder: Path) -> None:
    write_json(folder / "tokenizer.json", wordpiece())
    found = SentenceModel(folder).embed_query("Car")
    assert found == pytest.approx(unit(states("[PAD]", "Car", "[UNK]").mean(axis=0)), abs=1e-6)
    template = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "[CLS]"}}, {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "[SEP]"}}],
    }
    write_json(folder / "tokenizer.json", wordpiece(post_processor=template))
    found = SentenceModel(folder).embed_query("Car")
    assert found == pytest.approx(unit(states("[CLS]", "Car", "[SEP]").mean(axis=0)), abs=1e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {"model": {"type": "Unigram", "vocab": [["car", -1.0]]}},
        {"normalizer": {"type": "Lowercase"}},
        {"post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}}]}},
        {"post_processor": None},
    ],
    ids=["model", "normalizer", "marks", "none"],
)
def test_another_kind_of_tokenizer_names_the_package_that_reads_it(
    folder: Path, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_json(folder / "tokenizer.json", wordpiece(**changes))
    monkeypatch.setitem(sys.modules, "tokenizers", None)  # as where it is not installed
    with pytest.raises(MissingExtraError, match="the package tokenizers"):
        SentenceModel(folder).embed_query("car")


def test_a_long_text_is_cut_at_the_length_of_the_model(folder: Path) -> None:
    assert SentenceModel(folder).max_tokens == MAX_TOKENS
    write_json(folder / "tokenizer_config.json", {"model_max_length": 10**30})
    assert SentenceModel(folder).max_tokens == MAX_TOKENS
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 4})
    model = SentenceModel(folder)
    assert model.max_tokens == 4
    assert np.array_equal(model.embed_query("fast car car car"), model.embed_query("fast car"))


@pytest.mark.parametrize("sources", [{"input_ids": "int64"}, {"input_ids": "int32"}], ids=["64 bits", "32 bits"])
def test_a_model_gets_the_inputs_that_it_has(folder: Path, sources: Mapping[str, str]) -> None:
    (folder / "onnx" / "model.onnx").write_bytes(tiny_model(**sources))
    assert SentenceModel(folder).embed_query("fast car") == pytest.approx(unit(FAST_CAR.mean(axis=0)), abs=1e-6)


def test_the_id_changes_with_each_file_that_changes_vectors(folder: Path) -> None:
    ids = [SentenceModel(folder).id]
    assert ids == [SentenceModel(folder).id]
    assert ids[0].startswith("tiny-model@")
    shutil.copytree(folder, folder.parent / "copy" / folder.name)
    assert SentenceModel(folder.parent / "copy" / folder.name).id == ids[0], "the same files elsewhere"
    changes: list[Callable[[], object]] = [
        lambda: pool(folder, pooling_mode_max_tokens=True),
        lambda: write_json(folder / "config_sentence_transformers.json", {"prompts": {"query": "query: "}}),
        lambda: (folder / "vocab.txt").write_text("\n".join([*PIECES, "more"]), encoding="utf-8"),
        lambda: (folder / "onnx" / "model.onnx").write_bytes(tiny_model(input_ids="int64")),
        lambda: (folder / "onnx" / "model.onnx_data").write_bytes(b"weights" * 1_000_000),
        lambda: (folder / "onnx" / "model.onnx_data").write_bytes(b"weighed" * 1_000_000),
    ]
    for change in changes:
        change()
        ids.append(SentenceModel(folder).id)
    assert len({*ids}) == len(changes) + 1


def without(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def with_json(name: str, value: object) -> Callable[[Path], None]:
    return lambda folder: write_json(folder / name, value)


def second_model(folder: Path) -> None:
    (folder / "onnx" / "model.onnx").rename(folder / "onnx" / "model_O1.onnx")
    shutil.copy(folder / "onnx" / "model_O1.onnx", folder / "onnx" / "model_O2.onnx")


def no_pooling(folder: Path) -> None:
    (folder / "modules.json").unlink()
    (folder / "1_Pooling" / "config.json").unlink()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (without("onnx/model.onnx"), "has no ONNX model: put it at onnx/model.onnx"),
        (second_model, "several ONNX models (onnx/model_O1.onnx, onnx/model_O2.onnx)"),
        (without("vocab.txt"), "has neither tokenizer.json nor vocab.txt"),
        (no_pooling, "has neither modules.json nor 1_Pooling/config.json"),
        (without("1_Pooling/config.json"), "config.json cannot be read"),
        (with_json("1_Pooling/config.json", {"pooling_mode_odd_tokens": True}), "has the pooling odd"),
        (with_json("1_Pooling/config.json", {"word_embedding_dimension": 3}), "has the pooling none"),
        (with_json("1_Pooling/config.json", {"pooling_mode": "cls"}), "does not say the length of a vector"),
        (with_json("1_Pooling/config.json", {"pooling_mode": "cls", "include_prompt": False}), "include_prompt"),
        (with_json("modules.json", modules("Pooling", "CNN")), "a step 'CNN', which is not supported"),
        (with_json("modules.json", modules("Normalize")), "has 0 steps of pooling"),
        (with_json("modules.json", {"a": 1}), "is not a list of modules"),
    ],
    ids=["model", "models", "words", "modules", "config", "pooling", "no pooling", "length", "prompt", "step", "steps",
         "list"],
)  # fmt: skip
def test_a_folder_that_lacks_something_is_an_error_that_says_what(
    folder: Path, damage: Callable[[Path], None], message: str
) -> None:
    damage(folder)
    with pytest.raises(EmbeddingError) as raised:
        SentenceModel(folder)
    assert message in str(raised.value).replace("\\", "/")


def strange_input(folder: Path) -> None:
    (folder / "onnx" / "model.onnx").write_bytes(tiny_model(input_ids="int64", position_ids="int64"))


def no_marks(folder: Path) -> None:
    (folder / "vocab.txt").write_text("car\nfast\n", encoding="utf-8")


def wrong_length(folder: Path) -> None:
    write_json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": 5, "pooling_mode": "mean"})


def few_rows(folder: Path) -> None:
    (folder / "vocab.txt").write_text("\n".join([*PIECES, "boat"]), encoding="utf-8")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (strange_input, "needs the input position_ids"),
        (no_marks, r"has no mark '\[CLS\]'"),
        (wrong_length, "gave 3 numbers, and .* says 5"),
        (few_rows, "cannot be run"),
        (lambda folder: (folder / "onnx" / "model.onnx").write_bytes(b"no model"), "onnxruntime cannot load"),
    ],
    ids=["input", "marks", "length", "run", "model"],
)
def test_what_shows_only_when_the_model_is_used_is_an_error_then(
    folder: Path, damage: Callable[[Path], object], message: str
) -> None:
    damage(folder)
    with pytest.raises(EmbeddingError, match=message):
        SentenceModel(folder).embed_query("a fast boat")


def test_an_output_of_the_whole_text_is_pooled_no_more(folder: Path) -> None:
    graph = Graph()
    rows = graph.node("Gather", graph.constant(ROWS), "input_ids")
    vector = graph.node("ReduceMax", rows, graph.constant(np.array([1])), keepdims=0)
    model = graph.model((vector, "float32", [1, ROWS.shape[1]]), ("input_ids", "int64", [1, "tokens"]))
    (folder / "onnx" / "model.onnx").write_bytes(model)
    assert SentenceModel(folder).embed_query("fast car") == pytest.approx(unit(FAST_CAR.max(axis=0)), abs=1e-6)


def test_the_files_of_a_published_model_are_understood(tmp_path: Path) -> None:
    source = weights_folder()
    assert source is not None
    place = tmp_path / "published"
    shutil.copytree(source, place, ignore=shutil.ignore_patterns("*.safetensors"))
    table = np.random.default_rng(1).normal(size=(64, 384)).astype(np.float32)
    graph = Graph()
    few = graph.node("Mod", "input_ids", graph.constant(np.array([64])))
    rows = graph.node("Gather", graph.constant(table), few)
    model = graph.model((rows, "float32", [1, "tokens", 384]), ("input_ids", "int64", [1, "tokens"]))
    (place / "model.onnx").write_bytes(model)
    sentence = SentenceModel(place)
    assert (sentence.dimension, sentence.max_tokens) == (384, 256)
    text = "naïve ﬁne 你好, İstanbul $5+3~ of unaffable runners"
    ids = np.array(WordPiece(read_vocabulary(place / VOCABULARY_FILE)).ids(text, 256))
    assert sentence.embed_query(text) == pytest.approx(unit(table[ids % 64].mean(axis=0)), abs=1e-6)
