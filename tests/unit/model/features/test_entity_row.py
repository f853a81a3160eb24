"""Facts of entities that are taken apart, put together, kept in part or merged are still the facts."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from incoref.model.features import EntityFacts, MentionFacts, Quoted, facts_of
from tiny_models import SPEAKERS, WORDS

mentions = st.lists(
    st.tuples(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), st.sampled_from(SPEAKERS), st.integers(0, 5)),
    min_size=1,
    max_size=25,
)
Drawn = list[tuple[list[str], str | None, int]]


def built(drawn: Drawn) -> tuple[EntityFacts, list[MentionFacts]]:
    facts, seen = EntityFacts(), list[MentionFacts]()
    for number, (words, speaker, entity) in enumerate(drawn):
        quoted = Quoted(number // 2, number % 4 > 1, number % 3 == 0)
        seen.append(facts_of(words, 4 * number, number // 3, number // 2, speaker, quoted))
        facts.add(seen[-1], min(entity, len(facts)))
    return facts, seen


def assert_same(one: EntityFacts, other: EntityFacts, seen: list[MentionFacts]) -> None:
    assert one.rows() == other.rows()
    assert one.mentions == other.mentions
    for mention in seen:
        np.testing.assert_array_equal(one.classes(mention), other.classes(mention))


@given(mentions)
def test_rows_say_all(drawn: Drawn) -> None:
    facts, seen = built(drawn)
    assert_same(EntityFacts.from_rows(facts.rows(), facts.mentions), facts, seen)
    for row, facts_row in enumerate(facts.rows()):
        assert facts.speaker_of(row) == facts_row.i_of


@given(mentions, st.randoms(use_true_random=False))
def test_some_entities_are_kept(drawn: Drawn, draw: random.Random) -> None:
    facts, seen = built(drawn)
    rows = facts.rows()
    kept = [number for number in range(len(rows)) if draw.random() < 0.6]
    found = facts.kept(kept)
    assert_same(found, EntityFacts.from_rows([rows[number] for number in kept], facts.mentions), seen)
    before = facts.rows()
    found.add(seen[0], len(found))
    assert facts.rows() == before == rows


@given(mentions)
def test_merged_entities_have_the_facts_of_both(drawn: Drawn) -> None:
    facts, _ = built(drawn)
    rows = facts.rows()
    merged = rows[0].merged(rows[-1])
    assert merged.strings == rows[0].strings | rows[-1].strings
    assert merged.latest == max(rows[0].latest, rows[-1].latest)
    assert (merged.i_of is None) == (rows[0].i_of is None and rows[-1].i_of is None)
    assert set(merged.contents) == set(rows[0].contents) | set(rows[-1].contents)
    assert merged.i_quoted == max(rows[0].i_quoted, rows[-1].i_quoted)
    assert merged.tells == (rows[0].tells or rows[-1].tells)


def test_an_entity_with_very_many_names_keeps_the_first_and_the_latest() -> None:
    facts = EntityFacts()
    for number in range(41):
        facts.add(facts_of(["the", f"old{number}", "of", "it"], number, number, 0, None), 0)
        facts.add(facts_of(["she"], number, number, 0, None), 0)
        facts.add(facts_of(["Carl"], number, number, 0, None), min(1, len(facts)))
    assert facts.trimmed(21) is facts
    fewer = facts.trimmed(4)
    first, second = fewer.rows()
    assert [min(content) for content in first.contents] == ["it", "it", "it", "it"]
    assert sorted(max(content) for content in first.contents) == ["old0", "old1", "old39", "old40"]
    assert first.strings == {"old0 of it", "old1 of it", "old39 of it", "old40 of it", "she"}
    assert first.heads == {"old0", "old1", "old39", "old40"}
    assert second == facts.rows()[1]
    assert (first.count, fewer.mentions) == (82, facts.mentions)


def test_speakers_whom_no_entity_needs_are_forgotten() -> None:
    facts = EntityFacts()
    for number in range(60):
        facts.add(facts_of(["Anna"], number, number, number, f"speaker{number}"), 0)
    assert facts.trimmed(100) is facts
    fewer = facts.trimmed(32)
    assert fewer.rows() == facts.rows()
    assert len(fewer._speakers) == 1
