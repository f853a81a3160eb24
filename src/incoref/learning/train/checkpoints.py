"""Checkpoints in safetensors: of a model, and of a run with all that is needed to resume it bit for bit.

A checkpoint folder is written next to its place and then moved there, so that a kill at any moment leaves either the
old one or the new one.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from zlib import crc32

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from incoref.errors import IncorefError
from incoref.learning.config import Configuration
from incoref.learning.nets.encoder import BlockCausalEncoder, EncoderSizes
from incoref.learning.nets.streaming import HeadSizes, StreamingModel
from incoref.model.layout import TEXT_FEATURES, pair_features_of
from incoref.model.step import HeadNames

_CLASS_BIAS = "clusterer.class_bias.tables."
_EMBEDDINGS = "clusterer.pair_features.tables."
_MOMENTS = ("exp_avg", "exp_avg_sq", "step")


def exists(folder: Path) -> bool:
    return _settled(folder).is_dir()


def save_model(
    folder: Path, model: StreamingModel, config: Configuration, names: HeadNames, tokenizer: Path | None = None
) -> None:
    """Save the weights and what is needed to rebuild the model; the tokenizer is the encoder's by default."""

    def write(place: Path) -> None:
        save_file(weights_of(model), place / "model.safetensors")
        shutil.copy(tokenizer or config.encoder.path / "tokenizer.json", place / "tokenizer.json")
        _write_json(
            place / "model.json",
            {
                "config": config.model_dump(mode="json"),
                "names": asdict(names),
                "encoder": asdict(model.encoder.sizes),
                "layout": model.layout(),
            },
        )

    replace_folder(folder, write)


def model_folder(place: Path) -> Path:
    """Return the folder of a checkpoint's tokenizer and description: ``RUN/best`` for
    ``RUN/epochs/2.safetensors``."""
    return place.parents[1] / "best" if place.suffix == ".safetensors" else place


def load_model(place: Path) -> tuple[StreamingModel, Configuration]:
    """Load a model that ``save_model`` wrote, or one with a run's weights after an epoch, from their file."""
    if place.suffix == ".safetensors" and not place.is_file():
        raise IncorefError(f"{place}: no such weights; training.average_epochs says of how many epochs they are kept")
    folder = _settled(model_folder(place))
    if not (folder / "model.json").is_file():
        raise IncorefError(f"{folder}: no trained model there (model.json is missing)")
    described = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    config = Configuration.model_validate(described["config"])
    names = HeadNames(**{name: tuple(values) for name, values in described["names"].items()})
    encoder = BlockCausalEncoder(EncoderSizes(**described["encoder"]))
    try:
        features = pair_features_of(described["layout"])
    except (KeyError, ValueError) as error:
        raise IncorefError(f"{folder / 'model.json'}: {error}") from error
    model = StreamingModel(encoder, names, HeadSizes(**config.heads.model_dump()), features)
    model.load_state_dict(load_file(folder / "model.safetensors"))
    if place.suffix == ".safetensors":
        load_weights(model, load_file(place))
    return model.eval(), config


def with_features_of(
    given: Mapping[str, Tensor], features: Sequence[str], model: StreamingModel
) -> dict[str, Tensor]:
    """Fit the weights of a model with these pair features to another model's features, whatever their order.

    Features that the other model lacks are left out. New ones change nothing yet: their embeddings are random, but
    the hidden layer ignores them, and their biases are 0. They are the same for every seed, so that runs that started
    from the same model can be averaged.
    """
    size, into = model.clusterer.pair_features.size, "clusterer.hidden.linear.weight"
    given_order = (*features, *TEXT_FEATURES)
    vectors = given[into].shape[1] - size * len(given_order)
    kept, *blocks = given[into].split([vectors, *[size] * len(given_order)], 1)
    columns = dict(zip(given_order, blocks, strict=True))
    none = torch.zeros_like(blocks[0])
    fitted = {name: value for name, value in given.items() if _feature_of(name) in (None, *model.pair_features)}
    for name, own in model.state_dict().items():
        feature = _feature_of(name)
        if feature is not None and feature not in features:
            fitted[name] = _drawn(name, own)
    wanted = [columns.get(name, none) for name in (*model.pair_features, *TEXT_FEATURES)]
    return {**fitted, into: torch.cat([kept, *wanted], dim=1)}


def _feature_of(weight: str) -> str | None:
    """Return the pair feature that a weight belongs to, if any."""
    if weight.startswith(_CLASS_BIAS):
        return weight.removeprefix(_CLASS_BIAS)
    name = weight.removeprefix(_EMBEDDINGS).removesuffix(".weight")
    return name if weight.startswith(_EMBEDDINGS) and name not in TEXT_FEATURES else None


