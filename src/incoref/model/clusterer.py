"""The entity memory at run time: vectors of spans, scores against all entities, and the running means, in NumPy.

The scorer's first layer is a sum: the entity's share follows the running mean because it is linear, the mention's
is computed once, and only the element-wise product is left per pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from incoref.model.detector import WIDTHS
from incoref.model.features import PAIR_FEATURES, SPEAKER_FEATURE, SPEAKER_PRIOR, EntityFacts, MentionFacts
from incoref.model.matmul import Floats as Floats
from incoref.model.matmul import Product, plain_product


class EntityMemory:
    """The entities of one text: their mean vectors, the scorer's share of these, and the facts for the features.

    Numbers are in order of foundation. ``copy`` before changing, where an earlier state must survive. An entity's
    share depends on its mean alone, to the last bit: so it need not be saved.
    """

    def __init__(self, size: int, hidden: int, types: int) -> None:
        self._length = 0
        self._means: Floats = np.zeros((0, size), np.float32)
        self._shares: Floats = np.zeros((0, hidden), np.float32)
        self._type_scores: Floats = np.zeros((0, types), np.float32)
        self._counts: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self.facts = EntityFacts()
        self.participants: dict[str, int] = {}
        """Speakers of whom it is known, and not guessed, which entity they are."""

    def __len__(self) -> int:
        return self._length

    @property
    def means(self) -> Floats:
        """The mean of each entity's mentions' vectors, (entities, size)."""
        return self._means[: self._length]

    @property
    def shares(self) -> Floats:
        """What each mean adds to the scorer's hidden layer, (entities, hidden)."""
        return self._shares[: self._length]

    @property
    def type_scores(self) -> Floats:
        """The scores of types summed over each entity's mentions, (entities, types)."""
        return self._type_scores[: self._length]

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Mentions of each entity, (entities,)."""
        return self._counts[: self._length]

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        arrays = (self._means, self._shares, self._type_scores, self._counts)
        return sum(array.nbytes for array in arrays) + self.facts.nbytes

    def copy(self, room: int = 0) -> EntityMemory:
        """The same entities, with room for so many new ones."""
        twin = EntityMemory.__new__(EntityMemory)
        twin._length = self._length
        twin._means, twin._shares = _copied(self.means, room), _copied(self.shares, room)
        twin._type_scores, twin._counts = _copied(self.type_scores, room), _copied(self.counts, room)
        twin.facts = self.facts.copy()
        twin.participants = self.participants.copy()
        return twin

    def found(self, mean: Floats, share: Floats, types: Floats) -> None:
        """Add an entity with one mention; its facts are added apart."""
        new = self._length
        if new == len(self._counts):
            room = max(16, new)
            self._means, self._shares = _copied(self._means, room), _copied(self._shares, room)
            self._type_scores, self._counts = _copied(self._type_scores, room), _copied(self._counts, room)
        self._means[new], self._shares[new], self._type_scores[new], self._counts[new] = mean, share, types, 1
        self._length += 1

    def with_facts(self, facts: EntityFacts) -> EntityMemory:
        """The same entities, of which something else is known."""
        twin = self.without_shares()
        twin._shares, twin.facts, twin.participants = self._shares, facts, self.participants.copy()
        return twin

    def without_shares(self) -> EntityMemory:
        """What must be kept to go back to this memory: ``ClusterScorer.restored`` computes its shares again."""
        twin = EntityMemory.__new__(EntityMemory)
        twin._length = self._length
        twin._means, twin._shares = self._means, self._shares[:0].copy()
        twin._type_scores, twin._counts = self._type_scores, self._counts
        twin.facts, twin.participants = self.facts, self.participants
        return twin

    def kept(self, numbers: Sequence[int]) -> EntityMemory:
        """These entities alone, renumbered in this order; what the others took is free."""
        order = list(numbers)
        twin = EntityMemory.__new__(EntityMemory)
        twin._length = len(order)
        twin._means, twin._shares = self.means[order], self.shares[order]
        twin._counts, twin._type_scores = self.counts[order], self.type_scores[order]
        twin.facts = self.facts.kept(order)
        place = {number: row for row, number in enumerate(order)}
        twin.participants = {name: place[number] for name, number in self.participants.items() if number in place}
        return twin


_Numbers = TypeVar("_Numbers", bound=np.generic)


def _copied(rows: npt.NDArray[_Numbers], room: int) -> npt.NDArray[_Numbers]:
    """A copy with room for more rows."""
    twin = np.empty((len(rows) + room, *rows.shape[1:]), rows.dtype)
    twin[: len(rows)] = rows
    return twin


class SpanVector(NamedTuple):
    """The vector of a mention, and what follows from it alone."""

    vector: Floats
    own: Floats
    """What it adds to the hidden layers of all its pairs and of a new entity."""
    types: Floats
    """Scores of types."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Where a mention went: the entity's number, whether it is new, and the probability of every choice."""

    entity: int
    new: bool
    probabilities: Floats  # (entities before + 1,), the last one is that of a new entity


