"""Turn documents into examples for the default model: windows of sub-words, gold derivations, pairs, features.

The same text annotated under two schemes is one example with two annotations, so that it is encoded once. Mentions
that no derivation can produce (crossing another, across a block boundary, with the same span as another) are dropped
here and counted; two clusters that share a span are merged.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from incoref.learning.data.decisions import Decisions
from incoref.learning.data.derivation import Derivation, derive
from incoref.learning.data.gold import chunk_actions, dropped, gold_mentions
from incoref.learning.data.pairs import Pairs, pairs_of
from incoref.model import transitions
from incoref.model.clusterer import EntityMemory
from incoref.model.features import MentionFacts, classes_of_pairs
from incoref.model.step import ReadingState
from incoref.model.step import mention_facts as facts_in_block
from incoref.model.subwords import NO_WORD, WRITING, SubwordTokenizer, Utterance, blocks_of, joined, utterances_of
from incoref.model.windows import WindowSizes, plan
from incoref.types import Document

Ints = npt.NDArray[np.int64]
NO_TYPE = -100
"""Stands for no entity type; ignored by cross-entropy."""
NOT_ANNOTATED = -1
"""Stands for the unknown gold entity of mentions outside a partial annotation."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A document's words in windows of sub-words, concatenated: n sub-words, N words."""

    ids: Ints  # (n,)
    positions: Ints  # (n,) place in the window
    lengths: tuple[int, ...]  # of the windows, in sub-words
    blocks: tuple[Ints, ...]  # window by window, the block of each sub-word
    source: Ints  # (s,) rows of sub-words that belong to words, each in the window responsible for it
    word: Ints  # (s,) the word of each of these rows
    utterances: tuple[tuple[Utterance, ...], ...]  # the sentences of each block

    @property
    def chunks(self) -> tuple[int, ...]:
        """Words in each block."""
        return tuple(sum(len(utterance.words) for utterance in block) for block in self.utterances)


@dataclass(frozen=True, slots=True)
class Clustering:
    """Mentions in order, and the entity that each of them joins: M mentions, P pairs.

    Under teacher forcing, the entities are the gold ones. A model can also learn on its own clusters; ``gold_of``
    then holds what would have been right.
    """

    first: Ints  # (M,) first token
    last: Ints  # (M,) last token, inclusive
    entity_of: Ints  # (M,) entity that each joins, numbered in order of creation
    gold_of: Ints  # (M,) gold entity of each, or NOT_ANNOTATED
    types: Ints  # (M,) entity type, or NO_TYPE
    pronoun: npt.NDArray[np.bool_]  # (M,) whether it is a pronoun
    pairs: Pairs
    pair_classes: npt.NDArray[np.int8]  # (features, P)

    def __len__(self) -> int:
        return len(self.first)

    @property
    def teacher_forced(self) -> bool:
        return self.entity_of is self.gold_of


@dataclass(frozen=True, slots=True)
class Soft:
    """Probabilities from the model that labelled a document, at every step: T steps, C choices of mentions."""

    actions: npt.NDArray[np.float32]  # (T, 4) probabilities
    mention: Ints  # (C,) the mention of each choice
    entity: Ints  # (C,) its entity, or NEW
    share: npt.NDArray[np.float32]  # (C,) its probability


@dataclass(frozen=True)
class Annotation:
    """Gold mentions and entities under one scheme: M mentions."""

    reading: Reading
    scheme: str
    weight: float
    derivation: Derivation
    entity_of: Ints  # (M,) gold entity of each mention, numbered in order of creation
    types: Ints  # (M,) entity type, or NO_TYPE
    dropped: Mapping[str, int]  # mentions that no derivation can produce, by reason
    partial: bool = False  # whether only some mentions are annotated
    chance: float = 1.0  # probability of learning from it when its text is read
    soft: Soft | None = None  # soft targets in place of single right actions and links

    @cached_property
    def gold(self) -> Clustering:
        """The gold mentions in gold clusters; computed lazily, as starting a run needs only derivations."""
        return clustering(self.reading, self.derivation.spans, self.entity_of, self.entity_of, self.types)


@dataclass(frozen=True, slots=True)
class Example:
    id: str
    genre: str | None
    reading: Reading
    annotations: tuple[Annotation, ...]


