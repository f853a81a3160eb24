"""Products with a fixed matrix, in a number of threads of one's own choice.

NumPy's BLAS shares out a product among all cores, and how many is a matter of the whole process. The products of
detector and memory take less than a millisecond; where other programs want the cores too, threads that wait for each
other take a hundred times as long. ONNX Runtime computes them in the threads that its session has, and about twice as
fast for few rows: it lays the matrix out for its processor once, where BLAS does so for every product.
"""

from __future__ import annotations

from collections.abc import Callable

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
_FLOAT = 1


def plain_product(matrix: Floats) -> Times:
    """By NumPy."""
    return lambda rows: rows @ matrix


class ThreadedProduct:
    def __init__(self, threads: int = 1) -> None:
        self._options = onnxruntime.SessionOptions()
        self._options.intra_op_num_threads = threads
        self._options.inter_op_num_threads = 1

    def __call__(self, matrix: Floats) -> Times:
        session = onnxruntime.InferenceSession(_model(matrix), self._options, providers=["CPUExecutionProvider"])

        def times(rows: Floats) -> Floats:
            if rows.size * matrix.shape[1] <= _SMALL:
                return rows @ matrix
            found: Floats = session.run(None, {"rows": rows})[0]
            return found

        return times


def _model(matrix: Floats) -> bytes:
    """An ONNX model of one node: found = MatMul(rows, matrix). The package for writing such files is a large one."""
    height, width = matrix.shape
    node = _field(1, b"rows") + _field(1, b"matrix") + _field(2, b"found") + _field(4, b"MatMul")
    stored = _number(1, height) + _number(1, width) + _number(2, _FLOAT) + _field(8, b"matrix")
    stored += _field(9, np.ascontiguousarray(matrix, "<f4").tobytes())
    ends = _field(11, _value(b"rows", height)) + _field(12, _value(b"found", width))
    graph = _field(1, node) + _field(2, b"product") + _field(5, stored) + ends
    return _number(1, 7) + _field(7, graph) + _field(8, _field(1, b"") + _number(2, 13))


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
