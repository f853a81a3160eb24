"""Recipes: the runs, labelled texts, exports and evaluations that make a model, in one file, done in order.

A step is done if its record in ``steps/`` was made with the same settings and the same earlier steps, so a recipe can
be stopped at any moment and run again. Independent of model cards.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from incoref import corpora
from incoref.errors import IncorefError
from incoref.evaluation.metrics import Result, Scorer
from incoref.learning.config import Configuration, CorpusConfig
from incoref.learning.data.sources import load
from incoref.learning.ensemble import Ensemble
from incoref.learning.export.export import export
from incoref.learning.labelling import Labelled, label_into, sampled
from incoref.learning.train.progress import Report
from incoref.learning.train.trainer import Stopped, Trainer, holds_run
from incoref.model.folder import Model
from incoref.resolver import Resolver
from incoref.resolver import load as load_model


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Sample(_Section):
    """Which of the texts are labelled."""

    words: int | None = Field(
        None, gt=0, description="Random documents with about N words; all documents by default."
    )
    stretch: int | None = Field(None, gt=0, description="Of a longer document, a random stretch of at most N words.")
    seed: int = Field(1, ge=0, description="Seed of the random choices.")
    without: tuple[str, ...] = Field((), description="Ids of documents to leave out.")


class LabelStep(_Section):
    """Texts labelled by models, to train on."""

    name: str = Field(description="Its name, which is that of its folder.")
    models: tuple[str, ...] = Field(
        min_length=1, description="Earlier exports and installed models; they decide together."
    )
    paths: tuple[Path, ...] = Field(min_length=1, description="The texts: files and folders.")
    scheme: str = Field("ontonotes", description="The annotation scheme.")
    longest: int | None = Field(
        None, gt=0, description="Read longer texts in parts of about N words, and join their entities by name."
    )
    sample: Sample = Field(Sample(), description="Which of the texts are labelled; all by default.")


class RunStep(_Section):
    """A training run."""

    name: str = Field(description="Its name, which is that of its folder.")
    start: str | None = Field(
        None, description="The earlier run or export that it starts from, or an installed model."
    )
    settings: tuple[str, ...] = Field((), description="Settings of this run, as NAME=VALUE.")
    train: tuple[CorpusConfig, ...] = Field(
        (), description="Further corpora; the path of texts labelled by an earlier step is that step's name."
    )


class ExportStep(_Section):
    """A model folder, or the mean of several runs and exports."""

    name: str = Field(description="Its name, which is that of its folder.")
    of: tuple[str, ...] = Field(
        min_length=1,
        description="Runs and exports whose weights' mean is taken; RUN@2 is a run after its second epoch.",
    )
    shares: tuple[float, ...] | None = Field(None, description="How much each of them counts; equal when not given.")
    model: str = Field("my-model", description="The model's own name.")
    calibrate: bool = Field(False, description="Fit temperatures and int8 ranges on the dev corpora.")
    fp32: bool = Field(False, description="Keep full precision.")

    @model_validator(mode="after")
    def _shares_fit(self) -> ExportStep:
        if self.shares is not None and (len(self.shares) != len(self.of) or min(self.shares) <= 0):
            raise ValueError("shares has one positive number for each model of 'of'")
        return self


class EvaluateStep(_Section):
    """Scores of an export on corpora."""

    name: str = Field(description="The export.")
    corpora: tuple[CorpusConfig, ...] = Field(min_length=1, description="What it is scored on.")


class Step(_Section):
    """One of the four."""

    label: LabelStep | None = None
    run: RunStep | None = None
    export: ExportStep | None = None
    evaluate: EvaluateStep | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Step:
        if len(self.model_fields_set) != 1:
            raise ValueError("a step is one of label, run, export and evaluate")
        return self

    @property
    def part(self) -> LabelStep | RunStep | ExportStep | EvaluateStep:
        chosen = self.label or self.run or self.export or self.evaluate
        assert chosen is not None
        return chosen

    @property
    def kind(self) -> str:
        [kind] = self.model_fields_set
        return kind

    @property
    def title(self) -> str:
        return f"{self.kind} {self.part.name}"

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of earlier steps that it may build on."""
        if self.label is not None:
            return self.label.models
        if self.run is not None:
            start = () if self.run.start is None else (self.run.start,)
            return (*start, *(str(corpus.path) for corpus in self.run.train))
        of = (self.part.name,) if self.export is None else self.export.of
        return tuple(_run_and_epoch(name)[0] for name in of)


def _run_and_epoch(name: str) -> tuple[str, str]:
    """Split a name such as ``first@2``; the epoch is empty in any other name."""
    run, _, epoch = name.partition("@")
    return run, epoch


class Recipe(_Section):
    config: Path = Field(description="The configuration that all runs share.")
    settings: tuple[str, ...] = Field((), description="Settings that all runs share, as NAME=VALUE.")
    steps: tuple[Step, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_are_known(self) -> Recipe:
        made: set[str] = set()
        for step in self.steps:
            outside = step.run is not None or step.label is not None  # what they need may come from elsewhere
            unknown = [name for name in step.needs if name not in made and not outside]
            if unknown:
                raise ValueError(f"{step.title}: '{unknown[0]}' is not made by an earlier step")
            if step.evaluate is None:
                if step.part.name in made:
                    raise ValueError(f"{step.title}: an earlier step has this name")
                made.add(step.part.name)
        return self

    @classmethod
    def load(cls, path: Path) -> Recipe:
        try:
            return cls.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError as error:
            raise IncorefError(f"{path}: no such recipe") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise IncorefError(f"{path}: not TOML: {error}") from error
        except ValidationError as error:
            faults = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'recipe'}: {e['msg']}" for e in error.errors())
            raise IncorefError(f"{path}: {faults}") from error


