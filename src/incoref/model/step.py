"""One step of the resolver: from word vectors of a block of sentences and a state to mentions and a new state.

No I/O and no globals: the entity memory and the position in the text are passed in and out. The vectors come from an
encoder that this module knows nothing about.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from incoref.model.clusterer import ClusterScorer, Decision, EntityMemory, SpanVector
from incoref.model.detector import ActionScorer, Step, decode
from incoref.model.features import (
    NO_QUOTATIONS,
    REGISTRY,
    MentionFacts,
    QuotationState,
    Quoted,
    facts_of,
    quotations,
)
from incoref.model.lockstep import decode_all
from incoref.model.matmul import Floats, Product, plain_product
from incoref.model.subwords import Utterance
from incoref.model.transitions import Span
from incoref.options import UNKNOWN_GENRE

_AT_ONCE = 8
"""Number of mentions linked between two calls of ``between``."""


@dataclass(frozen=True, slots=True)
class ReadingState:
    """The state after reading some sentences."""

    memory: EntityMemory
    tokens: int = 0
    sentences: int = 0
    turn: int = 0
    speaker: str | None = None
    quotations: QuotationState = NO_QUOTATIONS


@dataclass(frozen=True, slots=True)
class FoundMention:
    """A mention with the decisions behind it; token indices count from the start of the text."""

    first: int
    last: int
    sentence: int
    entity: int
    new: bool
    confidence: float
    mention_confidence: float
    decision: Decision


@dataclass(frozen=True, slots=True)
class BlockResult:
    mentions: tuple[FoundMention, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """The part of a block's result that doesn't depend on earlier blocks."""

    steps: tuple[Step, ...]
    spans: tuple[SpanVector, ...]
    """Vectors of its mentions, in the order of the steps that emitted them."""


@dataclass(frozen=True, slots=True)
class HeadNames:
    """The names of the classes of genre, scheme and entity type, in class order."""

    genres: tuple[str, ...] = (UNKNOWN_GENRE,)
    schemes: tuple[str, ...] = ("ontonotes",)
    types: tuple[str, ...] = ()

    def extended(self, other: HeadNames) -> HeadNames:
        """Return these names with their numbers unchanged, followed by the names that only ``other`` has."""

        def joined(these: tuple[str, ...], those: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(dict.fromkeys((*these, *those)))

        return HeadNames(
            joined(self.genres, other.genres), joined(self.schemes, other.schemes), joined(self.types, other.types)
        )


@dataclass(frozen=True, slots=True)
class Temperatures:
    """What scores are divided by to calibrate probabilities; fitted on development data."""

    mention: float = 1.0
    link: float = 1.0


@dataclass(frozen=True, slots=True)
class Heads:
    """Detector and clusterer with their weights."""

    actions: ActionScorer
    clusters: ClusterScorer
    names: HeadNames
    temperatures: Temperatures

    @classmethod
    def from_weights(
        cls,
        weights: Mapping[str, npt.NDArray[np.floating[Any]]],
        names: HeadNames,
        temperatures: Temperatures | None = None,
        product: Product = plain_product,
        pair_features: Sequence[str] | None = None,
    ) -> Heads:
        """Build heads from arrays named ``detector.…`` and ``clusterer.…``; ``product`` computes the larger products.

        ``pair_features`` are in the order of the weights; by default, all registered ones.
        """

        def part(prefix: str) -> dict[str, Floats]:
            return {
                name.removeprefix(prefix): np.asarray(value, np.float32)
                for name, value in weights.items()
                if name.startswith(prefix)
            }

        for name, known in (("genre", names.genres), ("scheme", names.schemes)):
            rows = len(weights[f"detector.features.tables.{name}.weight"])
            if rows != len(known):
                raise ValueError(f"the weights have {rows} classes of {name}, the names are {', '.join(known)}")
        return cls(
            ActionScorer(part("detector."), product),
            ClusterScorer(part("clusterer."), tuple(REGISTRY) if pair_features is None else pair_features, product),
            names,
            temperatures or Temperatures(),
        )

    def start(self) -> ReadingState:
        return ReadingState(self.clusters.empty())

    def classes(self, scheme: str, genre: str) -> dict[str, int]:
        """Return the classes of the per-text features."""
        return {"genre": self.names.genres.index(genre), "scheme": self.names.schemes.index(scheme)}

    def step(
        self,
        block: Sequence[Utterance],
        vectors: Floats,
        state: ReadingState,
        classes: Mapping[str, int],
        between: Callable[[], None] | None = None,
    ) -> tuple[ReadingState, BlockResult]:
        """Read a block of sentences with these word vectors, (words, size)."""
        steps = decode(self.actions.begin(vectors, classes), len(vectors), self.temperatures.mention)
        return self.resolved(block, self._seen(vectors, steps), state, classes, between)

    def seen(self, blocks: Sequence[Floats], classes: Mapping[str, int]) -> list[Seen]:
        """Return what ``step`` would see in each of many blocks with these word vectors."""
        derivations = decode_all(self.actions, blocks, classes, self.temperatures.mention)
        return list(map(self._seen, blocks, derivations))

    def _seen(self, vectors: Floats, steps: Sequence[Step]) -> Seen:
        spans = [step.mention for step in steps if step.mention is not None]
        return Seen(tuple(steps), tuple(self.clusters.spans(vectors, spans)) if spans else ())

    def resolved(
        self,
        block: Sequence[Utterance],
        seen: Seen,
        state: ReadingState,
        classes: Mapping[str, int],
        between: Callable[[], None] | None = None,
    ) -> tuple[ReadingState, BlockResult]:
        """Link the mentions seen in a block to entities.

        ``between`` is called every few mentions, so that the caller can do other work or raise.
        """
        emitted = [(step.mention, step) for step in seen.steps if step.mention is not None]
        memory = state.memory.copy(room=len(emitted))
        all_facts, quotation_state = mention_facts(block, state, [mention for mention, _ in emitted])
        mentions = []
        if emitted:
            constant = self.clusters.constant(classes)
            found = zip(emitted, seen.spans, all_facts, strict=True)
            for number, (((first, last), step), vector, facts) in enumerate(found, start=1):
                if between is not None and number % _AT_ONCE == 0:
                    between()
                decision = self.clusters.assign(memory, vector, facts, constant, self.temperatures.link)
                mentions.append(
                    FoundMention(
                        first=state.tokens + first,
                        last=state.tokens + last,
                        sentence=facts.sentence,
                        entity=decision.entity,
                        new=decision.new,
                        confidence=float(decision.probabilities[decision.entity]),
                        mention_confidence=step.probabilities[step.action],
                        decision=decision,
                    )
                )
        return after(state, block, memory, quotation_state), BlockResult(tuple(mentions), seen.steps)


def mention_facts(
    block: Sequence[Utterance], state: ReadingState, spans: Sequence[Span]
) -> tuple[list[MentionFacts], QuotationState]:
    """Return the facts of mentions in a block, and the quotation state after it."""
    quoted, quotation_state = quotations_of(block, state)
    words = [word for utterance in block for word in utterance.words]
    place = _Places(block, state)
    facts = [
        facts_of(words[first : last + 1], state.tokens + first, *place.of(first), quoted[first])
        for first, last in spans
    ]
    return facts, quotation_state


def turns(speakers: Iterable[str | None], turn: int = 0, before: str | None = None) -> list[int]:
    """Return each sentence's turn number; a new turn starts where the speaker changes."""
    numbers = []
    for speaker in speakers:
        turn += speaker != before
        before = speaker
        numbers.append(turn)
    return numbers


