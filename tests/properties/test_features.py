"""Features of pairs for any text: within their ranges, the same one by one as all at once, and copies apart."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from incoref.learning.data.pairs import pairs_of
from incoref.model.features import EntityStates, MentionFacts, Quoted, class_counts, classes_of_pairs, facts_of
from tiny_models import SPEAKERS, WORDS


@st.composite
def texts(draw: st.DrawFn) -> list[tuple[MentionFacts, int]]:
    """Mentions in the order of a text, each with its entity, numbered in order of foundation."""
    found: list[tuple[MentionFacts, int]] = []
    first = sentence = turn = entities = speech = 0
    for _ in range(draw(st.integers(0, 16))):
        first = max(0, first + draw(st.integers(-2, 40)))
        sentence += draw(st.integers(0, 3))
        turn += draw(st.integers(0, 1))
        words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5))
        entity = draw(st.integers(0, entities))
        entities = max(entities, entity + 1)
        speech += draw(st.integers(0, 2))
        quoted = Quoted(speech, speech > 0 and draw(st.booleans()), speech > 1 and draw(st.booleans()))
        found.append((facts_of(words, first, sentence, turn, draw(st.sampled_from(SPEAKERS)), quoted), entity))
    return found


def read(mentions: list[tuple[MentionFacts, int]]) -> EntityStates:
    states = EntityStates()
    for mention, entity in mentions:
        states.add(mention, entity)
    return states


@given(texts())
def test_classes_stay_in_their_ranges(text: list[tuple[MentionFacts, int]]) -> None:
    states = EntityStates()
    limits = np.array(list(class_counts().values()))
    for mention, entity in text:
        classes = states.classes(mention)
        assert classes.shape == (len(limits), len(states))
        assert (classes >= 0).all()
        assert (classes < limits[:, None]).all()
        states.add(mention, entity)
    assert len(states) == len({entity for _, entity in text})
    assert states.mentions == len(text)


@given(texts())
def test_one_by_one_is_as_all_at_once(text: list[tuple[MentionFacts, int]]) -> None:
    states = EntityStates()
    single = []
    for mention, entity in text:
        single.append(states.classes(mention))
        states.add(mention, entity)
    mentions = [mention for mention, _ in text]
    entity_of = np.array([entity for _, entity in text], np.int64)
    found = classes_of_pairs(mentions, entity_of, pairs_of(entity_of).state)
    expected = np.concatenate(single, axis=1) if single else np.zeros((len(class_counts()), 0))
    np.testing.assert_array_equal(found, expected)


@settings(max_examples=40)
@given(texts(), texts(), texts())
def test_a_copy_goes_its_own_way(
    before: list[tuple[MentionFacts, int]],
    ours: list[tuple[MentionFacts, int]],
    theirs: list[tuple[MentionFacts, int]],
) -> None:
    states = read(before)
    twin = states.copy()
    for side, mentions in ((states, ours), (twin, theirs)):
        founded: dict[int, int] = {}
        for mention, entity in mentions:
            side.add(mention, founded.setdefault(entity, len(side)))
    alone = read(before)
    founded = {}
    for mention, entity in ours:
        alone.add(mention, founded.setdefault(entity, len(alone)))
    for mention, _ in [*before, *ours, *theirs]:
        np.testing.assert_array_equal(states.classes(mention), alone.classes(mention))


@given(texts())
def test_entities_apart_and_together_again(text: list[tuple[MentionFacts, int]]) -> None:
    states = read(text)
    again = EntityStates.of(states.rows(), states.mentions)
    for mention, _ in text:
        np.testing.assert_array_equal(again.classes(mention), states.classes(mention))
