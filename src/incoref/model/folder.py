"""Load a model folder: tokenizer, encoder and heads, and the one function that reads a block of sentences.

The folder holds ``config.json``, ``encoder.onnx``, ``head.safetensors`` (the weights of detector and clusterer),
``head.onnx`` (their large matrix products), ``tokenizer.json``, ``golden.json`` (texts with their expected clusters)
and ``MODEL_CARD.md``. State is passed in and out, so one model serves many texts and threads.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import safe_open

from incoref.errors import IncorefError
from incoref.model.clusterer import SpanVector
from incoref.model.encoders import Encoder, EncoderState, load_encoder
from incoref.model.layout import pair_features_of
from incoref.model.matmul import Floats, HeadProducts
from incoref.model.named import find_model
from incoref.model.step import BlockResult, HeadNames, Heads, ReadingState, Seen, Temperatures
from incoref.model.subwords import NO_WORD, Subwords, SubwordTokenizer, Utterance, blocks_of, joined
from incoref.model.windows import WindowSizes
from incoref.options import UNKNOWN_GENRE, block_size

FORMAT = 4
WORD_TABLE = "encoder.words.bin"
"""The word embeddings of a large encoder, stored separately from its graph."""


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The contents of ``config.json``."""

    name: str
    names: HeadNames
    encoder: str = "stateless"
    """The kind of encoder: ``stateless``, or ``kv_cache``, whose sentences attend to earlier ones."""
    window: WindowSizes = field(default_factory=WindowSizes)
    temperatures: Temperatures = field(default_factory=Temperatures)
    k: int = 1
    """Sentences per block that the model was trained for, and the default at run time."""
    description: str = ""
    capitals: bool = False
    """Whether the encoder takes capitalisation as input."""

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
        )

    @classmethod
    def load(cls, path: Path) -> ModelConfig:
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


Block = Sequence[tuple[Utterance, Subwords]]
"""Sentences that are read together."""


@dataclass(frozen=True, slots=True)
class ModelState:
    """The state after reading some blocks of a text."""

    reading: ReadingState
    encoder: EncoderState


