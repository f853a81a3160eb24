"""A teacher-forced derivation as arrays: everything known about its steps before any scoring.

T steps, P pushes, M mentions. Stack nodes are numbered from 1 in order of their PUSH; node 0 is the empty stack.
Tokens are only indices here: there are no vectors and no clusters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from incoref.model.transitions import EFFECTS, LEGAL, Action, Effect, Span

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_ADVANCES, _PUSHES, _POPS, _EMITS = (
    np.array([EFFECTS[action][effect] for action in Action]) for effect in range(len(Effect._fields))
)
EMPTY = -1
"""Width of the empty stack; the detector maps it to a class of its own or to 0."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """The steps of one document, chunk after chunk."""

    action: Ints  # (T,) the gold action
    legal: Bools  # (T, 4)
    token: Ints  # (T,) index in the document of the token under the cursor
    node: Ints  # (T,) stack node on top before the action
    width: Ints  # (T,) current token - top of the stack, or EMPTY
    push_token: Ints  # (P,) token of each stack node from 1 on
    push_parent: Ints  # (P,) the node below
    push_level: Ints  # (P,) height of the stack below
    first: Ints  # (M,) first token of each mention, in order of derivation
    last: Ints  # (M,) last token, inclusive
    found_at: Ints  # (M,) the step that emits it
    chunk_steps: Ints  # (C,) number of steps in each chunk

    def __len__(self) -> int:
        return len(self.action)

    @property
    def spans(self) -> list[Span]:
        """The mentions."""
        return list(zip(self.first.tolist(), self.last.tolist(), strict=True))


def derive(chunks: Iterable[tuple[int, Sequence[Action]]]) -> Derivation:
    """Replay gold actions, given as (number of tokens, actions) for each chunk."""
    lengths, derivations = [], []
    for length, actions in chunks:
        lengths.append(length)
        derivations.append(np.asarray(actions, np.int64))
    chunk_steps = np.array([len(actions) for actions in derivations], np.int64)
    action = np.concatenate([np.zeros(0, np.int64), *derivations])
    advances = _ADVANCES[action]
    token = np.cumsum(advances) - advances  # tokens passed before each step
    chunk_ends = np.cumsum(np.array(lengths, np.int64))
    chunk = np.repeat(np.arange(len(chunk_steps)), chunk_steps)
    forest = _Forest(action, token)
    empty = forest.node == 0
    width = np.where(empty, EMPTY, token - np.concatenate([[0], forest.push_token])[forest.node])
    legal = _legal(action, chunk_steps, ~empty, token >= chunk_ends[chunk] - 1)
    _check(action, legal, advances, chunk_steps, lengths)
    found_at = np.flatnonzero(_EMITS[action])
    return Derivation(
        action=action,
        legal=legal,
        token=token,
        node=forest.node,
        width=width,
        push_token=forest.push_token,
        push_parent=forest.push_parent,
        push_level=forest.push_level,
        first=(token - width)[found_at],
        last=token[found_at],
        found_at=found_at,
        chunk_steps=chunk_steps,
    )


class _Forest:
    """The stack nodes of a derivation, and the top node before every step."""

    def __init__(self, action: Ints, token: Ints) -> None:
        changes = np.flatnonzero(_PUSHES[action] | _POPS[action])
        parents: list[int] = []
        levels: list[int] = []
        tops: list[int] = []  # the node on top after each change
        stack = [0]
        for pushes in _PUSHES[action[changes]].tolist():
            if pushes:
                parents.append(stack[-1])
                levels.append(len(stack) - 1)
                stack.append(len(parents))
            elif len(stack) > 1:
                stack.pop()
            tops.append(stack[-1])
        # Each step sees the top that the latest change before it left.
        self.node = np.array([0, *tops], np.int64)[np.searchsorted(changes, np.arange(len(action)), side="left")]
        self.push_token = token[_PUSHES[action]]
        self.push_parent = np.array(parents, np.int64)
        self.push_level = np.array(levels, np.int64)


def _legal(action: Ints, chunk_steps: Ints, on_stack: Bools, on_last: Bools) -> Bools:
    """Return which actions are legal at every step, (T, 4)."""
    before = np.concatenate([[_START], action[:-1]])[: len(action)]
    before[(np.cumsum(chunk_steps) - chunk_steps)[chunk_steps > 0]] = _START
    legal: Bools = _legal_table()[before, on_stack.astype(np.int64), on_last.astype(np.int64)]
    return legal


_START = len(Action)
"""Stands for the action before the first one of a chunk."""


@cache
def _legal_table() -> Bools:
    """``transitions.LEGAL`` as an array, by previous action, non-empty stack or not, and last token or not."""
    table = np.zeros((len(Action) + 1, 2, 2, len(Action)), np.bool_)
    for (before, on_stack, on_last), actions in LEGAL.items():
        table[_START if before is None else before, int(on_stack), int(on_last), list(actions)] = True
    return table


def _check(action: Ints, legal: Bools, advances: Bools, chunk_steps: Ints, lengths: Sequence[int]) -> None:
    """Check that every action is legal, and that every chunk's actions end where it does."""
    wrong = np.flatnonzero(~legal[np.arange(len(action)), action])
    if len(wrong):
        raise ValueError(f"{Action(int(action[wrong[0]])).name} is not legal at step {wrong[0]}")
    passed = np.concatenate([[0], np.cumsum(advances)])[np.concatenate([[0], np.cumsum(chunk_steps)])]
    for chunk, (tokens, length) in enumerate(zip(np.diff(passed).tolist(), lengths, strict=True)):
        if tokens != length:
            raise ValueError(f"the actions of chunk {chunk} end at token {tokens} of {length}")
