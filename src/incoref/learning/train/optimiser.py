"""The optimiser: one AdamW whose parameter groups have their own peak rates, warm-up and decay.

Without weight decay AdamW is Adam, so this covers the paper's two optimisers. Parameters whose names start with
``encoder.`` are the encoder's; its layers are recognised by ``.layer.N.`` in their names.
"""

from __future__ import annotations

import re

import torch
from torch import nn

from incoref.learning.config import TrainingConfig
from incoref.learning.nets.encoder import WRITING_TABLE

EPSILON = 1e-6
_LAYER = re.compile(r"\.layer\.(\d+)\.")


def new_optimiser(model: nn.Module, training: TrainingConfig) -> torch.optim.AdamW:
    """Create an optimiser for all trainable parameters."""
    depth = 1 + max((_layer(name) for name, _ in model.named_parameters()), default=0)
    groups: dict[tuple[float, float, float], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        rate, warmup, decay = training.head_rate, training.head_warmup, 0.0
        if ".class_bias." in name:
            rate = training.class_bias_rate
        if name.startswith("encoder.") and not name.endswith(WRITING_TABLE):  # which is new like the heads
            rate = training.encoder_rate * training.layer_decay ** (depth - 1 - _layer(name))
            warmup = training.warmup
            # XLNet's attention biases are matrices; one-dimensional parameters are biases or LayerNorms.
            decay = training.weight_decay if parameter.ndim > 1 and "bias" not in name else 0.0
        key = (rate, training.warmup if warmup is None else warmup, decay)
        groups.setdefault(key, []).append(parameter)
    fused = all(parameter.device.type in ("cpu", "cuda") for parameter in model.parameters())
    return torch.optim.AdamW(
        [
            {"params": some, "lr": rate, "peak": rate, "warmup": warmup, "weight_decay": decay}
            for (rate, warmup, decay), some in groups.items()
        ],
        eps=EPSILON,
        fused=fused,
    )


def _layer(name: str) -> int:
    """Return the number of the layer, from 1; 0 for everything below the layers."""
    match = _LAYER.search(name)
    return int(match[1]) + 1 if match else 0


def set_rates(optimiser: torch.optim.Optimizer, step: int, steps: int) -> None:
    """Set the learning rates of a step (from 0): linear warm-up to the peak, then linear decay."""
    for group in optimiser.param_groups:
        group["lr"] = group["peak"] * rate_share(step, steps, group["warmup"])


def rate_share(step: int, steps: int, warmup: float) -> float:
    """Return the share of the peak rate at a step; ``warmup`` is the share of all steps in which the rate grows."""
    growing = max(1.0, warmup * steps)
    return min(1.0, (step + 1) / growing, (steps - step) / max(1.0, steps - growing))
