"""Longformer's local attention with our encoder's layers: a piece attends to half a window on either side.

Without global attention, as used by s2e, Longformer is RoBERTa with a banded attention mask, one width per layer.
Only for checks: it computes all scores and masks most of them. Keeps double precision.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from incoref.learning.nets.encoder import BlockCausalEncoder


def local_vectors(encoder: BlockCausalEncoder, ids: Tensor, windows: Sequence[int], padding: int) -> Tensor:
    """Return vectors of a document, (T, width); ``ids`` (T,) may end in padding, which is never attended to."""
    real = ids != padding
    # Positions start after the padding id, which is also the position of padding.
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
