"""Encoders of the baselines: the BERT family, or XLNet, applied to each window separately."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from incoref.errors import IncorefError
from incoref.learning.nets.encoder import BlockCausalEncoder, EncoderSizes
from incoref.learning.paper.xlnet import XLNet, encode, load_xlnet, new_xlnet

_XLNET = "xlnet"
_ANY = 1 << 30
"""No limit on positions: XLNet uses relative distances, so the window length is only limited by memory."""
_KEPT = (
    *("vocab_size", "d_model", "n_layer", "n_head", "d_inner", "ff_activation", "dropout", "layer_norm_eps"),
    *("clamp_len", "same_length"),
)


class XLNetWindows(nn.Module):
    """XLNet with the interface of ``BlockCausalEncoder``."""

    def __init__(self, model: XLNet) -> None:
        super().__init__()
        self.model = model
        config = model.config
        self.sizes = EncoderSizes(
            vocabulary=config.vocab_size,
            width=config.d_model,
            layers=config.n_layer,
            heads=config.n_head,
            inner=config.d_inner,
            positions=_ANY,
            dropout=config.dropout,
            epsilon=config.layer_norm_eps,
        )

    def forward(
        self,
        ids: Tensor,
        positions: Tensor,
        lengths: Sequence[int],
        blocks: Sequence[Tensor],
        recompute: bool = False,
    ) -> Tensor:
        """Return vectors of windows, (n, width), each of which is one block."""
        vectors, _ = encode(self.model, ids, lengths, [0] * len(lengths), None, recompute)
        return vectors


Encoder = BlockCausalEncoder | XLNetWindows


def word_table(encoder: Encoder) -> nn.Module:
    return encoder.model.word_embedding if isinstance(encoder, XLNetWindows) else encoder.embeddings.word_embeddings


def is_xlnet(folder: Path) -> bool:
    """Whether a folder holds a pretrained XLNet."""
    config = folder / "config.json"
    return config.is_file() and json.loads(config.read_text(encoding="utf-8")).get("model_type") == _XLNET


def pretrained_xlnet(folder: Path, layers: int | None, capitals: bool) -> XLNetWindows:
    if layers is not None or capitals:
        raise IncorefError(
            f"{folder}: XLNet is read with all its layers, and its vocabulary knows capitals: "
            "set encoder.capitals = false and leave encoder.layers out"
        )
    return XLNetWindows(load_xlnet(str(folder)))


def described(encoder: Encoder) -> dict[str, Any]:
    """Return a description from which ``new_encoder`` creates an encoder of the same sizes."""
    if isinstance(encoder, XLNetWindows):
        return {_XLNET: {name: getattr(encoder.model.config, name) for name in _KEPT}}
    return asdict(encoder.sizes)


def new_encoder(description: Mapping[str, Any]) -> Encoder:
    if _XLNET in description:
        return XLNetWindows(new_xlnet(description[_XLNET]))
    return BlockCausalEncoder(EncoderSizes(**description))