@dataclass(frozen=True, slots=True)
class StepState:
    step: Step
    digest: str
    done: bool


class Cook:
    """Runs a recipe in a folder."""

    def __init__(self, recipe: Recipe, folder: Path) -> None:
        self.recipe, self.folder = recipe, folder
        self._runs = {step.run.name for step in recipe.steps if step.run}
        self._made = {step.part.name for step in recipe.steps if step.evaluate is None}

    def states(self) -> Iterator[StepState]:
        """Yield all steps in order and whether each is done; a changed step invalidates those that build on it."""
        digests: dict[str, str] = {}
        for step in self.recipe.steps:
            earlier = [digests[name] for name in step.needs if name in digests]
            said = [step.model_dump(mode="json"), earlier]
            if step.run is not None or step.export is not None:
                said.append(self._configuration(step.run).model_dump(mode="json"))
            digest = hashlib.blake2b(json.dumps(said, sort_keys=True).encode(), digest_size=16).hexdigest()
            if step.evaluate is None:
                digests[step.part.name] = digest
            yield StepState(step, digest, self._recorded(step).get("digest") == digest)

    def make(
        self,
        begin: Callable[[Step], None] = lambda _: None,
        report: Callable[[Report], None] = lambda _: None,
        stop: Callable[[], bool] = lambda: False,
        tell: Callable[[Labelled], None] = lambda _: None,
    ) -> None:
        """Do the steps that aren't done.

        ``stop`` is polled in training and labelling; once it is true, ``Stopped`` is raised.
        ``tell`` is called while texts are labelled, with the totals so far.
        """
        for state in self.states():
            if state.done:
                continue
            step = state.step
            begin(step)
            made: dict[str, Any] = {}
            if step.label is not None:
                self._label(step.label, tell, stop)
            elif step.run is not None:
                self._train(step.run, report, stop)
            elif step.export is not None:
                self._export(step.export)
            elif step.evaluate is not None:
                made["scores"] = {
                    corpus.title: result.to_json() for corpus, result in self._scores(step.evaluate).items()
                }
            record = self._record(step)
            record.parent.mkdir(parents=True, exist_ok=True)
            fresh = record.with_suffix(".new")
            fresh.write_text(json.dumps({"digest": state.digest, **made}, indent=1) + "\n", encoding="utf-8")
            fresh.replace(record)

    def scores(self, step: EvaluateStep) -> dict[str, dict[str, Any]]:
        """Return the scores of a finished evaluation, by the titles of its corpora."""
        scores: dict[str, dict[str, Any]] = self._recorded(Step(evaluate=step)).get("scores", {})
        return scores

    def _configuration(self, run: RunStep | None) -> Configuration:
        settings = [*self.recipe.settings, *(run.settings if run else ())]
        if run is not None and run.start is not None:
            settings.append(f"start={json.dumps(str(self._place(run.start)))}")
        configuration = Configuration.load(self.recipe.config, settings)
        further = tuple(
            corpus.model_copy(update={"path": self._place(str(corpus.path))}) for corpus in (run.train if run else ())
        )
        return configuration.model_copy(update={"train": (*configuration.train, *further)})

    def _place(self, name: str) -> Path:
        """Return the path of what an earlier step made, or an epoch of a run; any other name stays as it is."""
        run, epoch = _run_and_epoch(name)
        if epoch and run in self._runs:
            return self.folder / run / "epochs" / f"{epoch}.safetensors"
        if name not in self._made:
            return Path(name)
        return self.folder / name / "best" if name in self._runs else self.folder / name

    def _record(self, step: Step) -> Path:
        return self.folder / "steps" / f"{step.kind}-{step.part.name}.json"

    def _recorded(self, step: Step) -> dict[str, Any]:
        try:
            record: dict[str, Any] = json.loads(self._record(step).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return record

    def _label(self, step: LabelStep, tell: Callable[[Labelled], None], stop: Callable[[], bool]) -> None:
        documents = sampled(
            (document for path in step.paths for document in corpora.read(path)), **step.sample.model_dump()
        )

        def told(done: Labelled) -> None:
            tell(done)
            if stop():
                raise Stopped

        ensemble = Ensemble([Model.load(self._place(name)) for name in step.models])
        texts = step.model_dump_json(include={"paths", "sample"})
        label_into(self.folder / step.name, ensemble, documents, step.scheme, step.longest, told, texts)

    def _train(self, run: RunStep, report: Callable[[Report], None], stop: Callable[[], bool]) -> None:
        configuration, folder = self._configuration(run), self.folder / run.name
        holds_run(folder, configuration, resume=True)  # fails before minutes of reading data
        Trainer(configuration, folder).run(report, resume=True, stop=stop)

    def _export(self, step: ExportStep) -> None:
        development = self._configuration(None).dev if step.calibrate else ()
        places = [self._place(name) for name in step.of]
        export(
            places,
            self.folder / step.name,
            name=step.model,
            quantise=not step.fp32,
            development=development,
            shares=step.shares,
        )

    def _scores(self, step: EvaluateStep) -> dict[CorpusConfig, Result]:
        resolver = load_model(self.folder / step.name)
        return {corpus: _score(resolver, corpus) for corpus in step.corpora}


def _score(resolver: Resolver, corpus: CorpusConfig) -> Result:
    scorer = Scorer(drop_singletons=corpus.drop_singletons)
    for document in load(corpus):
        scorer.add_documents(document, resolver.resolve(document, singletons=True, scheme=corpus.scheme))
    return scorer.result()
