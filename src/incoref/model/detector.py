"""The mention detector at run time: greedy decoding of one chunk, in NumPy.

The scorer's first layer is a sum of four products, so all tokens of a chunk are projected at once and each stack
state once per PUSH; features are precomputed, and only the small product with the action history (30 x 1000) is left
per action. ``decode`` knows only the interface ``Scoring``; ``ActionScorer`` holds the weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import Protocol

import numpy as np

from incoref.model.layout import DETECTOR_FEATURES, DETECTOR_PARTS, EMPTY_STACK, WIDEST
from incoref.model.matmul import Floats, Product, plain_product
from incoref.model.transitions import EFFECTS, LEGAL, Action, Span

_HALF = np.float32(0.5)


class Scoring(Protocol):
    """Scores the actions of one chunk, step by step."""

    def scores(self, position: int, top: int | None) -> Sequence[float]:
        """Return the actions' scores at a token, given the left boundary on the stack; illegal ones are ignored."""
        ...

    def taken(self, position: int, action: Action) -> None:
        """Called with every action after it was chosen at this token."""
        ...


@dataclass(frozen=True, slots=True)
class Step:
    """One action of a derivation, with the probabilities of the legal ones."""

    position: int
    action: Action
    probabilities: dict[Action, float]
    mention: Span | None


def decode(scoring: Scoring, length: int, temperature: float = 1.0) -> list[Step]:
    """Return the greedy derivation over ``length`` tokens."""
    steps: list[Step] = []
    stack: list[int] = []
    last: Action | None = None
    position = 0
    while position < length:
        allowed = LEGAL[last, bool(stack), position == length - 1]
        if len(allowed) == 1:
            last = allowed[0]
            probabilities = {last: 1.0}
        else:
            scores = scoring.scores(position, stack[-1] if stack else None)
            last, probabilities = chosen(allowed, scores, temperature)
        effect = EFFECTS[last]
        mention = (stack[-1], position) if effect.emits else None
        steps.append(Step(position, last, probabilities, mention))
        scoring.taken(position, last)
        if effect.pops:
            stack.pop()
        if effect.pushes:
            stack.append(position)
        position += effect.advances
    return steps


def chosen(
    allowed: Sequence[Action], scores: Sequence[float], temperature: float
) -> tuple[Action, dict[Action, float]]:
    """Return the best legal action, and the probability of each."""
    best = max(allowed, key=scores.__getitem__)
    highest = scores[best]
    weights = [exp((scores[action] - highest) / temperature) for action in allowed]
    total = sum(weights)
    return best, {action: weight / total for action, weight in zip(allowed, weights, strict=True)}


class ActionScorer:
    """The detector's weights, with products that don't depend on the text precomputed."""

    def __init__(self, weights: Mapping[str, Floats], product: Product = plain_product) -> None:
        hidden = weights["hidden.linear.weight"].T  # (parts, hidden)
        stack = weights["stack_start"].shape[1]
        history = weights["action_start"].shape[1]
        vector = weights["stack_cell.weight_ih"].shape[1]
        columns = np.split(hidden, np.cumsum([vector, stack, history]), axis=0)
        of = dict(zip(DETECTOR_PARTS, columns, strict=True))
        size = len(of["features"]) // len(DETECTOR_FEATURES)
        self.tables = {
            name: weights[f"features.tables.{name}.weight"] @ of["features"][i * size : (i + 1) * size]
            for i, name in enumerate(DETECTOR_FEATURES)
        }
        self.bias = weights["hidden.linear.bias"]
        self.zeros = np.zeros_like(self.bias)  # NumPy takes a maximum faster with a row than with a scalar
        self.output, self.output_bias = weights["output.weight"], weights["output.bias"]
        self.stack_lstm = _Lstm.of(weights, "stack_cell.", "")
        self.stack = np.ascontiguousarray(of["stack"])
        self.stack_start = weights["stack_start"]
        self.empty_stack = self.stack_start[0] @ self.stack
        self.empty_gates = self.stack_start[0] @ self.stack_lstm.own
        # What a token adds to the hidden layer and to the stack LSTM's gates, in one product.
        self.of_tokens = product("detector.tokens", np.concatenate([of["token"], self.stack_lstm.inputs], axis=1))
        self.action_lstm = _Lstm.of(weights, "action_lstm.", "_l0")
        # The action LSTM's input is one of four embeddings: what it adds to the gates is a table of four rows.
        self.action_gates = weights["action_embedding.weight"] @ self.action_lstm.inputs + self.action_lstm.bias
        # What the history adds to the hidden layer and to the next step's gates, in one product.
        self.history = np.concatenate([of["history"], self.action_lstm.own], axis=1)
        self.action_start = weights["action_start"]
        self.no_history = self.action_start[0] @ self.history

    def begin(self, vectors: Floats, classes: Mapping[str, int]) -> Scoring:
        """Start scoring a chunk with token vectors (n, vector); ``classes`` are its per-text features."""
        return _ChunkScoring(self, vectors, classes)

    def shares(self, vectors: Floats, classes: Mapping[str, int]) -> tuple[Floats, Floats]:
        """Return what each token adds to the hidden layer, and to the stack LSTM's gates once it is pushed."""
        shares = self.of_tokens(vectors)
        shares += self.constant(classes)
        return shares[:, : len(self.bias)], shares[:, len(self.bias) :]

    def constant(self, classes: Mapping[str, int]) -> Floats:
        """Return what is added to ``of_tokens`` for all tokens of a text."""
        of_hidden = self.bias + sum(self.tables[name][number] for name, number in classes.items())
        return np.concatenate([of_hidden, self.stack_lstm.bias])


