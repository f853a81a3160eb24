"""The configuration of a training run of the default model: one type, read from TOML."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from incoref.errors import IncorefError


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CorpusConfig(_Section):
    """Documents to train on or to evaluate on."""

    path: Path = Field(description="A file or a folder.")
    format: str | None = Field(None, description="The format; guessed from content when not given.")
    scheme: str = Field("ontonotes", description="Name of the annotation scheme.")
    documents: Path | None = Field(None, description="A file that lists the ids of the documents to take.")
    singletons_from: Path | None = Field(
        None, description="Another annotation of the same texts, whose other mentions are added as singletons."
    )
    weight: float = Field(1.0, gt=0, description="Weight of this annotation in the loss of its text.")
    share: float = Field(1.0, gt=0, description="Visits a document gets in an epoch; below 1, some are left out.")
    longest: int | None = Field(None, gt=0, description="Read at most so many tokens, a random stretch each time.")
    name: str | None = Field(None, description="Name in reports; the path when not given.")
    drop_singletons: bool = Field(False, description="When evaluating: without singletons on either side.")


class EncoderConfig(_Section):
    path: Path = Field(
        description="Folder of the pretrained encoder: config.json, model.safetensors, tokenizer.json."
    )
    layers: int | None = Field(None, gt=0, description="Use only so many of its first layers.")
    window: int = Field(512, gt=2, description="Positions in a window.")
    tail: int = Field(96, ge=0, description="Sub-words of the last window kept as context when a new one starts.")


class HeadsConfig(_Section):
    stack: int = Field(200, description="Hidden size of the Stack-LSTM.")
    history: int = Field(30, description="Hidden size of the action LSTM.")
    action: int = Field(20, description="Size of an action's embedding.")
    feature: int = Field(20, description="Size of a feature's embedding.")
    detector_hidden: int = Field(1000, description="Hidden layer of the action scorer.")
    projection: int = Field(256, description="Size of a span's vector.")
    clusterer_hidden: int = Field(512, description="Hidden layer of the cluster scorer.")
    new_hidden: int = Field(64, description="Hidden layer of the score of a new entity.")
    dropout: float = Field(0.3, ge=0, lt=1)


class TrainingConfig(_Section):
    epochs: int = Field(6, gt=0)
    encoder_rate: float = Field(1e-4, description="Highest learning rate of the encoder.")
    head_rate: float = Field(5e-4, description="Highest learning rate of everything else.")
    layer_decay: float = Field(1.0, gt=0, le=1, description="Each layer below the top learns so much slower.")
    warmup: float = Field(0.1, ge=0, lt=1, description="Part of all steps in which the rates grow.")
    weight_decay: float = Field(0.01, ge=0)
    clip: float = Field(1.0, gt=0, description="Largest norm of a gradient, encoder and heads apart.")
    action_power: float = Field(0.25, description="Action weights are inverse frequencies to this power; paper: 1.")
    type_loss: float = Field(0.2, ge=0, description="Weight of the entity types' loss.")
    genre_dropout: float = Field(0.5, ge=0, le=1, description="How often a text's genre is hidden.")
    k: tuple[int, ...] = Field((1,), description="Sentences in a block; one of these is drawn for each document.")
    average: float = Field(0.0, ge=0, lt=1, description="Decay of a running average of the weights; 0 for none.")
    seed: int = 1
    threads: int = Field(1, gt=0)
    checkpoint_minutes: float = Field(5.0, gt=0, description="Minutes between checkpoints to resume from.")


class Configuration(_Section):
    """A whole training run."""

    kind: Literal["streaming"] = "streaming"
    encoder: EncoderConfig
    heads: HeadsConfig = HeadsConfig()
    training: TrainingConfig = TrainingConfig()
    types: tuple[str, ...] = Field((), description="Entity types to tell apart, as a second task.")
    train: tuple[CorpusConfig, ...]
    dev: tuple[CorpusConfig, ...]

    @classmethod
    def read(cls, path: Path) -> Configuration:
        try:
            return cls.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError as error:
            raise IncorefError(f"{path}: no such configuration file") from error
        except tomllib.TOMLDecodeError as error:
            raise IncorefError(f"{path}: not TOML: {error}") from error
        except ValidationError as error:
            faults = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
            raise IncorefError(f"{path}: {faults}") from error
