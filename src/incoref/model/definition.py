"""The readable definition of the model: one action at a time, one mention at a time.

It runs the heads in the plainest way. The fast code is tested against it: ``detector`` and ``clusterer`` at run time,
and the vectorised networks in training. The notation is the paper's:

- An encoder gives every word a vector x, the mean of its sub-words' vectors. It reads one block (by default, one
  sentence) at a time; a ``kv_cache`` encoder also attends to as many earlier sentences as fit into its window.
- The detector moves a cursor through the block. At every step it scores four actions (``transitions``) from the word
  under the cursor, a Stack-LSTM over the open left boundaries, an LSTM over the actions so far, and features.
- POP and PEEK emit a mention. The clusterer scores it against every entity so far and against a new one, links it to
  the one with the highest score, and updates that entity's vector, the mean of its mentions' vectors.

Unlike the paper's model, this one projects span vectors, learns a score for a new entity, has more pair features
(``features``), and adds a bias for each of their classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from incoref.model import transitions
from incoref.model.features import NO_QUOTATIONS, REGISTRY, EntityStates, Quoted, facts_of, quotations
from incoref.model.layout import EMPTY_STACK, WIDEST
from incoref.model.step import turns
from incoref.model.subwords import Utterance
from incoref.model.transitions import EFFECTS, Action, Span, State

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Gold:
    """Decisions to follow instead of the model's own: the actions, and the entity of each mention they emit."""

    actions: Iterator[Action]
    entities: Iterator[int]


@dataclass
class Trace:
    """Everything that happened while reading a text."""

    actions: list[Action] = field(default_factory=list)
    action_scores: list[Array] = field(default_factory=list)
    """Scores at each step, (4,); minus infinity for illegal actions."""
    mentions: list[Span] = field(default_factory=list)
    """First and last word of each mention, as indices into the text."""
    entity_scores: list[Array] = field(default_factory=list)
    """For each mention, the scores of all entities in order of creation, then of a new one."""
    entities: list[int] = field(default_factory=list)
    """The entity that each mention joined."""


class Definition:
    """The heads of a model; ``weights`` have the names used in ``head.safetensors``."""

    def __init__(self, weights: Mapping[str, npt.NDArray[np.floating]], pair_features: Sequence[str]) -> None:
        self._weights = {name: np.asarray(value, np.float64) for name, value in weights.items()}
        self._pair_features = tuple(pair_features)

    def run(
        self,
        blocks: Sequence[Sequence[Utterance]],
        vectors: Sequence[npt.NDArray[np.floating]],
        genre: int,
        scheme: int,
        gold: Gold | None = None,
    ) -> Trace:
        """Read a text block by block; ``vectors`` holds the word vectors of each block, (words, size)."""
        return _Reading(self._weights, self._pair_features, genre, scheme, gold).run(blocks, vectors)


