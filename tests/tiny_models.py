"""A model small enough for tests: a random two-layer BERT with random heads, as checkpoint and as model folders.

Its decisions are meaningless, but vary with the words: it finds nested mentions, starts entities and links to them.
Creating it needs PyTorch; without it, tests use the model folders that

    python tests/tiny_models.py FOLDER

created elsewhere, if INCOREF_TINY_MODELS names the folder.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from incoref.model.folder import Model
from incoref.model.selftest import document_of
from incoref.model.step import HeadNames
from incoref.model.subwords import SubwordTokenizer, Utterance
from incoref.model.transitions import Span, derivable
from incoref.model.windows import WindowSizes
from incoref.types import Document, Entity, Mention

if TYPE_CHECKING:
    from incoref.learning.nets.streaming import StreamingModel

WORDS = (
    "the a old young man woman dog city river house teacher of in Anna Berta Carl Hong Kong Island he she it they I "
    "you his her , . saw met said left was and who walked unbelievably antidisestablishmentarian 1984 émigré"
).split()
WITH_MARKS = (*WORDS, "“", "”", '"')
"""The words, plus quotation marks, which the tokenizer doesn't know."""
SPEAKERS = (None, "Anna", "CarlBerta")
NAMES = HeadNames(("unknown", "news", "talk"), ("ontonotes", "all"), ("person", "place", "thing"))
SIZES = WindowSizes(size=48, tail=14)
LONG = WindowSizes(size=192, tail=40)
"""The largest windows that the model's positions allow."""
FOLDER_VARIABLE = "INCOREF_TINY_MODELS"
"""Environment variable with the path of a folder of prebuilt model folders."""


def tokenizer() -> Tokenizer:
    """WordPiece: short words are one piece, others one piece per letter."""
    letters = sorted(set("".join(WORDS).lower()) | set("abcdefghijklmnopqrstuvwxyz0123456789:"))
    whole = [word.lower() for word in WORDS if len(word) < 6]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *whole, *letters, *(f"##{letter}" for letter in letters)]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    wordpiece = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    wordpiece.normalizer = normalizers.BertNormalizer(strip_accents=False)
    wordpiece.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return wordpiece


class TinyModels:
    """A random cached model and a stateless one, as checkpoints and as model folders in both precisions.

    Each is created in ``folder`` when first needed, unless it exists. Creating one needs PyTorch.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def checkpoint(self) -> Path:
        return self._checkpoint("cached")

    @cached_property
    def torch(self) -> StreamingModel:
        return self._trained("cached")

    @cached_property
    def stateless_torch(self) -> StreamingModel:
        return self._trained("stateless")

    @cached_property
    def fp32(self) -> Path:
        return self._exported("cached", "fp32")

    @cached_property
    def int8(self) -> Path:
        return self._exported("cached", "int8")

    @cached_property
    def stateless(self) -> dict[str, Model]:
        """The stateless model, with capitalisation as an input, by precision."""
        return {precision: Model.load(self._exported("stateless", precision)) for precision in ("fp32", "int8")}

    @cached_property
    def model(self) -> Model:
        return Model.load(self.fp32)

    @cached_property
    def tokenizer(self) -> SubwordTokenizer:
        return SubwordTokenizer(tokenizer())

    def make_all(self) -> None:
        """Create all model folders now."""
        for kind, precision in product(("cached", "stateless"), ("fp32", "int8")):
            self._exported(kind, precision)

    def _checkpoint(self, kind: str) -> Path:
        folder = self._folder / kind
        if not folder.is_dir():
            _networks().write_checkpoint(folder, stateless=kind == "stateless")
        return folder

    def _trained(self, kind: str) -> StreamingModel:
        from incoref.learning.train.checkpoints import load_model

        return load_model(self._checkpoint(kind))[0]

    def _exported(self, kind: str, precision: str) -> Path:
        folder = self._folder / f"{kind}-{precision}"
        if not folder.is_dir():
            _networks().write_model_folder(self._checkpoint(kind), folder, quantise=precision == "int8")
        return folder


def _networks() -> ModuleType:
    if find_spec("torch") is None:
        pytest.skip(f"needs PyTorch, or the small models that 'make test-core' makes ({FOLDER_VARIABLE})")
    import tiny_networks

    return tiny_networks


def random_utterances(count: int, seed: int = 0, longest: int = 16, words: Sequence[str] = WORDS) -> list[Utterance]:
    """Create sentences of random words, some of them with speakers."""
    draw = random.Random(seed)
    return [
        Utterance(tuple(draw.choices(words, k=draw.randint(1, longest))), draw.choice(SPEAKERS)) for _ in range(count)
    ]


def document(utterances: Sequence[Utterance], clusters: Sequence[Sequence[Span]] = (), id: str = "tiny") -> Document:
    """Create a document; clusters contain spans (first and last token in the document, inclusive)."""
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
    """Create random sentences with random nested mentions in random clusters."""
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

if __name__ == "__main__":
    TinyModels(Path(sys.argv[1])).make_all()
