"""XLNet with recurrence, for training: a whole batch of pieces in one pass, layer by layer.

transformers runs XLNet's recurrence piece by piece and projects the cached tokens again for each piece. But a cached
token's vector at a layer is just that layer's input without gradient, so a layer can be computed for all pieces at
once: every token is projected twice (as a live token and as a cached one), and each piece attends to its own tokens
and to the cached ones before it. Values and gradients equal those of transformers' recurrence.

The plain recurrence is in ``definition.py``; inference with cached keys and values is in ``xlnet_cache.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint
from transformers import XLNetConfig, XLNetModel

from incoref.errors import IncorefError
from incoref.learning.nets.pretrained import load_pretrained

_RECOMPUTED_AT_ONCE = 1024
"""Tokens per layer whose intermediate values are recomputed together in the backward pass."""

Memory = tuple[Tensor, ...]
"""The input of every layer for the cached tokens, (cached, d_model) each, without gradients."""


class XLNet(XLNetModel):
    """transformers' XLNet, with distance encodings in the precision of the weights instead of always float32."""

    def relative_positional_encoding(
        self, qlen: int, klen: int, bsz: int | None = None, device: torch.device | None = None
    ) -> Tensor:
        """Return sines and cosines of distances ``klen`` down to ``1 - qlen``, (distances, bsz or 1, d_model)."""
        like = self.word_embedding.weight
        distances = torch.arange(klen, -qlen, -1, dtype=torch.float64, device=like.device)
        if self.clamp_len > 0:
            distances = distances.clamp(-self.clamp_len, self.clamp_len)
        places = torch.arange(0, self.d_model, 2, dtype=torch.float64, device=like.device)
        angles = distances[:, None] / 10000 ** (places / self.d_model)
        table = torch.cat([angles.sin(), angles.cos()], dim=1).to(like.dtype)
        return table[:, None].expand(-1, bsz or 1, -1)


def new_xlnet(sizes: dict[str, Any]) -> XLNet:
    """Create an XLNet with random weights; ``sizes`` are fields of transformers' XLNetConfig."""
    return _checked(XLNet(XLNetConfig(**{**sizes, "mem_len": None})))  # type: ignore[no-untyped-call]


def load_xlnet(encoder: str) -> XLNet:
    """Load a pretrained XLNet from a folder or, by name, from the local cache."""
    return _checked(load_pretrained(XLNet, encoder, mem_len=None))


def _checked(model: XLNet) -> XLNet:
    config = model.config
    if config.attn_type != "bi" or config.bi_data or config.reuse_len:
        raise IncorefError(
            "this XLNet has attn_type, bi_data or reuse_len set as for pretraining; "
            "set attn_type to 'bi', bi_data to false and reuse_len to null in its configuration."
        )
    return model


def encode(
    model: XLNetModel,
    ids: Tensor,
    lengths: Sequence[int],
    seen: Sequence[int],
    memory: Memory | None,
    recompute: bool,
) -> tuple[Tensor, Memory]:
    """Return vectors of consecutive pieces, (n, d_model), and the memory after them.

    Piece p consists of ``lengths[p]`` of the ``ids`` (n,) and sees the ``seen[p]`` tokens before it, in ``memory`` or
    in earlier pieces; the memory afterwards covers the last piece and the tokens it saw. With ``recompute``, a
    layer's intermediate values are not kept but recomputed in the backward pass, a few pieces at a time.
    """
    hidden = model.dropout(model.word_embedding(ids))
    cached = 0 if memory is None else memory[0].shape[0]
    recompute = recompute and torch.is_grad_enabled()
    groups = _groups(lengths, seen, cached, _RECOMPUTED_AT_ONCE if recompute else sum(lengths), hidden.device)
    positions = model.dropout(_positions(model, groups[0].farthest, max(lengths)).to(hidden))
    handed_on = lengths[-1] + seen[-1]
    inputs = []
    for number, layer in enumerate(model.layer):
        before = hidden.detach() if memory is None else torch.cat([memory[number], hidden.detach()])
        inputs.append(before[-handed_on:])
        if recompute:
            parts = [
                checkpoint(_layer, layer, *spans.of(hidden, before), positions, spans, use_reentrant=False)
                for spans in groups
            ]
        else:
            parts = [_layer(layer, *spans.of(hidden, before), positions, spans) for spans in groups]
        hidden = parts[0] if len(parts) == 1 else torch.cat(parts)
    return model.dropout(hidden), tuple(inputs)


