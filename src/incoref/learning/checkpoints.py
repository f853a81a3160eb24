"""Checkpoints in safetensors: of a model, and of a run with all that is needed to go on bit for bit.

A checkpoint is a folder that is written beside its place and then moved there, so that a kill at any moment leaves
the old one or the new one.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from incoref.errors import IncorefError
from incoref.learning.blockcausal import BertSizes, BlockCausalEncoder
from incoref.learning.config import Configuration
from incoref.learning.streaming import HeadSizes, StreamingModel
from incoref.model import HeadNames

_MOMENTS = ("exp_avg", "exp_avg_sq", "step")


def exists(folder: Path) -> bool:
    return _settled(folder).is_dir()


def save_model(folder: Path, model: StreamingModel, config: Configuration, names: HeadNames) -> None:
    """The weights, and what is needed to build the model around them."""

    def write(place: Path) -> None:
        save_file(_contiguous(model.state_dict()), place / "model.safetensors")
        shutil.copy(config.encoder.path / "tokenizer.json", place / "tokenizer.json")
        _write_json(
            place / "model.json",
            {
                "config": config.model_dump(mode="json"),
                "names": asdict(names),
                "encoder": asdict(model.encoder.sizes),
            },
        )

    _replace(folder, write)


def load_model(folder: Path) -> tuple[StreamingModel, Configuration]:
    """The model that ``save_model`` wrote."""
    folder = _settled(folder)
    if not (folder / "model.json").is_file():
        raise IncorefError(f"{folder}: no trained model there (model.json is missing)")
    described = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    config = Configuration.model_validate(described["config"])
    names = HeadNames(**{name: tuple(values) for name, values in described["names"].items()})
    encoder = BlockCausalEncoder(BertSizes(**described["encoder"]))
    model = StreamingModel(encoder, names, HeadSizes(**config.heads.model_dump()))
    model.load_state_dict(load_file(folder / "model.safetensors"))
    return model.eval(), config


def save_run(
    folder: Path,
    model: StreamingModel,
    optimiser: torch.optim.Optimizer,
    average: dict[str, Tensor] | None,
    progress: dict[str, Any],
) -> None:
    """Everything that a run needs to go on."""
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    for name, parameter in model.named_parameters():
        state = optimiser.state.get(parameter, {})
        tensors |= {f"{moment}.{name}": state[moment] for moment in _MOMENTS if moment in state}
    tensors |= {f"average.{name}": value for name, value in (average or {}).items()}

    def write(place: Path) -> None:
        save_file(_contiguous(tensors), place / "run.safetensors")
        _write_json(place / "progress.json", progress)

    _replace(folder, write)


def load_run(
    folder: Path,
    model: StreamingModel,
    optimiser: torch.optim.Optimizer,
    average: dict[str, Tensor] | None,
) -> dict[str, Any]:
    """Put a run's state back into its objects; gives its progress."""
    folder = _settled(folder)
    tensors = load_file(folder / "run.safetensors")
    model.load_state_dict(
        {name.removeprefix("model."): value for name, value in tensors.items() if name.startswith("model.")}
    )
    for name, parameter in model.named_parameters():
        state = {moment: tensors[f"{moment}.{name}"] for moment in _MOMENTS if f"{moment}.{name}" in tensors}
        if state:
            optimiser.state[parameter] = state
    if average is not None:
        for name in average:
            average[name] = tensors[f"average.{name}"]
    progress: dict[str, Any] = json.loads((folder / "progress.json").read_text(encoding="utf-8"))
    return progress


def _contiguous(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().contiguous() for name, value in tensors.items()}


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")


def _replace(folder: Path, write: Callable[[Path], None]) -> None:
    """Write a folder beside its place and move it there; the old one goes last."""
    fresh, old = folder.with_name(folder.name + ".new"), folder.with_name(folder.name + ".old")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    write(fresh)
    shutil.rmtree(old, ignore_errors=True)
    if folder.is_dir():
        folder.replace(old)
    fresh.replace(folder)
    shutil.rmtree(old, ignore_errors=True)


def _settled(folder: Path) -> Path:
    """The folder, or the old one if a kill came between the two moves."""
    old = folder.with_name(folder.name + ".old")
    return old if not folder.is_dir() and old.is_dir() else folder
