"""Measure the inputs of an encoder's linear layers on texts: minimum, maximum and mean of each column.

Int8 needs a scale for these inputs. A scale known in advance makes a block's vectors independent of what it is
batched with. The mean gives the average error of rounded weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from incoref.learning.data.examples import tokenise
from incoref.learning.nets.encoder import BlockCausalEncoder
from incoref.learning.nets.streaming import StreamingModel
from incoref.learning.onnx.graph import Range
from incoref.model.subwords import SubwordTokenizer
from incoref.model.windows import WindowSizes
from incoref.types import Document

_LAYERS = {
    "attention.self.query": "projections",
    "attention.output.dense": "attention",
    "intermediate.dense": "inner",
    "output.dense": "out",
}
"""Names of linear layers in the encoder, and in its graph. Keys and values have the same input as queries."""

_UNEVEN = (".projections", ".inner", ".out")
"""Layers whose inputs have a few columns many times larger than all others: after a layer norm or the inner layer."""


def input_ranges(
    model: StreamingModel, documents: Iterable[Document], tokenizer: SubwordTokenizer, sizes: WindowSizes
) -> dict[str, Range]:
    """Return the input range of each linear layer of the encoder, by the layer's name in the graph."""
    statistics: dict[str, tuple[Tensor, Tensor, Tensor, int]] = {}

    def watch(name: str) -> Any:
        def before(_: nn.Module, given: tuple[Tensor, ...]) -> None:
            rows = given[0]
            nought = torch.zeros(rows.shape[1])
            low, high, total, count = statistics.get(name, (nought, nought, nought, 0))
            statistics[name] = (
                torch.minimum(low, rows.amin(dim=0)),
                torch.maximum(high, rows.amax(dim=0)),
                total + rows.sum(dim=0),
                count + len(rows),
            )

        return before

    hooks = [
        layer.get_submodule(inside).register_forward_pre_hook(watch(f"layer.{number}.{name}"))
        for number, layer in enumerate(model.encoder.layers)
        for inside, name in _LAYERS.items()
    ]
    model.eval()
    try:
        with torch.inference_mode():
            for document in documents:
                model.word_vectors(tokenise(document, tokenizer, sizes))
    finally:
        for hook in hooks:
            hook.remove()
    return {
        name: Range(low.numpy(), high.numpy(), (total / count).numpy(), uneven=name.endswith(_UNEVEN))
        for name, (low, high, total, count) in statistics.items()
    }


def evened(encoder: BlockCausalEncoder, ranges: Mapping[str, Range]) -> tuple[BlockCausalEncoder, dict[str, Range]]:
    """Even out the columns of attention outputs by rescaling weights, which costs no time when the encoder runs.

    Return the rescaled encoder, which gives the same vectors, and its input ranges.
    """
    twin, evened_ranges = deepcopy(encoder), dict(ranges)
    for number, layer in enumerate(twin.layers):
        name = f"layer.{number}.attention"
        value, out = layer.attention.self.value, layer.attention.output.dense
        factors = ranges[name].factors(out.weight.detach().T.numpy())
        evened_ranges[name] = ranges[name].divided(factors)
        columns = torch.from_numpy(factors)
        with torch.no_grad():
            value.weight.div_(columns[:, None])
            value.bias.div_(columns)
            out.weight.mul_(columns)
    return twin, evened_ranges
