"""Greedy decoding, with scores that a test makes up."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from incoref.model import transitions
from incoref.model.detector import Scoring, Step, decode
from incoref.model.transitions import Action, oracle, replay
from scoring import RandomScoring, ScriptedScoring
from tiny_models import TinyModels

ADVANCE, PUSH, POP, PEEK = Action


def actions(steps: Sequence[Step]) -> list[Action]:
    return [step.action for step in steps]


def test_the_highest_legal_score_wins() -> None:
    script = {0: [PUSH], 1: [POP], 3: [PUSH, PEEK], 4: [POP]}
    steps = decode(ScriptedScoring(script), 5)
    assert actions(steps) == oracle([(0, 1), (3, 3), (3, 4)], 5)
    assert [step.mention for step in steps if step.mention] == [(0, 1), (3, 3), (3, 4)]


def test_what_is_illegal_is_not_looked_at() -> None:
    always_pop = {position: [POP] * 9 for position in range(4)}
    assert actions(decode(ScriptedScoring(always_pop), 4)) == [ADVANCE] * 4


def test_nothing_stays_open_at_the_end() -> None:
    always_push = {position: [PUSH] for position in range(3)}
    steps = decode(ScriptedScoring(always_push), 3)
    assert actions(steps) == [PUSH, ADVANCE, PUSH, ADVANCE, PUSH, POP, POP, POP, ADVANCE]


def test_no_tokens_no_steps() -> None:
    assert decode(ScriptedScoring({}), 0) == []


def test_the_scorer_is_told_of_every_action_and_asked_only_where_there_is_a_choice() -> None:
    scoring = ScriptedScoring({0: [PUSH, PEEK], 1: [POP]})
    steps = decode(scoring, 2)
    assert scoring.actions == [(step.position, step.action) for step in steps]
    scored = set(scoring.scored)
    assert (0, None) in scored
    assert (0, 0) in scored
    assert len(scoring.scored) == sum(len(step.probabilities) > 1 for step in steps)


def test_temperature_changes_probabilities_and_no_decision() -> None:
    cold, warm = (decode(RandomScoring(1), 30, temperature) for temperature in (0.5, 2.0))
    assert actions(cold) == actions(warm)
    assert all(a.probabilities[a.action] >= b.probabilities[b.action] for a, b in zip(cold, warm, strict=True))


@pytest.fixture(params=["script", "random", "weights"])
def begin(request: pytest.FixtureRequest, tiny: TinyModels) -> Callable[[int, int], Scoring]:
    """Starts the scoring of a chunk from its length and a seed, for each kind of scoring there is."""

    def scripted(length: int, seed: int) -> Scoring:
        draw = random.Random(seed)
        return ScriptedScoring({position: draw.choices(list(Action), k=4) for position in range(length)})

    def weighted(length: int, seed: int) -> Scoring:
        vectors = np.random.default_rng(seed).standard_normal((length, 32), np.float32)
        return tiny.model.heads.actions.begin(vectors, tiny.model.classes())

    kinds = {"script": scripted, "random": lambda length, seed: RandomScoring(seed), "weights": weighted}
    return kinds[request.param]


@pytest.mark.parametrize("seed", range(12))
def test_every_derivation_is_one_of_the_transition_system(begin: Callable[[int, int], Scoring], seed: int) -> None:
    length = 1 + seed * 3
    steps = decode(begin(length, seed), length)
    state = transitions.start(length)
    for step in steps:
        assert step.position == state.position
        assert tuple(step.probabilities) == transitions.legal(state)
        assert step.mention == transitions.mention_of(state, step.action)
        state = transitions.apply(state, step.action)
    assert state.finished
    assert [step.mention for step in steps if step.mention] == replay(actions(steps), length)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 4.0])
def test_probabilities_are_those_of_the_legal_actions(
    begin: Callable[[int, int], Scoring], temperature: float
) -> None:
    for step in decode(begin(20, 7), 20, temperature):
        assert sum(step.probabilities.values()) == pytest.approx(1)
        assert step.probabilities[step.action] == max(step.probabilities.values())


def test_the_same_chunk_gives_the_same_derivation(begin: Callable[[int, int], Scoring]) -> None:
    assert decode(begin(25, 3), 25) == decode(begin(25, 3), 25)