class _Spans:
    """Positions of the tokens of consecutive pieces in a batch, and of the cached tokens before each piece."""

    def __init__(
        self, lengths: list[int], seen: list[int], first: int, cached: int, farthest: int, device: torch.device
    ) -> None:
        """``first`` is the pieces' first token in the batch; ``farthest`` is the largest distance in the batch."""
        self.lengths = lengths
        self.seen = seen
        self.farthest = farthest
        self._tokens = slice(first, first + sum(lengths))
        ranges = []
        start = cached + first
        for length, count in zip(lengths, seen, strict=True):
            ranges.append(torch.arange(start - count, start))
            start += length
        rows = torch.cat(ranges)  # (sum of seen,), rows of the memory followed by the batch
        self._rows = slice(int(rows.min()), int(rows.max()) + 1) if len(rows) else slice(0, 0)
        self.cached = (rows - self._rows.start).to(device)

    def of(self, hidden: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
        """Return the pieces' own tokens and the rows that contain the cached tokens they see."""
        return hidden[self._tokens], before[self._rows]


def _groups(
    lengths: Sequence[int], seen: Sequence[int], cached: int, most: int, device: torch.device
) -> list[_Spans]:
    """Group consecutive pieces up to ``most`` tokens per group, or one longer piece."""
    farthest = max(length + count for length, count in zip(lengths, seen, strict=True))
    groups = []
    first = end = token = 0
    while first < len(lengths):
        end, total = first + 1, lengths[first]
        while end < len(lengths) and total + lengths[end] <= most:
            total += lengths[end]
            end += 1
        groups.append(_Spans(list(lengths[first:end]), list(seen[first:end]), token, cached, farthest, device))
        first, token = end, token + total
    return groups


def _positions(model: XLNetModel, farthest: int, longest: int) -> Tensor:
    """Return encodings of distances ``farthest`` down to ``1 - longest``, (distances, d_model)."""
    table: Tensor = model.relative_positional_encoding(longest, farthest)
    return table[:, 0]


def _layer(layer: Any, hidden: Tensor, before: Tensor, positions: Tensor, spans: _Spans) -> Tensor:
    """Apply one layer to all tokens of a group, (n, d_model) to (n, d_model)."""
    attention = layer.rel_attn
    query = _heads(hidden, attention.q)
    by_content = (query + attention.r_w_bias[:, None]).split(spans.lengths, 1)
    by_position = (query + attention.r_r_bias[:, None]).split(spans.lengths, 1)
    keys = _heads(hidden, attention.k).split(spans.lengths, 1)
    values = _heads(hidden, attention.v).split(spans.lengths, 1)
    distance_keys = _heads(positions, attention.r).transpose(1, 2)  # (heads, d_head, distances)
    seen = any(spans.seen)
    if seen:
        old_keys = _heads(before, attention.k).index_select(1, spans.cached).split(spans.seen, 1)
        old_values = _heads(before, attention.v).index_select(1, spans.cached).split(spans.seen, 1)
    mixed = []
    for piece, (length, count) in enumerate(zip(spans.lengths, spans.seen, strict=True)):
        scores = by_content[piece] @ keys[piece].transpose(1, 2)
        if count:
            scores = torch.cat([by_content[piece] @ old_keys[piece].transpose(1, 2), scores], dim=2)
        nearest = spans.farthest + length
        in_reach = distance_keys[:, :, nearest - 2 * length - count : nearest]
        scores = scores + align(by_position[piece] @ in_reach, length + count)
        weights = attention.dropout(torch.softmax(scores * attention.scale, dim=2))
        if count:
            mixed.append(weights[:, :, :count] @ old_values[piece] + weights[:, :, count:] @ values[piece])
        else:
            mixed.append(weights @ values[piece])
    joined = torch.cat(mixed, dim=1).transpose(0, 1)  # (n, heads, d_head)
    attended: Tensor = layer.ff(attention.post_attention(hidden[:, None], joined[:, None]))
    return attended[:, 0]


def _heads(vectors: Tensor, weight: Tensor) -> Tensor:
    """Project (n, d_model) by (d_model, heads, d_head) to (heads, n, d_head)."""
    _, heads, size = weight.shape
    return (vectors @ weight.flatten(1)).view(-1, heads, size).transpose(0, 1).contiguous()


def align(scores: Tensor, keys: int) -> Tensor:
    """Convert scores by distance, (heads, n, keys + n), farthest first, to scores by key, (heads, n, keys).

    Row i's farthest key is in column n - i, so in the flattened matrix each row's keys start one element less than a
    full row after those of the previous row.
    """
    heads, n, distances = scores.shape
    shifted = scores.reshape(heads, n * distances)[:, n:].view(heads, n, distances - 1)
    return shifted[:, :, :keys]
