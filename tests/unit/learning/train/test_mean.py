"""The mean of several runs' weights, and of the model's that they started from."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from incoref.errors import IncorefError
from incoref.learning.export.export import export
from incoref.learning.train.checkpoints import load_model, save_model
from incoref.learning.train.warm_start import load_mean
from incoref.model.step import HeadNames
from tiny_models import NAMES, TinyModels
from tiny_networks import random_model


def saved(tiny: TinyModels, folder: Path, seed: int, names: HeadNames = NAMES) -> Path:
    save_model(folder, random_model(seed, names), load_model(tiny.checkpoint)[1], names)
    return folder


def test_every_weight_is_the_mean(tiny: TinyModels, tmp_path: Path) -> None:
    folders = [saved(tiny, tmp_path / str(seed), seed) for seed in (1, 2, 3)]
    models = [load_model(folder)[0] for folder in folders]
    mean, config = load_mean(folders)
    assert config == load_model(tiny.checkpoint)[1]
    for name, value in mean.state_dict().items():
        torch.testing.assert_close(value, sum(m.state_dict()[name] for m in models) / 3, msg=name)


def test_of_one_it_is_the_model_itself(tiny: TinyModels) -> None:
    mean, _ = load_mean([tiny.checkpoint])
    for name, value in tiny.torch.state_dict().items():
        assert torch.equal(mean.state_dict()[name], value), name


def test_models_of_other_names_have_none(tiny: TinyModels, tmp_path: Path) -> None:
    other = saved(tiny, tmp_path / "other", 1, HeadNames(("unknown",), ("mine",), ("person",)))
    with pytest.raises(IncorefError, match=r"other: has other sizes or names than .*cached: there is no mean"):
        load_mean([tiny.checkpoint, other])


def test_a_model_folder_counts_like_a_run(tiny: TinyModels, tmp_path: Path) -> None:
    run = saved(tiny, tmp_path / "run", 1)
    export([tiny.checkpoint], tmp_path / "model", name="exported", quantise=False)
    exported, _ = load_mean([run, tmp_path / "model"])
    mean, _ = load_mean([run, tiny.checkpoint])
    for name, value in mean.state_dict().items():
        torch.testing.assert_close(exported.state_dict()[name], value, msg=name)
