"""Int8 weights that lose little: what an encoder's layers get to read decides how their weights are rounded.

A layer's input and its weights are both stored in few bits with one scale each: the input's for all that is read at
once, the weights' for each column. So inputs that are large in some places only are divided there, and the weights
multiplied (as SmoothQuant does); and an error made in rounding one weight is made up for by the weights after it, as
far as inputs go together (as GPTQ does). Both look at inputs from real text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from incoref.learning.blockcausal import BlockCausalEncoder

Floats = npt.NDArray[np.float32]

SEVEN_BITS = 63
"""Processors without VNNI add pairs of products in 16 bits, which 8-bit weights would overflow."""
_TO_INPUTS = 0.8
"""How far the inputs are evened out at the cost of the weights, 0 to 1; of 0.35, 0.5, 0.65 and 0.8 the best."""
_DAMPING = 0.01
_BLOCK = 128
_LAYERS = {
    "projections": "attention.self.query",
    "attention": "attention.output.dense",
    "inner": "intermediate.dense",
    "out": "output.dense",
}
"""The products of a layer by their names in the graph, and a module of the encoder that reads the same."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a layer got to read."""

    largest: Floats  # (in,) absolute value in each place
    products: npt.NDArray[np.float64]  # (in, in) summed products of every two places


@dataclass(frozen=True, slots=True)
class Rounded:
    """weight (in, out) is about divisor⁻¹ (in) x integers (in, out) x scale (out)."""

    integers: npt.NDArray[np.int8]
    scale: Floats
    divisor: Floats | None = None
    """What the input is to be divided by."""


def plainly_rounded(weight: Floats) -> Rounded:
    """Each weight to the next integer."""
    scale = _scale_of(weight)
    return Rounded(np.round(weight / scale).astype(np.int8), scale)


def rounded_for(weight: Floats, inputs: Inputs) -> Rounded:
    """The weights of a layer that gets to read such inputs."""
    divisor = _divisor(weight, inputs.largest)
    weight = weight * divisor[:, None]
    scale = _scale_of(weight)
    products = inputs.products / np.outer(divisor, divisor)
    return Rounded(_made_up_for(weight, scale, products), scale, divisor)


def _scale_of(weight: Floats) -> Floats:
    scale: Floats = np.asarray(np.abs(weight).max(axis=0) / SEVEN_BITS, np.float32)
    scale[scale == 0] = 1
    return scale


def _divisor(weight: Floats, largest: Floats) -> Floats:
    of_inputs = np.maximum(largest, 1e-5) ** _TO_INPUTS
    divisor = of_inputs / np.maximum(np.abs(weight).max(axis=1), 1e-5) ** (1 - _TO_INPUTS)
    return np.asarray(divisor / np.exp(np.log(divisor).mean()), np.float32)


def _made_up_for(weight: Floats, scale: Floats, products: npt.NDArray[np.float64]) -> npt.NDArray[np.int8]:
    """Integers row by row; the rows after each take up its error, so that outputs for such inputs change least."""
    left = weight.astype(np.float64)
    damped = products + np.eye(len(products)) * max(_DAMPING * np.diag(products).mean(), 1e-9)
    upper = np.linalg.cholesky(np.linalg.inv(damped)).T
    found = np.zeros(weight.shape, np.int8)
    for start in range(0, len(left), _BLOCK):
        end = min(start + _BLOCK, len(left))
        errors = np.zeros((end - start, left.shape[1]))
        for row in range(start, end):
            found[row] = np.clip(np.round(left[row] / scale), -SEVEN_BITS, SEVEN_BITS)
            errors[row - start] = (left[row] - found[row] * scale) / upper[row, row]
            left[row + 1 : end] -= np.outer(upper[row, row + 1 : end], errors[row - start])
        left[end:] -= upper[start:end, end:].T @ errors
    return found


def inputs_of(encoder: BlockCausalEncoder, runs: Iterable[Callable[[], object]]) -> dict[str, Inputs]:
    """What the products of every layer read in some runs of the encoder, by their names in the graph."""
    largest: dict[str, Tensor] = {}
    products: dict[str, Tensor] = {}

    def watcher(name: str) -> Callable[..., None]:
        def watch(_: nn.Module, given: tuple[Tensor, ...], __: Any) -> None:
            rows = given[0].detach().reshape(-1, given[0].shape[-1])
            high = rows.abs().amax(dim=0)
            largest[name] = torch.maximum(largest[name], high) if name in largest else high
            products[name] = products.get(name, 0) + (rows.T @ rows).double()

        return watch

    modules = dict(encoder.named_modules())
    hooks = [
        modules[f"encoder.layer.{number}.{module}"].register_forward_hook(watcher(f"layer.{number}.{name}"))
        for number in range(encoder.sizes.layers)
        for name, module in _LAYERS.items()
    ]
    try:
        with torch.inference_mode():
            for run in runs:
                run()
    finally:
        for hook in hooks:
            hook.remove()
    return {name: Inputs(largest[name].cpu().numpy(), products[name].cpu().numpy()) for name in largest}
