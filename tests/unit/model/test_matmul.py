"""Products in threads of one's own choice are products."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from incoref.model import matmul
from incoref.model.matmul import ThreadedProduct, plain_product


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", [(0, 5, 3), (1, 4, 7), (3, 20, 30), (200, 300, 64), (33, 1172, 256), (700, 400, 1)])
def test_a_product_is_what_numpy_says(threads: int, shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    draw = np.random.default_rng(0)
    rows, matrix = draw.normal(size=(m, k)).astype(np.float32), draw.normal(size=(k, n)).astype(np.float32)
    found = ThreadedProduct(threads)(matrix)(rows)
    assert found.shape == (m, n) and found.dtype == np.float32
    np.testing.assert_allclose(found, plain_product(matrix)(rows), atol=1e-3)


@pytest.mark.parametrize("shape", [(0, 5, 80), (33, 1172, 256), (90, 364, 192), (8, 384, 1200)])
def test_a_rounded_product_is_close(shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    draw = np.random.default_rng(0)
    rows, matrix = draw.normal(size=(m, k)).astype(np.float32), draw.normal(size=(k, n)).astype(np.float32)
    matrix[:, 3] = 0
    found, expected = ThreadedProduct(rounded=True)(matrix)(rows), rows @ matrix
    assert found.shape == (m, n) and found.dtype == np.float32
    assert not found[:, 3].any()
    assert np.linalg.norm(found - expected) <= 0.02 * np.linalg.norm(expected)


def test_narrow_products_are_not_rounded() -> None:
    rows = np.random.default_rng(0).normal(size=(700, 400)).astype(np.float32)
    np.testing.assert_allclose(ThreadedProduct(rounded=True)(rows.T[:, :1])(rows), rows @ rows.T[:, :1], atol=1e-3)


def test_the_model_in_bytes_is_what_its_comment_says() -> None:
    matrix = np.arange(600, dtype=np.float32).reshape(200, 3)
    model = onnx.load_from_string(matmul._model(matrix))
    onnx.checker.check_model(model, full_check=True)
    node = model.graph.node[0]
    assert (node.op_type, list(node.input), list(node.output)) == ("MatMul", ["rows", "matrix"], ["found"])
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(model.graph.initializer[0]), matrix)
