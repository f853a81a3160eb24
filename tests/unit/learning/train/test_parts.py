"""The parts of training that know no model: optimiser, checkpoints, averages, log."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from incoref.errors import IncorefError
from incoref.learning.config import TrainingConfig
from incoref.learning.nets.layers import ClassBias
from incoref.learning.train import checkpoints
from incoref.learning.train.averaging import EpochWeights, start_average, update_average, weights_in_place
from incoref.learning.train.optimiser import new_optimiser, rate_share, set_rates
from incoref.learning.train.run_log import RunLog


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Linear(3, 3)
        self.r_w_bias = nn.Parameter(torch.zeros(2, 2))
        self.norm = nn.LayerNorm(3)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(4, 3)
        self.layer = nn.ModuleList([Layer(), Layer()])


class Clusterer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.class_bias = ClassBias({"match": 2})


class Model(nn.Module):
    """With an encoder of two layers, biased classes, and a table that two parts share."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = Encoder()
        self.one = nn.Embedding(3, 2)
        self.other = nn.ModuleDict({"table": self.one})
        self.head = nn.Linear(3, 2)
        self.clusterer = Clusterer()


def settings_of(model: Model, optimiser: torch.optim.Optimizer) -> dict[str, tuple[float, float]]:
    """Highest rate and weight decay of each parameter."""
    by_id = {
        id(p): (group["peak"], group["weight_decay"]) for group in optimiser.param_groups for p in group["params"]
    }
    return {name: by_id[id(parameter)] for name, parameter in model.named_parameters() if id(parameter) in by_id}


def test_only_the_encoders_matrices_decay() -> None:
    model = Model()
    model.encoder.words.requires_grad_(False)
    training = TrainingConfig(encoder_rate=2e-5, head_rate=1e-4, class_bias_rate=0.5, weight_decay=0.01)
    optimiser = new_optimiser(model, training)
    settings = settings_of(model, optimiser)
    assert settings["encoder.layer.0.dense.weight"] == (2e-5, 0.01)
    for free in ("dense.bias", "r_w_bias", "norm.weight", "norm.bias"):
        assert settings[f"encoder.layer.1.{free}"] == (2e-5, 0.0)
    for head in ("one.weight", "head.weight", "head.bias"):
        assert settings[head] == (1e-4, 0.0)
    assert settings["clusterer.class_bias.tables.match"] == (0.5, 0.0)
    assert "encoder.words.weight" not in settings
    assert all(group["eps"] == 1e-6 for group in optimiser.param_groups)


def test_lower_layers_learn_more_slowly() -> None:
    model = Model()
    settings = settings_of(model, new_optimiser(model, TrainingConfig(encoder_rate=1.0, layer_decay=0.5)))
    rates = [settings[f"encoder.{name}"][0] for name in ("layer.1.norm.bias", "layer.0.norm.bias", "words.weight")]
    assert rates == [1.0, 0.5, 0.25]


def test_the_encoder_may_warm_up_alone() -> None:
    model = Model()
    optimiser = new_optimiser(model, TrainingConfig(encoder_rate=1, head_rate=1, warmup=0.5, head_warmup=0.0))
    set_rates(optimiser, 0, 100)
    rates = {id(p): group["lr"] for group in optimiser.param_groups for p in group["params"]}
    assert rates[id(model.head.weight)] == pytest.approx(1.0)
    assert rates[id(model.encoder.words.weight)] == pytest.approx(1 / 50)


@given(st.integers(1, 300), st.floats(0, 0.9))
def test_rates_grow_and_fall_in_lines(steps: int, warmup: float) -> None:
    rates = [rate_share(step, steps, warmup) for step in range(steps)]
    assert all(0 < rate <= 1 for rate in rates)
    highest = int(np.argmax(rates))
    assert abs(highest - warmup * steps) <= 1.5
    assert rates[: highest + 1] == sorted(rates[: highest + 1])
    assert rates[highest:] == sorted(rates[highest:], reverse=True)


def step(model: Model, optimiser: torch.optim.Optimizer, seed: int) -> None:
    torch.manual_seed(seed)
    words = model.encoder.words(torch.tensor([1, 2]))
    loss = model.head(model.encoder.layer[0].dense(words)).square().sum() + model.other["table"].weight.sum()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()