class _ChunkScoring:
    def __init__(self, scorer: ActionScorer, vectors: Floats, classes: Mapping[str, int]) -> None:
        self._scorer = scorer
        self._tokens, self._pushed = scorer.shares(vectors, classes)
        h, c = scorer.stack_start
        self._stack: list[tuple[Floats, Floats, Floats]] = [(h, c, scorer.empty_stack)]
        self._cell, self._history = scorer.action_start[1], scorer.no_history
        self._hidden = len(scorer.bias)

    def scores(self, position: int, top: int | None) -> list[float]:
        scorer = self._scorer
        width = EMPTY_STACK if top is None else min(WIDEST, position - top)
        hidden = self._history[: self._hidden] + self._tokens[position]
        hidden += self._stack[-1][2]
        hidden += scorer.tables["width"][width]
        np.maximum(hidden, scorer.zeros, out=hidden)
        scores: list[float] = (scorer.output @ hidden + scorer.output_bias).tolist()
        return scores

    def taken(self, position: int, action: Action) -> None:
        scorer, hidden = self._scorer, self._hidden
        h, self._cell = lstm_step(scorer.action_gates[action] + self._history[hidden:], self._cell)
        self._history = h @ scorer.history
        if EFFECTS[action].pops:
            self._stack.pop()
        if EFFECTS[action].pushes:
            h, c, _ = self._stack[-1]
            below = h @ scorer.stack_lstm.own if len(self._stack) > 1 else scorer.empty_gates
            h, c = lstm_step(self._pushed[position] + below, c)
            self._stack.append((h, c, h @ scorer.stack))


@dataclass(frozen=True, slots=True)
class _Lstm:
    """An LSTM's weights, with gates in the order input, forget, output, candidate.

    The logistic function is 0.5 tanh(x / 2) + 0.5, so one tanh serves all four gates: the weights of the first three
    are stored halved.
    """

    inputs: Floats  # (input, 4 x size)
    own: Floats  # (size, 4 x size)
    bias: Floats  # (4 x size,)

    @classmethod
    def of(cls, weights: Mapping[str, Floats], prefix: str, suffix: str) -> _Lstm:
        """Convert PyTorch's weights, whose order is input, forget, candidate, output."""

        def turned(weight: Floats) -> Floats:
            in_gate, forget, candidate, out = np.split(weight, 4)
            return np.ascontiguousarray(np.concatenate([in_gate / 2, forget / 2, out / 2, candidate]).T)

        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        inputs, own, *biases = (turned(weights[f"{prefix}{name}{suffix}"]) for name in names)
        return cls(inputs, own, biases[0] + biases[1])


def lstm_step(gates: Floats, c: Floats) -> tuple[Floats, Floats]:
    """Return the next outputs and cells, (…, size), from the summed inputs of the gates, which are overwritten."""
    size = c.shape[-1]
    squashed = np.tanh(gates, out=gates)
    logistic = squashed[..., : 3 * size] * _HALF
    logistic += _HALF
    c = logistic[..., size : 2 * size] * c
    c += logistic[..., :size] * squashed[..., 3 * size :]
    return logistic[..., 2 * size :] * np.tanh(c), c
