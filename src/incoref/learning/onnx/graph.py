"""Build an encoder's ONNX graph, operator by operator, in fp32 or with int8 weights.

Its inputs are ``ids`` (n) and ``places`` (n; positions in the window), its output ``vectors`` (n, width). Attention
is defined in ``attention`` and has inputs and outputs of its own.

Int8 weights have a scale per column and are limited to 7 bits, because processors without VNNI add pairs of products
in 16 bits. Their inputs are rounded to a scale known in advance, or else to one for all rows of the call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from incoref.learning.nets.encoder import WRITING_TABLE, BlockCausalEncoder, EncoderSizes, relative_bucket
from incoref.model.subwords import WRITING

Floats = npt.NDArray[np.float32]

_OPSET = 20
_SEVEN_BITS = 63
PARTS = ("query", "key", "value")
_EVENING = 0.7


@dataclass(frozen=True, slots=True)
class Range:
    """Minimum (or 0), maximum (or 0) and mean of each column of a linear layer's input."""

    low: Floats
    high: Floats
    mean: Floats
    uneven: bool = False
    """Whether a few columns are so much larger than all others that evening them out is worth the time."""

    def factors(self, weight: Floats) -> Floats:
        """Return factors to divide columns and multiply the weights' rows with, so that one scale suits all columns.

        Magnitude is split between inputs and weights, as in SmoothQuant (Xiao et al. 2023).
        """
        size = np.maximum(np.maximum(-self.low, self.high), 1e-4) ** _EVENING
        size /= np.maximum(np.abs(weight).max(axis=1), 1e-4) ** (1 - _EVENING)
        factors: Floats = (size / np.exp(np.log(size).mean())).astype(np.float32)
        return factors

    def divided(self, factors: Floats) -> Range:
        return Range(self.low / factors, self.high / factors, self.mean / factors)


@dataclass(slots=True)
class Graph:
    """Nodes and weights collected while the graph is built."""

    quantise: bool
    ranges: Mapping[str, Range] = field(default_factory=dict)
    """Input ranges of linear layers by name, where known."""
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: list[onnx.TensorProto] = field(default_factory=list)

    def constant(self, name: str, value: np.ndarray) -> str:
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, operator: str, *inputs: str, name: str, domain: str = "", **attributes: Any) -> str:
        self.nodes.append(helper.make_node(operator, list(inputs), [name], name, domain=domain, **attributes))
        return name

    def linear(self, source: str, weight: Floats, bias: Floats, name: str) -> str:
        """Add source @ weight + bias, weight (in, out)."""
        if not self.quantise:
            return self.node(
                "Gemm",
                source,
                self.constant(f"{name}.weight", weight),
                self.constant(f"{name}.bias", bias),
                name=name,
            )
        known = self.ranges.get(name)
        if known is not None and known.uneven:
            factors = known.factors(weight)
            source = self.node("Mul", source, self.constant(f"{name}.evening", 1 / factors), name=f"{name}.evened")
            weight, known = weight * factors[:, None], known.divided(factors)
        scale = np.abs(weight).max(axis=0) / _SEVEN_BITS
        scale[scale == 0] = 1
        rounded_weight = np.round(weight / scale)
        if known is not None:  # the mean error of rounding is known: correct the bias by it
            bias = (bias + known.mean @ (weight - rounded_weight * scale)).astype(np.float32)
        weights = self.constant(f"{name}.weight", rounded_weight.astype(np.int8))
        scales = self.constant(f"{name}.scale", scale.astype(np.float32))
        biases = self.constant(f"{name}.bias", bias)
        if known is None:
            return self.node(
                "DynamicQuantizeMatMul", source, weights, scales, "", biases, name=name, domain="com.microsoft"
            )
        low, high = float(known.low.min()), float(known.high.max())
        step = (high - low) / 255
        steps = self.constant(f"{name}.step", np.array(step, np.float32))
        zero = self.constant(f"{name}.zero", np.array(round(-low / step), np.uint8))
        rounded = self.node("QuantizeLinear", source, steps, zero, name=f"{name}.rounded")
        inputs = (rounded, weights, steps, scales, zero, "", biases)
        return self.node("MatMulIntegerToFloat", *inputs, name=name, domain="com.microsoft")

    def rows(self, table: Floats, index: str, name: str) -> str:
        """Look up rows of an embedding table; int8 with a scale per row when quantised."""
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
        """Split the last axis into equal parts."""
        self.nodes.append(
            helper.make_node("Split", [source], list(names), f"{source}.split", axis=-1, num_outputs=len(names))
        )
        return names

    def norm(self, source: str, residual: str, weights: tuple[Floats, Floats], epsilon: float, name: str) -> str:
        """Add the layer norm of ``source`` plus ``residual``."""
        weight, bias = weights
        return self.node(
            "LayerNormalization",
            self.node("Add", source, residual, name=f"{name}.sum"),
            self.constant(f"{name}.weight", weight),
            self.constant(f"{name}.bias", bias),
            name=name,
            epsilon=epsilon,
        )


class Attention(Protocol):
    """How sub-words attend to each other."""

    def inputs(self) -> list[onnx.ValueInfoProto]:
        """Return its inputs besides ``ids`` and ``places``."""
        ...

    def outputs(self) -> list[onnx.ValueInfoProto]:
        """Return its outputs besides ``vectors``."""
        ...

    def gathered(self, graph: Graph, projections: str, number: int) -> str:
        """Add the attention of a layer: from queries, keys and values, (n, 3 x width), to outputs, (n, width)."""
        ...


