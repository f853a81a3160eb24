"""Batched decoding: the detector on many chunks in lockstep, bit-identical to decoding them one by one.

Chunks don't depend on each other. Element-wise operations run on all chunks in one call; products with a vector stay
separate, one per chunk, because a product of matrices would sum in another order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, chain

import numpy as np

from incoref.model.detector import ActionScorer, Step, chosen, lstm_step
from incoref.model.layout import EMPTY_STACK, WIDEST
from incoref.model.matmul import Floats
from incoref.model.transitions import EFFECTS, LEGAL, Action

_AT_ONCE = 48
"""Chunks per batch; more don't fit into a core's cache."""


def decode_all(
    scorer: ActionScorer, chunks: Sequence[Floats], classes: Mapping[str, int], temperature: float = 1.0
) -> list[list[Step]]:
    """Return what ``decode`` gives for each chunk of token vectors (n, vector)."""
    derivations: list[list[Step]] = [[] for _ in chunks]
    # Chunks of similar length finish together.
    order = sorted((number for number, chunk in enumerate(chunks) if len(chunk)), key=lambda n: len(chunks[n]))
    for start in range(0, len(order), _AT_ONCE):
        some = order[start : start + _AT_ONCE]
        decoded = _Lockstep(scorer, [chunks[number] for number in some], classes).decoded(temperature)
        for number, steps in zip(some, decoded, strict=True):
            derivations[number] = steps
    return derivations


class _Chunk:
    """The progress of one chunk's derivation."""

    __slots__ = ("first", "last", "length", "position", "stack", "steps")

    def __init__(self, length: int, first: int) -> None:
        self.length, self.first = length, first
        self.position = 0
        self.last: Action | None = None
        self.stack: list[int] = []
        self.steps: list[Step] = []


class _Lockstep:
    def __init__(self, scorer: ActionScorer, chunks: Sequence[Floats], classes: Mapping[str, int]) -> None:
        self._scorer = scorer
        shares = np.concatenate([scorer.of_tokens(chunk) for chunk in chunks])  # (all tokens, hidden and gates)
        shares += scorer.constant(classes)
        self._tokens, self._pushed = shares[:, : len(scorer.bias)], shares[:, len(scorer.bias) :]
        lengths = [len(chunk) for chunk in chunks]
        self._chunks = [
            _Chunk(length, first) for length, first in zip(lengths, accumulate(chain((0,), lengths)), strict=False)
        ]
        count, self._hidden = len(chunks), len(scorer.bias)
        self._cells = np.repeat(scorer.action_start[1][None], count, axis=0)
        self._histories = np.repeat(scorer.no_history[None], count, axis=0)
        h, c = scorer.stack_start
        self._stacks: list[list[tuple[Floats, Floats]]] = [[(h, c)] for _ in chunks]
        self._tops = np.repeat(scorer.empty_stack[None], count, axis=0)  # the top's part of the hidden layer
        self._below: list[list[Floats]] = [[scorer.empty_stack] for _ in chunks]

    def decoded(self, temperature: float) -> list[list[Step]]:
        active = list(range(len(self._chunks)))
        while active:
            actions: dict[int, Action] = {}
            asked: list[tuple[int, tuple[Action, ...]]] = []
            probabilities: dict[int, dict[Action, float]] = {}
            for number in active:
                chunk = self._chunks[number]
                allowed = LEGAL[chunk.last, bool(chunk.stack), chunk.position == chunk.length - 1]
                if len(allowed) == 1:
                    actions[number], probabilities[number] = allowed[0], {allowed[0]: 1.0}
                else:
                    asked.append((number, allowed))
            if asked:
                scores = self._scores([number for number, _ in asked])
                for (number, allowed), row in zip(asked, scores, strict=True):
                    actions[number], probabilities[number] = chosen(allowed, row, temperature)
            pushing, going_on = [], []
            for number in active:
                chunk, action = self._chunks[number], actions[number]
                effect = EFFECTS[action]
                mention = (chunk.stack[-1], chunk.position) if effect.emits else None
                chunk.steps.append(Step(chunk.position, action, probabilities[number], mention))
                if effect.pops:
                    chunk.stack.pop()
                    self._stacks[number].pop()
                    self._below[number].pop()
                    self._tops[number] = self._below[number][-1]
                if effect.pushes:
                    pushing.append(number)
                chunk.position += effect.advances
                chunk.last = action
                if chunk.position < chunk.length:
                    going_on.append(number)
            if pushing:
                self._push(pushing)
            active = going_on
            if active:
                self._remember(active, [actions[number] for number in active])
        return [chunk.steps for chunk in self._chunks]

    def _scores(self, numbers: Sequence[int]) -> list[list[float]]:
        """Return the scores of the four actions in each of these chunks."""
        scorer = self._scorer
        chunks = [self._chunks[number] for number in numbers]
        widths = [min(WIDEST, chunk.position - chunk.stack[-1]) if chunk.stack else EMPTY_STACK for chunk in chunks]
        hidden = self._histories[numbers, : self._hidden]
        hidden += self._tokens[[chunk.first + chunk.position for chunk in chunks]]
        hidden += self._tops[numbers]
        hidden += scorer.tables["width"][widths]
        np.maximum(hidden, scorer.zeros, out=hidden)
        scores: list[list[float]] = (
            np.matmul(scorer.output, hidden[:, :, None])[:, :, 0] + scorer.output_bias
        ).tolist()
        return scores

    def _remember(self, numbers: Sequence[int], actions: Sequence[Action]) -> None:
        """Feed these chunks' actions to their action LSTMs."""
        scorer = self._scorer
        gates = scorer.action_gates[actions] + self._histories[numbers, self._hidden :]
        h, cells = lstm_step(gates, self._cells[numbers])
        self._cells[numbers] = cells
        self._histories[numbers] = _each_times(h, scorer.history)

    def _push(self, numbers: Sequence[int]) -> None:
        """Push these chunks' current tokens onto their stacks."""
        scorer = self._scorer
        chunks = [self._chunks[number] for number in numbers]
        tops = [self._stacks[number][-1] for number in numbers]
        below = _each_times(np.stack([h for h, _ in tops]), scorer.stack_lstm.own)
        for row, chunk in zip(below, chunks, strict=True):
            if not chunk.stack:
                row[:] = scorer.empty_gates
            chunk.stack.append(chunk.position)
        gates = self._pushed[[chunk.first + chunk.position for chunk in chunks]] + below
        h, cells = lstm_step(gates, np.stack([c for _, c in tops]))
        shares = _each_times(h, scorer.stack)
        self._tops[numbers] = shares
        for number, output, cell, share in zip(numbers, h, cells, shares, strict=True):
            self._stacks[number].append((output, cell))
            self._below[number].append(share)


def _each_times(rows: Floats, matrix: Floats) -> Floats:
    """Multiply each row by the matrix separately, exactly as ``row @ matrix`` does."""
    product: Floats = np.matmul(rows[:, None, :], matrix)[:, 0]
    return product
