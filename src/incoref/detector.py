"""The mention detector at run time: greedy decoding of one chunk, in NumPy.

The scorer's first layer is a sum of four products, so all tokens of a chunk are projected at once, a stack state once
per PUSH, features are constants, and only the small action history is left per action (30 x 1000). ``decode`` knows
an interface, ``Scoring``, and no weights; ``ActionScorer`` is the one with weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from incoref import transitions
from incoref.transitions import Action, Span, State

Floats = npt.NDArray[np.float32]

WIDTHS = 31
"""Classes of the width feature: 0 to 29 tokens from the top of the stack to the cursor; last, an empty stack."""


class Scoring(Protocol):
    """Scores the actions of one chunk, one step after the other."""

    def scores(self, state: State) -> Floats:
        """Scores of the four actions in this state; those of illegal ones are not looked at."""
        ...

    def taken(self, state: State, action: Action) -> None:
        """Told after every action; ``state`` is the one before it."""
        ...


@dataclass(frozen=True, slots=True)
class Step:
    """One action of a derivation, with the probabilities of the legal ones."""

    position: int
    action: Action
    probabilities: dict[Action, float]
    mention: Span | None


def decode(scoring: Scoring, length: int, temperature: float = 1.0) -> list[Step]:
    """The greedy derivation over ``length`` tokens."""
    state = transitions.start(length)
    steps = []
    while not state.finished:
        allowed = transitions.legal(state)
        if len(allowed) == 1:
            probabilities = {allowed[0]: 1.0}
        else:
            scores = scoring.scores(state)[list(allowed)] / temperature
            weights = np.exp(scores - scores.max())
            weights /= weights.sum()
            probabilities = dict(zip(allowed, weights.tolist(), strict=True))
        action = max(probabilities, key=probabilities.__getitem__)
        steps.append(Step(state.position, action, probabilities, transitions.mention_of(state, action)))
        scoring.taken(state, action)
        state = transitions.apply(state, action)
    return steps


def width_class(state: State) -> int:
    """Class of the distance from the top of the stack to the cursor."""
    return WIDTHS - 1 if state.stack is None else min(WIDTHS - 2, state.position - state.stack.top)


class ActionScorer:
    """The detector's weights, with the products that don't depend on the text done once."""

    def __init__(self, weights: Mapping[str, Floats], features: tuple[str, ...]) -> None:
        """``features`` are the names of the feature tables in the order in which they are concatenated."""
        hidden = weights["hidden.linear.weight"].T  # (parts, hidden)
        stack = weights["stack_start"].shape[1]
        history = weights["action_start"].shape[1]
        vector = weights["stack_cell.weight_ih"].shape[1]
        self.buffer, self.stack, self.history, by_feature = np.split(
            hidden, np.cumsum([vector, stack, history]), axis=0
        )
        size = len(by_feature) // len(features)
        self.tables = {
            name: weights[f"features.tables.{name}.weight"] @ by_feature[i * size : (i + 1) * size]
            for i, name in enumerate(features)
        }
        self.bias = weights["hidden.linear.bias"]
        self.output, self.output_bias = np.ascontiguousarray(weights["output.weight"].T), weights["output.bias"]
        self.stack_in = np.ascontiguousarray(weights["stack_cell.weight_ih"].T)
        self.stack_own = np.ascontiguousarray(weights["stack_cell.weight_hh"].T)
        self.stack_bias = weights["stack_cell.bias_ih"] + weights["stack_cell.bias_hh"]
        self.stack_start = weights["stack_start"]
        # The action LSTM's input is one of four embeddings: its share of the gates is a table of four rows.
        self.action_gates = (
            weights["action_embedding.weight"] @ weights["action_lstm.weight_ih_l0"].T
            + weights["action_lstm.bias_ih_l0"]
            + weights["action_lstm.bias_hh_l0"]
        )
        self.action_own = np.ascontiguousarray(weights["action_lstm.weight_hh_l0"].T)
        self.action_start = weights["action_start"]
        self.empty_stack = self.stack_start[0] @ self.stack

    def begin(self, vectors: Floats, classes: Mapping[str, int]) -> Scoring:
        """Scoring for a chunk of token vectors (n, vector); ``classes`` are the features that hold for all of it."""
        return _ChunkScoring(self, vectors, classes)


class _ChunkScoring:
    def __init__(self, scorer: ActionScorer, vectors: Floats, classes: Mapping[str, int]) -> None:
        self._scorer = scorer
        constant = scorer.bias + sum(scorer.tables[name][number] for name, number in classes.items())
        self._tokens = vectors @ scorer.buffer + constant
        self._pushed = vectors @ scorer.stack_in + scorer.stack_bias
        h, c = scorer.stack_start
        self._stack: list[tuple[Floats, Floats, Floats]] = [(h, c, scorer.empty_stack)]
        self._history, self._history_cell = scorer.action_start

    def scores(self, state: State) -> Floats:
        scorer = self._scorer
        hidden = self._tokens[state.position] + self._stack[-1][2]
        hidden += scorer.tables["width"][width_class(state)]
        hidden += self._history @ scorer.history
        np.maximum(hidden, 0, out=hidden)
        found: Floats = hidden @ scorer.output + scorer.output_bias
        return found

    def taken(self, state: State, action: Action) -> None:
        scorer = self._scorer
        gates = scorer.action_gates[action] + self._history @ scorer.action_own
        self._history, self._history_cell = _lstm(gates, self._history_cell)
        if action is Action.PUSH:
            h, c, _ = self._stack[-1]
            h, c = _lstm(self._pushed[state.position] + h @ scorer.stack_own, c)
            self._stack.append((h, c, h @ scorer.stack))
        elif action is Action.POP:
            self._stack.pop()


def _lstm(gates: Floats, cell: Floats) -> tuple[Floats, Floats]:
    """New state and cell from the gates' inputs, in PyTorch's order: input, forget, candidate, output."""
    size = len(cell)
    candidate = np.tanh(gates[2 * size : 3 * size])
    # The logistic function by tanh: it can't overflow, and one call serves three gates.
    squashed = 0.5 * np.tanh(0.5 * gates) + 0.5
    cell = squashed[size : 2 * size] * cell + squashed[:size] * candidate
    return squashed[3 * size :] * np.tanh(cell), cell
