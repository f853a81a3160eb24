"""Facts of entities that are taken apart, put together, kept in part or merged are still the states."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from incoref.model.features import EntityStates, MentionFacts, Quoted, facts_of
from incoref.model.features.count import COUNT
from incoref.model.features.distance import LATEST
from incoref.model.features.match import CONTENTS, HEADS, STRINGS
from incoref.model.features.quote import I_QUOTED, IS_NARRATOR
from incoref.model.features.speaker import I_OF
from tiny_models import SPEAKERS, WORDS

mentions = st.lists(
    st.tuples(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), st.sampled_from(SPEAKERS), st.integers(0, 5)),
    min_size=1,
    max_size=25,
)
Drawn = list[tuple[list[str], str | None, int]]


def built(drawn: Drawn) -> tuple[EntityStates, list[MentionFacts]]:
    states, seen = EntityStates(), list[MentionFacts]()
    for number, (words, speaker, entity) in enumerate(drawn):
        quoted = Quoted(number // 2, number % 4 > 1, number % 3 == 0)
        seen.append(facts_of(words, 4 * number, number // 3, number // 2, speaker, quoted))
        states.add(seen[-1], min(entity, len(states)))
    return states, seen


def assert_same(one: EntityStates, other: EntityStates, seen: list[MentionFacts]) -> None:
    assert one.rows() == other.rows()
    assert one.mentions == other.mentions
    for mention in seen:
        np.testing.assert_array_equal(one.classes(mention), other.classes(mention))


@given(mentions)
def test_rows_say_all(drawn: Drawn) -> None:
    states, seen = built(drawn)
    assert_same(EntityStates.of(states.rows(), states.mentions), states, seen)
    for row, state in enumerate(states.rows()):
        assert states.speaker_name(I_OF, row) == state[I_OF]


@given(mentions, st.randoms(use_true_random=False))
def test_some_entities_are_kept(drawn: Drawn, draw: random.Random) -> None:
    states, seen = built(drawn)
    rows = states.rows()
    kept = [number for number in range(len(rows)) if draw.random() < 0.6]
    found = states.kept(kept)
    assert_same(found, EntityStates.of([rows[number] for number in kept], states.mentions), seen)
    before = states.rows()
    found.add(seen[0], len(found))
    assert states.rows() == before == rows


@given(mentions)
def test_merged_entities_have_the_facts_of_both(drawn: Drawn) -> None:
    states, _ = built(drawn)
    rows = states.rows()
    merged = rows[0].merged(rows[-1])
    assert merged[STRINGS] == rows[0][STRINGS] | rows[-1][STRINGS]
    assert merged[LATEST] == max(rows[0][LATEST], rows[-1][LATEST])
    assert (merged[I_OF] is None) == (rows[0][I_OF] is None and rows[-1][I_OF] is None)
    assert set(merged[CONTENTS]) == set(rows[0][CONTENTS]) | set(rows[-1][CONTENTS])
    assert merged[I_QUOTED] == max(rows[0][I_QUOTED], rows[-1][I_QUOTED])
    assert merged[IS_NARRATOR] == rows[0][IS_NARRATOR] | rows[-1][IS_NARRATOR]


def test_an_entity_with_very_many_names_keeps_the_first_and_the_latest() -> None:
    states = EntityStates()
    for number in range(41):
        states.add(facts_of(["the", f"old{number}", "of", "it"], number, number, 0, None), 0)
        states.add(facts_of(["she"], number, number, 0, None), 0)
        states.add(facts_of(["Carl"], number, number, 0, None), min(1, len(states)))
    assert states.trimmed(21) is states
    fewer = states.trimmed(4)
    first, second = fewer.rows()
    assert [min(content) for content in first[CONTENTS]] == ["it", "it", "it", "it"]
    assert sorted(max(content) for content in first[CONTENTS]) == ["old0", "old1", "old39", "old40"]
    assert first[STRINGS] == {"old0 of it", "old1 of it", "old39 of it", "old40 of it", "she"}
    assert first[HEADS] == {"old0", "old1", "old39", "old40"}
    assert second == states.rows()[1]
    assert (first[COUNT], fewer.mentions) == (82, states.mentions)


def test_speakers_whom_no_entity_needs_are_forgotten() -> None:
    states = EntityStates()
    for number in range(60):
        states.add(facts_of(["Anna"], number, number, number, f"speaker{number}"), 0)
    assert states.trimmed(100) is states
    fewer = states.trimmed(32)
    assert fewer.rows() == states.rows()
    assert len(fewer._speakers) == 1
