"""A pretrained encoder with BERT's layers and block-causal attention.

A token attends to its whole block (a sentence, or k of them) and to everything before it in the window, so the keys
and values of finished blocks never change and can be cached. Parameters have BERT's names; ``families`` maps the
names of other encoders to them.

``forward`` takes all windows of a document at once, for training; ``step`` takes one block and the cache, for export.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from incoref.learning.nets.layers import Dropout
from incoref.model.subwords import WRITING, WRITINGS

_FURTHEST = 128  # from this distance on, relative positions share a bucket


@dataclass(frozen=True, slots=True)
class EncoderSizes:
    vocabulary: int
    width: int
    layers: int
    heads: int
    inner: int
    positions: int = 512
    dropout: float = 0.1
    epsilon: float = 1e-12
    relative_buckets: int = 0
    """Number of relative-position buckets, shared by all layers as in MPNet; 0 for none."""
    capitals: bool = False
    """Whether the encoder takes capitalisation as input, for an uncased vocabulary."""


def relative_bucket(distance: Tensor, buckets: int) -> Tensor:
    """Return the bucket of each distance (key minus query): half per direction, first exact, then logarithmic."""
    half, exact = buckets // 2, buckets // 4
    size = distance.abs()
    log_share = torch.log(size.clamp(min=1).float() / exact) / math.log(_FURTHEST / exact)
    far = (exact + (log_share * (half - exact)).long()).clamp(max=half - 1)
    return torch.where(size < exact, size, far) + half * (distance > 0)


class _Embeddings(nn.Module):
    def __init__(self, sizes: EncoderSizes) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(sizes.vocabulary, sizes.width)
        self.position_embeddings = nn.Embedding(sizes.positions, sizes.width)
        if sizes.capitals:  # zero at first: the pretrained encoder doesn't have them
            self.writing_embeddings = nn.Embedding(WRITINGS, sizes.width, padding_idx=0)
            nn.init.zeros_(self.writing_embeddings.weight)
        self.capitals = sizes.capitals
        self.LayerNorm = nn.LayerNorm(sizes.width, eps=sizes.epsilon)
        self.dropout = Dropout(sizes.dropout)

    def forward(self, ids: Tensor, positions: Tensor) -> Tensor:
        places = self.position_embeddings(positions)
        if self.capitals:
            places = places + self.writing_embeddings(ids // WRITING)
            ids = ids % WRITING
        total = self.word_embeddings(ids) + places
        out: Tensor = self.dropout(self.LayerNorm(total))
        return out


WRITING_TABLE = "embeddings.writing_embeddings.weight"


class _SelfAttention(nn.Module):
    def __init__(self, sizes: EncoderSizes) -> None:
        super().__init__()
        self.query = nn.Linear(sizes.width, sizes.width)
        self.key = nn.Linear(sizes.width, sizes.width)
        self.value = nn.Linear(sizes.width, sizes.width)


class _Output(nn.Module):
    def __init__(self, inner: int, sizes: EncoderSizes) -> None:
        super().__init__()
        self.dense = nn.Linear(inner, sizes.width)
        self.LayerNorm = nn.LayerNorm(sizes.width, eps=sizes.epsilon)
        self.dropout = Dropout(sizes.dropout)

    def forward(self, hidden: Tensor, residual: Tensor) -> Tensor:
        out: Tensor = self.LayerNorm(self.dropout(self.dense(hidden)) + residual)
        return out


class _Attention(nn.Module):
    def __init__(self, sizes: EncoderSizes) -> None:
        super().__init__()
        self.self = _SelfAttention(sizes)
        self.output = _Output(sizes.width, sizes)


class _Intermediate(nn.Module):
    def __init__(self, sizes: EncoderSizes) -> None:
        super().__init__()
        self.dense = nn.Linear(sizes.width, sizes.inner)

    def forward(self, hidden: Tensor) -> Tensor:
        return functional.gelu(self.dense(hidden))


class _Layer(nn.Module):
    def __init__(self, sizes: EncoderSizes) -> None:
        super().__init__()
        self.heads = sizes.heads
        self.attention = _Attention(sizes)
        self.intermediate = _Intermediate(sizes)
        self.output = _Output(sizes.inner, sizes)

    def projections(self, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values, (heads, n, width of a head) each."""
        attention = self.attention.self
        query, key, value = (
            layer(hidden).view(len(hidden), self.heads, -1).transpose(0, 1)
            for layer in (attention.query, attention.key, attention.value)
        )
        return query, key, value

    def finish(self, hidden: Tensor, attended: Tensor) -> Tensor:
        """Compute everything after attention; ``attended`` is (heads, n, width of a head)."""
        joined = attended.transpose(0, 1).reshape(hidden.shape)
        hidden = self.attention.output(joined, hidden)
        out: Tensor = self.output(self.intermediate(hidden), hidden)
        return out

    def forward(self, hidden: Tensor, groups: Sequence[_Group]) -> Tensor:
        """Run on windows concatenated in ``hidden`` (n, width), by group; attention stays inside each window."""
        # No dropout on attention weights: on a CPU, drawing it costs as much as everything else in the layer.
        projected = self.projections(hidden)
        rounded = projected[0].dtype == torch.bfloat16
        rows = [group.windows * group.length for group in groups]
        # In single precision: on a CPU, the backward pass of attention in bfloat16 takes ten times as long.
        parts = [(part.float() if rounded else part).split(rows, dim=1) for part in projected]
        with torch.autocast(hidden.device.type, enabled=False) if rounded else nullcontext():
            attended = [group.attended(*own) for group, *own in zip(groups, *parts, strict=True)]
        return self.finish(hidden, torch.cat(attended, dim=1))


