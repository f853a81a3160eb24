"""The paper's transition system: four actions that find nested mentions in one pass over the tokens.

A state is [S, i, A]: a stack of left boundaries, the token under the cursor, the actions so far. Each action has a
guard (when it is legal) and an effect (the state after it). The clusters of the paper's state are in the entity
memory; a POP or PEEK yields the mention to cluster.

States are immutable and share their stacks and histories, so that branching costs nothing. There are no scores or
arrays here, and no gold annotation other than spans.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

Span = tuple[int, int]
"""First and last token of a mention, both inclusive: the paper's (top of S, i)."""


class Action(IntEnum):
    """Numbered as in the authors' program, so that its weights and outputs can be read."""

    ADVANCE = 0
    PUSH = 1
    POP = 2
    PEEK = 3


class Effect(NamedTuple):
    """What an action does."""

    advances: bool = False
    """Moves the cursor to the next token."""
    pushes: bool = False
    """Puts the token under the cursor on the stack, as a left boundary."""
    pops: bool = False
    """Takes the top off the stack."""
    emits: bool = False
    """Emits the mention from the top of the stack to the cursor."""


EFFECTS: dict[Action, Effect] = {
    Action.ADVANCE: Effect(advances=True),
    Action.PUSH: Effect(pushes=True),
    Action.POP: Effect(pops=True, emits=True),
    Action.PEEK: Effect(emits=True),
}


@dataclass(frozen=True, slots=True)
class Stack:
    """A linked stack of left boundaries; None stands for the empty stack."""

    top: int
    below: Stack | None = None

    def __iter__(self) -> Iterator[int]:
        """From the top down."""
        node: Stack | None = self
        while node is not None:
            yield node.top
            node = node.below


@dataclass(frozen=True, slots=True)
class History:
    """A linked list of the actions so far, latest first; None stands for the empty list."""

    action: Action
    before: History | None = None


@dataclass(frozen=True, slots=True)
class State:
    """A point in a derivation over ``length`` tokens."""

    length: int
    position: int = 0
    stack: Stack | None = None
    history: History | None = None
    pushed: bool = False
    """Whether the token under the cursor has been pushed."""

    @property
    def finished(self) -> bool:
        return self.position == self.length

    @property
    def last_action(self) -> Action | None:
        return self.history.action if self.history else None

    @property
    def actions(self) -> tuple[Action, ...]:
        """The whole history, oldest first."""
        actions, node = [], self.history
        while node is not None:
            actions.append(node.action)
            node = node.before
        return tuple(reversed(actions))


def start(length: int) -> State:
    """The state before the first action over a chunk of ``length`` tokens."""
    return State(length)


def may_advance(state: State) -> bool:
    """No mention stays open across the end of the chunk (1)."""
    return not state.finished and (state.stack is None or state.position < state.length - 1)


def may_push(state: State) -> bool:
    """Once a token (3), and not directly after a mention was found (4)."""
    return not state.finished and not state.pushed and state.last_action not in (Action.POP, Action.PEEK)


def may_pop(state: State) -> bool:
    """Needs a left boundary (2), and not directly after PEEK (5): that would be the same mention again."""
    return not state.finished and state.stack is not None and state.last_action is not Action.PEEK


def may_peek(state: State) -> bool:
    """Needs a left boundary (2) and a token after this one (6), and not directly after PEEK (7)."""
    return may_pop(state) and state.position < state.length - 1


_GUARDS = {
    Action.ADVANCE: may_advance,
    Action.PUSH: may_push,
    Action.POP: may_pop,
    Action.PEEK: may_peek,
}


def legal(state: State) -> tuple[Action, ...]:
    """Return the legal actions: none in the final state, at least one in every other."""
    return tuple(action for action, guard in _GUARDS.items() if guard(state))


def _legal_by_key(last: Action | None, on_stack: bool, on_last: bool) -> tuple[Action, ...]:
    return legal(
        State(
            length=1 if on_last else 2,
            stack=Stack(0) if on_stack else None,
            history=None if last is None else History(last),
            pushed=last is not None and EFFECTS[last].pushes,
        )
    )


