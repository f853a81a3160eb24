"""A graph of products is cut into graphs of one product each."""

from __future__ import annotations

import numpy as np
import pytest

from incoref.model.named import find_model
from incoref.model.subgraphs import alone, product_names

pytestmark = pytest.mark.learning  # the graphs are written and checked by the training side


def graph_of(names: list[str]) -> bytes:
    from incoref.learning.onnx.products import products_graph

    draw = np.random.default_rng(0)
    matrices = {name: draw.normal(size=(30, 70 + len(name))).astype(np.float32) for name in names}
    return bytes(products_graph(matrices, quantise=True).SerializeToString())


def test_each_part_has_one_product_and_what_it_needs() -> None:
    import onnx

    whole = graph_of(["one", "one.more", "other"])
    assert product_names(whole) == ["one", "one.more", "other"]
    for name in product_names(whole):
        part = onnx.load_from_string(alone(whole, name, f"{name}.rows"))
        onnx.checker.check_model(part, full_check=False)
        assert [node.output[0] for node in part.graph.node] == [name]
        assert [value.name for value in part.graph.input] == [f"{name}.rows"]
        assert [value.name for value in part.graph.output] == [name]
        assert {tensor.name for tensor in part.graph.initializer} == {f"{name}.matrix", f"{name}.scales"}
        assert part.opset_import == onnx.load_from_string(whole).opset_import


def test_the_shipped_products_are_all_found() -> None:
    import onnx

    whole = (find_model(None) / "head.onnx").read_bytes()
    assert product_names(whole) == [value.name for value in onnx.load_from_string(whole).graph.output]


@pytest.mark.parametrize("broken", [lambda whole: whole[:-5], lambda whole: b"\x07" + whole, lambda whole: b""])
def test_what_is_no_graph_is_refused(broken: object) -> None:
    assert callable(broken)
    with pytest.raises(ValueError):
        alone(broken(graph_of(["one"])), "one", "one.rows")
