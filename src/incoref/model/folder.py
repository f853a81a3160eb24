"""A model folder, loaded: tokenizer, encoder and heads, with the one function that reads a block of sentences.

The folder holds ``config.json``, ``encoder.onnx``, ``head.safetensors``, ``tokenizer.json``, ``golden.json`` (texts
with the clusters that they must give) and ``MODEL_CARD.md``. State is passed in and out, so one model serves many
texts, from many threads.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from incoref.errors import IncorefError
from incoref.model.clusterer import SpanVector
from incoref.model.encoders import Encoder, EncoderState, load_encoder
from incoref.model.matmul import Floats, ThreadedProduct
from incoref.model.step import BlockResult, HeadNames, Heads, ReadingState, Temperatures
from incoref.model.subwords import NO_WORD, Subwords, SubwordTokenizer, Utterance, blocks_of, joined
from incoref.model.windows import WindowSizes
from incoref.options import UNKNOWN_GENRE

FORMAT = 3
DEFAULT_MODEL = Path(__file__).parents[1] / "models" / "en"


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """What ``config.json`` says."""

    name: str
    names: HeadNames
    encoder: str = "stateless"
    """The kind of encoder: ``stateless``, or ``kv_cache``, whose sentences attend to those before them."""
    window: WindowSizes = field(default_factory=WindowSizes)
    temperatures: Temperatures = field(default_factory=Temperatures)
    k: int = 1
    """Sentences in a block that the model was trained for."""
    description: str = ""
    capitals: bool = False
    """Whether the encoder is told how words are capitalised."""
    rounded: bool = False
    """Whether the large products of the heads are computed in 8 bits, as those of the encoder are."""

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ModelConfig:
        return cls(
            name=data["name"],
            names=HeadNames(**{name: tuple(values) for name, values in data["names"].items()}),
            encoder=data["encoder"],
            window=WindowSizes(**data["window"]),
            temperatures=Temperatures(**data["temperatures"]),
            k=data["k"],
            description=data["description"],
            capitals=data["capitals"],
            rounded=data["rounded"],
        )

    @classmethod
    def read(cls, path: Path) -> ModelConfig:
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data["format"] != FORMAT:
                raise IncorefError(
                    f"{path}: the model has format {data['format']}, this incoref reads format {FORMAT}: "
                    + ("upgrade incoref" if data["format"] > FORMAT else "export the model again")
                )
            return cls.from_json(data)
        except FileNotFoundError as error:
            raise IncorefError(f"{path.parent}: no model there (config.json is missing)") from error
        except (ValueError, KeyError, TypeError) as error:
            raise IncorefError(f"{path}: not a model's configuration: {error!r}") from error


@dataclass(frozen=True, slots=True)
class ModelState:
    """What is known after some blocks of a text."""

    reading: ReadingState
    encoder: EncoderState


class Model:
    """A loaded model. Has no state of its own."""

    def __init__(
        self, folder: Path, config: ModelConfig, tokenizer: SubwordTokenizer, encoder: Encoder, heads: Heads
    ):
        self.folder, self.config = folder, config
        self.tokenizer, self.encoder, self.heads = tokenizer, encoder, heads

    @classmethod
    def load(cls, folder: Path | str | None = None, threads: int = 1) -> Model:
        """The model in a folder, or the one that comes with the package."""
        place = DEFAULT_MODEL if folder is None else Path(folder)
        if not place.is_dir():
            what = "incoref comes without a default model here" if folder is None else "no such model folder"
            raise IncorefError(f"{place}: {what}")
        config = ModelConfig.read(place / "config.json")
        tokenizer = SubwordTokenizer.load(place / "tokenizer.json", config.capitals)
        encoder = load_encoder(place / "encoder.onnx", config.encoder, config.window, tokenizer.start, threads)
        try:
            weights = load_file(place / "head.safetensors")
        except Exception as error:  # safetensors raises an exception class of its own without a public base
            raise IncorefError(f"{place / 'head.safetensors'}: can't be read: {error}") from error
        product = ThreadedProduct(threads, config.rounded)
        try:
            heads = Heads.from_weights(weights, config.names, config.temperatures, product)
        except (KeyError, ValueError) as error:
            raise IncorefError(f"{place / 'head.safetensors'}: does not go with config.json: {error}") from error
        return cls(place, config, tokenizer, encoder, heads)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the model's files: a text can go on only with the model that it began with."""
        digest = hashlib.blake2b(digest_size=16)
        for name in ("config.json", "encoder.onnx", "head.safetensors", "tokenizer.json"):
            with (self.folder / name).open("rb") as file:
                digest.update(hashlib.file_digest(file, "blake2b").digest())
        return digest.hexdigest()

    def start(self) -> ModelState:
        return ModelState(self.heads.start(), self.encoder.start())

    def classes(self, scheme: str | None = None, genre: str = UNKNOWN_GENRE) -> dict[str, int]:
        """The features of a whole text; the first scheme is the default."""
        names = self.config.names
        for what, value, known in (
            ("scheme", scheme or names.schemes[0], names.schemes),
            ("genre", genre, names.genres),
        ):
            if value not in known:
                raise IncorefError(f"the model knows no {what} '{value}'; it knows {', '.join(known)}")
        return self.heads.classes(scheme or names.schemes[0], genre)

    def blocks(
        self, utterances: Iterable[Utterance], k: int | None = 1, speaker: str | None = None
    ) -> list[list[tuple[Utterance, Subwords]]]:
        """Sentences cut into blocks that can be read; ``speaker`` is the one before the first."""
        return blocks_of(utterances, self.tokenizer, self.config.window.longest_block, k, speaker)

    def step(
        self, block: Sequence[tuple[Utterance, Subwords]], state: ModelState, classes: Mapping[str, int]
    ) -> tuple[ModelState, BlockResult]:
        """Read one block: its mentions, and the state after it."""
        subwords = joined([part for _, part in block])
        vectors, encoder = self.encoder.read(subwords.ids, state.encoder)
        words = word_means(vectors, subwords)
        reading, result = self.heads.step([utterance for utterance, _ in block], words, state.reading, classes)
        return ModelState(reading, encoder), result

    def vector_of(self, words: Sequence[str]) -> SpanVector:
        """The vector of a mention that stands alone."""
        block = self.blocks([Utterance(tuple(words))])[0]
        subwords = joined([part for _, part in block])
        vectors = word_means(self.encoder.read(subwords.ids, self.encoder.start())[0], subwords)
        return self.heads.clusters.spans(vectors, [(0, len(vectors) - 1)])[0]


def word_means(vectors: Floats, subwords: Subwords) -> Floats:
    """A vector for each word: the mean of its sub-words', (words, width)."""
    owned = subwords.word != NO_WORD
    counts = np.bincount(subwords.word[owned])
    if not len(counts):
        return vectors[:0]
    found: Floats = np.add.reduceat(vectors[owned], np.cumsum(counts) - counts, axis=0)
    found /= counts.astype(np.float32)[:, None]
    return found
