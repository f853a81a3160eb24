"""The mention detector: scores the four actions from buffer, stack, action history and features.

``forward`` scores all steps of a teacher-forced derivation without a loop over actions: the action LSTM runs over
padded sequences, the stack states form a forest that is computed level by level, and the scorer is one product. The
plain definition, step by step, is in ``paper/definition.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from incoref.learning.data.derivation import Derivation
from incoref.learning.nets.layers import Dropout, FeatureTables, SplitLinear, beside
from incoref.model.layout import DETECTOR_PARTS
from incoref.model.transitions import Action


@dataclass(frozen=True, slots=True)
class DetectorSizes:
    """Defaults are the paper's, except ``vector``."""

    vector: int
    stack: int = 200
    history: int = 30
    action: int = 20
    feature: int = 20
    hidden: int = 1000
    dropout: float = 0.3


class Detector(nn.Module):
    def __init__(self, sizes: DetectorSizes, features: Mapping[str, int]) -> None:
        super().__init__()
        self.sizes = sizes
        self.stack_cell = nn.LSTMCell(sizes.vector, sizes.stack)
        self.stack_start = nn.Parameter(torch.zeros(2, sizes.stack))  # h and c of the empty stack
        self.action_embedding = nn.Embedding(len(Action), sizes.action)
        self.action_lstm = nn.LSTM(sizes.action, sizes.history, batch_first=True)
        self.action_start = nn.Parameter(torch.zeros(2, sizes.history))
        self.features = FeatureTables(features, sizes.feature)
        self.hidden = SplitLinear(
            dict(zip(DETECTOR_PARTS, (sizes.vector, sizes.stack, sizes.history, self.features.width), strict=True)),
            sizes.hidden,
        )
        self.dropout = Dropout(sizes.dropout)
        self.output = nn.Linear(sizes.hidden, len(Action))

    def forward(
        self,
        vectors: Tensor,
        derivation: Derivation,
        sequence_steps: np.ndarray,
        classes: Mapping[str, Tensor],
        start: Tensor | None = None,
    ) -> Tensor:
        """Return the scores of all actions, legal or not, at all steps, (T, 4).

        ``vectors`` (N, vector) are the token vectors; ``sequence_steps`` the lengths of the runs of steps after which
        the action history restarts; ``classes`` the feature classes of every step, (T,) each; ``start`` the state of
        the action history at the start of each run, by default the learned one.
        """
        token, node = beside(vectors, derivation.token), beside(vectors, derivation.node)
        stack = self.stack_states(vectors, derivation)
        history = self.history_states(derivation.action, sequence_steps, start)
        weights = self.hidden.weights()
        # In place: (T, hidden) is large, and allocating each of the sums costs as much as computing it.
        hidden = linear(vectors, weights["token"], self.hidden.bias).index_select(0, token)
        hidden += linear(stack, weights["stack"]).index_select(0, node)
        hidden.addmm_(history, weights["history"].T).addmm_(self.features(classes), weights["features"].T)
        scores: Tensor = self.output(self.dropout(hidden.relu_()))
        return scores

    def stack_states(self, vectors: Tensor, derivation: Derivation) -> Tensor:
        """Return the Stack-LSTM's output for every stack node, (P + 1, stack); node 0 is the empty stack."""
        if not len(derivation.push_token):
            return self.stack_start[:1]
        # Nodes are computed and stored level by level; ``place`` maps a node's number to its row.
        order = np.argsort(derivation.push_level, kind="stable")
        place = np.zeros(len(order) + 1, np.int64)
        place[order + 1] = np.arange(1, len(order) + 1)
        inputs = vectors.index_select(0, beside(vectors, derivation.push_token[order]))
        parents = beside(vectors, place[derivation.push_parent[order]])
        levels = np.bincount(derivation.push_level)
        h, c = [self.stack_start[:1]], [self.stack_start[1:]]
        before, done = 1, 0  # nodes before the level below this one; pushes done
        previous_h, previous_c, offset = self.stack_start[:1], self.stack_start[1:], 0
        for count in levels:
            rows = slice(done, done + int(count))
            parent = parents[rows] - offset
            state = previous_h.index_select(0, parent), previous_c.index_select(0, parent)
            previous_h, previous_c = self.stack_cell(inputs[rows], state)
            h.append(previous_h)
            c.append(previous_c)
            offset, done = before, done + int(count)
            before += int(count)
        return torch.cat(h).index_select(0, beside(vectors, place))

    def history_states(
        self, actions: np.ndarray, sequence_steps: np.ndarray, start_state: Tensor | None = None
    ) -> Tensor:
        """Return the action LSTM's output before every step, (T, history)."""
        start_state = self.action_start if start_state is None else start_state  # (2, history): h and c
        count, longest = len(sequence_steps), int(sequence_steps.max(initial=1))
        inside = np.arange(longest) < sequence_steps[:, None]  # (S, L)
        padded = np.zeros((count, longest), np.int64)
        padded[inside] = actions
        start = start_state[:, None, None, :].expand(2, 1, count, -1).contiguous()
        states, _ = self.action_lstm(self.action_embedding(beside(start, padded)), (start[0], start[1]))
        states = torch.cat([start[0].transpose(0, 1), states[:, :-1]], dim=1)  # the state before each step
        flat = beside(start, np.flatnonzero(inside))
        return states.reshape(count * longest, -1).index_select(0, flat)

    @torch.no_grad()
    def history_after(self, actions: np.ndarray, start: Tensor | None = None) -> Tensor:
        """Return the action LSTM's state after a run of actions, (2, history), without gradients."""
        state = (self.action_start if start is None else start)[:, None, :]
        _, (h, c) = self.action_lstm(self.action_embedding(beside(state, actions)), (state[0], state[1]))
        return torch.cat([h, c])