def test_a_run_goes_on_as_it_was(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Model()
    optimiser, average = new_optimiser(model, TrainingConfig()), start_average(model)
    step(model, optimiser, 0)
    update_average(average, model, 0, 0.9)
    checkpoints.save_run(tmp_path / "last", model, optimiser, average, {"step": 1})
    step(model, optimiser, 1)
    again = Model()
    its_optimiser, its_average = new_optimiser(again, TrainingConfig()), start_average(again)
    assert checkpoints.load_run(tmp_path / "last", again, its_optimiser, its_average) == {"step": 1}
    assert all(torch.equal(its_average[name], value) for name, value in average.items())
    step(again, its_optimiser, 1)
    for name, value in model.state_dict().items():
        assert torch.equal(value, again.state_dict()[name]), name


def test_weights_of_another_model_are_refused() -> None:
    model = Model()
    weights = checkpoints.weights_of(model)
    assert "other.table.weight" not in weights  # it is one.weight
    with pytest.raises(IncorefError, match=r"don't fit the model \('head\.bias'\)"):
        checkpoints.load_weights(model, {**weights, "head.bias": torch.zeros(3)})
    with pytest.raises(IncorefError, match=r"'more'"):
        checkpoints.load_weights(model, {**weights, "more": torch.zeros(3)})


@pytest.mark.parametrize("kills", [[moment] for moment in range(12)] + [[6, 6], [7, 2], [5, 9], [8, 8, 3]])
def test_a_kill_at_any_moment_leaves_the_old_or_the_new_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kills: list[int]
) -> None:
    """Every call that changes the disk may be the last one."""

    class Killed(BaseException):
        pass

    folder, left = tmp_path / "last", 0

    def counted(call: Callable[..., object]) -> Callable[..., object]:
        def wrapped(*args: object, **options: object) -> object:
            nonlocal left
            if not left:
                raise Killed
            left -= 1
            return call(*args, **options)

        return wrapped

    def write(text: str) -> None:
        def both(place: Path) -> None:
            (place / "a").write_text(text, encoding="utf-8")
            (place / "b").write_text(text, encoding="utf-8")

        checkpoints.replace_folder(folder, both)

    write("0")
    for name in ("replace", "unlink", "rmdir", "mkdir", "write_text"):
        monkeypatch.setattr(Path, name, counted(getattr(Path, name)))
    for name in ("unlink", "rmdir"):
        monkeypatch.setattr(f"os.{name}", counted(getattr(checkpoints.shutil.os, name)))
    previous = "0"
    for attempt, moment in enumerate(kills, start=1):
        left = moment
        with contextlib.suppress(Killed):
            write(str(attempt))
        assert checkpoints.exists(folder)
        settled = checkpoints._settled(folder)
        texts = {(settled / name).read_text(encoding="utf-8") for name in "ab"}
        assert texts in ({previous}, {str(attempt)})
        [previous] = texts
    left = 1000
    write("end")
    assert (folder / "a").read_text(encoding="utf-8") == "end"
    assert [path.name for path in tmp_path.iterdir()] == ["last"]


def test_other_weights_for_a_while() -> None:
    model = Model()
    own = start_average(model)
    zeros = {name: torch.zeros_like(value) for name, value in own.items()}
    with pytest.raises(RuntimeError), weights_in_place(model, zeros):
        assert not model.head.weight.any()
        raise RuntimeError
    assert torch.equal(model.head.weight, own["head.weight"])


@pytest.mark.parametrize(("which", "chosen"), [("best", [1, 4]), ("last", [3, 4])])
def test_the_mean_of_some_epochs(tmp_path: Path, which: str, chosen: list[int]) -> None:
    model, kept, scores = Model(), EpochWeights(tmp_path / "epochs", 2, which), []
    for epoch, score in enumerate([5.0, 1.0, 2.0, 4.0], start=1):
        nn.init.constant_(model.head.weight, float(epoch))
        scores.append(score)
        kept.add(model, scores)
    assert kept.chosen(scores) == chosen
    assert sorted(int(path.stem) for path in (tmp_path / "epochs").iterdir()) == chosen
    assert kept.mean(scores)["head.weight"].unique().tolist() == [sum(chosen) / 2]


def test_no_epochs_are_kept_by_default(tmp_path: Path) -> None:
    kept = EpochWeights(tmp_path / "epochs", 0, "best")
    kept.add(Model(), [1.0])
    assert kept.chosen([1.0, 2.0]) == []
    assert not (tmp_path / "epochs").exists()


def test_the_log_goes_back_to_the_checkpoint(tmp_path: Path) -> None:
    log = RunLog(tmp_path, 0, 0, False)
    for number in range(4):
        log.write({"kind": "step", "step": number, "loss": number / 3})
        if number % 2:
            log.write({"kind": "dev", "epoch": number // 2 + 1, "step": number + 1})
    log.write({"kind": "dev", "epoch": 2, "step": 4, "averaged": [1, 2]})
    path = tmp_path / "log.jsonl"
    whole = path.read_text(encoding="utf-8")

    def kept(step: int, epochs: int, averaged: bool, text: str = whole) -> list[str]:
        path.write_text(text, encoding="utf-8")
        RunLog(tmp_path, step, epochs, averaged)
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return [f"{line['kind'][0]}{line['step']}" for line in lines]

    assert kept(4, 2, True) == ["s0", "s1", "d2", "s2", "s3", "d4", "d4"]
    assert kept(4, 2, False) == ["s0", "s1", "d2", "s2", "s3", "d4"]
    assert kept(4, 1, False) == ["s0", "s1", "d2", "s2", "s3"]
    assert kept(2, 0, False) == ["s0", "s1"]
    assert kept(3, 1, False, whole[: whole.index('"step": 3') + 12]) == ["s0", "s1", "d2", "s2"]
    assert kept(0, 0, False) == []


def test_tensorboard_is_asked_for_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch.utils.tensorboard", None)
    with pytest.raises(IncorefError, match="pip install tensorboard"):
        RunLog(tmp_path, 0, 0, False, tensorboard=True)
