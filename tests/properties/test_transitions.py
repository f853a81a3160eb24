"""The transition system: derivations and sets of nested spans are two sides of one thing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from incoref.model.transitions import Action, Span, State, apply, derivable, legal, mention_of, oracle, replay, start

lengths = st.integers(0, 9)


@st.composite
def any_spans(draw: st.DrawFn) -> tuple[list[Span], int]:
    """Spans that may cross, repeat and reach outside."""
    length = draw(lengths)
    span = st.tuples(st.integers(-1, length), st.integers(-1, length))
    return draw(st.lists(span, max_size=12)), length


@st.composite
def nested_spans(draw: st.DrawFn) -> tuple[set[Span], int]:
    """A set of spans of which no two cross, made without the code under test: each new one is kept if it fits."""
    length = draw(st.integers(1, 9))
    places = st.integers(0, length - 1)
    spans = set[Span]()
    for one, other in draw(st.lists(st.tuples(places, places), max_size=15)):
        candidate = (min(one, other), max(one, other))
        if not any(crosses(candidate, span) for span in spans):
            spans.add(candidate)
    return spans, length


def crosses(one: Span, other: Span) -> bool:
    (first, last), (other_first, other_last) = sorted([one, other])
    return first < other_first <= last < other_last


def states_of(actions: list[Action], length: int) -> list[State]:
    states = [start(length)]
    for action in actions:
        states.append(apply(states[-1], action))
    return states


@st.composite
def derivations(draw: st.DrawFn) -> tuple[list[Action], State]:
    """Legal actions taken at random to the end, which is reached before all spans there are could be found twice."""
    state = start(draw(lengths))
    actions = list[Action]()
    while not state.finished:
        assert len(actions) < 2 * state.length + state.length * (state.length + 1) // 2
        actions.append(draw(st.sampled_from(legal(state))))
        state = apply(state, actions[-1])
    return actions, state


@given(nested_spans())
def test_oracle_and_replay_give_back_exactly_the_spans(case: tuple[set[Span], int]) -> None:
    spans, length = case
    found = replay(oracle(spans, length), length)
    assert len(found) == len(set(found))
    assert set(found) == spans


@given(nested_spans())
def test_the_oracle_is_legal_and_ends(case: tuple[set[Span], int]) -> None:
    spans, length = case
    last = states_of(oracle(spans, length), length)[-1]
    assert last.finished
    assert last.stack is None


@given(nested_spans())
def test_no_more_actions_than_twice_the_tokens_and_the_mentions(case: tuple[set[Span], int]) -> None:
    spans, length = case
    assert len(oracle(spans, length)) <= 2 * length + len(spans)


@given(nested_spans(), nested_spans())
def test_different_spans_have_different_derivations(one: tuple[set[Span], int], other: tuple[set[Span], int]) -> None:
    assert (oracle(*one) == oracle(*other)) == (one == other)


@given(derivations())
def test_every_state_but_the_last_has_a_legal_action(case: tuple[list[Action], State]) -> None:
    actions, last = case
    for state in states_of(actions, last.length):
        assert bool(legal(state)) != state.finished
        assert all(mention_of(state, action) is None for action in (Action.ADVANCE, Action.PUSH))


@given(derivations())
def test_every_derivation_ends_with_an_empty_stack_and_is_the_only_one_of_its_spans(
    case: tuple[list[Action], State],
) -> None:
    actions, last = case
    assert last.stack is None
    assert list(last.actions) == actions
    spans = replay(actions, last.length)
    assert len(spans) == len(set(spans))
    assert oracle(spans, last.length) == actions


@given(derivations())
def test_states_are_values(case: tuple[list[Action], State]) -> None:
    actions, last = case
    states = states_of(actions, last.length)
    for state in states:
        before = state.actions, state.position, list(state.stack or ())
        for action in legal(state):
            apply(state, action)
        assert (state.actions, state.position, list(state.stack or ())) == before


@given(any_spans())
def test_what_is_kept_can_be_derived_and_what_is_dropped_could_not_be_added(case: tuple[list[Span], int]) -> None:
    spans, length = case
    parted = derivable(spans, length)
    assert sorted((*parted.kept, *parted.dropped)) == sorted(set(spans))
    assert replay(oracle(parted.kept, length), length) == list(parted.kept)
    for span in parted.dropped:
        inside = 0 <= span[0] <= span[1] < length
        assert not inside or any(crosses(span, kept) and kept[0] < span[0] for kept in parted.kept)


@given(nested_spans())
def test_nested_spans_are_kept_whole(case: tuple[set[Span], int]) -> None:
    spans, length = case
    assert set(derivable(spans, length).kept) == spans
