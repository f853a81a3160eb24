"""The block-causal encoder as an ONNX graph, written operator by operator, in fp32 or with int8 weights.

Inputs: ``ids`` (n), ``places`` (n; positions in the window), ``mask`` (n, capacity; added to attention scores) and,
layer by layer, ``past.<layer>.key`` and ``past.<layer>.value`` (heads, capacity, width of a head). Outputs:
``vectors`` (n, width), and ``present.<layer>.key`` and ``.value``: the past with the n sub-words written into their
places. Where the caller gives one memory for both, ONNX Runtime writes the new places and copies nothing.

Int8 weights have a scale per column and are limited to 7 bits, because processors without VNNI add pairs of products
in 16 bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from incoref.learning.blockcausal import BertSizes, BlockCausalEncoder

Floats = npt.NDArray[np.float32]

_OPSET = 20
_SEVEN_BITS = 63
PARTS = ("query", "key", "value")


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
            return self.node(
                "Gemm",
                source,
                self.constant(f"{name}.weight", weight),
                self.constant(f"{name}.bias", bias),
                name=name,
            )
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

    def split(self, source: str, names: Sequence[str]) -> Sequence[str]:
        """Equal parts of the last axis."""
        self.nodes.append(
            helper.make_node("Split", [source], list(names), f"{source}.split", axis=-1, num_outputs=len(names))
        )
        return names

    def norm(self, source: str, residual: str, weights: tuple[Floats, Floats], epsilon: float, name: str) -> str:
        """The layer norm of a sum."""
        weight, bias = weights
        return self.node(
            "LayerNormalization",
            self.node("Add", source, residual, name=f"{name}.sum"),
            self.constant(f"{name}.weight", weight),
            self.constant(f"{name}.bias", bias),
            name=name,
            epsilon=epsilon,
        )


def encoder_graph(encoder: BlockCausalEncoder, quantise: bool) -> onnx.ModelProto:
    """The encoder as an ONNX model."""
    sizes = encoder.sizes
    weights = {name: value.detach().float().numpy() for name, value in encoder.state_dict().items()}
    graph = _Graph(quantise)
    layout = _Layout.of(graph, sizes)
    position_table = (
        weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][:1]
    )
    words = graph.rows(weights["embeddings.word_embeddings.weight"], "ids", "words")
    positions = graph.node("Gather", graph.constant("positions.table", position_table), "places", name="positions")
    start_norm = weights["embeddings.LayerNorm.weight"], weights["embeddings.LayerNorm.bias"]
    hidden = graph.norm(words, positions, start_norm, sizes.epsilon, "embedded")
    for number in range(sizes.layers):
        prefix = f"encoder.layer.{number}."
        own = {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}
        out = "vectors" if number == sizes.layers - 1 else f"layer.{number}"
        hidden = _layer(graph, layout, own, hidden, number, out)
    model = helper.make_model(
        helper.make_graph(graph.nodes, "encoder", _inputs(sizes), _outputs(sizes), graph.weights),
        opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid("com.microsoft", 1)],
        producer_name="incoref",
        ir_version=10,
    )
    onnx.checker.check_model(model)
    return model


@dataclass(frozen=True, slots=True)
class _Layout:
    """Names of constants that all layers share: how vectors are cut into heads, and where new keys are written."""

    sizes: BertSizes
    apart: str  # shape (n, heads, width of a head)
    together: str  # shape (n, width)
    cells: str  # (n, heads, 2): head and place of every new key

    @classmethod
    def of(cls, graph: _Graph, sizes: BertSizes) -> _Layout:
        apart = graph.constant("apart", np.array([-1, sizes.heads, sizes.width // sizes.heads]))
        together = graph.constant("together", np.array([-1, sizes.width]))
        count = graph.node("Shape", "places", name="count")
        rest = graph.constant("rest", np.array([sizes.heads, 1]))
        shape = graph.node("Concat", count, rest, name="cell shape", axis=0)
        heads = graph.constant("heads", np.arange(sizes.heads).reshape(1, sizes.heads, 1))
        column = graph.node("Reshape", "places", graph.constant("column", np.array([-1, 1, 1])), name="place column")
        parts = [
            graph.node("Expand", part, shape, name=name)
            for part, name in ((heads, "cell heads"), (column, "cell places"))
        ]
        cells = graph.node("Concat", *parts, name="cells", axis=-1)
        return cls(sizes, apart, together, cells)


def query_scale(width: int, heads: int) -> float:
    """What queries are divided by, in their weights."""
    return float(np.sqrt(np.float32(width // heads)))


def _layer(
    graph: _Graph, layout: _Layout, weights: Mapping[str, Floats], hidden: str, number: int, out_name: str
) -> str:
    """One layer of the encoder after the vectors named ``hidden``."""
    name, epsilon = f"layer.{number}", layout.sizes.epsilon

    def matrix(part: str) -> tuple[Floats, Floats]:
        return weights[f"{part}.weight"].T, weights[f"{part}.bias"]

    def norm_weights(part: str) -> tuple[Floats, Floats]:
        return weights[f"{part}.LayerNorm.weight"], weights[f"{part}.LayerNorm.bias"]

    attended = _attention(graph, layout, {part: matrix(f"attention.self.{part}") for part in PARTS}, hidden, number)
    out = graph.linear(attended, *matrix("attention.output.dense"), f"{name}.attention")
    hidden = graph.norm(out, hidden, norm_weights("attention.output"), epsilon, f"{name}.attention.norm")
    inner = graph.linear(hidden, *matrix("intermediate.dense"), f"{name}.inner")
    inner = graph.node("Gelu", inner, name=f"{name}.inner.gelu")
    out = graph.linear(inner, *matrix("output.dense"), f"{name}.out")
    return graph.norm(out, hidden, norm_weights("output"), epsilon, out_name)


def _attention(
    graph: _Graph, layout: _Layout, parts: Mapping[str, tuple[Floats, Floats]], hidden: str, number: int
) -> str:
    """What the sub-words gather from those before them and from their block, (n, width)."""
    name = f"layer.{number}"
    scale = query_scale(layout.sizes.width, layout.sizes.heads)
    query_weight, query_bias = parts["query"]  # the scale of attention goes into the queries
    scaled = {**parts, "query": (query_weight / scale, query_bias / scale)}
    weight, bias = (np.concatenate([scaled[part][i] for part in PARTS], axis=-1) for i in (0, 1))
    flat = graph.linear(hidden, weight, bias, f"{name}.projections")
    query, key, value = (
        graph.node("Reshape", part, layout.apart, name=f"{part}.heads")
        for part in graph.split(flat, [f"{name}.{part}" for part in PARTS])
    )
    query = graph.node("Transpose", query, name=f"{name}.query.turned", perm=[1, 0, 2])
    keys, values = (
        graph.node("ScatterND", f"past.{number}.{part}", layout.cells, new, name=f"present.{number}.{part}")
        for part, new in (("key", key), ("value", value))
    )
    scores = graph.node("FusedMatMul", query, keys, name=f"{name}.scores", domain="com.microsoft", transB=1)
    masked = graph.node("Add", scores, "mask", name=f"{name}.masked")
    attention = graph.node("Softmax", masked, name=f"{name}.weights", axis=-1)
    gathered = graph.node("MatMul", attention, values, name=f"{name}.gathered")
    turned = graph.node("Transpose", gathered, name=f"{name}.gathered.turned", perm=[1, 0, 2])
    return graph.node("Reshape", turned, layout.together, name=f"{name}.gathered.flat")


def _tensor(name: str, kind: int, *shape: int | str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _cache(sizes: BertSizes, when: str) -> list[onnx.ValueInfoProto]:
    head = sizes.width // sizes.heads
    return [
        _tensor(f"{when}.{number}.{part}", TensorProto.FLOAT, sizes.heads, "capacity", head)
        for number in range(sizes.layers)
        for part in ("key", "value")
    ]


def _inputs(sizes: BertSizes) -> list[onnx.ValueInfoProto]:
    return [
        _tensor("ids", TensorProto.INT64, "n"),
        _tensor("places", TensorProto.INT64, "n"),
        _tensor("mask", TensorProto.FLOAT, "n", "capacity"),
        *_cache(sizes, "past"),
    ]


def _outputs(sizes: BertSizes) -> list[onnx.ValueInfoProto]:
    return [_tensor("vectors", TensorProto.FLOAT, "n", sizes.width), *_cache(sizes, "present")]
