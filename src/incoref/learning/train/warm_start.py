"""Weights that a new model starts from or is the mean of, from training runs or model folders.

A model folder's encoder is an ONNX graph whose weights may be rounded to int8: they are dequantised, so that anyone
can continue training the bundled model without the run that made it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor

from incoref.errors import IncorefError
from incoref.learning.config import Configuration
from incoref.learning.nets.encoder import WRITING_TABLE, BlockCausalEncoder, EncoderSizes
from incoref.learning.nets.families import pretrained_encoder
from incoref.learning.nets.pretrained import pretrained_folder
from incoref.learning.nets.streaming import StreamingModel
from incoref.learning.onnx.attention import head_count
from incoref.learning.onnx.graph import PARTS, query_scale
from incoref.learning.train.checkpoints import load_model, mean_weights, with_features_of
from incoref.model.folder import ModelConfig, read_heads
from incoref.model.layout import pair_features_of
from incoref.model.named import installed_model
from incoref.model.step import HeadNames

_GRAPH = "encoder.onnx"
_RELATIVE = "encoder.relative_attention_bias.weight"
_GROWING = ("tables.genre.weight", "tables.scheme.weight", "clusterer.types.weight", "clusterer.types.bias")
"""Weights with a row per name that a model knows."""


def encoder_folder(where: Path) -> Path:
    """Return the folder of a pretrained encoder, or of a model whose encoder is used; ``en`` is the bundled one."""
    installed = _or_installed(where)
    return installed if (installed / _GRAPH).is_file() else pretrained_folder(where)


def first_encoder(folder: Path, layers: int | None, capitals: bool = False) -> BlockCausalEncoder:
    """Load the encoder, or its first layers, from a folder that ``encoder_folder`` returned."""
    if not (folder / _GRAPH).is_file():
        return pretrained_encoder(folder, layers, capitals)
    weights, heads, epsilon = _encoder(folder / _GRAPH)
    inner, width = weights["encoder.layer.0.intermediate.dense.weight"].shape
    encoder = BlockCausalEncoder(
        EncoderSizes(
            vocabulary=len(weights["embeddings.word_embeddings.weight"]),
            width=width,
            layers=layers or sum(name.endswith(".intermediate.dense.bias") for name in weights),
            heads=heads,
            inner=inner,
            positions=len(weights["embeddings.position_embeddings.weight"]),
            epsilon=epsilon,
            relative_buckets=len(weights.get(_RELATIVE, ())),
            capitals=capitals,
        )
    )
    encoder.load_state_dict({name: weights.get(name, value) for name, value in encoder.state_dict().items()})
    return encoder


def _or_installed(where: Path) -> Path:
    return where if where.exists() else installed_model(str(where)) or where


class EarlierModel(NamedTuple):
    """A model that a new one can start from."""

    names: HeadNames
    pair_features: tuple[str, ...]
    weights: Mapping[str, Tensor]

    def fitted(self, model: StreamingModel) -> dict[str, Tensor]:
        """Return its weights fitted to the pair features of another model."""
        return with_features_of(self.weights, self.pair_features, model)


def earlier_model(where: Path) -> EarlierModel:
    """Load the model of a run's ``best`` or of a model folder; ``en`` is the bundled one."""
    folder = _or_installed(where)
    if (folder / _GRAPH).is_file():
        names = ModelConfig.load(folder / "config.json").names
        stored, layout = read_heads(folder / "head.safetensors")
        heads = {name: torch.from_numpy(value).float() for name, value in stored.items()}
        encoder, *_ = _encoder(folder / _GRAPH)
        weights = heads | {f"encoder.{name}": value for name, value in encoder.items()}
        return EarlierModel(names, pair_features_of(layout), weights)
    model, _ = load_model(folder)
    return EarlierModel(model.names, model.pair_features, model.state_dict())


def take_over(model: StreamingModel, earlier: EarlierModel, where: Path, pretrained: float = 0.0) -> None:
    """Initialise a model with earlier weights, whose genres, schemes and types come first in its own.

    If the earlier hidden layers of detector and clusterer are larger, the units with the largest weights are kept.
    Encoder weights keep the share ``pretrained`` of the model's own values.
    """
    given = _narrowed(earlier.fitted(model), "detector", model.detector.sizes.hidden)
    given = _narrowed(given, "clusterer", model.clusterer.sizes.hidden)
    for name, value in model.state_dict().items():
        if name.endswith(WRITING_TABLE) and name not in given:  # the earlier encoder took no capitalisation
            continue
        known = given.get(name)
        grown = name.endswith(_GROWING)
        if known is None or known.shape[1:] != value.shape[1:] or not (grown or len(known) == len(value)):
            raise IncorefError(
                f"start = {where}: the model there has other sizes ('{name}'): give the same heads and encoder"
            )
        value[: len(known)] = torch.lerp(known, value, pretrained) if name.startswith("encoder.") else known