LEGAL: dict[tuple[Action | None, bool, bool], tuple[Action, ...]] = {
    (last, on_stack, on_last): _legal_by_key(last, on_stack, on_last)
    for last in (None, *Action)
    for on_stack in (False, True)
    for on_last in (False, True)
}
"""``legal`` as a table, keyed by everything it depends on: the previous action (None at the start of a chunk),
whether the stack holds a boundary, and whether the cursor is at the last token. Faster than building a state for
every action."""


def apply(state: State, action: Action) -> State:
    """Return the state after a legal action."""
    if not _GUARDS[action](state):
        raise ValueError(f"{action.name} is not legal at token {state.position} of {state.length}")
    effect = EFFECTS[action]
    stack = state.stack.below if effect.pops and state.stack is not None else state.stack
    return State(
        length=state.length,
        position=state.position + effect.advances,
        stack=Stack(state.position, stack) if effect.pushes else stack,
        history=History(action, state.history),
        pushed=not effect.advances and (state.pushed or effect.pushes),
    )


def mention_of(state: State, action: Action) -> Span | None:
    """Return the mention that the action emits in this state, if any."""
    if EFFECTS[action].emits and state.stack is not None:
        return (state.stack.top, state.position)
    return None


def oracle(spans: Collection[Span], length: int) -> list[Action]:
    """Return the unique derivation of a set of nested spans over ``length`` tokens.

    At every token: PUSH if a mention starts here; for every mention that ends here, innermost first, POP, or PEEK if
    a longer one shares its start; ADVANCE. Spans that can't be derived (see ``derivable``) are an error.
    """
    rest = derivable(spans, length)
    if rest.dropped or len(rest.kept) != len(spans):
        raise ValueError(f"spans that no derivation gives: {sorted(rest.dropped) or 'duplicates'}")
    starts = {first for first, _ in spans}
    longest: dict[int, int] = {}
    ending: dict[int, list[int]] = {}
    for first, last in spans:
        longest[first] = max(last, longest.get(first, last))
        ending.setdefault(last, []).append(first)
    actions = []
    for i in range(length):
        if i in starts:
            actions.append(Action.PUSH)
        innermost_first = sorted(ending.get(i, ()), reverse=True)
        actions += [Action.POP if longest[first] == i else Action.PEEK for first in innermost_first]
        actions.append(Action.ADVANCE)
    return actions


@dataclass(frozen=True, slots=True)
class Derivable:
    """The spans of a collection that one derivation can produce, and those it can't."""

    kept: tuple[Span, ...]
    dropped: tuple[Span, ...]


def derivable(spans: Iterable[Span], length: int) -> Derivable:
    """Split spans into a nested set, in order of derivation, and the spans that don't fit into it.

    Of two crossing spans, the one that starts later is dropped; so are spans that reach outside the chunk. Duplicates
    are kept once and not counted as dropped: the caller, who knows the clusters, merges them.
    """
    kept: list[Span] = []
    dropped: list[Span] = []
    open_ends: list[int] = []  # ends of the kept spans around the current start, innermost last
    for first, last in sorted(set(spans), key=lambda span: (span[0], -span[1])):
        while open_ends and open_ends[-1] < first:
            open_ends.pop()
        inside = 0 <= first <= last < length
        if not inside or (open_ends and last > open_ends[-1]):
            dropped.append((first, last))
        else:
            kept.append((first, last))
            open_ends.append(last)
    kept.sort(key=lambda span: (span[1], -span[0]))
    return Derivable(tuple(kept), tuple(dropped))


def replay(actions: Iterable[Action], length: int) -> list[Span]:
    """Return the mentions of a derivation, in the order in which they are emitted."""
    state = start(length)
    mentions = []
    for action in actions:
        mention = mention_of(state, action)
        state = apply(state, action)
        if mention is not None:
            mentions.append(mention)
    return mentions
