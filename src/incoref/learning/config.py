"""The configuration of a training run, read from TOML. The field descriptions are the documentation.

Paths are relative to the current directory, not to the configuration file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from incoref.errors import IncorefError
from incoref.learning.baselines.config import (
    BASELINES,
    BaselineConfig,
    C2FConfig,
    CorefQAConfig,
    ICorefConfig,
    LongdocConfig,
    S2EConfig,
)
from incoref.learning.paper.config import PaperConfig
from incoref.model.windows import WindowSizes


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CorpusConfig(_Section):
    """A corpus to train or evaluate on."""

    path: Path = Field(description="A file or a folder.")
    format: str | None = Field(None, description="Format. Default: detected from content.")
    scheme: str = Field("ontonotes", description="Name of the annotation scheme.")
    documents: Path | None = Field(None, description="A file that lists the ids of the documents to use.")
    limit: int | None = Field(None, gt=0, description="Use at most N documents, spread evenly over the corpus.")
    genre: str | None = Field(None, description="Genre of all documents. Default: as annotated in the files.")
    singletons_from: Path | None = Field(
        None,
        description="Another annotation of the same texts; its additional mentions are added as singletons. An empty "
        "string means none.",
    )
    weight: float = Field(1.0, gt=0, description="Weight of this annotation relative to others of the same text.")
    chance: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Probability that a visit to a text learns from this annotation; at least one is always used. "
        "Streaming.",
    )
    partial: bool = Field(
        False,
        description="Only some mentions are annotated, as in GAP: learn only what the annotated pronouns refer to. "
        "Streaming.",
    )
    share: float = Field(1.0, gt=0, description="Visits per document and epoch; below 1, some documents are skipped.")
    dialogue_share: float | None = Field(
        None, gt=0, description="The same for documents with several speakers. Default: the value of share."
    )
    together: int = Field(1, gt=0, description="Documents per update; raise it for corpora of short documents.")
    dialogues_only: bool = Field(False, description="Use only documents with several speakers.")
    apart: bool = Field(
        False,
        description="Visit these texts separately even if another corpus contains them too.",
    )
    longest: int | None = Field(
        None, gt=0, description="Read at most N tokens of a document, a random stretch on each visit."
    )
    name: str | None = Field(None, description="Name in reports. Default: the path.")
    drop_singletons: bool = Field(
        False, description="Drop singletons: from the training data or, in evaluation, from key and response."
    )

    @field_validator("singletons_from", mode="before")
    @classmethod
    def _none_if_empty(cls, given: Any) -> Any:
        """Lets a setting on the command line remove it."""
        return given or None

    @property
    def title(self) -> str:
        return self.name or str(self.path)


class EncoderConfig(_Section):
    path: Path = Field(
        description="The pretrained encoder: a folder with config.json, model.safetensors and tokenizer.json, "
        "a name in the local Hugging Face cache, or en for the shipped model's. Nothing is ever downloaded."
    )
    layers: int | None = Field(None, gt=0, description="Use only the first N layers. Not for the paper's model.")
    window: int = Field(512, gt=2, description="Positions per window. Streaming.")
    tail: int = Field(
        96, ge=0, description="Sub-words of the previous window kept as context when a new one starts. Streaming."
    )
    cache: bool = Field(
        False, description="Let a block attend to earlier ones instead of encoding it alone. Streaming."
    )

    capitals: bool = Field(
        True,
        description="Tell the encoder which words are capitalised, for encoders with an uncased vocabulary. "
        "Not for the paper's model.",
    )

    pretrained: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="With start: share of the pretrained weights that is mixed into the encoder's initial weights. "
        "Streaming.",
    )

    @property
    def sizes(self) -> WindowSizes:
        return WindowSizes(self.window, self.tail, self.cache)


class HeadsConfig(_Section):
    """Sizes of the default model's detector and clusterer."""

    stack: int = Field(200, description="Hidden size of the Stack-LSTM.")
    history: int = Field(30, description="Hidden size of the action LSTM.")
    action: int = Field(20, description="Size of an action's embedding.")
    feature: int = Field(20, description="Size of a feature's embedding.")
    detector_hidden: int = Field(
        1000, description="Hidden size of the action scorer; if start's is larger, its strongest units are kept."
    )
    projection: int = Field(256, description="Size of a span's vector.")
    clusterer_hidden: int = Field(
        192, description="Hidden size of the cluster scorer; if start's is larger, its strongest units are kept."
    )
    new_hidden: int = Field(64, description="Hidden size of the new-entity scorer.")
    dropout: float = Field(0.3, ge=0, lt=1, description="Dropout in both scorers.")
    vector_dropout: float = Field(0.0, ge=0, lt=1, description="Dropout on the incoming word vectors.")
    without: tuple[str, ...] = Field(
        (), description="Features to disable, for ablations: width, genre, speaker, match, agreement …"
    )


