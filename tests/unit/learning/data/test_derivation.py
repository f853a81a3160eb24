"""Derivations as arrays say at every step what the transition system says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incoref.learning.data.derivation import EMPTY, derive
from incoref.model import transitions
from incoref.model.transitions import Action


@st.composite
def chunks(draw: st.DrawFn) -> list[tuple[int, list[Action]]]:
    """Consecutive chunks of tokens, each with the derivation of some nested spans."""
    found = []
    for length in draw(st.lists(st.integers(1, 9), max_size=4)):
        places = st.integers(0, length - 1)
        spans = draw(st.lists(st.tuples(places, places).map(lambda pair: (min(pair), max(pair))), max_size=8))
        kept = transitions.derivable(spans, length).kept
        found.append((length, transitions.oracle(kept, length)))
    return found


@given(chunks())
def test_every_step_is_that_of_the_transition_system(given_chunks: list[tuple[int, list[Action]]]) -> None:
    derivation = derive(given_chunks)
    assert derivation.chunk_steps.tolist() == [len(actions) for _, actions in given_chunks]
    step, offset, mentions = 0, 0, []
    push_token = [-1, *derivation.push_token.tolist()]
    for length, actions in given_chunks:
        state = transitions.start(length)
        for action in actions:
            assert derivation.action[step] == action
            assert derivation.token[step] == offset + state.position
            assert [Action(i) for i in derivation.legal[step].nonzero()[0]] == list(transitions.legal(state))
            on_stack = [] if state.stack is None else [offset + boundary for boundary in state.stack]
            assert derivation.width[step] == (offset + state.position - on_stack[0] if on_stack else EMPTY)
            # Following the nodes down gives the whole stack.
            node = int(derivation.node[step])
            for boundary in on_stack:
                assert push_token[node] == boundary
                node = int(derivation.push_parent[node - 1])
            assert node == 0
            found = transitions.mention_of(state, action)
            if found is not None:
                mentions.append((step, offset + found[0], offset + found[1]))
            state = transitions.apply(state, action)
            step += 1
        offset += length
    assert len(derivation) == step
    columns = derivation.found_at, derivation.first, derivation.last
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == mentions


@given(chunks())
def test_levels_are_heights_of_the_stack(given_chunks: list[tuple[int, list[Action]]]) -> None:
    derivation = derive(given_chunks)
    for parent, level in zip(derivation.push_parent.tolist(), derivation.push_level.tolist(), strict=True):
        assert level == (derivation.push_level[parent - 1] + 1 if parent else 0)


@pytest.mark.parametrize(
    ("chunk", "fault"),
    [
        ((2, [Action.ADVANCE]), "end at token 1 of 2"),
        ((1, [Action.ADVANCE, Action.ADVANCE]), "end at token 2 of 1"),
        ((2, [Action.POP, Action.ADVANCE, Action.ADVANCE]), "POP is not legal at step 0"),
        ((2, [Action.PUSH, Action.ADVANCE, Action.ADVANCE]), "ADVANCE is not legal at step 2"),
    ],
)
def test_actions_that_are_no_derivation_are_refused(chunk: tuple[int, list[Action]], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        derive([chunk])
