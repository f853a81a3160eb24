"""A readable definition of the paper's model: one action at a time, one mention at a time.

It runs the weights of ``model.PaperModel`` in the simplest way, teacher-forced or free-running; the vectorised loss
is tested against it. Branches on ``config.reference`` mark where the authors' program differs from the paper's text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn
from transformers import XLNetModel

from incoref.learning.data.derivation import EMPTY, Ints
from incoref.learning.nets.detector import Detector
from incoref.learning.nets.layers import FeatureTables
from incoref.learning.paper.chunks import Batch, plan
from incoref.learning.paper.document import PaperDocument, split_actions, stretches
from incoref.learning.paper.features import (
    LINKED,
    NEW,
    START,
    count_class,
    distance_class,
    span_width_class,
    speaker_class,
    stack_width_class,
)
from incoref.learning.paper.model import Loss, PaperModel
from incoref.model import transitions
from incoref.model.transitions import EFFECTS, Action, Span, State


class Reader(Protocol):
    """An encoder that reads a document piece by piece."""

    def encode(self, ids: Tensor, cache: int) -> Tensor:
        """Return vectors of the next piece, (n, d_model); it sees up to ``cache`` preceding tokens."""
        ...


class Recurrence:
    """XLNet's recurrence as in transformers: each layer's inputs are passed to the next piece, without gradients."""

    def __init__(self, encoder: XLNetModel) -> None:
        self._encoder = encoder
        self._memory: Sequence[Tensor] | None = None

    def encode(self, ids: Tensor, cache: int) -> Tensor:
        memory = None if self._memory is None or not cache else [layer[-cache:] for layer in self._memory]
        output = self._encoder(ids[None], mems=memory, use_mems=True)
        self._memory = output.mems
        vectors: Tensor = output.last_hidden_state[0]
        return vectors


class StackLSTM:
    """An LSTM over the tokens on the stack; a pop restores the previous state."""

    def __init__(self, detector: Detector) -> None:
        self._cell = detector.stack_cell
        self._states = [(detector.stack_start[:1], detector.stack_start[1:])]

    @property
    def summary(self) -> Tensor:
        return self._states[-1][0][0]

    def push(self, vector: Tensor) -> None:
        self._states.append(self._cell(vector[None], self._states[-1]))

    def pop(self) -> None:
        self._states.pop()


class ActionHistory:
    """An LSTM over the embeddings of the actions so far."""

    def __init__(self, detector: Detector, state: tuple[Tensor, Tensor] | None = None) -> None:
        self._lstm, self._embedding = detector.action_lstm, detector.action_embedding
        start = detector.action_start
        self._state = state or (start[:1], start[1:])

    @property
    def summary(self) -> Tensor:
        return self._state[0][0]

    def add(self, action: Action) -> None:
        # Call the cell directly, as the authors' program does: small rounding differences would grow over many steps.
        lstm, code = self._lstm, torch.tensor([int(action)], device=self._state[0].device)
        self._state = torch.lstm_cell(self._embedding(code), self._state, *lstm.all_weights[0])

    def detached(self, detector: Detector) -> ActionHistory:
        return ActionHistory(detector, (self._state[0].detach(), self._state[1].detach()))


@dataclass
class EntityState:
    """The running mean of an entity's mention vectors, and its mention spans."""

    vector: Tensor
    spans: list[Span]
    latest: int
    """Index of its latest mention among all mentions of the document."""

    @property
    def count(self) -> int:
        return len(self.spans)

    def add(self, vector: Tensor, span: Span, number: int) -> None:
        self.vector = (self.count * self.vector + vector) / (self.count + 1)
        self.spans.append(span)
        self.latest = number


@dataclass
class Run:
    """Everything that was decided and computed while reading a document."""

    actions: list[Action] = field(default_factory=list)
    action_scores: list[Tensor] = field(default_factory=list)
    """Per step, (4,); minus infinity for illegal actions."""
    cluster_scores: list[Tensor] = field(default_factory=list)
    """Per mention: scores of the entities in order of creation, then of a new one."""
    choices: list[int] = field(default_factory=list)
    """Per mention: its entity."""
    entities: list[EntityState] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    """Per batch, if teacher-forced."""

    @property
    def clusters(self) -> list[list[Span]]:
        return [entity.spans for entity in self.entities]


