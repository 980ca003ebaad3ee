"""Writing an ONNX model: the few messages of its protobuf format that a small graph needs.

The format is public (onnx.proto3). A message is a run of fields, each a key (number and wire type) and a value; the
numbers below are those of the format. onnxruntime checks a model when it loads it. Writing it here saves a dependency
of 40 MB that would be used once.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

OPERATOR_SET = 20
"""The oldest set with everything that is used: Gelu came with 20."""

_FORMAT_VERSION = 9
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
    """Collects nodes and constants. Every method returns the name of what it made."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._count = 0

    def constant(self, value: Any) -> str:
        """An array with its type; a list of whole numbers has 64 bits."""
        array = np.ascontiguousarray(value)
        name = self._name()
        dimensions = b"".join(_number(1, size) for size in np.shape(value))
        self._constants.append(
            dimensions + _number(2, _TYPES[str(array.dtype)]) + _bytes(8, name) + _bytes(9, array.tobytes())
        )
        return name

    def node(self, operator: str, *inputs: str, outputs: int = 1, **attributes: float | Sequence[int]) -> str:
        """One operation; with several outputs, their names are separated by blanks."""
        names = [self._name() for _ in range(outputs)]
        listed = b"".join(_bytes(1, name) for name in inputs) + b"".join(_bytes(2, name) for name in names)
        listed += _bytes(4, operator)
        self._nodes.append(listed + b"".join(_bytes(5, _attribute(*pair)) for pair in attributes.items()))
        return " ".join(names)

    def _name(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def model(self, given: tuple[str, str, Sequence[int | str]], result: tuple[str, str, Sequence[int | str]]) -> bytes:
        """The whole model with one input and one output, each (name, type, shape); a named size is free."""
        graph = b"".join(_bytes(1, node) for node in self._nodes) + _bytes(2, "satchel")
        graph += b"".join(_bytes(5, constant) for constant in self._constants)
        graph += _bytes(11, _value(*given)) + _bytes(12, _value(*result))
        head = _number(1, _FORMAT_VERSION) + _bytes(2, "satchel")
        return head + _bytes(7, graph) + _bytes(8, _bytes(1, "") + _number(2, OPERATOR_SET))


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
