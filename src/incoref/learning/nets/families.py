"""Families of pretrained encoders: how each family's files map to ``BlockCausalEncoder``.

To support another family of the same architecture, add a ``Family`` to ``FAMILIES``. Weights are converted to our
names and to one form: token types are added to the positions, positions count from 0, and vectors have about the
magnitude that the heads expect.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from torch import Tensor

from incoref.errors import IncorefError
from incoref.learning.nets.encoder import WRITING_TABLE, BlockCausalEncoder, EncoderSizes

_POSITIONS = "embeddings.position_embeddings.weight"
_TOKEN_TYPES = "embeddings.token_type_embeddings.weight"


@dataclass(frozen=True, slots=True)
class Family:
    model_type: str
    """Its name in ``config.json``, which may also be a prefix of its weights' names."""
    names: tuple[tuple[str, str], ...] = ()
    """Parts of its weights' names, and their replacements, which are BERT's names."""
    token_types: bool = True
    first_position: int = 0
    """The row of the position table for a window's first token."""
    relative_buckets: str | None = None
    """The setting with the number of relative-position buckets shared by all layers; None if it has none."""
    output_scale: float = 1.0
    """Factor for the last layer's vectors."""

    def sizes(self, config: Mapping[str, Any], layers: int | None = None, capitals: bool = False) -> EncoderSizes:
        return EncoderSizes(
            vocabulary=config["vocab_size"],
            width=config["hidden_size"],
            layers=layers or config["num_hidden_layers"],
            heads=config["num_attention_heads"],
            inner=config["intermediate_size"],
            positions=config["max_position_embeddings"] - self.first_position,
            dropout=config["hidden_dropout_prob"],
            epsilon=config["layer_norm_eps"],
            relative_buckets=config[self.relative_buckets] if self.relative_buckets else 0,
            capitals=capitals,
        )

    def weights(self, stored: Mapping[str, Tensor], sizes: EncoderSizes) -> dict[str, Tensor]:
        """Convert a file's weights to the encoder's."""
        weights = {self._name(name): value.float() for name, value in stored.items()}
        positions = weights[_POSITIONS][self.first_position :]
        weights[_POSITIONS] = positions + weights[_TOKEN_TYPES][:1] if self.token_types else positions
        for part in ("weight", "bias"):
            name = f"encoder.layer.{sizes.layers - 1}.output.LayerNorm.{part}"
            weights[name] = weights[name] * self.output_scale
        return weights

    def _name(self, stored: str) -> str:
        name = stored.removeprefix(f"{self.model_type}.")
        for theirs, ours in self.names:
            name = name.replace(theirs, ours)
        return name


BERT = Family("bert")
ROBERTA = Family("roberta", first_position=2)
MPNET = Family(
    "mpnet",
    names=(
        (".attention.attn.q.", ".attention.self.query."),
        (".attention.attn.k.", ".attention.self.key."),
        (".attention.attn.v.", ".attention.self.value."),
        (".attention.attn.o.", ".attention.output.dense."),
        (".attention.LayerNorm.", ".attention.output.LayerNorm."),
    ),
    token_types=False,
    first_position=2,
    relative_buckets="relative_attention_num_buckets",
    output_scale=6.0,
)
FAMILIES = {family.model_type: family for family in (BERT, MPNET, ROBERTA)}


def pretrained_encoder(folder: Path, layers: int | None = None, capitals: bool = False) -> BlockCausalEncoder:
    """Load the encoder in a folder with ``config.json`` and ``model.safetensors`` (or ``model.int8.safetensors``)."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    kind = config.get("model_type", "bert")
    if kind not in FAMILIES:
        raise IncorefError(
            f"{folder}: encoders of the family '{kind}' are not supported; there are {', '.join(FAMILIES)}. "
            "CONTRIBUTING.md says how to add one."
        )
    sizes = FAMILIES[kind].sizes(config, layers, capitals)
    encoder = BlockCausalEncoder(sizes)
    try:
        given = FAMILIES[kind].weights(_stored(folder), sizes)
        own = encoder.state_dict()  # pretrained encoders have no table for capitalisation
        encoder.load_state_dict({name: own[name] if name == WRITING_TABLE else given[name] for name in own})
    except (KeyError, RuntimeError) as error:
        raise IncorefError(f"{folder}: the weights don't fit config.json (model_type '{kind}'): {error}") from error
    return encoder


def _stored(folder: Path) -> dict[str, Tensor]:
    """Read the weights of a file, with int8 matrices dequantised."""
    for name in ("model.safetensors", "model.int8.safetensors"):
        if (folder / name).is_file():
            stored = load_file(folder / name)
            break
    else:
        raise IncorefError(
            f"{folder}: no model.safetensors there; put the pretrained encoder's files into this folder"
        )
    scales = {name: value for name, value in stored.items() if name.endswith(".scale")}
    return {
        name: value if f"{name}.scale" not in scales else value.float() * scales[f"{name}.scale"].float()[:, None]
        for name, value in stored.items()
        if name not in scales
    }