class Model:
    """A loaded model. Stateless."""

    def __init__(
        self, folder: Path, config: ModelConfig, tokenizer: SubwordTokenizer, encoder: Encoder, heads: Heads
    ):
        self.folder, self.config = folder, config
        self.tokenizer, self.encoder, self.heads = tokenizer, encoder, heads

    @classmethod
    def load(cls, folder: Path | str | None = None, threads: int = 1, *, spin: bool = True) -> Model:
        """Load a model from a folder, an installed model by name, or by default the bundled model.

        ``spin`` says whether threads that wait for each other busy-wait.
        """
        place = find_model(folder)
        if type(threads) is not int or threads < 1:
            raise IncorefError(f"threads is {threads!r}; a model runs on a whole number of threads, at least 1")
        config = ModelConfig.load(place / "config.json")
        tokenizer = SubwordTokenizer.load(place / "tokenizer.json", config.capitals)
        encoder = load_encoder(
            place / "encoder.onnx", config.encoder, config.window, tokenizer.start, threads, spin=spin
        )
        weights, layout = read_heads(place / "head.safetensors")
        try:
            product = HeadProducts(place / "head.onnx")
        except Exception as error:  # ONNX Runtime's exceptions have no public base
            raise IncorefError(f"{place / 'head.onnx'}: can't be read: {error}") from error
        try:
            features = pair_features_of(layout)
            heads = Heads.from_weights(weights, config.names, config.temperatures, product, features)
        except (KeyError, ValueError) as error:
            raise IncorefError(f"{place / 'head.safetensors'}: does not go with config.json: {error}") from error
        return cls(place, config, tokenizer, encoder, heads)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the model's files: a text can only be continued with the model that started it."""
        digest = hashlib.blake2b(digest_size=16)
        names = ["config.json", "encoder.onnx", "head.onnx", "head.safetensors", "tokenizer.json"]
        if (self.folder / WORD_TABLE).exists():
            names.append(WORD_TABLE)
        for name in names:
            with (self.folder / name).open("rb") as file:
                digest.update(hashlib.file_digest(file, "blake2b").digest())
        return digest.hexdigest()

    @property
    def setting(self) -> str:
        """How many sentences the model reads at once by default, in the form of ``SessionOptions.setting``."""
        return "sent-inc" if self.config.k == 1 else f"k={self.config.k}"

    def block_size(self, setting: str | None = None) -> int | None:
        """Return the sentences per block in a setting, by default the model's own; None means all that fit."""
        return block_size(setting or self.setting)

    def start(self) -> ModelState:
        return ModelState(self.heads.start(), self.encoder.start())

    def classes(self, scheme: str | None = None, genre: str = UNKNOWN_GENRE) -> dict[str, int]:
        """Return the classes of the per-text features; the default is the first scheme."""
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
        """Group sentences into blocks that the encoder can take; ``speaker`` precedes the first sentence."""
        return blocks_of(utterances, self.tokenizer, self.config.window.longest_block, k, speaker)

    def foreseen(self, blocks: Sequence[Block], classes: Mapping[str, int]) -> list[Seen] | None:
        """Return what ``step`` will see in each of many blocks, of one or several texts, in a fraction of the time.

        None for an encoder whose blocks attend to earlier ones.
        """
        subwords = [joined([part for _, part in block]) for block in blocks]
        vectors = self.encoder.encode_all([block.ids for block in subwords])
        return None if vectors is None else self.heads.seen(list(map(word_means, vectors, subwords)), classes)

    def step(
        self,
        block: Block,
        state: ModelState,
        classes: Mapping[str, int],
        seen: Seen | None = None,
        between: Callable[[], None] | None = None,
    ) -> tuple[ModelState, BlockResult]:
        """Read one block; return the state after it, and its mentions.

        ``seen`` is the block's result from ``foreseen``; ``between`` as for ``Heads.resolved``.
        """
        if seen is not None:
            utterances = [utterance for utterance, _ in block]
            reading, result = self.heads.resolved(utterances, seen, state.reading, classes, between)
            return ModelState(reading, state.encoder), result
        subwords = joined([part for _, part in block])
        vectors, encoder = self.encoder.encode(subwords.ids, state.encoder)
        words = word_means(vectors, subwords)
        utterances = [utterance for utterance, _ in block]
        reading, result = self.heads.step(utterances, words, state.reading, classes, between)
        return ModelState(reading, encoder), result

    def vector_of(self, words: Sequence[str]) -> SpanVector:
        """Return the vector of a mention encoded by itself."""
        return self.vectors_of([Utterance(tuple(words))], [(0, len(words) - 1)])[0]

    def vectors_of(
        self, utterances: Iterable[Utterance], spans: Sequence[tuple[int, int]], speaker: str | None = None
    ) -> list[SpanVector]:
        """Return the vectors of mentions (first, last; both inclusive) in sentences read without earlier context.

        ``speaker`` is the speaker before the first sentence. A mention that crosses a cut in a long sentence ends
        there.
        """
        state, place = self.encoder.start(), 0
        by_span: dict[tuple[int, int], SpanVector] = {}
        for block in self.blocks(utterances, None, speaker):
            subwords = joined([part for _, part in block])
            vectors, state = self.encoder.encode(subwords.ids, state)
            words = word_means(vectors, subwords)
            inside = [span for span in spans if place <= span[0] < place + len(words)]
            local = [(first - place, min(last - place, len(words) - 1)) for first, last in inside]
            by_span.update(zip(inside, self.heads.clusters.spans(words, local), strict=True) if inside else ())
            place += len(words)
        return [by_span[span] for span in spans]


def read_heads(path: Path) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """Read the weights of detector and clusterer, and the layout they were written with."""
    try:
        with safe_open(path, framework="numpy") as file:
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
            return weights, json.loads(file.metadata()["layout"])
    except Exception as error:  # safetensors raises its own exception class without a public base
        raise IncorefError(f"{path}: can't be read: {error}") from error


def word_means(vectors: Floats, subwords: Subwords) -> Floats:
    """Return a vector per word, the mean of its sub-words' vectors, (words, width)."""
    words: list[list[int]] = []
    before = NO_WORD
    for row, word in enumerate(subwords.word.tolist()):
        if word == before != NO_WORD:
            words[-1].append(row)
        elif word != NO_WORD:
            words.append([row])
        before = word
    means: Floats = vectors[[rows[0] for rows in words]] if words else vectors[:0]
    for mean, rows in zip(means, words, strict=True):
        if len(rows) > 1:  # most words have one sub-word
            for row in rows[1:]:
                mean += vectors[row]
            mean /= np.float32(len(rows))
    return means