def _turns_of(block: Sequence[Utterance], state: ReadingState) -> list[int]:
    return turns((utterance.speaker for utterance in block), state.turn, state.speaker)


def quotations_of(block: Sequence[Utterance], state: ReadingState) -> tuple[list[Quoted], QuotationState]:
    """Return each word's position relative to quotations, and the quotation state after the block."""
    sentences = ((utterance.words, utterance.speaker) for utterance in block)
    quoted, after_block = quotations(sentences, state.quotations, state.speaker)
    return [where for sentence in quoted for where in sentence], after_block


def after(
    state: ReadingState, block: Sequence[Utterance], memory: EntityMemory, quotation_state: QuotationState
) -> ReadingState:
    """Return the state after reading a block."""
    if not block:
        return replace(state, memory=memory)
    return ReadingState(
        memory=memory,
        tokens=state.tokens + sum(len(utterance.words) for utterance in block),
        sentences=state.sentences + len(block),
        turn=_turns_of(block, state)[-1],
        speaker=block[-1].speaker,
        quotations=quotation_state,
    )


class _Places:
    """Maps the words of a block to their sentence, turn and speaker."""

    def __init__(self, block: Sequence[Utterance], state: ReadingState) -> None:
        self._ends = list(accumulate(len(utterance.words) for utterance in block))
        self._block, self._turns, self._before = block, _turns_of(block, state), state.sentences

    def of(self, word: int) -> tuple[int, int, str | None]:
        inside = bisect_right(self._ends, word)
        return self._before + inside, self._turns[inside], self._block[inside].speaker
