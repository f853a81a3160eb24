"""Trains the default model: one document an update, checkpoints to resume from, dev scores after every epoch.

A run lives in one folder: ``config.json``, ``log.jsonl``, ``last/`` (everything needed to go on) and ``best/`` (the
weights with the best dev score). Everything random is drawn from generators that are seeded by the run's seed and the
number of the step, so a resumed run repeats what an uninterrupted one would have done.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from incoref.errors import IncorefError
from incoref.learning import checkpoints, data
from incoref.learning.blockcausal import BlockCausalEncoder
from incoref.learning.config import Configuration
from incoref.learning.prediction import score
from incoref.learning.preparation import Example
from incoref.learning.streaming import HeadSizes, StreamingModel, action_weights
from incoref.model import UNKNOWN_GENRE, HeadNames
from incoref.subwords import SubwordTokenizer
from incoref.types import Document
from incoref.windows import WindowSizes


@dataclass(slots=True)
class Progress:
    """Where a run stands: what is saved beside the weights."""

    step: int = 0
    best: float = -1.0
    best_epoch: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class StepReport:
    """What happened in one update, for the log and the progress display."""

    step: int
    steps: int
    epoch: int
    document: str
    loss: float
    mentions: float
    links: float
    types: float
    tokens: int
    seconds: float


class Trainer:
    def __init__(self, config: Configuration, folder: Path) -> None:
        self.config, self.folder = config, folder
        torch.set_num_threads(config.training.threads)
        self.sizes = WindowSizes(config.encoder.window, config.encoder.tail)
        self.tokenizer = SubwordTokenizer.load(config.encoder.path / "tokenizer.json")
        self.sources = data.sources(config.train)
        self.dev: list[list[Document]] = [data.load(corpus) for corpus in config.dev]
        schemes = dict.fromkeys(a.scheme for source in self.sources for a in source.annotated)
        self.names = HeadNames((UNKNOWN_GENRE, *data.genres(self.sources)), tuple(schemes), config.types)
        self.types = {name: number for number, name in enumerate(config.types)}
        torch.manual_seed(config.training.seed)
        encoder = BlockCausalEncoder.pretrained(config.encoder.path, config.encoder.layers)
        self.model = StreamingModel(encoder, self.names, HeadSizes(**config.heads.model_dump()))
        self.optimiser = self._optimiser()
        self.average: dict[str, Tensor] | None = None
        if config.training.average:
            self.average = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.progress = Progress()
        self.plans = [self._plan(epoch) for epoch in range(config.training.epochs)]
        self.total = sum(len(plan) for plan in self.plans)
        self._examples: dict[int, Example] = {}
        counts = data.action_counts(self._example(i, 0) for i in range(len(self.sources)))
        self.action_weights = action_weights(counts, config.training.action_power)

    def _optimiser(self) -> torch.optim.AdamW:
        training = self.config.training
        depth = self.model.encoder.sizes.layers
        groups: dict[tuple[float, float], list[Tensor]] = {}
        for name, parameter in self.model.named_parameters():
            rate = training.head_rate
            if name.startswith("encoder."):
                layer = int(name.split(".")[3]) + 1 if ".layer." in name else 0
                rate = training.encoder_rate * training.layer_decay ** (depth - layer)
            # The paper decays the encoder's matrices only.
            decays = name.startswith("encoder.") and parameter.ndim > 1
            groups.setdefault((rate, training.weight_decay if decays else 0.0), []).append(parameter)
        return torch.optim.AdamW(
            [
                {"params": some, "lr": rate, "peak": rate, "weight_decay": decay}
                for (rate, decay), some in groups.items()
            ],
            eps=1e-6,
            fused=True,
        )

    def _plan(self, epoch: int) -> list[int]:
        """The sources of an epoch, in the order in which they are visited."""
        rng = np.random.default_rng((self.config.training.seed, 1, epoch))
        visits: list[int] = []
        for number, source in enumerate(self.sources):
            visits += [number] * (int(source.share) + bool(rng.random() < source.share % 1))
        return [visits[i] for i in rng.permutation(len(visits))]

    def _example(self, source: int, step: int) -> Example:
        """The example of a source; the ones that are the same at every visit are kept."""
        training = self.config.training
        rng = np.random.default_rng((training.seed, 2, step))
        varies = self.sources[source].longest is not None or len(training.k) > 1
        if not varies and source in self._examples:
            return self._examples[source]
        k = training.k[int(rng.integers(len(training.k)))]
        found = data.example(self.sources[source], self.tokenizer, self.sizes, self.types, rng, k)
        if not varies:
            self._examples[source] = found
        return found

    def run(self, report: Callable[[dict[str, Any]], None], resume: bool = False) -> Progress:
        """Train to the end; ``report`` is told of every step and every evaluation."""
        if resume and checkpoints.exists(self.folder / "last"):
            self._load()
        elif checkpoints.exists(self.folder / "last"):
            raise IncorefError(f"{self.folder} holds a run already; go on with --resume, or choose another folder")
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "config.json").write_text(self.config.model_dump_json(indent=1), encoding="utf-8")
        saved = started = time.monotonic()
        before = self.progress.seconds
        try:
            for epoch, source in self._visits():
                step = self.progress.step
                found = self._update(source, step, epoch)
                self.progress.step = step + 1
                self.progress.seconds = before + time.monotonic() - started
                self._log(report, {"kind": "step", **asdict(found)})
                if self.progress.step == self._end_of(epoch):
                    self._evaluate(report, epoch)
                if time.monotonic() - saved > 60 * self.config.training.checkpoint_minutes:
                    self._save()
                    saved = time.monotonic()
        except KeyboardInterrupt:
            self._save()
            raise
        self._save()
        return self.progress

    def _visits(self) -> Iterator[tuple[int, int]]:
        visits = [(epoch, source) for epoch, plan in enumerate(self.plans) for source in plan]
        yield from visits[self.progress.step :]

    def _end_of(self, epoch: int) -> int:
        return sum(len(plan) for plan in self.plans[: epoch + 1])

    def _rate(self, step: int) -> float:
        """Share of the highest rates at a step: linear warm-up, linear decay."""
        warmup = max(1.0, self.config.training.warmup * self.total)
        return min((step + 1) / warmup, (self.total - step) / max(1.0, self.total - warmup))

    def _update(self, source: int, step: int, epoch: int) -> StepReport:
        training = self.config.training
        started = time.monotonic()
        rng = np.random.default_rng((training.seed, 3, step))
        torch.manual_seed(int(rng.integers(2**62)))
        example = self._example(source, step)
        hidden = rng.random() < training.genre_dropout or example.genre not in self.names.genres
        genre = 0 if hidden else self.names.genres.index(example.genre or UNKNOWN_GENRE)
        self.model.train()
        losses = self.model.losses(example, genre, self.action_weights)
        loss = losses.mentions + losses.links + training.type_loss * losses.types
        if not math.isfinite(loss.item()):
            raise IncorefError(f"the loss of document '{example.id}' is {loss.item()} at step {step}")
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        for part in (self.model.encoder, self.model.detector, self.model.clusterer):
            torch.nn.utils.clip_grad_norm_(part.parameters(), training.clip)
        for group in self.optimiser.param_groups:
            group["lr"] = group["peak"] * self._rate(step)
        self.optimiser.step()
        self._update_average(step)
        return StepReport(
            step=step,
            steps=self.total,
            epoch=epoch + 1,
            document=example.id,
            loss=loss.item(),
            mentions=losses.mentions.item(),
            links=losses.links.item(),
            types=losses.types.item(),
            tokens=sum(example.reading.chunks),
            seconds=time.monotonic() - started,
        )

    def _update_average(self, step: int) -> None:
        if self.average is None:
            return
        decay = min(self.config.training.average, (step + 1) / (step + 10))
        with torch.no_grad():
            for name, value in self.model.state_dict().items():
                self.average[name].lerp_(value, 1 - decay)

    def _evaluate(self, report: Callable[[dict[str, Any]], None], epoch: int) -> None:
        own = None
        if self.average is not None:
            own = {name: value.clone() for name, value in self.model.state_dict().items()}
            self.model.load_state_dict(self.average)
        results: dict[str, Any] = {}
        for corpus, documents in zip(self.config.dev, self.dev, strict=True):
            found = score(self.model, documents, self.tokenizer, self.sizes, corpus.scheme, corpus.drop_singletons)
            results[corpus.name or str(corpus.path)] = found
        mean = float(np.mean([result.conll_f1 for result in results.values()]))
        if mean > self.progress.best:
            self.progress.best, self.progress.best_epoch = mean, epoch + 1
            checkpoints.save_model(self.folder / "best", self.model, self.config, self.names)
        if own is not None:
            self.model.load_state_dict(own)
        self._log(
            report,
            {
                "kind": "dev",
                "epoch": epoch + 1,
                "step": self.progress.step,
                "mean_f1": mean,
                "best": self.progress.best_epoch == epoch + 1,
                "scores": {name: result.to_json() for name, result in results.items()},
            },
        )

    def _log(self, report: Callable[[dict[str, Any]], None], line: dict[str, Any]) -> None:
        with (self.folder / "log.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
        report(line)

    def _save(self) -> None:
        checkpoints.save_run(self.folder / "last", self.model, self.optimiser, self.average, asdict(self.progress))

    def _load(self) -> None:
        self.progress = Progress(
            **checkpoints.load_run(self.folder / "last", self.model, self.optimiser, self.average)
        )
