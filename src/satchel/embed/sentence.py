"""Any sentence model in a local folder, in ONNX form, used as its own files say.

The folder has the layout of sentence-transformers: the model in `onnx/model.onnx` or `model.onnx`, `tokenizer.json` or
`vocab.txt`, the steps after the model in `modules.json` with a folder for each (`1_Pooling/config.json`), prefixes of
questions and documents in `config_sentence_transformers.json`. Nothing is fetched, and nothing is guessed that changes
vectors: what is missing is an error that names the file.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from satchel import lazy_numpy as np
from satchel.embed import normalised
from satchel.embed.wordpiece import WordPiece, WordRules, read_vocabulary
from satchel.errors import EmbeddingError, MissingExtraError

if TYPE_CHECKING:
    from satchel.embed import Vectors

    Tokenizer = Callable[[str], Sequence[int]]
    """Returns the ids of a text with the marks of its beginning and end."""

MODULES, POOLING, PROMPTS = "modules.json", "1_Pooling", "config_sentence_transformers.json"

MODELS = ("onnx/model.onnx", "model.onnx")
"""Places of the model, the first that exists. Without them it is the only ONNX file."""

MAX_TOKENS = 512
"""Most tokens of a text: on one core, models for longer texts take seconds for all of theirs."""

SAMPLES, SAMPLE_BYTES = 64, 16_384
"""Parts of a large file, evenly spread, of which the id is made: all bytes of a model would take half a second. A model
that was trained further differs everywhere."""

_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})

_DOCUMENT_PROMPTS = ("document", "passage", "corpus")
"""Names of the prefix of a document, in the order of sentence-transformers."""

_POOLINGS: Mapping[str, Callable[[Vectors], Vectors]] = {
    "cls": lambda states: states[0],
    "max": lambda states: states.max(axis=0),
    "mean": lambda states: states.mean(axis=0),
    "mean_sqrt_len": lambda states: states.sum(axis=0) / math.sqrt(len(states)),
    "weightedmean": lambda states: np.average(states, axis=0, weights=np.arange(1, len(states) + 1)),
    "lasttoken": lambda states: states[-1],
}
"""Ways to make one vector of those of the tokens; several are joined in this order, as in sentence-transformers."""


def is_model_folder(folder: Path) -> bool:
    """Return whether a folder has a model in ONNX form."""
    return bool(_models(folder))


class ModelStep(NamedTuple):
    """One step after the model: Pooling, Dense or Normalize, with its folder."""

    kind: str
    folder: Path


class SentenceModel:
    """The embedder of a folder. Its small files are read at once, the model at the first text.

    Raises EmbeddingError for a folder that lacks a file or says something that is not supported.
    """

    is_quick, is_table = True, False

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._model = _model_file(folder)
        transformer, self._steps = _steps(folder)
        self._vocabulary = _first(folder, transformer, "tokenizer.json", "vocab.txt")
        self._poolings, self.dimension = _pooled(self._steps, folder)
        named = [_place(folder, transformer, name) for name in ("tokenizer_config.json", "sentence_bert_config.json")]
        self._settings, lengths = map(_optional, named)
        self._said = [
            folder / MODULES,
            folder / PROMPTS,
            *named,
            *(step.folder / "config.json" for step in self._steps),
        ]
        longest = lengths.get("max_seq_length") or self._settings.get("model_max_length") or MAX_TOKENS
        self.max_tokens = int(min(longest, MAX_TOKENS))
        self._question, self._document = _prefixes(folder)
        self._guard = threading.Lock()
        self._loaded: _Loaded | None = None

    @cached_property
    def id(self) -> str:
        """The name of the folder with the beginning of a digest of its files."""
        digest = hashlib.sha256()
        dense = [step.folder / "model.safetensors" for step in self._steps if step.kind == "Dense"]
        beside = sorted(self._model.parent.glob(f"{self._model.name}_data*"))
        for path in (*self._said, self._vocabulary, *dense, self._model, *beside):
            digest.update(_sampled(path) if path.is_file() else b"-")
        return f"{self._folder.name}@{digest.hexdigest()[:12]}"

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one vector of length 1 per text, each computed alone, without influence of the others."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return np.stack([self._embed(self._document + text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of one question. Raises MissingExtraError or EmbeddingError."""
        return self._embed(self._question + text)

    def _embed(self, text: str) -> Vectors:
        with self._guard:
            if self._loaded is None:
                self._loaded = self._load()
        loaded = self._loaded
        ids = loaded.tokens(text)
        values = {"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": [0] * len(ids)}
        given = {name: np.array([values[name]], dtype=kind) for name, kind in loaded.inputs.items()}
        try:
            states = loaded.session.run([loaded.output], given)[0][0].astype(np.float32)
        except Exception as error:  # onnxruntime's own errors share no other base
            raise EmbeddingError(f"{self._model} cannot be run: {str(error)[:200]}") from error
        vector = self._finished(states, loaded) if loaded.is_of_tokens else states
        if vector.shape != (self.dimension,):
            raise EmbeddingError(f"{self._model} gave {vector.size} numbers, and {self._folder} says {self.dimension}")
        return normalised(vector)

    def _finished(self, states: Vectors, loaded: _Loaded) -> Vectors:
        """Return the vector of a text after all steps."""
        vector = states
        for step in self._steps:
            if step.kind == "Pooling":
                vector = np.concatenate([_POOLINGS[name](vector) for name in self._poolings]).astype(np.float32)
            elif step.kind == "Normalize":
                vector = normalised(vector)
            else:
                vector = loaded.dense[step.folder](vector)
        return vector

    def _load(self) -> _Loaded:
        from satchel.embed.minilm import open_session

        session = open_session(self._model)
        inputs = {value.name: np.int32 if "int32" in value.type else np.int64 for value in session.get_inputs()}
        if unknown := sorted(inputs.keys() - _INPUTS):
            known = ", ".join(sorted(_INPUTS))
            raise EmbeddingError(f"{self._model} needs the input {unknown[0]}: a sentence model has only {known}")
        shapes = {value.name: len(value.shape) for value in session.get_outputs()}
        output = next((name for size in (3, 2) for name, length in shapes.items() if length == size), None)
        if output is None:
            raise EmbeddingError(f"{self._model} has no output with vectors, only {', '.join(shapes)}")
        dense = {step.folder: _dense(step.folder) for step in self._steps if step.kind == "Dense"}
        tokens = _tokenizer(self._vocabulary, self._settings, self.max_tokens)
        return _Loaded(session, tokens, inputs, output, shapes[output] == 3, dense)


