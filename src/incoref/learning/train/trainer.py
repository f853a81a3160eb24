"""Train a model: a document (or several short ones) per update, resumable checkpoints, dev scores after every epoch.

A run lives in one folder: ``config.json``, ``log.jsonl``, ``last/`` (everything needed to resume) and ``best/`` (the
model with the best dev score). Random numbers come from generators seeded with the run's seed and the number of the
step, so a resumed run repeats what an uninterrupted one would have done. The trainer works with any kind of model.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import ValidationError

from incoref.errors import IncorefError
from incoref.evaluation.metrics import Result, Scorer, token_clusters
from incoref.learning.config import Configuration
from incoref.learning.data import sources
from incoref.learning.train import checkpoints
from incoref.learning.train.averaging import EpochWeights, start_average, update_average, weights_in_place
from incoref.learning.train.optimiser import new_optimiser, set_rates
from incoref.learning.train.progress import DevProgress, DevReport, Report, StepReport
from incoref.learning.train.run_log import RunLog, dev_scores
from incoref.learning.train.trainable import ExampleFacts, Trainable


@dataclass(slots=True)
class Progress:
    """The state of a run that is saved along with its weights."""

    step: int = 0
    best: float = -1.0
    best_epoch: int = 0
    seconds: float = 0.0
    scores: list[float] = field(default_factory=list)
    """Mean dev F1 after each epoch."""
    start: float | None = None
    """Mean dev F1 of the model that the run started from, if any."""
    finished: bool = False


class Stopped(Exception):
    """The run was asked to stop; its state is in the checkpoint."""


class Trainer:
    def __init__(self, config: Configuration, folder: Path) -> None:
        self.config, self.folder = config, folder
        torch.set_num_threads(config.training.threads)
        self.trainable: Trainable[Any] = new_trainable(config, device_named(config.training.device))
        self.dev = [(corpus, sources.load(corpus)) for corpus in config.dev]
        self.model = self.trainable.model
        self.optimiser = new_optimiser(self.model, config.training)
        self.average = start_average(self.model) if config.training.average else None
        self.epoch_weights = EpochWeights(
            folder / "epochs", config.training.average_epochs, config.training.average_of
        )
        self.progress = Progress()
        self.plans = [self._plan(epoch) for epoch in range(config.training.epochs)]
        self.total = sum(len(plan) for plan in self.plans)

    def warnings(self) -> list[str]:
        """Return warnings about data that will probably hurt the model."""
        if self.config.kind != "streaming":
            return []
        return [
            f"under the scheme '{scheme}' no entity has a single mention, so the model can't learn which mentions "
            "stay alone, and scores drop by several F1: annotate them, or give another annotation of the same texts "
            "with singletons_from"
            for scheme in sources.schemes_without_singletons(self.trainable.sources)
        ]

    def _plan(self, epoch: int) -> list[tuple[int, ...]]:
        """Return the sources of each update of an epoch, in order."""
        rng = np.random.default_rng((self.config.training.seed, 1, epoch))
        updates, waiting = list[tuple[int, ...]](), defaultdict[int, list[int]](list)
        for number, source in enumerate(self.trainable.sources):
            visits = [number] * (int(source.share) + bool(rng.random() < source.share % 1))
            if source.together > 1:
                waiting[source.together] += visits
            else:
                updates += [(visit,) for visit in visits]
        for count, visits in waiting.items():
            shuffled = rng.permutation(visits).tolist()
            updates += [tuple(shuffled[start : start + count]) for start in range(0, len(shuffled), count)]
        return [updates[i] for i in rng.permutation(len(updates))]

    def run(
        self,
        report: Callable[[Report], None] = lambda _: None,
        resume: bool = False,
        stop: Callable[[], bool] = lambda: False,
    ) -> Progress:
        """Train to the end. ``report`` is called after every step and every evaluation.

        ``stop`` is polled between updates; once it is true, the run is saved and ``Stopped`` raised.
        """
        self._open(resume)
        log = self._log()

        def tell(event: StepReport | DevReport) -> None:
            log.write(event.to_json())
            report(event)

        try:
            if self.config.start is not None and self.progress.start is None:
                self._score_start(tell, report, stop)
            for epoch in range(len(self.progress.scores), len(self.plans)):
                self._train(epoch, tell, stop)
                self._finish_epoch(epoch, tell, report, stop)
            if not self.progress.finished:
                self._try_average(tell, report, stop)
                self.progress.finished = True
                self._save()
        except Stopped:
            self._save()
            raise
        return self.progress

    def _open(self, resume: bool) -> None:
        if holds_run(self.folder, self.config, resume):
            self._load()
        self.folder.mkdir(parents=True, exist_ok=True)
        fresh = self.folder / "config.json.new"
        fresh.write_text(self.config.model_dump_json(indent=1), encoding="utf-8")
        fresh.replace(self.folder / "config.json")

    def _log(self) -> RunLog:
        progress = self.progress
        board = self.config.training.tensorboard
        return RunLog(self.folder, progress.step, len(progress.scores), progress.finished, board)

    def _end_of(self, epoch: int) -> int:
        return sum(len(plan) for plan in self.plans[: epoch + 1])

    def _train(self, epoch: int, tell: Callable[[StepReport], None], stop: Callable[[], bool]) -> None:
        """Run the remaining updates of an epoch."""
        plan, before = self.plans[epoch], self._end_of(epoch) - len(self.plans[epoch])
        saved = time.monotonic()
        for chosen in plan[self.progress.step - before :]:
            if stop():
                raise Stopped
            update = self.update(chosen, self.progress.step, epoch)
            self.progress.step += 1
            self.progress.seconds += update.seconds
            tell(update)
            if time.monotonic() - saved > 60 * self.config.training.checkpoint_minutes:
                self._save()
                saved = time.monotonic()

    def update(self, chosen: Sequence[int], step: int, epoch: int) -> StepReport:
        """Take one optimiser step on the chosen sources."""
        started = time.monotonic()
        loss, terms, facts = self.backward(chosen, step, epoch)
        set_rates(self.optimiser, step, self.total)
        self.optimiser.step()
        if self.average is not None:
            update_average(self.average, self.model, step, self.config.training.average)
        return StepReport(
            step=step,
            steps=self.total,
            epoch=epoch + 1,
            document=" ".join(fact.name for fact in facts),
            loss=loss,
            terms=terms,
            tokens=sum(fact.tokens for fact in facts),
            seconds=time.monotonic() - started,
        )

    def backward(
        self, chosen: Sequence[int], step: int, epoch: int
    ) -> tuple[float, dict[str, float], list[ExampleFacts]]:
        """Compute the mean loss of the chosen sources and the clipped gradients of the parameters."""
        training = self.config.training
        rng = np.random.default_rng((training.seed, 3, step))
        torch.manual_seed(int(rng.integers(2**62)))
        example_rng = np.random.default_rng((training.seed, 2, step))
        self.model.train()
        self.optimiser.zero_grad(set_to_none=True)
        total, terms, facts = 0.0, dict[str, float](), list[ExampleFacts]()
        for source in chosen:
            example = self.trainable.example(source, example_rng)
            facts.append(self.trainable.facts(example))
            for loss in self.trainable.losses(example, epoch, rng):
                share = loss.total / len(chosen)
                total += share.item()
                for name, value in loss.terms.items():
                    terms[name] = terms.get(name, 0.0) + value.item() / len(chosen)
                if not math.isfinite(total):
                    raise self._not_finite("loss", total, facts[-1].name, step)
                share.backward()
        for name, parameters in self.trainable.parts.items():
            norm = torch.nn.utils.clip_grad_norm_(parameters, training.clip).item()
            if not math.isfinite(norm):
                raise self._not_finite(f"gradient of the {name}", norm, facts[-1].name, step)
        return total, terms, facts

    def _not_finite(self, what: str, value: float, document: str, step: int) -> IncorefError:
        return IncorefError(
            f"the {what} of document '{document}' is {value} at step {step}; look at the document, or lower the "
            f"learning rates. {self.folder / 'last'} has the run's last checkpoint before it"
        )

    def _finish_epoch(
        self,
        epoch: int,
        tell: Callable[[DevReport], None],
        report: Callable[[Report], None],
        stop: Callable[[], bool],
    ) -> None:
        """Evaluate after an epoch, keep the model if it is the best so far, and save the run."""
        with weights_in_place(self.model, self.average):
            results = self._evaluate(report, stop)
            mean = self._keep_if_best(results, epoch + 1)
            self.epoch_weights.add(self.model, [*self.progress.scores, mean])
        self.progress.scores.append(mean)
        best = self.progress.best_epoch == epoch + 1
        tell(DevReport(epoch + 1, self.progress.step, mean, best, results))
        self._save()

    def _score_start(
        self, tell: Callable[[DevReport], None], report: Callable[[Report], None], stop: Callable[[], bool]
    ) -> None:
        """Evaluate the model that training starts from; it is the best one until an epoch beats it."""
        results = self._evaluate(report, stop)
        self.progress.start = self._keep_if_best(results, 0)
        tell(DevReport(0, 0, self.progress.start, True, results))
        self._save()

    def _try_average(
        self, tell: Callable[[DevReport], None], report: Callable[[Report], None], stop: Callable[[], bool]
    ) -> None:
        """At the end, also evaluate the mean of some epochs' weights."""
        epochs = self.epoch_weights.chosen(self.progress.scores)
        if len(epochs) < 2:
            return
        before = self.progress.best
        with weights_in_place(self.model, self.epoch_weights.mean(self.progress.scores)):
            results = self._evaluate(report, stop)
            mean = self._keep_if_best(results, epochs[-1])
        tell(DevReport(len(self.plans), self.progress.step, mean, mean > before, results, tuple(epochs)))

    def _evaluate(self, report: Callable[[Report], None], stop: Callable[[], bool]) -> dict[str, Result]:
        """Return the scores on each dev corpus."""
        results = {}
        for corpus, documents in self.dev:
            scorer = Scorer(drop_singletons=corpus.drop_singletons)
            predicted = self.trainable.predict(documents, corpus)
            for done, (document, clusters) in enumerate(zip(documents, predicted, strict=True), start=1):
                scorer.add(token_clusters(document), clusters)
                report(DevProgress(corpus.title, done, len(documents)))
                if stop():
                    raise Stopped
            results[corpus.title] = scorer.result()
        return results

    def _keep_if_best(self, results: Mapping[str, Result], epoch: int) -> float:
        mean = float(np.mean([result.conll_f1 for result in results.values()]))
        if mean > self.progress.best:
            self.progress.best, self.progress.best_epoch = mean, epoch
            self.trainable.save(self.folder / "best")
        return mean

    def _save(self) -> None:
        checkpoints.save_run(self.folder / "last", self.model, self.optimiser, self.average, asdict(self.progress))

    def _load(self) -> None:
        stored = checkpoints.load_run(self.folder / "last", self.model, self.optimiser, self.average)
        # Checkpoints of earlier versions have no scores, but their logs have.
        stored.setdefault("scores", dev_scores(self.folder, stored["step"]))
        self.progress = Progress(**stored)


