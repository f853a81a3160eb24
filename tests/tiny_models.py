"""A model small enough for tests: a random BERT of two layers with random heads, as checkpoint and as model folders.

Its decisions mean nothing, but they vary with the words: it finds nested mentions, founds entities and links to them.
Needs nothing but this project.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import torch
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from incoref.learning.config import Configuration, CorpusConfig, EncoderConfig, HeadsConfig
from incoref.learning.data.examples import annotate, read
from incoref.learning.export.export import export
from incoref.learning.nets.encoder import WRITING_TABLE, BlockCausalEncoder, EncoderSizes
from incoref.learning.nets.streaming import HeadSizes, StreamingModel
from incoref.learning.train.checkpoints import load_model, save_model
from incoref.model.folder import Model
from incoref.model.selftest import document_of
from incoref.model.step import HeadNames
from incoref.model.subwords import SubwordTokenizer, Utterance
from incoref.model.transitions import Span, derivable
from incoref.model.windows import WindowSizes
from incoref.types import Document, Entity, Mention

WORDS = (
    "the a old young man woman dog city river house teacher of in Anna Berta Carl Hong Kong Island he she it they I "
    "you his her , . saw met said left was and who walked unbelievably antidisestablishmentarian 1984 émigré"
).split()
WITH_MARKS = (*WORDS, "“", "”", '"')
"""The words, and marks of quotations, which the tokenizer doesn't know."""
SPEAKERS = (None, "Anna", "CarlBerta")
NAMES = HeadNames(("unknown", "news", "talk"), ("ontonotes", "all"), ("person", "place", "thing"))
SIZES = WindowSizes(size=48, tail=14)
LONG = WindowSizes(size=192, tail=40)
"""The largest windows that the model's positions allow."""
HEADS = HeadsConfig(
    stack=12, history=6, action=5, feature=4, detector_hidden=40, projection=16, clusterer_hidden=24, new_hidden=8
)


def tokenizer() -> Tokenizer:
    """WordPiece: some of the words whole, the others letter by letter."""
    letters = sorted(set("".join(WORDS).lower()) | set("abcdefghijklmnopqrstuvwxyz0123456789:"))
    whole = [word.lower() for word in WORDS if len(word) < 6]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *whole, *letters, *(f"##{letter}" for letter in letters)]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(strip_accents=False)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return made


def random_model(seed: int = 3, names: HeadNames = NAMES, capitals: bool = False) -> StreamingModel:
    """Two layers, width 32; random heads whose scores are spread so that every action and both choices happen."""
    torch.manual_seed(seed)
    sizes = EncoderSizes(
        vocabulary=tokenizer().get_vocab_size(),
        width=32,
        layers=2,
        heads=4,
        inner=64,
        positions=LONG.size,
        capitals=capitals,
    )
    model = StreamingModel(BlockCausalEncoder(sizes), names, HeadSizes(**HEADS.model_dump())).eval()
    text = random_document(12, seed)
    reading = read(text, SubwordTokenizer(tokenizer()), SIZES)
    annotation = annotate(text, reading, names.schemes[0], {})
    new = model.clusterer.new_entity
    assert new is not None
    with torch.no_grad():
        for name, value in model.named_parameters():
            if name.endswith(WRITING_TABLE):
                value[1:].normal_()
            elif "LayerNorm" not in name and not name.startswith("encoder.embeddings"):
                value.normal_(0, 0.2)
        scores = model.scores(model.word_vectors(reading), annotation, 0)
        assert isinstance(scores.new, torch.Tensor)
        for layer, found, wanted in (
            (model.detector.output, scores.actions, torch.tensor([1.0, 0.0, 0.0, -1.0])),
            (model.clusterer.output, scores.pairs[:, None], torch.zeros(1)),
            (new[2], scores.new[:, None], torch.full((1,), 3.0)),
        ):
            spread = 2 / found.std(dim=0)
            layer.bias.copy_(wanted - spread * (found.mean(dim=0) - layer.bias))
            layer.weight *= spread[:, None]
    return model


