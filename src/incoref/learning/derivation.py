"""A teacher-forced derivation as arrays: everything about its steps that is known before any score is.

T steps, P pushes, M mentions. Stack nodes are numbered from 1 in order of their PUSH; node 0 is the empty stack.
This module knows tokens by number only: no vectors, no clusters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incoref import transitions
from incoref.transitions import Action

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

EMPTY = -1
"""Width of the empty stack; the detector maps it to a class of its own or to 0."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """The steps of one document, chunk after chunk."""

    action: Ints  # (T,) the gold action
    legal: Bools  # (T, 4)
    token: Ints  # (T,) number of the buffer token in the document
    node: Ints  # (T,) stack node on top before the action
    width: Ints  # (T,) current token - top of the stack, or EMPTY
    push_token: Ints  # (P,) token of each stack node from 1 on
    push_parent: Ints  # (P,) the node below
    push_level: Ints  # (P,) height of the stack below
    first: Ints  # (M,) first token of each mention, in order of derivation
    last: Ints  # (M,) last token, included
    found_at: Ints  # (M,) the step that finds it
    chunk_steps: Ints  # (C,) number of steps in each chunk

    def __len__(self) -> int:
        return len(self.action)


def derive(chunks: Iterable[tuple[int, Sequence[Action]]]) -> Derivation:
    """Replay gold actions chunk by chunk: (number of tokens, actions) each."""
    actions: list[int] = []
    legal: list[tuple[bool, ...]] = []
    tokens: list[int] = []
    nodes: list[int] = []
    widths: list[int] = []
    push_token: list[int] = []
    push_parent: list[int] = []
    push_level: list[int] = []
    first: list[int] = []
    last: list[int] = []
    found_at: list[int] = []
    chunk_steps: list[int] = []
    offset = 0
    for length, chunk in chunks:
        state = transitions.start(length)
        stack: list[int] = []
        for action in chunk:
            allowed = transitions.legal(state)
            legal.append(tuple(a in allowed for a in Action))
            actions.append(int(action))
            tokens.append(offset + state.position)
            nodes.append(stack[-1] if stack else 0)
            widths.append(state.position - state.stack.top if state.stack else EMPTY)
            mention = transitions.mention_of(state, action)
            if mention is not None:
                first.append(offset + mention[0])
                last.append(offset + mention[1])
                found_at.append(len(actions) - 1)
            if action is Action.PUSH:
                push_token.append(offset + state.position)
                push_parent.append(stack[-1] if stack else 0)
                push_level.append(len(stack))
                stack.append(len(push_token))
            elif action is Action.POP:
                stack.pop()
            state = transitions.apply(state, action)
        if not state.finished:
            raise ValueError(f"the actions of a chunk end at token {state.position} of {length}")
        chunk_steps.append(len(chunk))
        offset += length

    def ints(values: list[int]) -> Ints:
        return np.asarray(values, np.int64)

    return Derivation(
        action=ints(actions),
        legal=np.asarray(legal, np.bool_).reshape(-1, len(Action)),
        token=ints(tokens),
        node=ints(nodes),
        width=ints(widths),
        push_token=ints(push_token),
        push_parent=ints(push_parent),
        push_level=ints(push_level),
        first=ints(first),
        last=ints(last),
        found_at=ints(found_at),
        chunk_steps=ints(chunk_steps),
    )