def _drawn(name: str, like: Tensor) -> Tensor:
    """Return the initial value of a new feature's weight."""
    if name.startswith(_CLASS_BIAS):
        return torch.zeros_like(like)
    return torch.randn(like.shape, generator=torch.Generator().manual_seed(crc32(name.encode())))


def mean_weights(weights: Sequence[Mapping[str, Tensor]], shares: Sequence[float] | None = None) -> dict[str, Tensor]:
    """Return the mean of several models' weights, which have the same names; ``shares`` weight the models."""
    if shares is None:
        return {name: torch.stack([one[name] for one in weights]).mean(dim=0) for name in weights[0]}
    counts = torch.tensor(shares) / sum(shares)
    return {name: torch.stack([one[name] for one in weights], dim=-1) @ counts for name in weights[0]}


def save_run(
    folder: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    average: Mapping[str, Tensor] | None,
    progress: Mapping[str, Any],
) -> None:
    """Save everything needed to resume a run."""
    tensors = {f"model.{name}": value for name, value in weights_of(model).items()}
    for name, parameter in model.named_parameters():
        state = optimiser.state.get(parameter, {})
        tensors |= {f"{moment}.{name}": state[moment].contiguous() for moment in _MOMENTS if moment in state}
    tensors |= {f"average.{name}": value for name, value in (average or {}).items()}

    def write(place: Path) -> None:
        save_file(tensors, place / "run.safetensors")
        _write_json(place / "progress.json", progress)

    replace_folder(folder, write)


def load_run(
    folder: Path, model: nn.Module, optimiser: torch.optim.Optimizer, average: Mapping[str, Tensor] | None
) -> dict[str, Any]:
    """Restore a run's state into its objects; return its progress."""
    folder = _settled(folder)
    tensors = load_file(folder / "run.safetensors")

    def of(part: str) -> dict[str, Tensor]:
        return {name.removeprefix(part): value for name, value in tensors.items() if name.startswith(part)}

    load_weights(model, of("model."))
    for name, parameter in model.named_parameters():
        state = {moment: tensors[f"{moment}.{name}"] for moment in _MOMENTS if f"{moment}.{name}" in tensors}
        if state:
            optimiser.state[parameter] = {moment: _owned(value, moment, parameter) for moment, value in state.items()}
    if average is not None:
        for name, value in of("average.").items():
            average[name].copy_(value)
    progress: dict[str, Any] = json.loads((folder / "progress.json").read_text(encoding="utf-8"))
    return progress


def _owned(value: Tensor, moment: str, parameter: Tensor) -> Tensor:
    """Return a moment on the optimiser's device, in its own memory: a file's layout must change no rounding."""
    on_cpu = moment == "step" and parameter.device.type != "cuda"
    return value.to("cpu" if on_cpu else parameter.device, copy=True)


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Return a model's weights by name; shared weights appear once."""
    seen: set[int] = set()
    weights = {}
    for name, value in model.state_dict().items():
        if value.data_ptr() not in seen or not value.numel():
            seen.add(value.data_ptr())
            weights[name] = value.detach().contiguous()
    return weights


def load_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copy weights from ``weights_of`` back into the model."""
    names, state = weights_of(model).keys(), model.state_dict()
    own = {name: state[name] for name in names}
    odd = sorted(own.keys() ^ weights.keys()) or [name for name in own if own[name].shape != weights[name].shape]
    if odd:
        raise IncorefError(
            f"the checkpoint's weights don't fit the model ('{odd[0]}'); was the configuration or the data changed?"
        )
    with torch.no_grad():
        for name, value in own.items():
            value.copy_(weights[name])


def replace_folder(folder: Path, write: Callable[[Path], None]) -> None:
    """Write a folder next to its place and move it there; the old one is deleted last."""
    fresh, old = _beside(folder, ".new"), _beside(folder, ".old")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    write(fresh)
    if folder.is_dir():
        shutil.rmtree(old, ignore_errors=True)
        folder.replace(old)
    fresh.replace(folder)
    shutil.rmtree(old, ignore_errors=True)


def _settled(folder: Path) -> Path:
    """Return the folder, or the old one if a kill came between the two moves."""
    old = _beside(folder, ".old")
    return old if not folder.is_dir() and old.is_dir() else folder


def _beside(folder: Path, suffix: str) -> Path:
    return folder.with_name(folder.name + suffix)


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
