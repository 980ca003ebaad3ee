"""MiniLM (a small BERT) as a graph of 8-bit matrices, from its published weights.

The graph takes the ids of one text and gives its vector: embeddings, six layers, the mean over the tokens, length 1.
One text at a time: the 8-bit scale of a step is taken over everything in it, so the companions in a batch would
change a vector, and padding would be work for nothing.
"""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from satchel.embed.onnx_file import Graph

INPUT, OUTPUT = "ids", "vector"
LAYERS, HEADS, WIDTH = 6, 12, 384
EPSILON = 1e-12
"""Of the layer normalisation, as the model was trained."""

LARGEST = 63
"""Weights take 7 of 8 bits: with all 8, processors without VNNI overflow and give other vectors than the rest."""

Array = npt.NDArray[np.float32]


def read_tensors(path: Path) -> dict[str, Array]:
    """All tensors of a safetensors file: its length as 8 bytes, a table as JSON, then the numbers. 32 bits only."""
    raw = path.read_bytes()
    (size,) = struct.unpack_from("<Q", raw)
    table = json.loads(raw[8 : 8 + size])
    return {
        name: np.frombuffer(raw, "<f4", _numbers(row), 8 + size + row["data_offsets"][0]).reshape(row["shape"])
        for name, row in table.items()
        if row.get("dtype") == "F32"
    }


def _numbers(row: dict[str, Any]) -> int:
    return math.prod(row["shape"])


def build(tensors: dict[str, Array]) -> bytes:
    """The model file."""
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
    return graph.model((INPUT, "int64", ["tokens"]), (vector, "float32", [WIDTH]))


def _embeddings(graph: Graph, tensors: dict[str, Array]) -> str:
    """The sum of word, position and segment, normalised: one row a token."""
    words, scales = _eight_bits(tensors["embeddings.word_embeddings.weight"], axis=1)
    rows = graph.node("Cast", graph.node("Gather", graph.constant(words), INPUT), to=1)
    rows = graph.node("Mul", rows, graph.node("Gather", graph.constant(scales), INPUT))
    places = tensors["embeddings.position_embeddings.weight"] + tensors["embeddings.token_type_embeddings.weight"][0]
    zero = graph.constant(np.array([0]))
    found = graph.node("Slice", graph.constant(places), zero, graph.node("Shape", INPUT), zero)
    return _normed(graph, graph.node("Add", rows, found), tensors, "embeddings.LayerNorm")


def _attention(graph: Graph, state: str, tensors: dict[str, Array], prefix: str) -> str:
    """What each token takes from the others. Query, key and value are one matrix, which is faster than three."""
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
    """State times weight plus bias, both sides in 8 bits, with a scale for each column of the weight."""
    eight, scales = _eight_bits(np.ascontiguousarray(weight.T), axis=0)
    quantised, scale, zero = graph.node("DynamicQuantizeLinear", state, outputs=3).split()
    whole = graph.node("MatMulInteger", quantised, graph.constant(eight), zero)
    factor = graph.node("Mul", scale, graph.constant(scales.reshape(-1)))
    product = graph.node("Mul", graph.node("Cast", whole, to=1), factor)
    return graph.node("Add", product, graph.constant(bias))


def _normed(graph: Graph, state: str, tensors: dict[str, Array], name: str) -> str:
    weight, bias = graph.constant(tensors[f"{name}.weight"]), graph.constant(tensors[f"{name}.bias"])
    return graph.node("LayerNormalization", state, weight, bias, axis=-1, epsilon=EPSILON)


def _eight_bits(matrix: Array, *, axis: int) -> tuple[npt.NDArray[np.int8], Array]:
    """Whole numbers and the factors that give the matrix back, one for each line across `axis`."""
    scales = (np.abs(matrix).max(axis=axis, keepdims=True) / LARGEST).astype(np.float32)
    scales[scales == 0] = 1.0
    return np.rint(matrix / scales).astype(np.int8), scales
