"""Map weights and gradients of the baselines to the names in the published programs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from incoref.errors import FormatError
from incoref.learning.baselines.pieces import Pieces, encode
from incoref.learning.nets.encoder import BlockCausalEncoder, EncoderSizes
from incoref.learning.reference_outputs import read_json, read_weights

_POSITIONS = "embeddings.position_embeddings.weight"
_TOKEN_TYPES = "embeddings.token_type_embeddings.weight"
_UNUSED = ("pooler.", "_global.")
"""Substrings of the names of encoder weights that don't affect a piece's vector."""


@dataclass(frozen=True, slots=True)
class Names:
    """Weight names in a published program."""

    encoder: str
    """Prefix of the encoder's weights."""
    modules: Mapping[str, str | None]
    """Maps the program's modules or single weights to ours; None for those without effect."""
    constants: tuple[str, ...] = ()
    """Weights that are really settings and have no gradient."""

    def ours(self, name: str) -> str | None:
        """Return our name of a weight; None for one without effect."""
        if name.startswith(self.encoder):
            rest = name.removeprefix(self.encoder)
            return None if any(part in rest for part in _UNUSED) else f"encoder.{rest}"
        for theirs, ours in self.modules.items():
            if name == theirs or name.startswith(f"{theirs}."):
                return None if ours is None else f"system.{ours}{name.removeprefix(theirs)}"
        raise KeyError(name)


System = TypeVar("System", bound=nn.Module)


class ReferenceModel(nn.Module, Generic[System]):
    """An encoder with one of the systems on top."""

    system: System

    def __init__(self, encoder: BlockCausalEncoder, system: System) -> None:
        super().__init__()
        self.encoder, self.system = encoder, system

    def vectors(self, document: Pieces) -> Tensor:
        """Return vectors of a document's pieces, (T, vector)."""
        return encode(self.encoder, document.windows)


def read_config(folder: Path) -> dict[str, Any]:
    described = read_json(folder / "config.json")
    if not isinstance(described, dict):
        raise FormatError("not an object with the sizes of a model", path=folder / "config.json")
    return described


def new_encoder(described: Mapping[str, Any]) -> BlockCausalEncoder:
    """Create an encoder with the sizes in a transformers configuration."""
    return BlockCausalEncoder(
        EncoderSizes(
            vocabulary=described["vocab_size"],
            width=described["hidden_size"],
            layers=described["num_hidden_layers"],
            heads=described["num_attention_heads"],
            inner=described["intermediate_size"],
            positions=described["max_position_embeddings"],
            dropout=described["hidden_dropout_prob"],
            epsilon=described["layer_norm_eps"],
        )
    )


def load(model: ReferenceModel[Any], folder: Path, names: Names) -> None:
    """Convert a model to double precision and load the weights from a folder.

    Our encoder has no token-type table: only the first type is used, so it is added to the position table.
    """
    path = folder / "model.safetensors"
    weights = {name: value.double() for name, value in read_weights(path).items() if name not in names.constants}
    model.double()
    own = dict(model.named_parameters())
    left = set(own)
    with torch.no_grad():
        for name, value in weights.items():
            try:
                ours = names.ours(name)
            except KeyError as error:
                raise FormatError(f"the weight {name} is not part of this system", path=path) from error
            if ours is None or ours == f"encoder.{_TOKEN_TYPES}":
                continue
            if ours not in own or own[ours].numel() != value.numel():
                raise FormatError(f"{name} doesn't fit config.json: its shape is {tuple(value.shape)}", path=path)
            own[ours].copy_(value.view(own[ours].shape))
            left.discard(ours)
        if left:
            raise FormatError(f"the weights lack {', '.join(sorted(left))} (our names)", path=path)
        own[f"encoder.{_POSITIONS}"].add_(weights[f"{names.encoder}{_TOKEN_TYPES}"][0])


def gradient_norms(
    model: nn.Module, folder: Path, names: Names, *, encoder: bool = True, padding: int | None = None
) -> dict[str, float]:
    """Return the norm of every weight's gradient under the program's name; 0 for weights without effect.

    ``padding`` is the row of the word and position tables that isn't trained.
    """
    own = dict(model.named_parameters())
    by_name = {}
    for name in read_weights(folder / "model.safetensors"):
        if name in names.constants or (name.startswith(names.encoder) and not encoder):
            continue
        ours = names.ours(name)
        if ours == f"encoder.{_TOKEN_TYPES}":
            gradient = own[f"encoder.{_POSITIONS}"].grad
            gradient = None if gradient is None else gradient.sum(dim=0)
        else:
            gradient = None if ours is None else own[ours].grad
            if padding is not None and gradient is not None and name.endswith(("word_embeddings.weight", _POSITIONS)):
                gradient = torch.cat([gradient[:padding], gradient[padding + 1 :]])
        by_name[name] = 0.0 if gradient is None else gradient.norm().item()
    return by_name


def by_group(norms: Mapping[str, float], *, parts_of: str | None = None) -> dict[str, float]:
    """Combine norms by the first part of their names; also by the first two parts in the group ``parts_of``."""
    norm_of: dict[str, float] = {}
    for name, norm in norms.items():
        first, *rest = name.split(".")
        groups = [first, f"{first}.{rest[0]}"] if first == parts_of else [first]
        for group in groups:
            norm_of[group] = math.hypot(norm_of.get(group, 0.0), norm)
    return norm_of


def norms(values: Tensor) -> list[float]:
    """Return the norm of each row."""
    row_norms: list[float] = values.detach().norm(dim=-1).tolist()
    return row_norms


def smallest(gaps: Tensor) -> float | None:
    """Return the smallest gap; None if there are none."""
    return gaps.min().item() if gaps.numel() else None