def tokenise(document: Document, tokenizer: SubwordTokenizer, sizes: WindowSizes, k: int = 1) -> Reading:
    """Cut a document into blocks of up to k sentences and lay them out in windows."""
    grouped = blocks_of(utterances_of(document), tokenizer, sizes.longest_block, k)
    blocks = [joined([subwords for _, subwords in group]) for group in grouped]
    windows = plan([len(block) for block in blocks], sizes)
    first_words = np.cumsum([0, *(block.words for block in blocks)])
    ids: list[Ints] = []
    numbers: list[Ints] = []
    source: list[Ints] = []
    word: list[Ints] = []
    row = 0
    for window in windows:
        inside = range(window.context, window.end)
        ids += [np.array([tokenizer.start]), *(blocks[b].ids for b in inside)]
        numbers.append(np.repeat([-1, *inside], [1, *(len(blocks[b]) for b in inside)]))
        row += 1
        for b in inside:
            if b >= window.new:
                owned = np.flatnonzero(blocks[b].word != NO_WORD)
                source.append(row + owned)
                word.append(first_words[b] + blocks[b].word[owned])
            row += len(blocks[b])
    return Reading(
        ids=np.concatenate(ids),
        positions=np.concatenate([np.arange(len(n)) for n in numbers]),
        lengths=tuple(len(n) for n in numbers),
        blocks=tuple(numbers),
        source=np.concatenate(source),
        word=np.concatenate(word),
        utterances=tuple(tuple(utterance for utterance, _ in group) for group in grouped),
    )


def without_capitals(example: Example) -> Example:
    """Return the example with capitalisation hidden from the encoder."""
    return replace(example, reading=replace(example.reading, ids=example.reading.ids % WRITING))


def without_words(example: Example, hidden: npt.NDArray[np.bool_], mask: int) -> Example:
    """Return the example with some words, (N,), masked for the encoder; the features still see them."""
    reading = example.reading
    ids = reading.ids.copy()
    ids[reading.source[hidden[reading.word]]] = mask
    return replace(example, reading=replace(reading, ids=ids))


def annotate(
    document: Document,
    reading: Reading,
    scheme: str,
    types: Mapping[str, int],
    weight: float = 1.0,
    partial: bool = False,
    chance: float = 1.0,
    decisions: Decisions | None = None,
) -> Annotation:
    """Build a document's gold derivation in the blocks of its reading.

    If a model labelled the document in the same blocks, its decisions are used instead.
    """
    if decisions is not None and tuple(decisions.lengths.tolist()) == reading.chunks:
        return _decided(decisions, reading, scheme, types, weight, chance)
    gold = gold_mentions(document)
    derivation = derive(chunk_actions(gold.entities, reading.chunks))
    spans = derivation.spans
    return Annotation(
        reading=reading,
        scheme=scheme,
        weight=weight,
        derivation=derivation,
        entity_of=numbered(gold.entities[span] for span in spans),
        types=np.array([types.get(gold.types[span] or "", NO_TYPE) for span in spans], np.int64),
        dropped=gold.same_span + dropped(gold.entities, spans, reading.chunks),
        partial=partial,
        chance=chance,
    )


def _decided(
    decisions: Decisions, reading: Reading, scheme: str, types: Mapping[str, int], weight: float, chance: float
) -> Annotation:
    return Annotation(
        reading=reading,
        scheme=scheme,
        weight=weight,
        derivation=decisions.derivation(),
        entity_of=decisions.entity_of,
        types=np.array([types.get(type or "", NO_TYPE) for type in decisions.types], np.int64),
        dropped={},
        chance=chance,
        soft=Soft(
            actions=decisions.probabilities,
            mention=np.repeat(np.arange(len(decisions.choices)), decisions.choices),
            entity=decisions.entities,
            share=decisions.shares,
        ),
    )


def numbered(entities: Iterable[Hashable]) -> Ints:
    """Number the entity of each mention, in order of creation."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(entity, len(numbers)) for entity in entities], np.int64)


def clustering(
    reading: Reading, spans: Sequence[transitions.Span], entity_of: Ints, gold_of: Ints, types: Ints
) -> Clustering:
    """Build the clustering of mentions that join these entities, with all pairs and their classes."""
    pairs, facts = pairs_of(entity_of), mention_facts(reading, spans)
    first, last = np.array(spans, np.int64).reshape(-1, 2).T
    return Clustering(
        first=np.ascontiguousarray(first),
        last=np.ascontiguousarray(last),
        entity_of=entity_of,
        gold_of=gold_of,
        types=types,
        pronoun=np.array([bool(fact.pronoun) for fact in facts], bool),
        pairs=pairs,
        pair_classes=classes_of_pairs(facts, entity_of, pairs.state),
    )


def mention_facts(reading: Reading, spans: Sequence[transitions.Span]) -> list[MentionFacts]:
    """Return the facts of mentions, in the order given."""
    utterances = [utterance for block in reading.utterances for utterance in block]
    beginning = ReadingState(EntityMemory(0, 0, 0))
    return facts_in_block(utterances, beginning, spans)[0]
