"""Block-causal attention over any pretrained encoder of the BERT family.

A token attends to its whole block (a sentence, or k of them) and to everything before it in the window, so the
keys and values of finished blocks never change and can be cached. The module keeps BERT's parameter names, so
that pretrained weights load as they are.

``forward`` takes all windows of a document at once, for training; ``step`` takes one block and the cache, for export.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from incoref.errors import IncorefError
from incoref.learning.nets.layers import Dropout
from incoref.model.subwords import WRITING, WRITINGS


@dataclass(frozen=True, slots=True)
class BertSizes:
    """What of a BERT configuration matters here."""

    vocabulary: int
    width: int
    layers: int
    heads: int
    inner: int
    positions: int = 512
    dropout: float = 0.1
    epsilon: float = 1e-12
    capitals: bool = False
    """Whether it is told how words are written: for a vocabulary without capitals."""

    @classmethod
    def read(cls, path: Path, layers: int | None = None, capitals: bool = False) -> BertSizes:
        config = json.loads(path.read_text(encoding="utf-8"))
        return cls(
            vocabulary=config["vocab_size"],
            width=config["hidden_size"],
            layers=layers or config["num_hidden_layers"],
            heads=config["num_attention_heads"],
            inner=config["intermediate_size"],
            positions=config["max_position_embeddings"],
            dropout=config["hidden_dropout_prob"],
            epsilon=config["layer_norm_eps"],
            capitals=capitals,
        )


class _Embeddings(nn.Module):
    def __init__(self, sizes: BertSizes) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(sizes.vocabulary, sizes.width)
        self.position_embeddings = nn.Embedding(sizes.positions, sizes.width)
        self.token_type_embeddings = nn.Embedding(2, sizes.width)
        if sizes.capitals:  # they begin at nought: the pretrained encoder knows nothing of them
            self.writing_embeddings = nn.Embedding(WRITINGS, sizes.width, padding_idx=0)
            nn.init.zeros_(self.writing_embeddings.weight)
        self.capitals = sizes.capitals
        self.LayerNorm = nn.LayerNorm(sizes.width, eps=sizes.epsilon)
        self.dropout = Dropout(sizes.dropout)

    def forward(self, ids: Tensor, positions: Tensor) -> Tensor:
        places = self.position_embeddings(positions) + self.token_type_embeddings.weight[0]
        if self.capitals:
            places = places + self.writing_embeddings(ids // WRITING)
            ids = ids % WRITING
        total = self.word_embeddings(ids) + places
        out: Tensor = self.dropout(self.LayerNorm(total))
        return out


WRITING_TABLE = "embeddings.writing_embeddings.weight"


class _SelfAttention(nn.Module):
    def __init__(self, sizes: BertSizes) -> None:
        super().__init__()
        self.query = nn.Linear(sizes.width, sizes.width)
        self.key = nn.Linear(sizes.width, sizes.width)
        self.value = nn.Linear(sizes.width, sizes.width)


class _Output(nn.Module):
    def __init__(self, inner: int, sizes: BertSizes) -> None:
        super().__init__()
        self.dense = nn.Linear(inner, sizes.width)
        self.LayerNorm = nn.LayerNorm(sizes.width, eps=sizes.epsilon)
        self.dropout = Dropout(sizes.dropout)

    def forward(self, hidden: Tensor, residual: Tensor) -> Tensor:
        out: Tensor = self.LayerNorm(self.dropout(self.dense(hidden)) + residual)
        return out


class _Attention(nn.Module):
    def __init__(self, sizes: BertSizes) -> None:
        super().__init__()
        self.self = _SelfAttention(sizes)
        self.output = _Output(sizes.width, sizes)


class _Intermediate(nn.Module):
    def __init__(self, sizes: BertSizes) -> None:
        super().__init__()
        self.dense = nn.Linear(sizes.width, sizes.inner)

    def forward(self, hidden: Tensor) -> Tensor:
        return functional.gelu(self.dense(hidden))


class _Layer(nn.Module):
    def __init__(self, sizes: BertSizes) -> None:
        super().__init__()
        self.heads = sizes.heads
        self.attention = _Attention(sizes)
        self.intermediate = _Intermediate(sizes)
        self.output = _Output(sizes.inner, sizes)

    def projections(self, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, (heads, n, width of a head) each."""
        attention = self.attention.self
        query, key, value = (
            layer(hidden).view(len(hidden), self.heads, -1).transpose(0, 1)
            for layer in (attention.query, attention.key, attention.value)
        )
        return query, key, value

    def finish(self, hidden: Tensor, attended: Tensor) -> Tensor:
        """Everything after attention; ``attended`` is (heads, n, width of a head)."""
        joined = attended.transpose(0, 1).reshape(hidden.shape)
        hidden = self.attention.output(joined, hidden)
        out: Tensor = self.output(self.intermediate(hidden), hidden)
        return out

    def forward(self, hidden: Tensor, lengths: list[int], masks: list[Tensor]) -> Tensor:
        """Windows side by side in ``hidden`` (n, width): attention stays inside each window."""
        # No dropout on attention weights: on a CPU, drawing it costs as much as everything else in the layer.
        projected = self.projections(hidden)
        rounded = projected[0].dtype == torch.bfloat16
        # In single precision: on a CPU, attention in bfloat16 takes ten times as long to go back through.
        parts = (torch.split(part.float() if rounded else part, lengths, dim=1) for part in projected)
        with torch.autocast(hidden.device.type, enabled=False) if rounded else nullcontext():
            attended = [
                functional.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=mask)[0]
                for q, k, v, mask in zip(*parts, masks, strict=True)
            ]
        return self.finish(hidden, torch.cat(attended, dim=1))


