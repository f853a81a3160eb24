"""Matrix products with the heads' fixed matrices, on a chosen number of threads.

NumPy's BLAS spreads a product over all cores, and its thread count is a setting of the whole process. The products of
detector and clusterer take less than a millisecond; when other programs need the cores too, threads that wait for
each other make them a hundred times slower. ONNX Runtime uses the threads of its session and is about twice as fast
for few rows: it packs the matrix for the processor once, where BLAS packs it for every product. In 8 bits, large
products take a half to a third of that time.

The matrices are in the model folder's ``head.onnx``, a graph of independent products; each call runs one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime

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
    """The products of a model folder's ``head.onnx``."""

    def __init__(self, path: Path, threads: int = 1, *, spin: bool = True) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", str(int(spin)))
        options.log_severity_level = _ERRORS  # it warns about the defaults of inputs of products that aren't run
        self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._shapes = {
            rows.name.removesuffix(ROWS): (rows.shape[1], product.shape[1])
            for rows, product in zip(
                self._session.get_overridable_initializers(), self._session.get_outputs(), strict=True
            )
        }
        self._run = onnxruntime.RunOptions()
        self._run.only_execute_path_to_fetches = True

    def __call__(self, name: str, matrix: Floats) -> Times:
        if self._shapes.get(name) != matrix.shape:
            raise ValueError(f"head.onnx has no product '{name}' with a matrix of the shape {matrix.shape}")
        columns = matrix.shape[1]

        def times(rows: Floats) -> Floats:
            if rows.size * columns <= _SMALL:
                return rows @ matrix
            product: Floats = self._session.run([name], {name + ROWS: rows}, self._run)[0]
            return product

        return times