class _Loaded(NamedTuple):
    """A model in memory. `is_of_tokens` says that its output has a vector for each token, else it is complete."""

    session: Any  # onnxruntime has no types
    tokens: Tokenizer
    inputs: Mapping[str, type[np.int32 | np.int64]]
    output: str
    is_of_tokens: bool
    dense: Mapping[Path, Callable[[Vectors], Vectors]]


def _models(folder: Path) -> list[Path]:
    return [path for place in (folder / "onnx", folder) for path in sorted(place.glob("*.onnx"))]


def _model_file(folder: Path) -> Path:
    models = _models(folder)
    for name in MODELS:
        if folder / name in models:
            return folder / name
    if len(models) == 1:
        return models[0]
    if not models:
        raise EmbeddingError(f"{folder} has no ONNX model: put it at {MODELS[0]}")
    listed = ", ".join(path.relative_to(folder).as_posix() for path in models)
    raise EmbeddingError(f"{folder} has several ONNX models ({listed}): name the one to use {MODELS[0]}")


def _steps(folder: Path) -> tuple[str, tuple[ModelStep, ...]]:
    """Return the folder of the transformer below this one (mostly none), and the steps after it."""
    if not (folder / MODULES).is_file():
        if not (folder / POOLING / "config.json").is_file():
            missing = f"neither {MODULES} nor {POOLING}/config.json"
            raise EmbeddingError(f"{folder} has {missing}: nothing says how vectors of tokens become that of a text")
        return "", (ModelStep("Pooling", folder / POOLING),)
    try:
        modules = [(row["type"].rpartition(".")[2], row["path"]) for row in _read(folder / MODULES)]
    except (KeyError, TypeError) as error:
        raise EmbeddingError(f"{folder / MODULES} is not a list of modules with a type and a path") from error
    steps = [ModelStep(kind, folder / path) for kind, path in modules if kind not in ("Transformer", "Dropout")]
    if strange := [step.kind for step in steps if step.kind not in ("Pooling", "Dense", "Normalize")]:
        raise EmbeddingError(f"{folder / MODULES} has a step {strange[0]!r}, which is not supported")
    return next((path for kind, path in modules if kind == "Transformer"), ""), tuple(steps)


def _pooled(steps: Sequence[ModelStep], folder: Path) -> tuple[tuple[str, ...], int]:
    """Return the names of the poolings, and the length of the finished vector."""
    poolings = [step for step in steps if step.kind == "Pooling"]
    if len(poolings) != 1:
        raise EmbeddingError(f"{folder / MODULES} has {len(poolings)} steps of pooling: a sentence model has one")
    path = poolings[0].folder / "config.json"
    found = _read(path)
    modes = found.get("pooling_mode") or [
        name.removeprefix("pooling_mode_").removesuffix("_tokens").removesuffix("_token")
        for name, is_on in found.items()
        if name.startswith("pooling_mode_") and is_on
    ]
    modes = [modes] if isinstance(modes, str) else modes
    names = tuple(name for name in _POOLINGS if name in modes)
    if not names or len(names) != len(modes):
        raise EmbeddingError(f"{path} has the pooling {', '.join(modes) or 'none'}; known are {', '.join(_POOLINGS)}")
    if not found.get("include_prompt", True):
        raise EmbeddingError(f"{path} leaves the prefix out of the pooling (include_prompt), which is not supported")
    width = found.get("word_embedding_dimension") or found.get("embedding_dimension")
    dense = [step.folder / "config.json" for step in steps if step.kind == "Dense"]
    size = _read(dense[-1]).get("out_features") if dense else width and width * len(names)
    if not isinstance(size, int):
        raise EmbeddingError(f"{dense[-1] if dense else path} does not say the length of a vector")
    return names, size