class _Layers(nn.Module):
    def __init__(self, sizes: BertSizes) -> None:
        super().__init__()
        self.layer = nn.ModuleList(_Layer(sizes) for _ in range(sizes.layers))


class BlockCausalEncoder(nn.Module):
    def __init__(self, sizes: BertSizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.embeddings = _Embeddings(sizes)
        self.encoder = _Layers(sizes)

    @classmethod
    def pretrained(cls, folder: Path, layers: int | None = None, capitals: bool = False) -> BlockCausalEncoder:
        """Weights from a folder with ``config.json`` and ``model.safetensors`` (or ``model.int8.safetensors``)."""
        encoder = cls(BertSizes.read(folder / "config.json", layers, capitals))
        encoder.load_state_dict(_bert_weights(folder, encoder))
        return encoder

    @property
    def layers(self) -> list[_Layer]:
        return cast("list[_Layer]", list(self.encoder.layer))

    def forward(
        self, ids: Tensor, positions: Tensor, lengths: list[int], blocks: list[Tensor], recompute: bool = False
    ) -> Tensor:
        """Vectors (n, width) of windows side by side.

        ``lengths`` are the windows' in sub-words; ``blocks`` give, window by window, the number of the block
        that each sub-word belongs to. With ``recompute``, only the input of each layer is kept for the backward pass.
        """
        masks = [block[:, None] >= block[None, :] for block in blocks]
        hidden: Tensor = self.embeddings(ids, positions)
        for layer in self.layers:
            if recompute and torch.is_grad_enabled():
                hidden = checkpoint(layer, hidden, lengths, masks, use_reentrant=False)
            else:
                hidden = layer(hidden, lengths, masks)
        return hidden

    def step(self, ids: Tensor, start: Tensor, cache: Tensor) -> tuple[Tensor, Tensor]:
        """One block after those in ``cache`` (layers, 2, heads, past, width of a head), from position ``start`` on.

        Gives its vectors (n, width) and its own keys and values, to be appended to the cache.
        """
        positions = start + torch.arange(ids.shape[0])
        hidden = self.embeddings(ids, positions)
        added = []
        for number, layer in enumerate(self.layers):
            query, key, value = layer.projections(hidden)
            added.append(torch.stack((key, value)))
            whole_key = torch.cat((cache[number, 0], key), dim=1)
            whole_value = torch.cat((cache[number, 1], value), dim=1)
            attended = functional.scaled_dot_product_attention(query[None], whole_key[None], whole_value[None])[0]
            hidden = layer.finish(hidden, attended)
        return hidden, torch.stack(added)


def _bert_weights(folder: Path, encoder: BlockCausalEncoder) -> dict[str, Tensor]:
    """The encoder's weights out of a file with or without the prefix ``bert.``, a pooler, or int8 matrices."""
    for name in ("model.safetensors", "model.int8.safetensors"):
        if (folder / name).is_file():
            stored = load_file(folder / name)
            break
    else:
        raise IncorefError(
            f"{folder}: no model.safetensors there; put the pretrained encoder's files into this folder"
        )
    stored = {name.removeprefix("bert."): value for name, value in stored.items()}
    weights = {}
    for name, own in encoder.state_dict().items():
        if name == WRITING_TABLE:  # no pretrained encoder has one
            weights[name] = own
            continue
        if name not in stored:
            raise IncorefError(f"{folder}: the weights have no '{name}'; is this an encoder of the BERT family?")
        value, scale = stored[name], stored.get(name + ".scale")
        weights[name] = value.float() if scale is None else value.float() * scale.float()[:, None]
    return weights