class TrainingConfig(_Section):
    epochs: int = Field(6, gt=0, description="Passes over the training data.")
    encoder_rate: float = Field(1e-4, description="Peak learning rate of the encoder; with start, 1e-5.")
    head_rate: float = Field(5e-4, description="Peak learning rate of everything else; with start, 5e-5.")
    class_bias_rate: float = Field(
        1e-2,
        description="Peak learning rate of the biases that feature classes add to a pair's score; with start, 1e-3. "
        "Streaming.",
    )
    layer_decay: float = Field(
        1.0, gt=0, le=1, description="Factor by which the learning rate falls per layer below the top."
    )
    warmup: float = Field(0.1, ge=0, lt=1, description="Share of all updates in which the learning rates warm up.")
    head_warmup: float | None = Field(
        None, ge=0, lt=1, description="The same for everything but the encoder. Default: the value of warmup."
    )
    weight_decay: float = Field(
        0.01, ge=0, description="Weight decay of the encoder's matrices; biases, LayerNorm and the heads don't decay."
    )
    clip: float = Field(
        1.0,
        gt=0,
        description="Maximum gradient norm, separate for encoder and rest (streaming: encoder, detector, clusterer).",
    )
    freeze_encoder: bool = Field(False, description="Don't train the encoder. Not for the paper's model.")
    freeze_embeddings: bool = Field(False, description="Don't train the encoder's word embeddings.")
    action_power: float = Field(
        0.25, description="Actions are weighted by inverse frequency to this power; 1 in the paper. Streaming."
    )
    type_loss: float = Field(0.2, ge=0, description="Weight of the entity-type loss. Streaming.")
    genre_dropout: float = Field(0.5, ge=0, le=1, description="Probability of hiding a text's genre. Streaming.")
    k: tuple[int, ...] = Field(
        (1,), min_length=1, description="Sentences per block; one value is drawn for each document. Streaming."
    )
    capitals_dropout: float = Field(
        0.1, ge=0, le=1, description="Probability of reading a text as if it were all lower case. Streaming."
    )
    masked: float = Field(
        0.0, ge=0, lt=1, description="Share of words masked for the encoder, drawn anew on each visit. Streaming."
    )
    renamed: float = Field(
        0.0, ge=0, le=1, description="Probability of giving people in a text names from other texts. Streaming."
    )
    swapped: float = Field(
        0.0,
        ge=0,
        le=1,
        description="Probability of swapping the genders in a text, with new names. Streaming.",
    )
    own_clusters: float = Field(
        0.0,
        ge=0,
        le=1,
        description="Probability that the clusterer trains on its own clusters instead of gold ones. Streaming.",
    )
    own_mentions: float = Field(
        0.0, ge=0, le=1, description="Probability that it trains on the model's own mentions. Streaming."
    )
    own_from: int = Field(2, ge=1, description="First epoch for own_clusters and own_mentions. Streaming.")
    average: float = Field(0.0, ge=0, lt=1, description="Decay of the running average of the weights; 0 disables it.")
    average_epochs: int = Field(
        0, ge=0, description="At the end, also try the mean of the weights after N epochs; 0 disables this."
    )
    average_of: Literal["best", "last"] = Field("best", description="Which epochs average_epochs takes.")
    seed: int = Field(1, description="Seed of everything random: initial weights, order, dropout, stretches.")
    threads: int = Field(1, gt=0, description="PyTorch threads on a CPU.")
    device: str = Field("auto", description="Device: cpu, cuda, cuda:1 …; auto uses a CUDA GPU if there is one.")
    bf16: bool = Field(
        False,
        description="Use bfloat16 where it saves most: in the encoder, and in the default model's hidden layer for "
        "mention–entity pairs.",
    )
    recompute: bool = Field(
        False, description="Gradient checkpointing: recompute the encoder's activations instead of storing them."
    )
    checkpoint_minutes: float = Field(5.0, gt=0, description="Minutes between checkpoints.")
    tensorboard: bool = Field(False, description="Also log to TensorBoard; needs the package tensorboard.")


