"""XLNet with recurrence, for inference: keys and values of cached tokens are kept instead of recomputed.

transformers caches each layer's input and projects all of it again for every sentence. But cached tokens never
change, so neither do their keys and values; terms that depend only on the distance between two tokens are computed
once. The result equals that of the recurrence. The cache is a value, passed in and returned. No gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn
from transformers import XLNetModel

from incoref.learning.paper.xlnet import align


class _Buffer:
    """Storage for keys and values; rows below ``filled`` never change, so several caches can share one buffer."""

    def __init__(self, shape: tuple[int, int, int, int], capacity: int, like: Tensor) -> None:
        layers, parts, heads, size = shape
        self.rows = like.new_empty(layers, parts, heads, capacity, size)
        self.filled = 0


@dataclass(frozen=True, slots=True)
class KeyValueCache:
    """Keys and values of the cached tokens at each layer: rows ``start`` to ``end`` (exclusive) of a buffer."""

    buffer: _Buffer
    start: int = 0
    end: int = 0

    def __len__(self) -> int:
        return self.end - self.start

    def last(self, count: int) -> KeyValueCache:
        """Return the cache of the last ``count`` tokens."""
        return replace(self, start=max(self.start, self.end - count))

    def extended(self, count: int) -> KeyValueCache:
        """Return a cache with space for ``count`` more tokens, to be filled in; this one stays unchanged."""
        buffer, start, end = self.buffer, self.start, self.end
        layers, parts, heads, capacity, size = buffer.rows.shape
        if buffer.filled > end or end + count > capacity:
            buffer = _Buffer((layers, parts, heads, size), 2 * (len(self) + count), buffer.rows)
            buffer.rows[:, :, :, : len(self)] = self.buffer.rows[:, :, :, start:end]
            start, end = 0, len(self)
        buffer.filled = end + count
        return KeyValueCache(buffer, start, end + count)


class CachedXLNet:
    """An XLNet whose weights are laid out for reading one short piece after another.

    It copies the weights, so create a new one after further training.
    """

    def __init__(self, model: XLNetModel) -> None:
        self._model = model
        with torch.inference_mode():
            self._layers = [_Layer(layer) for layer in model.layer]
        self._reach = 0

    def empty_cache(self) -> KeyValueCache:
        """Return the cache before the first piece."""
        first = self._layers[0]
        like = self._model.word_embedding.weight
        return KeyValueCache(_Buffer((len(self._layers), 2, first.heads, first.size), 0, like))

    @torch.inference_mode()
    def encode(self, ids: Tensor, cache: KeyValueCache) -> tuple[Tensor, KeyValueCache]:
        """Return vectors of a piece, (n, d_model), and the cache with the piece appended, not truncated."""
        grown = cache.extended(len(ids))
        self._reach_to(len(grown))
        hidden = self._model.word_embedding(ids)
        for layer, rows in zip(self._layers, grown.buffer.rows, strict=True):
            hidden = layer.forward(hidden, rows[:, :, grown.start : grown.end], self._reach)
        return hidden, grown

    def _reach_to(self, farthest: int) -> None:
        """Tabulate every layer's distance keys for all distances up to ``farthest``, in both directions."""
        if farthest > self._reach:
            self._reach = max(farthest, 2 * self._reach)
            table = self._model.relative_positional_encoding(self._reach, self._reach)[:, 0]
            for layer in self._layers:
                layer.tabulate(table)


class _Layer:
    def __init__(self, layer: Any) -> None:
        attention = layer.rel_attn
        self.heads, self.size = attention.n_head, attention.d_head
        # The softmax scale is folded into the queries and their two biases.
        scaled = attention.q.flatten(1).T * attention.scale
        self.project = _linear(torch.cat([scaled, attention.k.flatten(1).T, attention.v.flatten(1).T]), None)
        self.content_bias = attention.r_w_bias[:, None] * attention.scale
        self.position_bias = attention.r_r_bias[:, None] * attention.scale
        self.position_weight = attention.r.flatten(1)
        self.distance_keys = torch.empty(0)
        self.output = _linear(attention.o.flatten(1), None)
        self.attention_norm, self.norm = attention.layer_norm, layer.ff.layer_norm
        self.inner = _linear(layer.ff.layer_1.weight, layer.ff.layer_1.bias)
        self.activation = layer.ff.activation_function
        self.outer = _linear(layer.ff.layer_2.weight, layer.ff.layer_2.bias)

    def tabulate(self, table: Tensor) -> None:
        """Compute keys for distances reach, reach - 1, ..., 1 - reach, (heads, d_head, distances)."""
        keys = (table.to(self.position_weight) @ self.position_weight).view(len(table), self.heads, self.size)
        self.distance_keys = keys.permute(1, 2, 0).contiguous()

    def forward(self, hidden: Tensor, seen: Tensor, reach: int) -> Tensor:
        """Return the layer's output, (n, d_model); writes the keys and values of its input to the end of ``seen``."""
        n, count = len(hidden), seen.shape[2]
        projected = self.project(hidden).view(n, 3, self.heads, self.size).permute(1, 2, 0, 3)
        query = projected[0]
        seen[:, :, count - n :] = projected[1:]
        scores = (query + self.content_bias) @ seen[0].transpose(1, 2)
        in_reach = self.distance_keys[:, :, reach - count : reach + n]
        scores += align((query + self.position_bias) @ in_reach, count)
        mixed = (torch.softmax(scores, dim=2) @ seen[1]).transpose(0, 1).reshape(n, -1)
        hidden = self.attention_norm(self.output(mixed).add_(hidden))
        result: Tensor = self.norm(self.outer(self.activation(self.inner(hidden))).add_(hidden))
        return result


def _linear(weight: Tensor, bias: Tensor | None) -> Callable[[Tensor], Tensor]:
    """Return a linear layer; with one CPU thread, ONNX Runtime computes it, as it packs the weight only once.

    For an input of 22 rows with AVX2, this takes two thirds of PyTorch's time.
    """
    kept = weight.detach().contiguous()
    if kept.device.type != "cpu" or kept.dtype is not torch.float32 or torch.get_num_threads() > 1:
        return lambda value: nn.functional.linear(value, kept, bias)
    session = onnxruntime.InferenceSession(
        _linear_graph(kept, bias), _one_thread(), providers=["CPUExecutionProvider"]
    )
    return lambda value: torch.from_numpy(session.run(None, {"x": value.numpy()})[0])


def _linear_graph(weight: Tensor, bias: Tensor | None) -> bytes:
    """Return an ONNX model of one linear node, (n, in) to (n, out)."""
    constants = {"weight": weight.T.contiguous()} | ({} if bias is None else {"bias": bias.detach()})
    columns, rows = weight.shape
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", *constants], ["y"])],
        "linear",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", rows])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", columns])],
        [numpy_helper.from_array(value.numpy(), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    return bytes(model.SerializeToString())


def _one_thread() -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return options


class CachedReader:
    """Reads one document piece by piece, keeping the cache between pieces."""

    def __init__(self, encoder: XLNetModel | CachedXLNet) -> None:
        self._encoder = encoder if isinstance(encoder, CachedXLNet) else CachedXLNet(encoder)
        self._cache = self._encoder.empty_cache()

    def encode(self, ids: Tensor, cache: int) -> Tensor:
        """Return vectors of the next piece, (n, d_model); it sees up to ``cache`` preceding tokens."""
        vectors, self._cache = self._encoder.encode(ids, self._cache.last(cache))
        return vectors
