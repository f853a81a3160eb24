"""Products by ONNX Runtime are those of NumPy."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from incoref import products
from incoref.products import ThreadedProduct


@pytest.mark.parametrize("shape", [(1, 1, 1), (0, 8, 3), (3, 4, 5), (100, 316, 512), (700, 512, 1)])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_product_is_a_product(shape: tuple[int, int, int], threads: int) -> None:
    m, k, n = shape
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)
    found = ThreadedProduct(threads)(a, b)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, a @ b, atol=1e-4)


def test_the_model_in_the_code_is_one_matmul() -> None:
    model = onnx.load_from_string(products._MODEL)
    onnx.checker.check_model(model, full_check=True)
    (node,) = model.graph.node
    assert (node.op_type, list(node.input), list(node.output)) == ("MatMul", ["a", "b"], ["c"])
