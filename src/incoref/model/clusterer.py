"""The clusterer at run time: span vectors, the entity memory, and scores against all entities, in NumPy.

The scorer's hidden layer is a sum over parts. The entity's part is linear in the running mean of its mentions, so it
is updated with the mean; the mention's part is computed once; only the element-wise product and the feature classes
are left per mention–entity pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from incoref.model.features import REGISTRY, EntityStates, MentionFacts
from incoref.model.layout import PAIR_PARTS, SPAN_PARTS, TEXT_FEATURES, WIDEST
from incoref.model.matmul import Floats as Floats
from incoref.model.matmul import Product, plain_product


class EntityMemory:
    """The entities of one text: mean vectors, their part of the scorer's hidden layer, and feature states.

    Entities are numbered in order of creation. Mutable: copy it before changing it if the earlier state is still
    needed. An entity's hidden part depends only on its mean, to the last bit, so it isn't saved.
    """

    def __init__(self, size: int, hidden: int, types: int) -> None:
        self._length = 0
        self._means: Floats = np.zeros((0, size), np.float32)
        self._hidden: Floats = np.zeros((0, hidden), np.float32)
        self._type_scores: Floats = np.zeros((0, types), np.float32)
        self._counts: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self.states = EntityStates()
        self.participants: dict[str, int] = {}
        """Speakers whose entity is known rather than predicted."""

    def __len__(self) -> int:
        return self._length

    @property
    def means(self) -> Floats:
        """The mean vector of each entity's mentions, (entities, size)."""
        return self._means[: self._length]

    @property
    def entity_hidden(self) -> Floats:
        """What each mean adds to the scorer's hidden layer, (entities, hidden)."""
        return self._hidden[: self._length]

    @property
    def type_scores(self) -> Floats:
        """Type scores summed over each entity's mentions, (entities, types)."""
        return self._type_scores[: self._length]

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Mentions per entity, (entities,)."""
        return self._counts[: self._length]

    @property
    def nbytes(self) -> int:
        """Approximate memory use in bytes."""
        arrays = (self._means, self._hidden, self._type_scores, self._counts)
        return sum(array.nbytes for array in arrays) + self.states.nbytes

    def copy(self, room: int = 0) -> EntityMemory:
        """Return a copy with room for this many new entities."""
        twin = EntityMemory.__new__(EntityMemory)
        twin._length = self._length
        twin._means, twin._hidden = _copied(self.means, room), _copied(self.entity_hidden, room)
        twin._type_scores, twin._counts = _copied(self.type_scores, room), _copied(self.counts, room)
        twin.states = self.states.copy()
        twin.participants = self.participants.copy()
        return twin

    def append(self, mean: Floats, hidden: Floats, types: Floats) -> None:
        """Add an entity with one mention; its feature state must be added separately."""
        new = self._length
        if new == len(self._counts):
            room = max(16, new)
            self._means, self._hidden = _copied(self._means, room), _copied(self._hidden, room)
            self._type_scores, self._counts = _copied(self._type_scores, room), _copied(self._counts, room)
        self._means[new], self._hidden[new], self._type_scores[new], self._counts[new] = mean, hidden, types, 1
        self._length += 1

    def with_states(self, states: EntityStates) -> EntityMemory:
        """Return the same entities with other feature states."""
        twin = self.without_hidden()
        twin._hidden, twin.states, twin.participants = self._hidden, states, self.participants.copy()
        return twin

    def without_hidden(self) -> EntityMemory:
        """Return the memory without its hidden part, which ``ClusterScorer.restored`` recomputes."""
        twin = EntityMemory.__new__(EntityMemory)
        twin._length = self._length
        twin._means, twin._hidden = self._means, self._hidden[:0].copy()
        twin._type_scores, twin._counts = self._type_scores, self._counts
        twin.states, twin.participants = self.states, self.participants
        return twin

    def kept(self, entities: Sequence[int]) -> EntityMemory:
        """Return only these entities, renumbered in this order; the others' memory is freed."""
        order = list(entities)
        twin = EntityMemory.__new__(EntityMemory)
        twin._length = len(order)
        twin._means, twin._hidden = self.means[order], self.entity_hidden[order]
        twin._counts, twin._type_scores = self.counts[order], self.type_scores[order]
        twin.states = self.states.kept(order)
        place = {entity: row for row, entity in enumerate(order)}
        twin.participants = {name: place[entity] for name, entity in self.participants.items() if entity in place}
        return twin


_Numbers = TypeVar("_Numbers", bound=np.generic)


def _copied(rows: npt.NDArray[_Numbers], room: int) -> npt.NDArray[_Numbers]:
    """Return a copy with room for more rows."""
    twin = np.empty((len(rows) + room, *rows.shape[1:]), rows.dtype)
    twin[: len(rows)] = rows
    return twin


class SpanVector(NamedTuple):
    """A mention's vector, and values computed from it alone."""

    vector: Floats
    hidden: Floats
    """What it adds to the hidden layers of all its pairs and of a new entity."""
    types: Floats
    """Type scores."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A linking decision: the mention's entity, whether it is new, and the probability of every choice."""

    entity: int
    new: bool
    probabilities: Floats  # (entities before + 1,), the last one for a new entity


