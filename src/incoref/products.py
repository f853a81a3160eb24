"""Matrix products in a number of threads of one's own choice.

NumPy's BLAS shares out a product among all cores, and how many is a matter of the whole process. The products of
detector and memory take less than a millisecond; where other programs want the cores too, threads that wait for each
other take a hundred times as long. ONNX Runtime computes them as fast, in the threads that its session has.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
import onnxruntime

Floats = npt.NDArray[np.float32]

# An ONNX model of one node: c (m, n) = MatMul(a (m, k), b (k, n)), opset 13.
_MODEL = bytes.fromhex(
    "08073a5b0a110a01610a01621201632206" + b"MatMul".hex() + "1201705a150a016112100a0e0801120a0a0312016d0a0312016b"
    "5a150a016212100a0e0801120a0a0312016b0a0312016e62150a016312100a0e0801120a0a0312016d0a0312016e42040a00100d"
)
_SMALL = 1 << 18
"""Multiplications up to which BLAS stays in one thread, and is quicker to call."""


class Product(Protocol):
    """A matrix product, (m, k) by (k, n)."""

    def __call__(self, a: Floats, b: Floats, /) -> Floats: ...


class ThreadedProduct:
    def __init__(self, threads: int = 1) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(_MODEL, options, providers=["CPUExecutionProvider"])

    def __call__(self, a: Floats, b: Floats, /) -> Floats:
        if a.size * b.shape[1] <= _SMALL:
            return a @ b
        found: Floats = self._session.run(None, {"a": a, "b": b})[0]
        return found
