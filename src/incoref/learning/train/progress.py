"""Progress reports of a training run, for its log and for display."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from incoref.evaluation.metrics import Result


@dataclass(frozen=True, slots=True)
class StepReport:
    """One update."""

    step: int
    """Updates before it."""
    steps: int
    """Updates of the whole run."""
    epoch: int
    document: str
    loss: float
    terms: Mapping[str, float]
    tokens: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "step",
            "step": self.step,
            "steps": self.steps,
            "epoch": self.epoch,
            "document": self.document,
            "loss": self.loss,
            **self.terms,
            "tokens": self.tokens,
            "seconds": self.seconds,
        }


@dataclass(frozen=True, slots=True)
class DevProgress:
    """A document of a dev corpus was predicted; not logged."""

    corpus: str
    done: int
    documents: int


@dataclass(frozen=True, slots=True)
class DevReport:
    """Scores on the dev corpora."""

    epoch: int
    step: int
    """Updates so far."""
    mean_f1: float
    best: bool
    scores: Mapping[str, Result]
    averaged: tuple[int, ...] = ()
    """The epochs whose averaged weights were scored; empty for the weights after this epoch."""

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "dev",
            "epoch": self.epoch,
            "step": self.step,
            "mean_f1": self.mean_f1,
            "best": self.best,
            **({"averaged": list(self.averaged)} if self.averaged else {}),
            "scores": {name: result.to_json() for name, result in self.scores.items()},
        }


Report = StepReport | DevProgress | DevReport