def decided(scores: Floats, temperature: float = 1.0) -> Decision:
    """Choose the highest-scoring of (entities + 1,) choices, the last one a new entity."""
    weights = np.exp((scores - scores.max()) / temperature)
    entity = int(scores.argmax())
    return Decision(entity, entity == len(weights) - 1, weights / weights.sum())


class ClusterScorer:
    """The clusterer's weights."""

    def __init__(
        self, weights: Mapping[str, Floats], pair_features: Sequence[str], product: Product = plain_product
    ) -> None:
        """``pair_features`` are in the order of the weights; the per-text features follow them."""
        self.features = tuple(pair_features)
        self.attention = weights["attention.weight"][0]
        projection = np.ascontiguousarray(weights["projection.weight"].T)
        self.project = product("clusterer.projection", projection)
        self.projection_bias = weights["projection.bias"]
        self.width_table = weights["span_features.tables.width.weight"]
        self.span, self.size = projection.shape
        columns = np.split(weights["hidden.linear.weight"].T, np.cumsum([self.size] * 3), axis=0)
        of = dict(zip(PAIR_PARTS, columns, strict=True))
        self.entity = np.ascontiguousarray(of["entity"])
        untyped = np.zeros((0, self.size), np.float32)
        types = weights.get("types.weight", untyped).T
        self.types, self.types_bias = types.shape[1], weights.get("types.bias", untyped[:, 0])
        # What a mention contributes by itself: to its pairs, to a new entity, and to its type.
        of_mentions = np.concatenate([of["mention"], weights["new_entity.0.weight"].T, types], axis=1)
        self.of_mentions = product("clusterer.mentions", of_mentions)
        names = (*self.features, *TEXT_FEATURES)
        size = len(of["features"]) // len(names)
        tables = {
            name: weights[f"pair_features.tables.{name}.weight"] @ of["features"][i * size : (i + 1) * size]
            for i, name in enumerate(names)
        }
        # One product is left per pair: with the element-wise product of the vectors, and with a one-hot row of
        # classes. The ones are scaled so that the weights of both parts, which are quantised together, are of
        # similar size.
        by_class = np.concatenate([tables[name] for name in self.features])
        self.onehot_scale = np.float32(abs(by_class).max() / (abs(of["product"]).max() or 1) or 1)
        pair = np.concatenate([of["product"], by_class / self.onehot_scale])
        self.of_pairs, self.pair = product("clusterer.pairs", pair), len(pair)
        counts = [len(REGISTRY[name].classes) for name in self.features]
        self.onehot_places = self.size + np.cumsum([0, *counts])[:-1, None]
        self.text_tables = {name: tables[name] for name in TEXT_FEATURES}
        class_bias = [weights[f"class_bias.tables.{name}"] for name in self.features]
        self.class_bias = np.concatenate(class_bias) / self.onehot_scale
        priors = [(row, REGISTRY[name].prior) for row, name in enumerate(self.features)]
        self.priors = [(row, prior) for row, prior in priors if prior is not None]
        self.bias = weights["hidden.linear.bias"]
        self.zeros = np.zeros_like(self.bias)  # NumPy takes a maximum faster with a row than with a scalar
        self.output = product("clusterer.output", np.ascontiguousarray(weights["output.weight"].T))
        self.output_bias = weights["output.bias"]
        self.new_bias = weights["new_entity.0.bias"]
        self.new_zeros = np.zeros_like(self.new_bias)
        self.new_output, self.new_output_bias = weights["new_entity.2.weight"][0], weights["new_entity.2.bias"]

    def empty(self) -> EntityMemory:
        return EntityMemory(self.size, len(self.bias), self.types)

    def constant(self, classes: Mapping[str, int]) -> Floats:
        """Return what all mentions of a text add to the hidden layer: biases and per-text features."""
        of_pairs = self.bias + sum(self.text_tables[name][number] for name, number in classes.items())
        return np.concatenate([of_pairs, self.new_bias])

    def spans(self, vectors: Floats, spans: Sequence[tuple[int, int]]) -> list[SpanVector]:
        """Return the vectors of spans (first, last; both inclusive) of a chunk with these word vectors."""
        attention = vectors @ self.attention
        joined = np.empty((len(spans), self.span), np.float32)
        width = vectors.shape[1]
        part = {name: joined[:, place * width : (place + 1) * width] for place, name in enumerate(SPAN_PARTS[:-1])}
        firsts, lasts = zip(*spans, strict=True)
        part["first"][:], part["last"][:] = vectors[list(firsts)], vectors[list(lasts)]
        joined[:, 3 * width :] = self.width_table[[min(WIDEST, last - first) for first, last in spans]]
        for mean, (first, last) in zip(part["mean"], spans, strict=True):
            if first == last:  # the weight of a single word is 1
                mean[:] = vectors[first]
                continue
            scores = attention[first : last + 1]
            weights = np.exp(scores - scores.max())
            weights /= weights.sum()
            np.matmul(weights, vectors[first : last + 1], out=mean)
        vectors_of_spans = self.project(joined)
        vectors_of_spans += self.projection_bias
        return self.span_vectors(vectors_of_spans)

    def span_vectors(self, vectors: Floats) -> list[SpanVector]:
        """Build span vectors from projected vectors, (spans, size)."""
        of_mentions, size = self.of_mentions(vectors), len(self.bias) + len(self.new_bias)
        return list(map(SpanVector, vectors, of_mentions[:, :size], of_mentions[:, size:] + self.types_bias))

    def scores(
        self, memory: EntityMemory, span: SpanVector, classes: npt.NDArray[np.int64], constant: Floats
    ) -> Floats:
        """Return scores of all entities and, last, a new one: (entities + 1,); ``classes``: (features, entities)."""
        entities, hidden_size = len(memory), len(self.bias)
        scores = np.empty(entities + 1, np.float32)
        of_mention = span.hidden + constant
        scores[-1] = np.maximum(of_mention[hidden_size:], self.new_zeros) @ self.new_output + self.new_output_bias[0]
        if entities:
            pairs = np.empty((entities, self.pair), np.float32)
            np.multiply(memory.means, span.vector, out=pairs[:, : self.size])
            onehot = pairs[:, self.size :]
            onehot[:] = 0
            places = self.onehot_places + np.arange(0, pairs.size, self.pair)
            pairs.reshape(-1)[classes + places] = self.onehot_scale
            hidden = self.of_pairs(pairs)
            hidden += memory.entity_hidden
            hidden += of_mention[:hidden_size]
            np.maximum(hidden, self.zeros, out=hidden)
            scores[:-1] = self.output(hidden)[:, 0]
            scores[:-1] += onehot @ self.class_bias
            scores[:-1] += self.output_bias
        return scores

    def link_scores(self, memory: EntityMemory, span: SpanVector, facts: MentionFacts, constant: Floats) -> Floats:
        """Return ``scores`` with what is known without learning: fixed priors, and who the speakers are."""
        classes = memory.states.classes(facts, self.features)
        scores = self.scores(memory, span, classes, constant)
        for row, prior in self.priors:
            scores[:-1] += prior[classes[row]]
        if facts.says_i and facts.speaker in memory.participants:
            scores[np.arange(len(scores)) != memory.participants[facts.speaker]] = -np.inf
        elif facts.says_i and facts.speaker is not None:
            scores[list(memory.participants.values())] = -np.inf  # known to be other people
        return scores

    def assign(
        self, memory: EntityMemory, span: SpanVector, facts: MentionFacts, constant: Floats, temperature: float = 1.0
    ) -> Decision:
        """Link a mention to the highest-scoring entity or a new one; changes ``memory``."""
        decision = decided(self.link_scores(memory, span, facts, constant), temperature)
        self.add(memory, span, facts, decision.entity)
        return decision

    def add(self, memory: EntityMemory, span: SpanVector, facts: MentionFacts, entity: int) -> None:
        """Add a mention to an entity; a number one past the last creates a new entity."""
        vector, _, types = span
        if entity == len(memory):
            memory.append(vector, vector @ self.entity, types)
        else:
            count = memory.counts[entity]
            memory.means[entity] += (vector - memory.means[entity]) / (count + 1)
            memory.entity_hidden[entity] = memory.means[entity] @ self.entity
            memory.type_scores[entity] += types
            memory.counts[entity] = count + 1
        memory.states.add(facts, entity)

    def restored(
        self,
        means: Floats,
        counts: npt.NDArray[np.int64],
        type_scores: Floats,
        states: EntityStates,
        participants: Mapping[str, int],
    ) -> EntityMemory:
        """Rebuild a memory from its saved entities, bit for bit."""
        memory = self.empty()
        for mean, types in zip(means, type_scores, strict=True):
            memory.append(mean, mean @ self.entity, types)
        memory.counts[:] = counts
        memory.states, memory.participants = states, dict(participants)
        return memory

    def merged(self, memory: EntityMemory, one: int, other: int) -> EntityMemory:
        """Return the memory with two entities merged: ``one`` stays, ``other`` is removed."""
        twin = memory.copy()
        counts = twin.counts[[one, other]]
        twin.means[one] = (counts / counts.sum()).astype(np.float32) @ twin.means[[one, other]]
        twin.entity_hidden[one] = twin.means[one] @ self.entity
        twin.type_scores[one] += twin.type_scores[other]
        twin.counts[one] = counts.sum()
        twin.states = twin.states.merged(one, other)
        twin.participants = {name: one if entity == other else entity for name, entity in twin.participants.items()}
        return twin.kept([entity for entity in range(len(twin)) if entity != other])

    def with_row(
        self, memory: EntityMemory, row: int, mean: Floats, types: Floats, count: int, states: EntityStates
    ) -> EntityMemory:
        """Return the memory with a row replaced, or appended if one past the last; ``states`` cover all rows."""
        twin = memory.copy(room=1)
        if row == len(twin):
            twin.append(mean, mean @ self.entity, types)
        twin.means[row], twin.type_scores[row], twin.counts[row] = mean, types, count
        twin.entity_hidden[row] = twin.means[row] @ self.entity
        twin.states = states
        return twin
