"""Attention in an encoder's ONNX graph: to everything earlier in the window, or only within the block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx
import torch
from onnx import TensorProto, numpy_helper

from incoref.learning.nets.encoder import BlockCausalEncoder, EncoderSizes
from incoref.learning.onnx.graph import PARTS, Graph, Range, encoder_graph, places_up_to, relative_bias, tensor


def kv_cache_graph(encoder: BlockCausalEncoder, quantise: bool) -> onnx.ModelProto:
    """Build an encoder graph whose blocks attend to themselves and, through cached keys and values, to earlier ones.

    Inputs: ``mask`` (n, capacity; added to attention scores) and, layer by layer, ``past.<layer>.key`` and
    ``past.<layer>.value`` (heads, capacity, width of a head). Outputs: ``present.<layer>.key`` and ``.value``: the
    past with the n sub-words written into their places. If the caller passes the same memory for both, ONNX Runtime
    only writes the new places and copies nothing.
    """
    graph = Graph(quantise)
    return encoder_graph(encoder, graph, _KVCache.of(graph, encoder))


def stateless_graph(
    encoder: BlockCausalEncoder, start_symbol: int, ranges: Mapping[str, Range] | None = None
) -> onnx.ModelProto:
    """Build an encoder graph that reads many blocks at once, without context, each with the same bits as alone.

    All linear layers take the rows of all blocks. For attention, rows are laid out in a grid with one line per block:
    the start symbol, the block, then padding. Inputs: ``grid`` (blocks, length; the row in each place, n for padding
    and the start symbol), ``cells`` (n; the place of each row in the flattened grid), and ``mask`` (blocks, length; 1
    for places in use). The start symbol attends to nothing else, so its keys and values are constants.

    The heads' parts of the rows are gathered from where the linear layers left them, in the order that the products
    take them in, and gathered back: that is less copying than ONNX Runtime's MultiHeadAttention does, for the same
    bits.

    With the ``ranges`` of its linear layers' inputs, the weights are int8. A row's bits depend only on its own block
    and on the grid's length: integer sums are exact, and everything else is computed row by row or line by line.
    """
    graph = Graph(ranges is not None, ranges or {})
    return encoder_graph(encoder, graph, _Stateless.of(graph, encoder, start_symbol))


def head_count(graph: onnx.GraphProto) -> int:
    """Return the number of heads in a graph of either kind."""
    heads = next((constant for constant in graph.initializer if constant.name == "heads"), None)
    if heads is not None:
        return int(numpy_helper.to_array(heads).size)
    older = next(node for node in graph.node if node.op_type == "MultiHeadAttention")
    return next(int(attribute.i) for attribute in older.attribute if attribute.name == "num_heads")


@dataclass(frozen=True, slots=True)
class _KVCache:
    """Names of what all layers share: how vectors are split into heads, and where new keys are written."""

    sizes: EncoderSizes
    apart: str  # shape (n, heads, width of a head)
    together: str  # shape (n, width)
    cells: str  # (n, heads, 2): head and place of every new key
    added: str  # (n, capacity) or (heads, n, capacity): what is added to attention scores

    @classmethod
    def of(cls, graph: Graph, encoder: BlockCausalEncoder) -> _KVCache:
        sizes = encoder.sizes
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
        added = "mask"
        if sizes.relative_buckets:
            bias = relative_bias(graph, encoder, "places", places_up_to(graph, "mask", 1))
            added = graph.node("Add", bias, "mask", name="mask.relative")
        return cls(sizes, apart, together, cells, added)

    def inputs(self) -> list[onnx.ValueInfoProto]:
        return [tensor("mask", TensorProto.FLOAT, "n", "capacity"), *self._cache("past")]

    def outputs(self) -> list[onnx.ValueInfoProto]:
        return self._cache("present")

    def _cache(self, when: str) -> list[onnx.ValueInfoProto]:
        head = self.sizes.width // self.sizes.heads
        return [
            tensor(f"{when}.{number}.{part}", TensorProto.FLOAT, self.sizes.heads, "capacity", head)
            for number in range(self.sizes.layers)
            for part in ("key", "value")
        ]

    def gathered(self, graph: Graph, projections: str, number: int) -> str:
        name = f"layer.{number}"
        query, key, value = (
            graph.node("Reshape", part, self.apart, name=f"{part}.heads")
            for part in graph.split(projections, [f"{name}.{part}" for part in PARTS])
        )
        query = graph.node("Transpose", query, name=f"{name}.query.turned", perm=[1, 0, 2])
        keys, values = (
            graph.node("ScatterND", f"past.{number}.{part}", self.cells, new, name=f"present.{number}.{part}")
            for part, new in (("key", key), ("value", value))
        )
        scores = graph.node("FusedMatMul", query, keys, name=f"{name}.scores", domain="com.microsoft", transB=1)
        masked = graph.node("Add", scores, self.added, name=f"{name}.masked")
        attention = graph.node("Softmax", masked, name=f"{name}.weights", axis=-1)
        gathered = graph.node("MatMul", attention, values, name=f"{name}.gathered")
        turned = graph.node("Transpose", gathered, name=f"{name}.gathered.turned", perm=[1, 0, 2])
        return graph.node("Reshape", turned, self.together, name=f"{name}.gathered.flat")


@dataclass(frozen=True, slots=True)
class _Stateless:
    """Names of what all layers share."""

    apart: str  # shape (rows x 3 x heads, width of a head)
    together: str  # shape (n, width)
    starts: tuple[str, ...]  # layer by layer, keys and values of the start symbol, (1, 3 x width)
    grids: tuple[str, ...]  # (blocks, heads, length): where each head's query, key and value of each place are
    back: str  # (n, heads): where each head's output for each row is
    added: str  # (blocks, 1 or heads, 1 or length, length): what is added to attention scores

    @classmethod
    def of(cls, graph: Graph, encoder: BlockCausalEncoder, start_symbol: int) -> _Stateless:
        sizes = encoder.sizes
        empty = torch.zeros(sizes.layers, 2, sizes.heads, 0, sizes.width // sizes.heads)
        with torch.inference_mode():
            _, projected = encoder.step(torch.tensor([start_symbol]), torch.tensor(0), empty)
        rows = projected.reshape(sizes.layers, 2 * sizes.width).numpy()
        rows = np.concatenate([np.zeros((sizes.layers, sizes.width), np.float32), rows], axis=1)  # query unused
        added = _mask(graph)
        if sizes.relative_buckets:
            places = places_up_to(graph, "grid", 1)
            added = graph.node("Add", relative_bias(graph, encoder, places, places), added, name="mask.relative")
        return cls(
            graph.constant("apart", np.array([-1, sizes.width // sizes.heads])),
            graph.constant("together", np.array([-1, sizes.width])),
            tuple(graph.constant(f"layer.{number}.start", row[None]) for number, row in enumerate(rows)),
            _grids(graph, sizes.heads),
            _back(graph, sizes.heads),
            added,
        )

    def inputs(self) -> list[onnx.ValueInfoProto]:
        return [
            tensor("grid", TensorProto.INT64, "blocks", "length"),
            tensor("cells", TensorProto.INT64, "n"),
            tensor("mask", TensorProto.INT32, "blocks", "length"),
        ]

    def outputs(self) -> list[onnx.ValueInfoProto]:
        return []

    def gathered(self, graph: Graph, projections: str, number: int) -> str:
        name = f"layer.{number}"
        rows = graph.node("Concat", projections, self.starts[number], name=f"{name}.rows", axis=0)
        heads = graph.node("Reshape", rows, self.apart, name=f"{name}.heads")
        query, key, value = (
            graph.node("Gather", heads, grid, name=f"{name}.{part}")
            for part, grid in zip(PARTS, self.grids, strict=True)
        )
        scores = graph.node("FusedMatMul", query, key, name=f"{name}.scores", domain="com.microsoft", transB=1)
        masked = graph.node("Add", scores, self.added, name=f"{name}.masked")
        attention = graph.node("Softmax", masked, name=f"{name}.weights", axis=-1)
        gathered = graph.node("MatMul", attention, value, name=f"{name}.gathered")
        apart = graph.node("Reshape", gathered, self.apart, name=f"{name}.gathered.heads")
        back = graph.node("Gather", apart, self.back, name=f"{name}.gathered.rows")
        return graph.node("Reshape", back, self.together, name=f"{name}.gathered.flat")


def _mask(graph: Graph) -> str:
    """Add what the mask adds to attention scores, (blocks, 1, 1, length): nothing, or what no score outweighs."""
    used = graph.node("Cast", "mask", name="mask.used", to=TensorProto.FLOAT)
    one = graph.constant("mask.one", np.array(1, np.float32))
    unused = graph.node("Sub", used, one, name="mask.unused")
    lowest = graph.node("Mul", unused, graph.constant("mask.weight", np.array(1e30, np.float32)), name="mask.lowest")
    return graph.node("Unsqueeze", lowest, graph.constant("mask.axes", np.array([1, 2])), name="mask.added")


def _grids(graph: Graph, heads: int) -> tuple[str, ...]:
    """Add the places of all heads' queries, keys and values, of which each row has those of all heads in turn."""
    lines = graph.node("Unsqueeze", "grid", graph.constant("grid.axis", np.array([1])), name="grid.lines")
    per_row = graph.constant("grid.per row", np.array(len(PARTS) * heads))
    firsts = graph.node("Mul", lines, per_row, name="grid.firsts")
    each = graph.constant("heads", np.arange(heads).reshape(1, heads, 1))
    names = [graph.node("Add", firsts, each, name=f"grid.{PARTS[0]}")]
    for part in PARTS[1:]:
        further = graph.constant(f"grid.{part}.further", np.array(heads))
        names.append(graph.node("Add", names[-1], further, name=f"grid.{part}"))
    return tuple(names)


def _back(graph: Graph, heads: int) -> str:
    """Add the places of all heads' outputs, which are (blocks, heads, length), for each row."""
    length = graph.node("Shape", "grid", name="cells.length", start=1, end=2)
    cells = graph.node("Unsqueeze", "cells", graph.constant("cells.axis", np.array([1])), name="cells.column")
    line = graph.node("Div", cells, length, name="cells.line")
    others = graph.constant("cells.others", np.array(heads - 1))  # a line's cells come after those of other heads
    before = graph.node("Mul", line, others, name="cells.before")
    each = graph.constant("cells.heads", np.arange(heads).reshape(1, heads))
    lines = graph.node("Add", before, each, name="cells.lines")
    return graph.node("Add", graph.node("Mul", lines, length, name="cells.shift"), cells, name="cells.back")