def _prefixes(folder: Path) -> tuple[str, str]:
    """Return the prefixes of questions and of documents."""
    found = _optional(folder / PROMPTS)
    prompts = found.get("prompts") or {}
    usual = prompts.get(found.get("default_prompt_name"), "")
    document = next((prompts[name] for name in _DOCUMENT_PROMPTS if name in prompts), usual)
    return prompts.get("query", usual), document


def _dense(folder: Path) -> Callable[[Vectors], Vectors]:
    """Return a linear layer with its activation."""
    from satchel.embed.minilm import read_tensors

    path = folder / "model.safetensors"
    if not path.is_file():
        raise EmbeddingError(f"{path} is missing: save the model again with safetensors")
    activation = str(_read(folder / "config.json").get("activation_function", "")).rpartition(".")[2]
    if activation not in ("Identity", "Tanh"):
        raise EmbeddingError(f"{folder / 'config.json'} has the activation {activation!r}; known are Identity and Tanh")
    tensors = read_tensors(path)
    if "linear.weight" not in tensors:
        raise EmbeddingError(f"{path} has no tensor linear.weight of 32 bits")
    weight, bias = tensors["linear.weight"], tensors.get("linear.bias")

    def apply(vector: Vectors) -> Vectors:
        product = weight @ vector if bias is None else weight @ vector + bias
        return np.tanh(product) if activation == "Tanh" else product

    return apply


def _tokenizer(path: Path, settings: Mapping[str, Any], most: int) -> Tokenizer:
    lower_case = settings.get("do_lower_case", True)
    strips = settings.get("strip_accents")
    rules: WordRules | None = WordRules(lower_case, lower_case if strips is None else strips)
    if path.name == "vocab.txt":
        vocabulary = read_vocabulary(path)
    else:
        table = _read(path)
        vocabulary, rules = table["model"].get("vocab", {}), _rules(table)
    if rules is None:
        return _other_tokenizer(path, table["model"].get("type"), most)
    try:
        return partial(WordPiece(vocabulary, rules).ids, most=most)
    except KeyError as error:
        raise EmbeddingError(f"{path} has no mark {error}") from error


def _rules(table: Mapping[str, Any]) -> WordRules | None:
    """Return the rules of a `tokenizer.json` that cuts words as BERT does, None for any other."""
    model, cleaner, after = table["model"], table.get("normalizer") or {}, table.get("post_processor") or {}
    cutter = table.get("pre_tokenizer") or {}
    shape = (model.get("type"), model.get("continuing_subword_prefix"), cleaner.get("type"), cutter.get("type"))
    if shape != ("WordPiece", "##", "BertNormalizer", "BertPreTokenizer"):
        return None
    if after.get("type") == "TemplateProcessing":
        marks = [part["SpecialToken"]["id"] for part in after["single"] if "SpecialToken" in part]
        if len(marks) != 2 or len(after["single"]) != 3 or "Sequence" not in after["single"][1]:
            return None
        first, last = marks
    elif after.get("type") in ("BertProcessing", "RobertaProcessing"):
        first, last = after["cls"][0], after["sep"][0]
    else:
        return None
    lower_case, strips = cleaner["lowercase"], cleaner.get("strip_accents")
    return WordRules(lower_case, lower_case if strips is None else strips, (first, last, model["unk_token"]))


def _other_tokenizer(path: Path, kind: str, most: int) -> Tokenizer:
    try:
        from tokenizers import Tokenizer as Published
    except ImportError as error:
        needed = f"{path} is a tokenizer of the kind {kind}"
        raise MissingExtraError(f"{needed}, which needs the package tokenizers beside satchel") from error
    published = Published.from_file(str(path))
    published.no_padding()
    published.enable_truncation(most)

    def ids(text: str) -> Sequence[int]:
        found: Sequence[int] = published.encode(text).ids
        return found

    return ids


def _place(folder: Path, transformer: str, name: str) -> Path:
    """Return the place of a file of the transformer: in its own folder if it has one and the file is there."""
    inner = folder / transformer / name
    return inner if inner.is_file() else folder / name


def _first(folder: Path, transformer: str, *names: str) -> Path:
    places = [_place(folder, transformer, name) for name in names]
    found = next((path for path in places if path.is_file()), None)
    if found is None:
        raise EmbeddingError(f"{folder} has neither {' nor '.join(names)}: the model cannot read words")
    return found


def _optional(path: Path) -> dict[str, Any]:
    return _read(path) if path.is_file() else {}


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise EmbeddingError(f"{path} cannot be read: {error}") from error


def _sampled(path: Path) -> bytes:
    """Return a digest of the size of a file and of its bytes, of a large one of some parts."""
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        if size <= SAMPLES * SAMPLE_BYTES:
            digest.update(file.read())
        else:
            for number in range(SAMPLES):
                file.seek((size - SAMPLE_BYTES) * number // (SAMPLES - 1))
                digest.update(file.read(SAMPLE_BYTES))
    return digest.digest()
