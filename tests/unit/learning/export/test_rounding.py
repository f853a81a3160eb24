"""Weights of a linear layer in int8: what rounding changes on average is taken back by the bias."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import numpy_helper

from incoref.learning.onnx.graph import Graph, Range


@pytest.mark.parametrize("uneven", [False, True])
def test_the_mean_of_what_goes_in_gives_what_it_gave_before(uneven: bool) -> None:
    rng = np.random.default_rng(1)
    weight, bias = rng.normal(size=(40, 8)).astype(np.float32), rng.normal(size=8).astype(np.float32)
    rows = rng.normal(3.0, 1.0, (100, 40)).astype(np.float32) * np.linspace(0.1, 5, 40, dtype=np.float32)
    mean = rows.mean(axis=0)
    known = Range(np.minimum(rows.min(axis=0), 0), np.maximum(rows.max(axis=0), 0), mean, uneven)
    graph = Graph(quantise=True, ranges={"layer": known})
    graph.linear("rows", weight, bias, "layer")
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.weights}
    rounded = stored["layer.weight"] * stored["layer.scale"]
    evening = stored.get("layer.evening", np.ones(1, np.float32))
    given = (mean * evening) @ rounded
    np.testing.assert_allclose(given + stored["layer.bias"], mean @ weight + bias, rtol=1e-4, atol=1e-3)
    assert np.abs(given + bias - (mean @ weight + bias)).max() > 0.05  # which it would not without
