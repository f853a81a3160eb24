"""The features of all pairs at once are those of one mention after the other."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from incoref.features import PAIR_FEATURES, EntityFacts, classes_of_pairs, facts_of
from incoref.learning.clusterer import pairs_of

WORDS = "he she it they them I you we the old man city of who Anna Berta 's".split()
mentions = st.lists(
    st.tuples(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=4),
        st.integers(0, 3),  # tokens further on
        st.integers(0, 2),  # sentences further on
        st.sampled_from([None, "Anna", "BertaKern"]),
        st.integers(0, 5),  # entity
    ),
    max_size=30,
)


@given(mentions)
def test_all_pairs_at_once(drawn: list[tuple[list[str], int, int, str | None, int]]) -> None:
    numbers: dict[int, int] = {}
    entity_of = np.array([numbers.setdefault(row[-1], len(numbers)) for row in drawn], np.int64)
    facts, first, sentence = [], 0, 0
    for words, tokens, sentences, speaker, _ in drawn:
        first, sentence = first + tokens, sentence + sentences
        facts.append(facts_of(words, first, sentence, sentence, speaker))
    known, columns = EntityFacts(), [np.zeros((len(PAIR_FEATURES), 0), np.int64)]
    for mention, entity in zip(facts, entity_of.tolist(), strict=True):
        columns.append(known.classes(mention))
        known.add(mention, entity)
    found = classes_of_pairs(facts, entity_of, pairs_of(entity_of).state)
    np.testing.assert_array_equal(found, np.concatenate(columns, axis=1))
    for row, classes in zip(found, PAIR_FEATURES.values(), strict=True):
        assert ((row >= 0) & (row < classes)).all()
