"""The heads' products: what NumPy says, each on its own, in 8 bits close to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from incoref.model.matmul import HeadProducts, Times, plain_product

pytestmark = pytest.mark.learning  # the graph is written by the training side


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def product(folder: Path, matrix: np.ndarray, quantise: bool = False) -> Times:
    import onnx

    from incoref.learning.onnx.products import products_graph

    graph = products_graph({"other": drawn(30, 90), "this": matrix}, quantise)
    onnx.checker.check_model(graph)
    onnx.save(graph, folder / "head.onnx")
    return HeadProducts(folder / "head.onnx")("this", matrix)


@pytest.mark.parametrize("shape", [(0, 5, 3), (1, 4, 7), (3, 20, 30), (200, 300, 64), (33, 1172, 256), (700, 400, 1)])
def test_a_product_is_what_numpy_says(tmp_path: Path, shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    rows, matrix = drawn(m, k), drawn(k, n)
    computed = product(tmp_path, matrix)(rows)
    assert computed.shape == (m, n) and computed.dtype == np.float32
    np.testing.assert_allclose(computed, plain_product("this", matrix)(rows), atol=1e-3)


@pytest.mark.parametrize("shape", [(0, 5, 80), (33, 1172, 256), (90, 364, 192), (8, 384, 1200)])
def test_a_product_in_8_bits_is_close(tmp_path: Path, shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    rows, matrix = drawn(m, k), drawn(k, n)
    matrix[:, 3] = 0
    computed, expected = product(tmp_path, matrix, quantise=True)(rows), rows @ matrix
    assert computed.shape == (m, n) and computed.dtype == np.float32
    assert not computed[:, 3].any()
    assert np.linalg.norm(computed - expected) <= 0.02 * np.linalg.norm(expected)


def test_narrow_products_are_not_rounded(tmp_path: Path) -> None:
    rows, matrix = drawn(700, 400), drawn(400, 1)
    np.testing.assert_allclose(product(tmp_path, matrix, quantise=True)(rows), rows @ matrix, atol=1e-3)


def test_a_matrix_that_is_not_there_is_named(tmp_path: Path) -> None:
    product(tmp_path, drawn(40, 50))
    with pytest.raises(ValueError, match=r"no product 'this' with a matrix of the shape \(40, 51\)"):
        HeadProducts(tmp_path / "head.onnx")("this", drawn(40, 51))
