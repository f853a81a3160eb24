"""Documents to what the default model trains on: sub-words in windows, gold derivations, pairs and their features.

The same text annotated under two schemes is one example with two annotations, so that it is encoded once. What no
derivation can give (crossing mentions, mentions across a block's end, a second mention of the same span) is dropped
here and counted; the two clusters of a doubled span are merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incoref import transitions
from incoref.features import MentionFacts, classes_of_pairs, facts_of
from incoref.learning.clusterer import Pairs, pairs_of
from incoref.learning.derivation import Derivation, derive
from incoref.model import turns
from incoref.subwords import NO_WORD, SubwordTokenizer, Utterance, blocks_of, joined, utterances_of
from incoref.types import Document
from incoref.windows import WindowSizes, plan

Ints = npt.NDArray[np.int64]
NO_TYPE = -100
"""Entity type of mentions that have none: what cross-entropy ignores."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A document's words in windows of sub-words, side by side: n sub-words, N words."""

    ids: Ints  # (n,)
    positions: Ints  # (n,) place in the window
    lengths: tuple[int, ...]  # of the windows, in sub-words
    blocks: tuple[Ints, ...]  # window by window, the block of each sub-word
    source: Ints  # (s,) rows of the sub-words that make up words, each in the window that answers for it
    word: Ints  # (s,) the words that they make up
    utterances: tuple[tuple[Utterance, ...], ...]  # the sentences of each block

    @property
    def chunks(self) -> tuple[int, ...]:
        """Words in each block."""
        return tuple(sum(len(utterance.words) for utterance in block) for block in self.utterances)


@dataclass(frozen=True, slots=True)
class Annotation:
    """Gold mentions and entities under one scheme: M mentions, P pairs."""

    scheme: str
    weight: float
    derivation: Derivation
    entity_of: Ints  # (M,) entity of each mention, numbered in order of foundation
    types: Ints  # (M,) entity type, or NO_TYPE
    pairs: Pairs
    pair_classes: npt.NDArray[np.int8]  # (features, P)
    dropped: int


@dataclass(frozen=True, slots=True)
class Example:
    id: str
    genre: str | None
    reading: Reading
    annotations: tuple[Annotation, ...]


def read(document: Document, tokenizer: SubwordTokenizer, sizes: WindowSizes, k: int = 1) -> Reading:
    """Cut a document into blocks of k sentences and lay them into windows."""
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


def annotate(
    document: Document,
    reading: Reading,
    scheme: str,
    types: Mapping[str, int],
    weight: float = 1.0,
) -> Annotation:
    """The gold derivation of a document, cut into blocks as it is read."""
    entity_by_span, type_by_span = _merged_clusters(document)
    total = len(entity_by_span) + sum(1 for _ in document.mentions) - len({m.tokens for m in document.mentions})
    derivation = _gold_derivation(entity_by_span, reading.chunks)
    spans_found = list(zip(derivation.first.tolist(), derivation.last.tolist(), strict=True))
    numbers: dict[str, int] = {}
    entity_of = np.array([numbers.setdefault(entity_by_span[s], len(numbers)) for s in spans_found], np.int64)
    pairs = pairs_of(entity_of)
    return Annotation(
        scheme=scheme,
        weight=weight,
        derivation=derivation,
        entity_of=entity_of,
        types=np.array([types.get(type_by_span.get(s) or "", NO_TYPE) for s in spans_found], np.int64),
        pairs=pairs,
        pair_classes=classes_of_pairs(mention_facts(reading, spans_found), entity_of, pairs.state),
        dropped=total - len(spans_found),
    )


def _gold_derivation(spans: Iterable[transitions.Span], chunks: Sequence[int]) -> Derivation:
    """The derivation of what can be derived, chunk by chunk; chunks are given by their lengths."""
    ends = np.cumsum(chunks)
    inside: list[list[transitions.Span]] = [[] for _ in chunks]
    for first, last in spans:
        chunk = int(np.searchsorted(ends, first, side="right"))
        offset = int(ends[chunk]) - chunks[chunk]
        inside[chunk].append((first - offset, last - offset))
    steps = []
    for length, some in zip(chunks, inside, strict=True):
        steps.append((length, transitions.oracle(transitions.derivable(some, length).kept, length)))
    return derive(steps)


def _merged_clusters(document: Document) -> tuple[dict[transitions.Span, str], dict[transitions.Span, str | None]]:
    """Entity and type of every span; entities that share a span are merged."""
    leader = {entity.id: entity.id for entity in document.entities}

    def find(entity: str) -> str:
        while leader[entity] != entity:
            entity = leader[entity]
        return entity

    owner: dict[transitions.Span, str] = {}
    types: dict[transitions.Span, str | None] = {}
    for mention in document.mentions:
        span = (mention.tokens[0], mention.tokens[1] - 1)
        if span in owner:
            leader[find(mention.entity)] = find(owner[span])
        owner[span] = mention.entity
        types[span] = mention.type
    return {span: find(entity) for span, entity in owner.items()}, types


def mention_facts(reading: Reading, spans: Sequence[transitions.Span]) -> list[MentionFacts]:
    """Facts of mentions, in the order given."""
    utterances = [utterance for block in reading.utterances for utterance in block]
    words = [word for utterance in utterances for word in utterance.words]
    sentence_of = np.repeat(np.arange(len(utterances)), [len(utterance.words) for utterance in utterances])
    turn_of = turns(utterance.speaker for utterance in utterances)
    facts = []
    for first, last in spans:
        sentence = int(sentence_of[first])
        speaker = utterances[sentence].speaker
        facts.append(facts_of(words[first : last + 1], first, sentence, turn_of[sentence], speaker))
    return facts