def run(model: PaperModel, document: PaperDocument, *, gold: bool, reader: Reader | None = None) -> Run:
    """Read a document, following the gold actions and entities or, without ``gold``, the best-scored legal ones."""
    return StepByStep(model, document, gold, reader or Recurrence(model.encoder)).run()


class StepByStep:
    """One pass over a document; use ``run`` to start it."""

    def __init__(self, model: PaperModel, document: PaperDocument, gold: bool, reader: Reader) -> None:
        self._model, self._config = model, model.config
        self._document, self._reader, self._gold = document, reader, gold
        self._batches = plan(document.lengths, self._config)
        self._done = Run()
        self._history = ActionHistory(model.detector)
        self._previous = START
        self._token = 0  # buffer tokens before the current stretch
        self._gold_actions = iter(self._split_gold()) if gold else iter(())

    def _split_gold(self) -> list[tuple[Action, ...]]:
        chunks = [length for batch in self._batches for length in self._document.chunk_lengths(batch)]
        lengths = [length for chunk in chunks for length in stretches(chunk, self._config)]
        return split_actions(self._document.actions, lengths)

    def run(self) -> Run:
        for batch in self._batches:
            self._read_batch(batch)
        return self._done

    def _read_batch(self, batch: Batch) -> None:
        done, config, detector = self._done, self._config, self._model.detector
        if done.actions:
            self._history = ActionHistory(detector) if config.reference else self._history.detached(detector)
        for entity in done.entities:
            entity.vector = entity.vector.detach()
        first_step, first_mention = len(done.actions), len(done.choices)
        vectors, speakers = self._vectors(batch), self._document.speakers_of(batch)
        start = 0
        for length in self._document.chunk_lengths(batch):
            if config.reference:
                self._previous = START
            for stretch in stretches(length, config):
                end = start + stretch
                self._read_stretch(vectors[start:end], speakers[start:end])
                start = end
        if self._gold:
            done.losses.append(self._loss(first_step, first_mention))

    def _vectors(self, batch: Batch) -> Tensor:
        """Return vectors of the batch's buffer tokens, (N, vector)."""
        device = self._model.action_weights.device
        pieces = []
        for piece in batch.pieces:
            ids = torch.tensor(self._document.ids_of(piece.first, piece.end), device=device)
            pieces.append(self._reader.encode(ids, piece.cache))
        return torch.cat(pieces)[self._document.buffer_of(batch)]

    def _read_stretch(self, vectors: Tensor, speakers: Sequence[int]) -> None:
        """Take actions until the whole stretch is read; no mention may cross its end."""
        state = transitions.start(len(vectors))
        stack = StackLSTM(self._model.detector)
        gold = iter(next(self._gold_actions)) if self._gold else None
        while not state.finished:
            scores = self._score_actions(state, vectors[state.position], stack)
            action = next(gold) if gold else Action(int(scores.argmax()))
            mention = transitions.mention_of(state, action)
            if mention is not None:
                self._cluster(mention, vectors, speakers)
            if EFFECTS[action].pops:
                stack.pop()
            if EFFECTS[action].pushes:
                stack.push(vectors[state.position])
            self._history.add(action)
            state = transitions.apply(state, action)
            self._done.actions.append(action)
            self._done.action_scores.append(scores)
        self._token += len(vectors)

    def _score_actions(self, state: State, buffer: Tensor, stack: StackLSTM) -> Tensor:
        """Return f_M([b; s; a; φ_M]), (4,); minus infinity for illegal actions."""
        detector, config = self._model.detector, self._config
        width = EMPTY if state.stack is None else state.position - state.stack.top
        width_class = stack_width_class(width, self._token + state.position, config)
        features = detector.features
        phi = [_embedding(features, "genre", self._document.genre), _embedding(features, "width", width_class)]
        joined = torch.cat([buffer, stack.summary, self._history.summary, *phi])
        scores = detector.output(detector.dropout(torch.relu(detector.hidden.linear(joined))))
        legal = transitions.legal(state)
        masked: Tensor = scores.masked_fill(scores.new_tensor([a not in legal for a in Action]).bool(), -torch.inf)
        return masked

    def _cluster(self, mention: Span, vectors: Tensor, speakers: Sequence[int]) -> None:
        """Add a mention to the best-scored entity, or to its gold one if teacher-forced."""
        done, number = self._done, len(self._done.choices)
        vector = self._span_vector(mention, vectors, speakers)
        scores = self._score_entities(vector, number)
        choice = self._document.entity_of[number] if self._gold else int(scores.argmax())
        span = (mention[0] + self._token, mention[1] + self._token)
        if choice == len(done.entities):
            done.entities.append(EntityState(vector, [span], number))
            self._previous = NEW
        else:
            done.entities[choice].add(vector, span, number)
            self._previous = LINKED
        done.choices.append(choice)
        done.cluster_scores.append(scores)

    def _span_vector(self, mention: Span, vectors: Tensor, speakers: Sequence[int]) -> Tensor:
        """Return [x_i; x_j; attention-weighted mean; width; speaker]."""
        first, last = mention
        clusterer, config = self._model.clusterer, self._config
        inside = vectors[first : last + 1]
        weights = torch.softmax(clusterer.attention(inside), dim=0)
        features = clusterer.span_features
        parts = [vectors[first], vectors[last], (weights * inside).sum(dim=0)]
        parts.append(_embedding(features, "width", span_width_class(last - first, config)))
        if config.use_speakers:
            parts.append(_embedding(features, "speaker", speaker_class(speakers[last], config)))
        return torch.cat(parts)

    def _score_entities(self, vector: Tensor, number: int) -> Tensor:
        """Return f_C([v; m_k; v ⊙ m_k; φ_C]) for every entity, then α for a new one."""
        entities = self._done.entities
        if not entities and self._config.reference:
            # The authors' program scores a document's first mention only against itself, without a new entity.
            return self._f_c(vector, vector[None], vector[None], [1], [0])
        new = vector.new_tensor([self._config.new_score])
        if not entities:
            return new
        means = torch.stack([entity.vector for entity in entities])
        counts = [entity.count for entity in entities]
        distances = [number - entity.latest for entity in entities]
        return torch.cat([self._f_c(vector, means, means * vector, counts, distances), new])

    def _f_c(
        self, vector: Tensor, means: Tensor, products: Tensor, counts: Sequence[int], distances: Sequence[int]
    ) -> Tensor:
        clusterer, config, features = self._model.clusterer, self._config, self._model.clusterer.pair_features
        count, distance = count_class(np.asarray(counts), config), distance_class(np.asarray(distances), config)
        many = (len(means), -1)
        joined = torch.cat(
            [
                vector.expand(many),
                means,
                products,
                _embedding(features, "count", count),
                _embedding(features, "distance", distance),
                _embedding(features, "previous", self._previous).expand(many),
                _embedding(features, "genre", self._document.genre).expand(many),
            ],
            dim=1,
        )
        scores: Tensor = clusterer.output(clusterer.dropout(torch.relu(clusterer.hidden.linear(joined))))
        return scores.squeeze(1)

    def _loss(self, first_step: int, first_mention: int) -> Loss:
        """Return the batch's share of L_M + L_C."""
        done, config, document = self._done, self._config, self._document
        zero = self._model.detector.output.bias.new_zeros(())
        detection = clustering = zero
        for action, scores in zip(done.actions[first_step:], done.action_scores[first_step:], strict=True):
            weight = 1.0 if config.reference else config.action_weights[action]
            detection = detection + weight * _cross_entropy(scores, int(action))
        for choice, scores in zip(done.choices[first_mention:], done.cluster_scores[first_mention:], strict=True):
            # A new entity's number is the index of its score, which comes after those of the existing entities.
            clustering = clustering + _cross_entropy(scores, choice)
        if config.reference:
            batches = len(self._batches)
            return Loss(detection / len(document.actions) / batches, clustering / max(len(done.choices), 1) / batches)
        weight_of_all = sum(config.action_weights[action] for action in document.actions)
        return Loss(detection / weight_of_all, clustering / max(len(document.entity_of), 1))


def _embedding(features: FeatureTables, name: str, classes: Ints | int) -> Tensor:
    table = features.tables[name]
    vector: Tensor = table(torch.as_tensor(classes, device=next(table.parameters()).device))
    return vector


def _cross_entropy(scores: Tensor, gold: int) -> Tensor:
    return nn.functional.cross_entropy(scores[None], torch.tensor([gold], device=scores.device))