class ClusterScorer:
    """The clusterer's weights."""

    def __init__(
        self, weights: Mapping[str, Floats], constant_features: tuple[str, ...], product: Product = plain_product
    ) -> None:
        """``constant_features`` hold for a whole text, and come after PAIR_FEATURES in the layer's input."""
        self.attention = weights["attention.weight"][0]
        projection = np.ascontiguousarray(weights["projection.weight"].T)
        self.project = product(projection)
        self.projection_bias = weights["projection.bias"]
        self.width_table = weights["span_features.tables.width.weight"]
        self.span, self.size = projection.shape
        hidden = weights["hidden.linear.weight"].T
        mention, entity, of_both, by_feature = np.split(hidden, np.cumsum([self.size] * 3), axis=0)
        self.entity = np.ascontiguousarray(entity)
        untyped = np.zeros((0, self.size), np.float32)
        types = weights.get("types.weight", untyped).T
        self.types, self.types_bias = types.shape[1], weights.get("types.bias", untyped[:, 0])
        # What a mention says on its own: to its pairs, of a new entity, and of its type.
        self.of_mentions = product(np.concatenate([mention, weights["new_entity.0.weight"].T, types], axis=1))
        known = {name: n for name, n in PAIR_FEATURES.items() if f"pair_features.tables.{name}.weight" in weights}
        if [*known] != [*PAIR_FEATURES][: len(known)]:  # models of before lack the last ones, and no others
            raise ValueError(f"the weights have tables of the features {', '.join(known)} alone")
        names = (*known, *constant_features)
        size = len(by_feature) // len(names)
        tables = {
            name: weights[f"pair_features.tables.{name}.weight"] @ by_feature[i * size : (i + 1) * size]
            for i, name in enumerate(names)
        }
        # What is left per pair in one product: of the vectors' element-wise product, and of classes' places. A place
        # has this number, and not 1, so that the weights of both parts are alike: they may be rounded to one scale.
        by_class = np.concatenate([tables[name] for name in known])
        self.mark = np.float32(abs(by_class).max() / (abs(of_both).max() or 1) or 1)
        pair = np.concatenate([of_both, by_class / self.mark])
        self.of_pairs, self.pair = product(pair), len(pair)
        self.pair_places = self.size + np.cumsum([0, *known.values()])[:-1, None]
        self.constant_tables = {name: tables[name] for name in constant_features}
        votes = [weights.get(f"votes.tables.{name}", np.zeros(n, np.float32)) for name, n in known.items()]
        self.votes = np.concatenate(votes) / self.mark  # models of before have none
        self.bias = weights["hidden.linear.bias"]
        self.zeros = np.zeros_like(self.bias)  # NumPy is quicker at a maximum with a row than with a number
        self.output = product(np.ascontiguousarray(weights["output.weight"].T))
        self.output_bias = weights["output.bias"]
        self.new_bias = weights["new_entity.0.bias"]
        self.new_zeros = np.zeros_like(self.new_bias)
        self.new_output, self.new_output_bias = weights["new_entity.2.weight"][0], weights["new_entity.2.bias"]

    def empty(self) -> EntityMemory:
        return EntityMemory(self.size, len(self.bias), self.types)

    def constant(self, classes: Mapping[str, int]) -> Floats:
        """What every mention of a text adds to its own: biases, and the features that hold for the whole text."""
        of_pairs = self.bias + sum(self.constant_tables[name][number] for name, number in classes.items())
        return np.concatenate([of_pairs, self.new_bias])

    def spans(self, vectors: Floats, spans: Sequence[tuple[int, int]]) -> list[SpanVector]:
        """Of spans of a chunk (first, last, both included)."""
        attention = vectors @ self.attention
        joined = np.empty((len(spans), self.span), np.float32)
        width = vectors.shape[1]
        for row, (first, last) in zip(joined, spans, strict=True):
            scores = attention[first : last + 1]
            weights = np.exp(scores - scores.max())
            row[:width], row[width : 2 * width] = vectors[first], vectors[last]
            row[2 * width : 3 * width] = (weights / weights.sum()) @ vectors[first : last + 1]
            row[3 * width :] = self.width_table[min(WIDTHS - 2, last - first)]
        return self.span_vectors(self.project(joined) + self.projection_bias)

    def span_vectors(self, vectors: Floats) -> list[SpanVector]:
        """Of spans that have these vectors, (spans, size)."""
        own, types = np.split(self.of_mentions(vectors), [len(self.bias) + len(self.new_bias)], axis=1)
        return list(map(SpanVector, vectors, own, types + self.types_bias))

    def scores(
        self, memory: EntityMemory, span: SpanVector, classes: npt.NDArray[np.int64], constant: Floats
    ) -> Floats:
        """Scores of all entities and, last, of a new one, (entities + 1,)."""
        entities, hidden_size = len(memory), len(self.bias)
        found = np.empty(entities + 1, np.float32)
        own = span.own + constant
        found[-1] = np.maximum(own[hidden_size:], self.new_zeros) @ self.new_output + self.new_output_bias[0]
        if entities:
            pairs = np.empty((entities, self.pair), np.float32)
            np.multiply(memory.means, span.vector, out=pairs[:, : self.size])
            marks = pairs[:, self.size :]
            marks[:] = 0
            places = self.pair_places + np.arange(0, pairs.size, self.pair)
            pairs.reshape(-1)[classes[: len(self.pair_places)] + places] = self.mark
            hidden = self.of_pairs(pairs)
            hidden += memory.shares
            hidden += own[:hidden_size]
            np.maximum(hidden, self.zeros, out=hidden)
            found[:-1] = self.output(hidden)[:, 0]
            found[:-1] += marks @ self.votes
            found[:-1] += self.output_bias
        return found

    def assign(
        self, memory: EntityMemory, span: SpanVector, facts: MentionFacts, constant: Floats, temperature: float = 1.0
    ) -> Decision:
        """Put a mention where it scores highest; changes ``memory``."""
        classes = memory.facts.classes(facts)
        scores = self.scores(memory, span, classes, constant)
        scores[:-1] += SPEAKER_PRIOR[classes[SPEAKER_FEATURE]]
        if facts.says_i and facts.speaker in memory.participants:
            scores[np.arange(len(scores)) != memory.participants[facts.speaker]] = -np.inf
        elif facts.says_i and facts.speaker is not None:
            scores[list(memory.participants.values())] = -np.inf  # who are others
        weights = np.exp((scores - scores.max()) / temperature)
        entity = int(scores.argmax())
        self.add(memory, span, facts, entity)
        return Decision(entity, entity == len(weights) - 1, weights / weights.sum())

    def add(self, memory: EntityMemory, span: SpanVector, facts: MentionFacts, entity: int) -> None:
        """Put a mention into an entity (one past the last founds it): the running mean and all that follows it."""
        vector, _, types = span
        if entity == len(memory):
            memory.found(vector, vector @ self.entity, types)
        else:
            count = memory.counts[entity]
            memory.means[entity] += (vector - memory.means[entity]) / (count + 1)
            memory.shares[entity] = memory.means[entity] @ self.entity
            memory.type_scores[entity] += types
            memory.counts[entity] = count + 1
        memory.facts.add(facts, entity)

    def restored(
        self,
        means: Floats,
        counts: npt.NDArray[np.int64],
        type_scores: Floats,
        facts: EntityFacts,
        participants: Mapping[str, int],
    ) -> EntityMemory:
        """The memory with these entities, as it was when they were saved or left."""
        memory = self.empty()
        for mean, types in zip(means, type_scores, strict=True):
            memory.found(mean, mean @ self.entity, types)
        memory.counts[:] = counts
        memory.facts, memory.participants = facts, dict(participants)
        return memory

    def merged(self, memory: EntityMemory, one: int, other: int) -> EntityMemory:
        """The memory once two entities are known to be the same: ``one``, and ``other`` is gone."""
        twin = memory.copy()
        counts = twin.counts[[one, other]]
        twin.means[one] = (counts / counts.sum()).astype(np.float32) @ twin.means[[one, other]]
        twin.shares[one] = twin.means[one] @ self.entity
        twin.type_scores[one] += twin.type_scores[other]
        twin.counts[one] = counts.sum()
        rows = twin.facts.rows()
        rows[one] = rows[one].merged(rows[other])
        twin.facts = EntityFacts.from_rows(rows, twin.facts.mentions)
        twin.participants = {name: one if entity == other else entity for name, entity in twin.participants.items()}
        return twin.kept([number for number in range(len(twin)) if number != other])
