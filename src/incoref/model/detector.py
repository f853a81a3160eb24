"""The mention detector at run time: greedy decoding of one chunk, in NumPy.

The scorer's first layer is a sum of four products, so all tokens of a chunk are projected at once, a stack state once
per PUSH, features are constants, and only the small action history is left per action (30 x 1000). ``decode`` knows
an interface, ``Scoring``, and no weights; ``ActionScorer`` is the one with weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import Protocol

import numpy as np

from incoref.model import transitions
from incoref.model.matmul import Floats, Product, plain_product
from incoref.model.transitions import Action, History, Span, Stack, State

_HALF = np.float32(0.5)
WIDTHS = 31
"""Classes of the width feature: 0 to 29 tokens from the top of the stack to the cursor; last, an empty stack."""


class Scoring(Protocol):
    """Scores the actions of one chunk, one step after the other."""

    def scores(self, position: int, top: int | None) -> Sequence[float]:
        """Scores of the four actions at a token above this left boundary; illegal ones are not looked at."""
        ...

    def taken(self, position: int, action: Action) -> None:
        """Told of every action after it was chosen at this token."""
        ...


@dataclass(frozen=True, slots=True)
class Step:
    """One action of a derivation, with the probabilities of the legal ones."""

    position: int
    action: Action
    probabilities: dict[Action, float]
    mention: Span | None


def _legal_actions(last: Action | None, is_open: bool, at_end: bool) -> tuple[Action, ...]:
    """What the transition system allows by all that it looks at."""
    return transitions.legal(
        State(
            length=1 if at_end else 2,
            stack=Stack(0) if is_open else None,
            history=None if last is None else History(last),
            pushed=last is Action.PUSH,
        )
    )


_LEGAL = {
    (last, is_open, at_end): _legal_actions(last, is_open, at_end)
    for last in (None, *Action)
    for is_open in (False, True)
    for at_end in (False, True)
}
"""The rules as a table: states are values, and making one for every action takes as long as scoring it."""


def decode(scoring: Scoring, length: int, temperature: float = 1.0) -> list[Step]:
    """The greedy derivation over ``length`` tokens."""
    steps: list[Step] = []
    stack: list[int] = []
    last: Action | None = None
    position = 0
    while position < length:
        allowed = _LEGAL[last, bool(stack), position == length - 1]
        if len(allowed) == 1:
            last = allowed[0]
            probabilities = {last: 1.0}
        else:
            scores = scoring.scores(position, stack[-1] if stack else None)
            last = max(allowed, key=scores.__getitem__)
            highest = scores[last]
            weights = [exp((scores[action] - highest) / temperature) for action in allowed]
            total = sum(weights)
            probabilities = {action: weight / total for action, weight in zip(allowed, weights, strict=True)}
        mention = (stack[-1], position) if last is Action.POP or last is Action.PEEK else None
        steps.append(Step(position, last, probabilities, mention))
        scoring.taken(position, last)
        if last is Action.ADVANCE:
            position += 1
        elif last is Action.PUSH:
            stack.append(position)
        elif last is Action.POP:
            stack.pop()
    return steps


class ActionScorer:
    """The detector's weights, with the products that don't depend on the text done once."""

    def __init__(
        self, weights: Mapping[str, Floats], features: tuple[str, ...], product: Product = plain_product
    ) -> None:
        """``features`` are the names of the feature tables in the order in which they are concatenated."""
        hidden = weights["hidden.linear.weight"].T  # (parts, hidden)
        stack = weights["stack_start"].shape[1]
        history = weights["action_start"].shape[1]
        vector = weights["stack_cell.weight_ih"].shape[1]
        buffer, of_stack, of_history, by_feature = np.split(hidden, np.cumsum([vector, stack, history]), axis=0)
        size = len(by_feature) // len(features)
        self.tables = {
            name: weights[f"features.tables.{name}.weight"] @ by_feature[i * size : (i + 1) * size]
            for i, name in enumerate(features)
        }
        self.bias = weights["hidden.linear.bias"]
        self.zeros = np.zeros_like(self.bias)  # NumPy is quicker at a maximum with a row than with a number
        self.output, self.output_bias = weights["output.weight"], weights["output.bias"]
        self.stack_lstm = _Lstm.of(weights, "stack_cell.", "")
        self.stack = np.ascontiguousarray(of_stack)
        self.stack_start = weights["stack_start"]
        self.empty_stack = self.stack_start[0] @ self.stack
        self.empty_gates = self.stack_start[0] @ self.stack_lstm.own
        # A token's share of the hidden layer and of the stack LSTM's gates, in one product.
        self.of_tokens = product(np.concatenate([buffer, self.stack_lstm.inputs], axis=1))
        self.action_lstm = _Lstm.of(weights, "action_lstm.", "_l0")
        # The action LSTM's input is one of four embeddings: its share of the gates is a table of four rows.
        self.action_gates = weights["action_embedding.weight"] @ self.action_lstm.inputs + self.action_lstm.bias
        # A history's share of the hidden layer and of the next step's gates, in one product.
        self.history = np.concatenate([of_history, self.action_lstm.own], axis=1)
        self.action_start = weights["action_start"]
        self.no_history = self.action_start[0] @ self.history

    def begin(self, vectors: Floats, classes: Mapping[str, int]) -> Scoring:
        """Scoring for a chunk of token vectors (n, vector); ``classes`` are the features that hold for all of it."""
        return _ChunkScoring(self, vectors, classes)


class _ChunkScoring:
    def __init__(self, scorer: ActionScorer, vectors: Floats, classes: Mapping[str, int]) -> None:
        self._scorer = scorer
        constant = scorer.bias + sum(scorer.tables[name][number] for name, number in classes.items())
        of_tokens = scorer.of_tokens(vectors)
        self._tokens = of_tokens[:, : len(constant)] + constant
        self._pushed = of_tokens[:, len(constant) :] + scorer.stack_lstm.bias
        h, c = scorer.stack_start
        self._stack: list[tuple[Floats, Floats, Floats]] = [(h, c, scorer.empty_stack)]
        self._cell, self._history = scorer.action_start[1], scorer.no_history
        self._hidden = len(constant)

    def scores(self, position: int, top: int | None) -> list[float]:
        scorer = self._scorer
        width = WIDTHS - 1 if top is None else min(WIDTHS - 2, position - top)
        hidden = self._history[: self._hidden] + self._tokens[position]
        hidden += self._stack[-1][2]
        hidden += scorer.tables["width"][width]
        np.maximum(hidden, scorer.zeros, out=hidden)
        found: list[float] = (scorer.output @ hidden + scorer.output_bias).tolist()
        return found

    def taken(self, position: int, action: Action) -> None:
        scorer, hidden = self._scorer, self._hidden
        h, self._cell = _lstm_step(scorer.action_gates[action] + self._history[hidden:], self._cell)
        self._history = h @ scorer.history
        if action is Action.PUSH:
            h, c, _ = self._stack[-1]
            below = h @ scorer.stack_lstm.own if len(self._stack) > 1 else scorer.empty_gates
            h, c = _lstm_step(self._pushed[position] + below, c)
            self._stack.append((h, c, h @ scorer.stack))
        elif action is Action.POP:
            self._stack.pop()


@dataclass(frozen=True, slots=True)
class _Lstm:
    """An LSTM's weights, gates in the order input, forget, output, candidate.

    The logistic function is 0.5 tanh(x / 2) + 0.5, so that one call serves all four gates: the first three are stored
    halved.
    """

    inputs: Floats  # (input, 4 x size)
    own: Floats  # (size, 4 x size)
    bias: Floats  # (4 x size,)

    @classmethod
    def of(cls, weights: Mapping[str, Floats], prefix: str, suffix: str) -> _Lstm:
        """From PyTorch's weights, whose order is input, forget, candidate, output."""

        def turned(weight: Floats) -> Floats:
            in_gate, forget, candidate, out = np.split(weight, 4)
            return np.ascontiguousarray(np.concatenate([in_gate / 2, forget / 2, out / 2, candidate]).T)

        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        inputs, own, *biases = (turned(weights[f"{prefix}{name}{suffix}"]) for name in names)
        return cls(inputs, own, biases[0] + biases[1])


def _lstm_step(gates: Floats, c: Floats) -> tuple[Floats, Floats]:
    """The next output and cell from the sum of all that the gates of an ``_Lstm`` are told."""
    size = len(c)
    squashed = np.tanh(gates, out=gates)
    logistic = squashed[: 3 * size] * _HALF
    logistic += _HALF
    c = logistic[size : 2 * size] * c
    c += logistic[:size] * squashed[3 * size :]
    return logistic[2 * size :] * np.tanh(c), c
