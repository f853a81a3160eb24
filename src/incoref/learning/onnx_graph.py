"""The block-causal encoder as an ONNX graph, written operator by operator, in fp32 or with int8 weights.

Inputs: ``ids`` (n), ``positions`` (n), ``mask`` (n, capacity + n; added to attention scores) and, layer by layer,
``past.<layer>.key`` and ``past.<layer>.value`` (heads, capacity, width of a head). Outputs: ``vectors`` (n, width)
and ``added``, keys and values of the n sub-words, stacked (2 x layers, heads, n, width of a head).

Past and present keys are never joined: their scores are, which are small. Int8 weights have a scale per column and
are limited to 7 bits, because processors without VNNI add pairs of products in 16 bits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from incoref.learning.blockcausal import BlockCausalEncoder

Floats = npt.NDArray[np.float32]

_OPSET = 20
_SEVEN_BITS = 63


@dataclass(slots=True)
class _Graph:
    """Nodes and weights gathered while the graph is written."""

    quantise: bool
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: list[onnx.TensorProto] = field(default_factory=list)

    def constant(self, name: str, value: np.ndarray) -> str:
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, operator: str, *inputs: str, name: str, domain: str = "", **attributes: Any) -> str:
        self.nodes.append(helper.make_node(operator, list(inputs), [name], name, domain=domain, **attributes))
        return name

    def linear(self, source: str, weight: Floats, bias: Floats, name: str) -> str:
        """source @ weight + bias, weight (in, out)."""
        if not self.quantise:
            product = self.node("MatMul", source, self.constant(f"{name}.weight", weight), name=f"{name}.product")
            return self.node("Add", product, self.constant(f"{name}.bias", bias), name=name)
        scale = np.abs(weight).max(axis=0) / _SEVEN_BITS
        scale[scale == 0] = 1
        rounded = np.round(weight / scale).astype(np.int8)
        return self.node(
            "DynamicQuantizeMatMul",
            source,
            self.constant(f"{name}.weight", rounded),
            self.constant(f"{name}.scale", scale.astype(np.float32)),
            "",
            self.constant(f"{name}.bias", bias),
            name=name,
            domain="com.microsoft",
        )

    def rows(self, table: Floats, index: str, name: str) -> str:
        """Rows of an embedding table; int8 with a scale per row when quantised."""
        if not self.quantise:
            return self.node("Gather", self.constant(f"{name}.table", table), index, name=name)
        scale = np.abs(table).max(axis=1, keepdims=True) / 127
        scale[scale == 0] = 1
        rounded = self.constant(f"{name}.table", np.round(table / scale).astype(np.int8))
        picked = self.node("Gather", rounded, index, name=f"{name}.picked")
        scales = self.node(
            "Gather", self.constant(f"{name}.scale", scale.astype(np.float32)), index, name=f"{name}.scales"
        )
        floats = self.node("Cast", picked, name=f"{name}.floats", to=TensorProto.FLOAT)
        return self.node("Mul", floats, scales, name=name)

    def norm(self, source: str, weights: tuple[Floats, Floats], epsilon: float, name: str) -> str:
        weight, bias = weights
        return self.node(
            "LayerNormalization",
            source,
            self.constant(f"{name}.weight", weight),
            self.constant(f"{name}.bias", bias),
            name=name,
            epsilon=epsilon,
        )


def encoder_graph(encoder: BlockCausalEncoder, quantise: bool) -> onnx.ModelProto:
    """The encoder as an ONNX model."""
    sizes = encoder.sizes
    weights = {name: value.detach().float().numpy() for name, value in encoder.state_dict().items()}
    head = sizes.width // sizes.heads
    graph = _Graph(quantise)
    split = graph.constant("split", np.array([sizes.heads, head]))
    apart = graph.node("Concat", graph.constant("any", np.array([-1])), split, name="apart", axis=0)
    together = graph.constant("together", np.array([-1, sizes.width]))
    zero, far = graph.constant("zero", np.array([0])), graph.constant("far", np.array([2**31 - 1]))
    last_axis = graph.constant("last axis", np.array([-1]))
    capacity = graph.node("Shape", "past.0.key", name="capacity", start=1, end=2)

    position_table = (
        weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][:1]
    )
    words = graph.rows(weights["embeddings.word_embeddings.weight"], "ids", "words")
    places = graph.node("Gather", graph.constant("places.table", position_table), "positions", name="places")
    total = graph.node("Add", words, places, name="embedded")
    start_norm = weights["embeddings.LayerNorm.weight"], weights["embeddings.LayerNorm.bias"]
    hidden = graph.norm(total, start_norm, sizes.epsilon, "layer.start")
    added = []
    for number in range(sizes.layers):
        prefix, name = f"encoder.layer.{number}.", f"layer.{number}"

        def matrix(part: str, prefix: str = prefix) -> tuple[Floats, Floats]:
            return weights[f"{prefix}{part}.weight"].T, weights[f"{prefix}{part}.bias"]

        def norm_weights(part: str, prefix: str = prefix) -> tuple[Floats, Floats]:
            return weights[f"{prefix}{part}.LayerNorm.weight"], weights[f"{prefix}{part}.LayerNorm.bias"]

        heads = []
        for part in ("query", "key", "value"):
            weight, bias = matrix(f"attention.self.{part}")
            if part == "query":  # the scale of attention goes into the queries
                weight, bias = weight / np.sqrt(np.float32(head)), bias / np.sqrt(np.float32(head))
            flat = graph.linear(hidden, weight, bias, f"{name}.{part}")
            shaped = graph.node("Reshape", flat, apart, name=f"{name}.{part}.apart")
            heads.append(graph.node("Transpose", shaped, name=f"{name}.{part}.heads", perm=[1, 0, 2]))
        query, key, value = heads
        added += [key, value]
        scores = []
        for when, keys in (("past", f"past.{number}.key"), ("present", key)):
            turned = graph.node("Transpose", keys, name=f"{name}.{when}.turned", perm=[0, 2, 1])
            scores.append(graph.node("MatMul", query, turned, name=f"{name}.{when}.scores"))
        joined = graph.node("Concat", *scores, name=f"{name}.scores", axis=-1)
        masked = graph.node("Add", joined, "mask", name=f"{name}.masked")
        weight_name = graph.node("Softmax", masked, name=f"{name}.weights", axis=-1)
        of_past = graph.node("Slice", weight_name, zero, capacity, last_axis, name=f"{name}.of past")
        of_present = graph.node("Slice", weight_name, capacity, far, last_axis, name=f"{name}.of present")
        from_past = graph.node("MatMul", of_past, f"past.{number}.value", name=f"{name}.from past")
        from_present = graph.node("MatMul", of_present, value, name=f"{name}.from present")
        attended = graph.node("Add", from_past, from_present, name=f"{name}.attended")
        turned = graph.node("Transpose", attended, name=f"{name}.attended.turned", perm=[1, 0, 2])
        flat = graph.node("Reshape", turned, together, name=f"{name}.attended.flat")
        out = graph.linear(flat, *matrix("attention.output.dense"), f"{name}.attention")
        residual = graph.node("Add", out, hidden, name=f"{name}.attention.residual")
        hidden = graph.norm(residual, norm_weights("attention.output"), sizes.epsilon, f"{name}.attention.norm")
        inner = graph.linear(hidden, *matrix("intermediate.dense"), f"{name}.inner")
        inner = graph.node("Gelu", inner, name=f"{name}.inner.gelu")
        out = graph.linear(inner, *matrix("output.dense"), f"{name}.out")
        residual = graph.node("Add", out, hidden, name=f"{name}.out.residual")
        last = number == sizes.layers - 1
        hidden = graph.norm(residual, norm_weights("output"), sizes.epsilon, "vectors" if last else f"{name}.norm")
    lifted = [graph.node("Unsqueeze", part, zero, name=f"{part}.lifted") for part in added]
    graph.node("Concat", *lifted, name="added", axis=0)

    def tensor(name: str, kind: int, *shape: int | str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, kind, shape)

    inputs = [
        tensor("ids", TensorProto.INT64, "n"),
        tensor("positions", TensorProto.INT64, "n"),
        tensor("mask", TensorProto.FLOAT, "n", "whole"),
        *(
            tensor(f"past.{number}.{part}", TensorProto.FLOAT, sizes.heads, "capacity", head)
            for number in range(sizes.layers)
            for part in ("key", "value")
        ),
    ]
    outputs = [
        tensor("vectors", TensorProto.FLOAT, "n", sizes.width),
        tensor("added", TensorProto.FLOAT, 2 * sizes.layers, sizes.heads, "n", head),
    ]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "encoder", inputs, outputs, graph.weights),
        opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid("com.microsoft", 1)],
        producer_name="incoref",
        ir_version=10,
    )
    onnx.checker.check_model(model)
    return model
