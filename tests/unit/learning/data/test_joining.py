"""Parts of a text put together: who is the same by name, and what becomes of the decisions."""

from __future__ import annotations

from collections import Counter

import numpy as np

from incoref.learning.data.decisions import NEW, Decisions, choices_of
from incoref.learning.data.joining import joined, names_in, same_entities
from incoref.model.selftest import document_of
from incoref.model.transitions import Action

A, P, X = Action.ADVANCE, Action.PUSH, Action.POP


def called(**names: int) -> Counter[str]:
    return Counter({name.replace("_", " "): count for name, count in names.items()})


def test_who_is_called_the_same_is_the_same() -> None:
    parts = [
        [called(emma=5, miss_woodhouse=2), called(harriet=3), called()],
        [called(), called(harriet=1, miss_smith=4), called(miss_woodhouse=1, emma=1)],
        [called(miss_smith=2), called(emma=2)],
    ]
    assert same_entities(parts) == [[0, 1, 2], [3, 1, 0], [1, 0]]


def test_a_name_that_several_share_joins_nobody() -> None:
    parts = [[called(hale=2), called(hale=2)], [called(hale=3)]]
    assert same_entities(parts) == [[0, 1], [2]]


def test_of_several_by_one_name_the_one_it_mostly_means_is_joined() -> None:
    parts = [[called(tom=9)], [called(tom=1), called(tom=8)], [called(tom=1, sam=5), called(sam=1)]]
    assert same_entities(parts) == [[0], [1, 0], [0, 2]]


def test_nobody_is_two_entities_of_one_part() -> None:
    parts = [[called(emma=5, miss_woodhouse=5)], [called(emma=3), called(miss_woodhouse=2)]]
    assert same_entities(parts) == [[0], [0, 1]]


def test_names_are_names_alone() -> None:
    words = "Mr. Knightley saw the King of France , and he met old Tom Sawyer 's aunt Polly".split()
    document = document_of([words], [None])
    spans = [(0, 2), (3, 7), (9, 10), (11, 14), (11, 17)]
    [names] = names_in(document, [spans])
    assert names == {"mr. knightley": 1}


def part(entity_of: list[int], rows: list[list[float]]) -> Decisions:
    """One sentence of one-word mentions, with these choices."""
    actions = [action for _ in entity_of for action in (P, X, A)]
    counts, entities, shares = choices_of([np.array(row) for row in rows], 0.0)
    probabilities = np.zeros((len(actions), 4), np.float32)
    probabilities[np.arange(len(actions)), actions] = 1
    return Decisions(
        scheme="ontonotes",
        lengths=np.array([len(entity_of)]),
        steps=np.array([len(actions)]),
        actions=np.array(actions),
        probabilities=probabilities,
        entity_of=np.array(entity_of),
        types=("person",) * len(entity_of),
        choices=counts,
        entities=entities,
        shares=shares,
    )


def test_a_first_mention_of_somebody_known_is_a_link() -> None:
    one = part([0, 1], [[1.0], [0.25, 0.75]])
    other = part([0, 1, 0], [[1.0], [0.5, 0.5], [0.75, 0.125, 0.125]])
    whole = joined([one, other], [[0, 1], [2, 0]])  # the second entity of the other part is the first of all
    assert whole.entity_of.tolist() == [0, 1, 2, 0, 2]
    assert whole.choices.tolist() == [1, 2, 1, 2, 3]
    assert whole.entities.tolist() == [NEW, 0, NEW, NEW, 2, 0, 2, 0, NEW]
    np.testing.assert_allclose(whole.shares, [1, 0.25, 0.75, 1, 0.5, 0.5, 0.75, 0.125, 0.125])
    assert whole.derivation().spans == [(n, n) for n in range(5)]
    assert whole.between(1, 2).entity_of.tolist() == other.entity_of.tolist()