def load_mean(folders: Sequence[Path], shares: Sequence[float] | None = None) -> tuple[StreamingModel, Configuration]:
    """Load the mean of the weights in several folders; the first is a run's, whose configuration is returned too.

    Makes sense for runs that started from the same model, and for that model itself.
    """
    model, config = load_model(folders[0])
    states = [model.state_dict()]
    for folder in folders[1:]:
        earlier = earlier_model(folder)
        states.append(earlier.fitted(model) if earlier.names == model.names else {})
        own, other = ({name: value.shape for name, value in each.items()} for each in (states[0], states[-1]))
        if own != other:
            raise IncorefError(f"{folder}: has other sizes or names than {folders[0]}: there is no mean of the two")
    model.load_state_dict(mean_weights(states, shares))
    return model, config


def _narrowed(given: Mapping[str, Tensor], scorer: str, units: int) -> Mapping[str, Tensor]:
    """Cut a scorer to at most this many hidden units: those with the largest weights in and out."""
    names = [f"{scorer}.{name}" for name in ("hidden.linear.weight", "hidden.linear.bias", "output.weight")]
    into, bias, out = (given[name] for name in names)
    if len(into) <= units:
        return given
    weighs = out.norm(dim=0) * into.norm(dim=1)
    kept = weighs.topk(units).indices.sort().values
    return {**given, **dict(zip(names, (into[kept], bias[kept], out[:, kept]), strict=True))}


def _encoder(path: Path) -> tuple[dict[str, Tensor], int, float]:
    """Read the weights of an encoder's graph, the number of its heads, and the epsilon of its layer norms."""
    graph = onnx.load(path).graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}

    def unrounded(name: str, kind: str) -> np.ndarray:
        array = stored[f"{name}.{kind}"]
        return array if array.dtype == np.float32 else array * stored[f"{name}.scale"]

    def matrix(name: str) -> np.ndarray:
        evening = stored.get(f"{name}.evening", np.ones(1, np.float32))
        weight: np.ndarray = unrounded(name, "weight") * evening[:, None]
        return weight.T

    heads = head_count(graph)
    positions = stored["positions.table"]  # never rounded
    weights = {
        "embeddings.word_embeddings.weight": unrounded("words", "table"),
        "embeddings.position_embeddings.weight": positions,
        "embeddings.LayerNorm.weight": stored["embedded.weight"],
        "embeddings.LayerNorm.bias": stored["embedded.bias"],
    }
    if "writings.table" in stored:
        weights[WRITING_TABLE] = stored["writings.table"]
    if "relative.table" in stored:
        weights[_RELATIVE] = stored["relative.table"]
    norm = next(node for node in graph.node if node.op_type == "LayerNormalization")
    epsilon = next(attribute.f for attribute in norm.attribute if attribute.name == "epsilon")
    layers = sum(name.endswith(".projections.weight") for name in stored)
    scale = query_scale(positions.shape[1], heads)
    for number in range(layers):
        layer, bert = f"layer.{number}", f"encoder.layer.{number}"
        joined = zip(
            PARTS,
            np.split(matrix(f"{layer}.projections"), len(PARTS)),
            np.split(stored[f"{layer}.projections.bias"], len(PARTS)),
            strict=True,
        )
        for part, weight, bias in joined:
            times = scale if part == "query" else 1.0
            weights[f"{bert}.attention.self.{part}.weight"] = weight * times
            weights[f"{bert}.attention.self.{part}.bias"] = bias * times
        for name, part in (("attention", "attention.output"), ("inner", "intermediate"), ("out", "output")):
            weights[f"{bert}.{part}.dense.weight"] = matrix(f"{layer}.{name}")
            weights[f"{bert}.{part}.dense.bias"] = stored[f"{layer}.{name}.bias"]
        norms = {
            "attention.output": f"{layer}.attention.norm",
            "output": "vectors" if number == layers - 1 else layer,
        }
        for part, name in norms.items():
            weights[f"{bert}.{part}.LayerNorm.weight"] = stored[f"{name}.weight"]
            weights[f"{bert}.{part}.LayerNorm.bias"] = stored[f"{name}.bias"]
    return {name: torch.from_numpy(np.array(value)) for name, value in weights.items()}, heads, epsilon
