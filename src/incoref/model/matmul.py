"""Matrix products with the heads' fixed matrices, on one thread.

NumPy's BLAS spreads a product over all cores, and its thread count is a setting of the whole process. The products of
detector and clusterer take less than a millisecond; when other programs need the cores too, threads that wait for
each other make them a hundred times slower. ONNX Runtime uses the threads of its session and is about twice as fast
for few rows: it packs the matrix for the processor once, where BLAS packs it for every product. In 8 bits, large
products take a half to a third of that time.

The matrices are in the model folder's ``head.onnx``, a graph of independent products.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime

from incoref.model.subgraphs import alone, product_names

Floats = npt.NDArray[np.float32]
Times = Callable[[Floats], Floats]
"""Multiplies rows (m, k) by a fixed matrix, giving (m, n)."""
Product = Callable[[str, Floats], Times]
"""Takes a matrix (k, n) and its name in ``head.onnx``; returns the function that multiplies by it."""

ROWS = ".rows"
"""The product NAME has the input NAME.rows and the output NAME."""
_SMALL = 1 << 18
"""Up to this many multiplications, BLAS stays in one thread and is faster to call."""
_ERRORS = 3


def plain_product(name: str, matrix: Floats) -> Times:
    """Multiply with NumPy."""
    return lambda rows: rows @ matrix


class HeadProducts:
    """The products of a model folder's ``head.onnx``, each in a session of its own.

    A run of a session computes all of its graph's products: for one of five, that takes four times as long. They all
    run on one thread, as the largest takes less than a tenth of a millisecond.
    """

    def __init__(self, path: Path) -> None:
        self._model = path.read_bytes()
        self._names = product_names(self._model)

    def __call__(self, name: str, matrix: Floats) -> Times:
        session = self._session(name) if name in self._names else None
        if session is None or matrix.shape != (session.get_inputs()[0].shape[1], session.get_outputs()[0].shape[1]):
            raise ValueError(f"head.onnx has no product '{name}' with a matrix of the shape {matrix.shape}")
        columns, given, wanted = matrix.shape[1], name + ROWS, [name]

        def times(rows: Floats) -> Floats:
            if rows.size * columns <= _SMALL:
                return rows @ matrix
            product: Floats = session.run(wanted, {given: rows})[0]
            return product

        return times

    def _session(self, name: str) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = _ERRORS
        model = alone(self._model, name, name + ROWS)
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