def holds_run(folder: Path, config: Configuration, resume: bool) -> bool:
    """Whether there is a run to resume; an error if it must not be resumed or has another configuration."""
    if not checkpoints.exists(folder / "last"):
        return False
    if not resume:
        raise IncorefError(f"{folder} holds a run already; go on with --resume, or choose another folder")
    changed = config.changes_since(_stored_configuration(folder / "config.json"))
    if changed:
        raise IncorefError(
            f"{folder}: the run was started with another configuration ({', '.join(sorted(changed))}); "
            "resume it with the one it has, or start a new run"
        )
    return True


def _stored_configuration(path: Path) -> Configuration:
    """Read the configuration in a run's folder."""
    try:
        return Configuration.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError) as error:
        raise IncorefError(f"{path}: not the configuration of a run: {error}") from error


def device_named(name: str) -> torch.device:
    """Return the device with this name; ``auto`` is a CUDA GPU if there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise IncorefError(f"training.device = '{name}': no such device here: {error}") from error
    return device


def new_trainable(config: Configuration, device: torch.device) -> Trainable[Any]:
    """Create the model of a configuration, with its training data."""
    if config.kind == "paper":
        from incoref.learning.train.paper import PaperTraining

        return PaperTraining(config, device)
    if config.baseline is not None:
        from incoref.learning.train.baseline import BaselineTraining

        return BaselineTraining(config, device)
    from incoref.learning.train.streaming import StreamingTraining

    return StreamingTraining(config, device)