def encoder_graph(encoder: BlockCausalEncoder, graph: Graph, attention: Attention) -> onnx.ModelProto:
    """Build the encoder as an ONNX model."""
    sizes = encoder.sizes
    weights = {name: value.detach().float().numpy() for name, value in encoder.state_dict().items()}
    position_table = weights["embeddings.position_embeddings.weight"]
    ids = "ids"
    positions = graph.node("Gather", graph.constant("positions.table", position_table), "places", name="positions")
    if sizes.capitals:
        factor = graph.constant("writing", np.array(WRITING))
        written = graph.node("Div", "ids", factor, name="writings.number")
        table = graph.constant("writings.table", weights[WRITING_TABLE])
        writing = graph.node("Gather", table, written, name="writings")
        positions = graph.node("Add", positions, writing, name="positions.writings")
        ids = graph.node("Mod", "ids", factor, name="words.number")
    words = graph.rows(weights["embeddings.word_embeddings.weight"], ids, "words")
    start_norm = weights["embeddings.LayerNorm.weight"], weights["embeddings.LayerNorm.bias"]
    hidden = graph.norm(words, positions, start_norm, sizes.epsilon, "embedded")
    for number in range(sizes.layers):
        prefix = f"encoder.layer.{number}."
        own = {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}
        out = "vectors" if number == sizes.layers - 1 else f"layer.{number}"
        hidden = _layer(graph, sizes, attention, own, hidden, number, out)
    inputs = [tensor(name, TensorProto.INT64, "n") for name in ("ids", "places")]
    outputs = [tensor("vectors", TensorProto.FLOAT, "n", sizes.width)]
    model = helper.make_model(
        helper.make_graph(
            graph.nodes, "encoder", inputs + attention.inputs(), outputs + attention.outputs(), graph.weights
        ),
        opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid("com.microsoft", 1)],
        producer_name="incoref",
        ir_version=10,
    )
    onnx.checker.check_model(model)
    return model


def relative_bias(graph: Graph, encoder: BlockCausalEncoder, queries: str, keys: str) -> str:
    """Add the relative-position bias of attention scores, (heads, queries, keys), from the positions of both."""
    sizes = encoder.sizes
    furthest = sizes.positions - 1
    buckets = relative_bucket(torch.arange(-furthest, furthest + 1), sizes.relative_buckets)
    table = encoder.encoder.relative_attention_bias.weight.detach().float().numpy()
    column = graph.node("Unsqueeze", queries, graph.constant("relative.axis", np.array([1])), name="relative.queries")
    distance = graph.node("Sub", keys, column, name="relative.distance")
    shift = graph.constant("relative.furthest", np.array(furthest))
    nearest = graph.node(
        "Clip",
        graph.node("Add", distance, shift, name="relative.shifted"),
        graph.constant("relative.first", np.array(0)),
        graph.constant("relative.last", np.array(2 * furthest)),
        name="relative.place",
    )
    bucket = graph.node(
        "Gather", graph.constant("relative.buckets", buckets.numpy()), nearest, name="relative.bucket"
    )
    rows = graph.node("Gather", graph.constant("relative.table", table), bucket, name="relative.rows")
    return graph.node("Transpose", rows, name="relative.bias", perm=[2, 0, 1])


def places_up_to(graph: Graph, source: str, axis: int) -> str:
    """Add the range from 0 up to the length of an axis of ``source``."""
    length = graph.node("Shape", source, name=f"{source}.length", start=axis, end=axis + 1)
    end = graph.node("Squeeze", length, name=f"{source}.end")
    first, step = (graph.constant(f"{source}.{name}", np.array(value)) for name, value in (("from", 0), ("by", 1)))
    return graph.node("Range", first, end, step, name=f"{source}.places")


def tensor(name: str, kind: int, *shape: int | str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def query_scale(width: int, heads: int) -> float:
    """Return the divisor of queries, which is part of their weights."""
    return float(np.sqrt(np.float32(width // heads)))


def _layer(
    graph: Graph,
    sizes: EncoderSizes,
    attention: Attention,
    weights: Mapping[str, Floats],
    hidden: str,
    number: int,
    out_name: str,
) -> str:
    """Add a layer of the encoder on top of the vectors named ``hidden``."""
    name, epsilon = f"layer.{number}", sizes.epsilon

    def matrix(part: str) -> tuple[Floats, Floats]:
        return weights[f"{part}.weight"].T, weights[f"{part}.bias"]

    def norm_weights(part: str) -> tuple[Floats, Floats]:
        return weights[f"{part}.LayerNorm.weight"], weights[f"{part}.LayerNorm.bias"]

    parts = {part: matrix(f"attention.self.{part}") for part in PARTS}
    attended = attention.gathered(graph, _projections(graph, sizes, parts, hidden, name), number)
    out = graph.linear(attended, *matrix("attention.output.dense"), f"{name}.attention")
    hidden = graph.norm(out, hidden, norm_weights("attention.output"), epsilon, f"{name}.attention.norm")
    inner = graph.linear(hidden, *matrix("intermediate.dense"), f"{name}.inner")
    inner = graph.node("Gelu", inner, name=f"{name}.inner.gelu")
    out = graph.linear(inner, *matrix("output.dense"), f"{name}.out")
    return graph.norm(out, hidden, norm_weights("output"), epsilon, out_name)


def _projections(
    graph: Graph, sizes: EncoderSizes, parts: Mapping[str, tuple[Floats, Floats]], hidden: str, name: str
) -> str:
    """Add queries, keys and values side by side, (n, 3 x width); attention's scale is part of the queries."""
    scale = query_scale(sizes.width, sizes.heads)
    query_weight, query_bias = parts["query"]
    scaled = {**parts, "query": (query_weight / scale, query_bias / scale)}
    weight, bias = (np.concatenate([scaled[part][i] for part in PARTS], axis=-1) for i in (0, 1))
    return graph.linear(hidden, weight, bias, f"{name}.projections")