class TinyModels:
    """The checkpoint and its exports, made in a folder when they are first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def checkpoint(self) -> Path:
        return self._checkpoint("checkpoint", cache=True, capitals=False)

    @cached_property
    def alone_checkpoint(self) -> Path:
        """One that reads every block alone, and is told which words have capitals."""
        return self._checkpoint("alone", cache=False, capitals=True)

    def _checkpoint(self, name: str, cache: bool, capitals: bool) -> Path:
        source = self._folder / f"{name}-pretrained"
        source.mkdir()
        tokenizer().save(str(source / "tokenizer.json"))
        corpus = CorpusConfig(path=self._folder / "none")
        encoder = EncoderConfig(path=source, window=SIZES.size, tail=SIZES.tail, cache=cache, capitals=capitals)
        config = Configuration(encoder=encoder, heads=HEADS, train=(corpus,), dev=(corpus,), types=NAMES.types)
        save_model(self._folder / name, random_model(capitals=capitals), config, NAMES)
        return self._folder / name

    @cached_property
    def torch(self) -> StreamingModel:
        return load_model(self.checkpoint)[0]

    @cached_property
    def alone_torch(self) -> StreamingModel:
        return load_model(self.alone_checkpoint)[0]

    @cached_property
    def fp32(self) -> Path:
        export([self.checkpoint], self._folder / "fp32", name="tiny", quantise=False)
        return self._folder / "fp32"

    @cached_property
    def int8(self) -> Path:
        export([self.checkpoint], self._folder / "int8", name="tiny", quantise=True)
        return self._folder / "int8"

    @cached_property
    def alone(self) -> dict[str, Model]:
        """The exports of the one that reads every block alone, by precision."""
        for name, quantise in (("fp32", False), ("int8", True)):
            export([self.alone_checkpoint], self._folder / f"alone-{name}", name="tiny", quantise=quantise)
        return {name: Model.load(self._folder / f"alone-{name}") for name in ("fp32", "int8")}

    @cached_property
    def model(self) -> Model:
        return Model.load(self.fp32)

    @cached_property
    def tokenizer(self) -> SubwordTokenizer:
        return SubwordTokenizer(tokenizer())


def random_utterances(count: int, seed: int = 0, longest: int = 16, words: Sequence[str] = WORDS) -> list[Utterance]:
    """Sentences of random words; some of them speak."""
    draw = random.Random(seed)
    return [
        Utterance(tuple(draw.choices(words, k=draw.randint(1, longest))), draw.choice(SPEAKERS)) for _ in range(count)
    ]


def document(utterances: Sequence[Utterance], clusters: Sequence[Sequence[Span]] = (), id: str = "tiny") -> Document:
    """A document of these sentences; clusters are spans (first, last token of the document, both included)."""
    plain = document_of([u.words for u in utterances], [u.speaker for u in utterances])
    tokens = plain.tokens
    sentence_of = [number for number, sentence in enumerate(plain.sentences) for _ in sentence.tokens]
    entities = []
    for number, cluster in enumerate(clusters):
        mentions = tuple(
            Mention(
                start=tokens[first].start,
                end=tokens[last].end,
                text=plain.text[tokens[first].start : tokens[last].end],
                tokens=(first, last + 1),
                sentence=sentence_of[first],
                entity=str(number),
                type=NAMES.types[number % len(NAMES.types)],
            )
            for first, last in cluster
        )
        entities.append(Entity(str(number), mentions))
    return Document(id, plain.text, plain.sentences, tuple(entities))


def random_document(count: int, seed: int = 0, id: str = "tiny") -> Document:
    """Random sentences with random nested mentions in random clusters."""
    draw = random.Random(seed)
    utterances = random_utterances(count, seed)
    clusters: list[list[Span]] = [[] for _ in range(max(2, count // 2))]
    before = 0
    for utterance in utterances:
        length = len(utterance.words)
        drawn = [(draw.randrange(length), draw.randrange(length)) for _ in range(draw.randint(0, length))]
        spans = [(min(pair), min(max(pair), min(pair) + 6)) for pair in drawn]
        for first, last in derivable(spans, length).kept:
            draw.choice(clusters).append((before + first, before + last))
        before += length
    return document(utterances, [cluster for cluster in clusters if cluster], id)


utterances = st.lists(
    st.builds(
        Utterance,
        st.lists(st.sampled_from(WITH_MARKS), min_size=1, max_size=14).map(tuple),
        st.sampled_from(SPEAKERS),
    ),
    min_size=1,
    max_size=14,
)
"""Short texts with speakers."""
