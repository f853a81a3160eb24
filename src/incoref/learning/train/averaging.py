"""Weight averaging: a running average over all steps, and the mean over some epochs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from incoref.learning.train.checkpoints import load_weights, mean_weights, weights_of


def start_average(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in weights_of(model).items()}


@torch.no_grad()
def update_average(average: Mapping[str, Tensor], model: nn.Module, step: int, decay: float) -> None:
    """Move a running average towards the weights after a step, faster in the first steps."""
    share = 1 - min(decay, (step + 1) / (step + 10))
    for name, value in weights_of(model).items():
        average[name].lerp_(value, share)


@contextmanager
def weights_in_place(model: nn.Module, weights: Mapping[str, Tensor] | None) -> Iterator[None]:
    """Give the model other weights temporarily; None leaves its own."""
    if weights is None:
        yield
        return
    own = {name: value.clone() for name, value in weights_of(model).items()}
    load_weights(model, weights)
    try:
        yield
    finally:
        load_weights(model, own)


class EpochWeights:
    """Files with the weights after the best or the last epochs."""

    def __init__(self, folder: Path, count: int, which: str) -> None:
        self._folder, self._count, self._which = folder, count, which

    def chosen(self, scores: Sequence[float]) -> list[int]:
        """Return the numbers of the epochs (from 1) to average, given the scores of all epochs so far."""
        epochs = list(range(1, len(scores) + 1))
        if self._which == "best":
            epochs.sort(key=lambda epoch: (scores[epoch - 1], epoch))
        return sorted(epochs[max(0, len(epochs) - self._count) :])

    def add(self, model: nn.Module, scores: Sequence[float]) -> None:
        """Keep the weights after the latest epoch if it is among the chosen, and delete those no longer chosen."""
        if not self._count:
            return
        self._folder.mkdir(exist_ok=True)
        epoch, chosen = len(scores), self.chosen(scores)
        if epoch in chosen:
            fresh = self._file(epoch).with_suffix(".new")
            save_file(weights_of(model), fresh)
            fresh.replace(self._file(epoch))
        for other in range(1, epoch):
            if other not in chosen:
                self._file(other).unlink(missing_ok=True)

    def mean(self, scores: Sequence[float]) -> dict[str, Tensor]:
        """Return the mean of the chosen epochs' weights."""
        return mean_weights([load_file(self._file(epoch)) for epoch in self.chosen(scores)])

    def _file(self, epoch: int) -> Path:
        return self._folder / f"{epoch}.safetensors"