class _Reading:
    """A single pass over a text."""

    def __init__(
        self,
        weights: Mapping[str, Array],
        pair_features: Sequence[str],
        genre: int,
        scheme: int,
        gold: Gold | None,
    ) -> None:
        self._weights, self._pair_features, self._gold = weights, pair_features, gold
        self._text_features = {"genre": genre, "scheme": scheme}
        self._trace = Trace()
        self._states = EntityStates()
        self._means: list[Array] = []
        self._counts: list[int] = []
        self._first_word = 0

    def run(self, blocks: Sequence[Sequence[Utterance]], vectors: Sequence[npt.NDArray[np.floating]]) -> Trace:
        utterances = [utterance for block in blocks for utterance in block]
        self._words = [word for utterance in utterances for word in utterance.words]
        self._sentence_of = [n for n, utterance in enumerate(utterances) for _ in utterance.words]
        self._speaker_of = [utterance.speaker for utterance in utterances]
        self._turn_of = turns(self._speaker_of)
        by_sentence, _ = quotations(((u.words, u.speaker) for u in utterances), NO_QUOTATIONS, None)
        self._quoted: list[Quoted] = [quoted for sentence in by_sentence for quoted in sentence]
        for block_vectors in vectors:
            self._read_block(np.asarray(block_vectors, np.float64))
            self._first_word += len(block_vectors)
        return self._trace

    # Detecting mentions

    def _read_block(self, x: Array) -> None:
        """Take actions until the end of the block; no mention stays open past it."""
        state = transitions.start(len(x))
        stack = [self._start("stack_start")]
        history = self._start("action_start")
        while not state.finished:
            scores = self._score_actions(state, x, stack[-1][0], history[0])
            action = Action(int(scores.argmax())) if self._gold is None else next(self._gold.actions)
            self._trace.actions.append(action)
            self._trace.action_scores.append(scores)
            mention = transitions.mention_of(state, action)
            if mention is not None:
                self._cluster(mention, x)
            if EFFECTS[action].pops:
                stack.pop()
            if EFFECTS[action].pushes:
                stack.append(self._lstm("stack_cell.", "", x[state.position], stack[-1]))
            embedding = self._weights["detector.action_embedding.weight"][action]
            history = self._lstm("action_lstm.", "_l0", embedding, history)
            state = transitions.apply(state, action)

    def _score_actions(self, state: State, x: Array, stack: Array, history: Array) -> Array:
        """f_M([x; s; a; φ_M]), minus infinity for illegal actions, (4,)."""
        width = EMPTY_STACK if state.stack is None else min(WIDEST, state.position - state.stack.top)
        classes = {**self._text_features, "width": width}
        phi = [self._weights[f"detector.features.tables.{name}.weight"][number] for name, number in classes.items()]
        joined = np.concatenate([x[state.position], stack, history, *phi])
        scores = self._linear("detector.output", _relu(self._linear("detector.hidden.linear", joined)))
        legal = transitions.legal(state)
        return np.array([scores[action] if action in legal else -np.inf for action in Action])

    def _start(self, name: str) -> tuple[Array, Array]:
        h, c = self._weights[f"detector.{name}"]
        return h, c

    def _lstm(self, name: str, suffix: str, x: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        """The next output and cell; PyTorch's gates are in the order input, forget, candidate, output."""
        h, c = state
        prefix = f"detector.{name}"
        gates = (
            self._weights[f"{prefix}weight_ih{suffix}"] @ x
            + self._weights[f"{prefix}bias_ih{suffix}"]
            + self._weights[f"{prefix}weight_hh{suffix}"] @ h
            + self._weights[f"{prefix}bias_hh{suffix}"]
        )
        into, forget, candidate, out = np.split(gates, 4)
        c = _sigmoid(forget) * c + _sigmoid(into) * np.tanh(candidate)
        return _sigmoid(out) * np.tanh(c), c

    # Clustering mentions

    def _cluster(self, mention: Span, x: Array) -> None:
        """Link a mention to the highest-scoring entity, or to its gold entity."""
        first, last = (self._first_word + place for place in mention)
        sentence = self._sentence_of[first]
        facts = facts_of(
            self._words[first : last + 1],
            first,
            sentence,
            self._turn_of[sentence],
            self._speaker_of[sentence],
            self._quoted[first],
        )
        v = self._span_vector(mention, x)
        classes = self._states.classes(facts, self._pair_features)
        scores = [self._score_entity(v, m, of_entity) for m, of_entity in zip(self._means, classes.T, strict=True)]
        scores.append(self._score_new(v))
        if self._gold is None:
            priors = [self._prior(of_entity) for of_entity in classes.T]
            entity = int(np.argmax(np.array(scores) + np.array([*priors, 0.0])))
        else:
            entity = next(self._gold.entities)
        if entity == len(self._means):
            self._means.append(v)
            self._counts.append(1)
        else:
            count = self._counts[entity]
            self._means[entity] = (count * self._means[entity] + v) / (count + 1)
            self._counts[entity] += 1
        self._states.add(facts, entity)
        self._trace.mentions.append((first, last))
        self._trace.entity_scores.append(np.array(scores))
        self._trace.entities.append(entity)

    def _span_vector(self, mention: Span, x: Array) -> Array:
        """A projection of [x_i; x_j; the attention-weighted mean; the width's embedding]."""
        first, last = mention
        inside = x[first : last + 1]
        attention = inside @ self._weights["clusterer.attention.weight"][0]
        weights = np.exp(attention - attention.max())
        mean = weights @ inside / weights.sum()
        width = self._weights["clusterer.span_features.tables.width.weight"][min(WIDEST, last - first)]
        return self._linear("clusterer.projection", np.concatenate([x[first], x[last], mean, width]))

    def _score_entity(self, v: Array, m: Array, classes: npt.NDArray[np.int64]) -> float:
        """f_C([v; m; v ⊙ m; φ_C]), plus a bias for each class of the pair's features."""
        pair = dict(zip(self._pair_features, classes.tolist(), strict=True))
        phi = [
            self._weights[f"clusterer.pair_features.tables.{name}.weight"][number]
            for name, number in {**pair, **self._text_features}.items()
        ]
        joined = np.concatenate([v, m, v * m, *phi])
        score = self._linear("clusterer.output", _relu(self._linear("clusterer.hidden.linear", joined)))[0]
        bias = sum(self._weights[f"clusterer.class_bias.tables.{name}"][number] for name, number in pair.items())
        return float(score + bias)

    def _score_new(self, v: Array) -> float:
        return float(self._linear("clusterer.new_entity.2", _relu(self._linear("clusterer.new_entity.0", v)))[0])

    def _prior(self, classes: npt.NDArray[np.int64]) -> float:
        """Sum the features' priors for a pair: constants, added only when the model decides for itself."""
        priors = (REGISTRY[name].prior for name in self._pair_features)
        return sum(float(prior[number]) for prior, number in zip(priors, classes, strict=True) if prior is not None)

    def _linear(self, name: str, x: Array) -> Array:
        return self._weights[f"{name}.weight"] @ x + self._weights[f"{name}.bias"]


def _relu(x: Array) -> Array:
    return np.maximum(x, 0)


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))
