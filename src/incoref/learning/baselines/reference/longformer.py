"""Longformer's local attention over our encoder's layers: a piece attends to half a window on either side.

Without global attention, as s2e uses it, Longformer is RoBERTa with a banded mask, one width per layer. For checking
only: it computes all scores and masks most of them. Double precision stays double.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from incoref.learning.nets.encoder import BlockCausalEncoder


def local_vectors(encoder: BlockCausalEncoder, ids: Tensor, windows: Sequence[int], padding: int) -> Tensor:
    """Vectors of a document, (T, width): ``ids`` (T,) may end in padding, which nothing attends to."""
    real = ids != padding
    # Positions count from the one after padding's, which padding itself has.
    positions = torch.where(real, real.cumsum(0) + padding, padding)
    hidden: Tensor = encoder.embeddings(ids, positions)
    place = torch.arange(len(ids))
    distance = (place[:, None] - place).abs()
    for layer, window in zip(encoder.layers, windows, strict=True):
        query, key, value = layer.projections(hidden)  # (heads, T, size)
        scores = query @ key.transpose(1, 2) / query.shape[-1] ** 0.5
        hears = (distance <= window // 2) & real & real[:, None]
        weights = torch.softmax(scores.masked_fill(~hears, -1e30), dim=2).masked_fill(~real[:, None], 0.0)
        hidden = layer.finish(hidden, weights @ value)
    return hidden