_STREAMING_ONLY = {
    "encoder": ("layers", "window", "tail", "cache", "capitals", "pretrained"),
    "training": (
        "class_bias_rate",
        "freeze_encoder",
        "action_power",
        "type_loss",
        "genre_dropout",
        "capitals_dropout",
        "masked",
        "renamed",
        "swapped",
        "k",
        "own_clusters",
        "own_mentions",
        "own_from",
    ),
}
_FOR_BASELINES = {"layers", "capitals", "freeze_encoder"}
"""Settings of these that the baselines have too."""
_RATES_WITH_START = {"encoder_rate": 1e-5, "head_rate": 5e-5, "class_bias_rate": 1e-3}
_FREE_TO_CHANGE = {"threads", "device", "checkpoint_minutes", "tensorboard"}
"""Training settings that may change when a run is resumed."""


class Configuration(_Section):
    """The configuration of a training run."""

    kind: Literal["streaming", "paper", "c2f", "s2e", "icoref", "longdoc", "corefqa"] = Field(
        "streaming",
        description="The default model (a BERT, RoBERTa or MPNet encoder), the paper's (XLNet with recurrence), or "
        "one of the systems that the paper compares with (any of these encoders).",
    )
    encoder: EncoderConfig
    start: Path | None = Field(
        None,
        description="A trained model to start from: a run's best/, a model folder, or en for the shipped model. The "
        "new model keeps its genres, schemes and types. Streaming.",
    )
    heads: HeadsConfig = HeadsConfig()
    paper: PaperConfig | None = Field(None, description="The paper's model: mode, setting, sizes.")
    c2f: C2FConfig | None = Field(None, description="Coarse-to-fine span ranking.")
    s2e: S2EConfig | None = Field(None, description="Start-to-end.")
    icoref: ICorefConfig | None = Field(None, description="ICoref, and ICoref-inc with sentences = true.")
    longdoc: LongdocConfig | None = Field(None, description="longdoc.")
    corefqa: CorefQAConfig | None = Field(None, description="CorefQA.")
    training: TrainingConfig = TrainingConfig()
    types: tuple[str, ...] = Field((), description="Entity types to predict as a second task. Streaming.")
    train: tuple[CorpusConfig, ...] = Field(min_length=1)
    dev: tuple[CorpusConfig, ...] = Field(min_length=1)

    @field_validator("encoder", mode="before")
    @classmethod
    def _encoder_by_path(cls, given: Any) -> Any:
        """Expand ``encoder = "path or name"`` to a section with this path."""
        return {"path": given} if isinstance(given, str | Path) else given

    @model_validator(mode="before")
    @classmethod
    def _adapts_gently(cls, given: Any) -> Any:
        """With ``start``, default to lower rates: at those for fresh weights, few documents ruin a trained model."""
        if isinstance(given, dict) and given.get("start") is not None and isinstance(given.get("training", {}), dict):
            return {**given, "training": {**_RATES_WITH_START, **given.get("training", {})}}
        return given

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Configuration:
        for other in ("paper", *BASELINES):
            if other != self.kind and getattr(self, other) is not None:
                raise ValueError(f'the section {other} is for kind = "{other}"')
        if self.kind == "streaming":
            return self
        odd = _not_default(self, ("start", "heads", "types"))
        for section, names in _STREAMING_ONLY.items():
            unknown = tuple(name for name in names if self.kind == "paper" or name not in _FOR_BASELINES)
            odd += [f"{section}.{name}" for name in _not_default(getattr(self, section), unknown)]
        odd += [
            f"train.{name}" for corpus in self.train for name in _not_default(corpus, ("weight", "chance", "partial"))
        ]
        if odd:
            raise ValueError(f'not for kind = "{self.kind}": {", ".join(odd)}')
        return self

    @property
    def paper_or_default(self) -> PaperConfig:
        return self.paper or PaperConfig()

    @property
    def baseline(self) -> BaselineConfig | None:
        """The settings of the system that is trained, if it is one that the paper compares with."""
        if self.kind not in BASELINES:
            return None
        given: BaselineConfig | None = getattr(self, self.kind)
        return given or BASELINES[self.kind]()

    @classmethod
    def load(cls, path: Path, settings: Sequence[str] = ()) -> Configuration:
        """From a file; ``settings`` are NAME=VALUE, with the name's parts joined by dots and the value as in TOML."""
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
            for setting in settings:
                _set(table, setting)
            return cls.model_validate(table)
        except FileNotFoundError as error:
            raise IncorefError(f"{path}: no such configuration file") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise IncorefError(f"{path}: not TOML: {error}") from error
        except ValidationError as error:
            faults = "; ".join(
                f"{'.'.join(map(str, e['loc'])) or 'configuration'}: {e['msg']}" for e in error.errors()
            )
            raise IncorefError(f"{path}: {faults}") from error

    def with_limit(self, documents: int) -> Configuration:
        """The same with at most this many documents of each corpus, for a quick trial."""

        def limited(corpora: tuple[CorpusConfig, ...]) -> tuple[CorpusConfig, ...]:
            return tuple(c.model_copy(update={"limit": min(documents, c.limit or documents)}) for c in corpora)

        return self.model_copy(update={"train": limited(self.train), "dev": limited(self.dev)})

    def changes_since(self, before: Configuration) -> list[str]:
        """Fields that another configuration has otherwise, but for those that don't change what is learned."""
        return [
            name
            for name in _differences(before.model_dump(mode="json"), self.model_dump(mode="json"))
            if name not in {f"training.{field}" for field in _FREE_TO_CHANGE}
        ]


def _set(table: Any, setting: str) -> None:
    """Change one value of a table as it was read."""
    name, equals, value = setting.partition("=")
    *sections, last = name.strip().split(".")
    try:
        for section in sections:
            table = table[int(section)] if isinstance(table, list) else table.setdefault(section, {})
        if not equals or not isinstance(table, dict):
            raise LookupError
    except (LookupError, ValueError, AttributeError) as error:
        raise IncorefError(
            f"setting '{setting}': write it as training.epochs=2 or, for the first of several, dev.0.limit=5"
        ) from error
    try:
        table[last] = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        table[last] = value.strip()  # text without quotes


def _not_default(section: BaseModel, names: tuple[str, ...]) -> list[str]:
    fields = type(section).model_fields
    return [name for name in names if getattr(section, name) != fields[name].default]


def _differences(one: Any, other: Any, place: str = "") -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for name in one.keys() | other.keys():
            yield from _differences(one.get(name), other.get(name), f"{place}.{name}" if place else name)
    elif one != other:
        yield place