@dataclass(frozen=True, slots=True)
class _Group:
    """Windows of the same length, batched in one attention call."""

    windows: int
    length: int
    mask: Tensor  # (windows, 1 or heads, length, length): boolean, or added to the attention scores

    def attended(self, *projected: Tensor) -> Tensor:
        """Turn queries, keys and values of the group's rows into (heads, windows x length, width of a head)."""
        query, key, value = (part.unflatten(1, (self.windows, self.length)).transpose(0, 1) for part in projected)
        attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=self.mask)
        return attended.transpose(0, 1).flatten(1, 2)


class _Layers(nn.Module):
    def __init__(self, sizes: EncoderSizes) -> None:
        super().__init__()
        self.layer = nn.ModuleList(_Layer(sizes) for _ in range(sizes.layers))
        if sizes.relative_buckets:
            self.relative_attention_bias = nn.Embedding(sizes.relative_buckets, sizes.heads)


class BlockCausalEncoder(nn.Module):
    def __init__(self, sizes: EncoderSizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.embeddings = _Embeddings(sizes)
        self.encoder = _Layers(sizes)

    @property
    def layers(self) -> list[_Layer]:
        return cast("list[_Layer]", list(self.encoder.layer))

    def forward(
        self, ids: Tensor, positions: Tensor, lengths: list[int], blocks: list[Tensor], recompute: bool = False
    ) -> Tensor:
        """Return the vectors (n, width) of concatenated windows.

        ``lengths`` are the windows' lengths in sub-words; ``blocks`` hold, window by window, the number of each
        sub-word's block. With ``recompute``, only the input of each layer is kept for the backward pass.
        """
        groups, rows = self._groups(lengths, blocks)
        hidden: Tensor = self.embeddings(ids.index_select(0, rows), positions.index_select(0, rows))
        for layer in self.layers:
            if recompute and torch.is_grad_enabled():
                hidden = checkpoint(layer, hidden, groups, use_reentrant=False)
            else:
                hidden = layer(hidden, groups)
        return hidden.index_select(0, rows.argsort())

    def _groups(self, lengths: list[int], blocks: list[Tensor]) -> tuple[list[_Group], Tensor]:
        """Group windows by length; also return the rows of all groups, one group after the other."""
        of_length: dict[int, list[int]] = defaultdict(list)
        for number, length in enumerate(lengths):
            of_length[length].append(number)
        here = blocks[0].device
        starts = torch.tensor([0, *lengths], device=here).cumsum(0)
        groups, rows = [], []
        for length, numbers in of_length.items():
            places = torch.arange(length, device=here)
            block = torch.stack([blocks[number] for number in numbers])
            mask = (block[:, :, None] >= block[:, None, :])[:, None]
            bias = self._bias(places, places)
            if bias is not None:
                mask = bias.masked_fill(~mask, -torch.inf)
            groups.append(_Group(len(numbers), length, mask))
            rows.append((starts[numbers][:, None] + places).flatten())
        return groups, torch.cat(rows)

    def _bias(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        """Return what relative positions add to attention scores, (heads, queries, keys), if they are used."""
        if not self.sizes.relative_buckets:
            return None
        buckets = relative_bucket(keys[None, :] - queries[:, None], self.sizes.relative_buckets)
        bias: Tensor = self.encoder.relative_attention_bias(buckets)
        return bias.permute(2, 0, 1)

    def step(self, ids: Tensor, start: Tensor, cache: Tensor) -> tuple[Tensor, Tensor]:
        """Encode a block after those in ``cache`` (layers, 2, heads, past, width of a head), from ``start`` on.

        Return its vectors (n, width), and its own keys and values, to be appended to the cache.
        """
        positions = start + torch.arange(ids.shape[0])
        hidden = self.embeddings(ids, positions)
        keys = torch.arange(cache.shape[3] + ids.shape[0]) + positions[0] - cache.shape[3]
        bias = self._bias(positions, keys)
        added = []
        for number, layer in enumerate(self.layers):
            query, key, value = layer.projections(hidden)
            added.append(torch.stack((key, value)))
            whole_key = torch.cat((cache[number, 0], key), dim=1)
            whole_value = torch.cat((cache[number, 1], value), dim=1)
            attended = functional.scaled_dot_product_attention(
                query[None], whole_key[None], whole_value[None], attn_mask=None if bias is None else bias[None]
            )[0]
            hidden = layer.finish(hidden, attended)
        return hidden, torch.stack(added)
