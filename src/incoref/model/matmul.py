"""Products with a fixed matrix, in a number of threads of one's own choice.

NumPy's BLAS shares out a product among all cores, and how many is a matter of the whole process. The products of
detector and memory take less than a millisecond; where other programs want the cores too, threads that wait for each
other take a hundred times as long. ONNX Runtime computes them in the threads that its session has, and about twice as
fast for few rows: it lays the matrix out for its processor once, where BLAS does so for every product. Rounded to
8 bits, as the weights of the encoder are, large ones take a half to a third of that again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime

Floats = npt.NDArray[np.float32]
Times = Callable[[Floats], Floats]
"""Rows (m, k) times a fixed matrix: (m, n)."""
Product = Callable[[Floats], Times]
"""From a matrix (k, n) to what multiplies with it."""

_SMALL = 1 << 18
"""Multiplications up to which BLAS stays in one thread, and is quicker to call."""
_NARROW = 64
"""Columns of a matrix below which rounding gains nothing."""
_LARGEST = 64
"""Of a rounded weight: two products of it with a byte fit into 16 bits, which not all processors have more than."""
_FLOAT, _INT8 = 1, 3


def plain_product(matrix: Floats) -> Times:
    """By NumPy."""
    return lambda rows: rows @ matrix


class ThreadedProduct:
    def __init__(self, threads: int = 1, rounded: bool = False) -> None:
        """``rounded`` computes large products in 8 bits: the matrix rounded by columns, the rows all at one scale."""
        self._options = onnxruntime.SessionOptions()
        self._options.intra_op_num_threads = threads
        self._options.inter_op_num_threads = 1
        self._rounded = rounded

    def __call__(self, matrix: Floats) -> Times:
        model = _rounded_model if self._rounded and matrix.shape[1] >= _NARROW else _model
        session = onnxruntime.InferenceSession(model(matrix), self._options, providers=["CPUExecutionProvider"])

        def times(rows: Floats) -> Floats:
            if rows.size * matrix.shape[1] <= _SMALL:
                return rows @ matrix
            found: Floats = session.run(None, {"rows": rows})[0]
            return found

        return times


# ONNX models of one node, as bytes. The package for writing such files is a large one.


def _model(matrix: Floats) -> bytes:
    """found = MatMul(rows, matrix)."""
    node = _field(1, b"rows") + _field(1, b"matrix") + _field(2, b"found") + _field(4, b"MatMul")
    return _of_one_node(node, matrix.shape, _stored(b"matrix", matrix, _FLOAT))


def _rounded_model(matrix: Floats) -> bytes:
    """found = DynamicQuantizeMatMul(rows, matrix, scales), which finds the scale of rows by itself."""
    scales = np.maximum(abs(matrix).max(axis=0) / _LARGEST, np.finfo(np.float32).tiny)
    rounded = np.round(matrix / scales).astype(np.int8)
    node = _field(1, b"rows") + _field(1, b"matrix") + _field(1, b"scales") + _field(2, b"found")
    node += _field(4, b"DynamicQuantizeMatMul") + _field(7, b"com.microsoft")
    stored = _stored(b"matrix", rounded, _INT8) + _stored(b"scales", scales.astype(np.float32), _FLOAT)
    return _of_one_node(node, matrix.shape, stored)


def _of_one_node(node: bytes, shape: tuple[int, ...], stored: bytes) -> bytes:
    height, width = shape
    ends = _field(11, _value(b"rows", height)) + _field(12, _value(b"found", width))
    graph = _field(1, node) + _field(2, b"product") + stored + ends
    sets = _field(8, _field(1, b"") + _number(2, 13)) + _field(8, _field(1, b"com.microsoft") + _number(2, 1))
    return _number(1, 7) + _field(7, graph) + sets


def _stored(name: bytes, values: npt.NDArray[Any], kind: int) -> bytes:
    """A constant of the graph."""
    sizes = b"".join(_number(1, size) for size in values.shape)
    content = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<")).tobytes()
    return _field(5, sizes + _number(2, kind) + _field(8, name) + _field(9, content))


def _value(name: bytes, columns: int) -> bytes:
    """An input or output of any number of rows."""
    shape = _field(1, _field(2, b"m")) + _field(1, _number(1, columns))
    return _field(1, name) + _field(2, _field(1, _number(1, _FLOAT) + _field(2, shape)))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _field(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first, as in protocol buffers."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)
