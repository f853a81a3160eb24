"""What a model decided, cut and stored: nothing of it changes, and what comes before a cut is not known after it."""

from __future__ import annotations

import json
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incoref.learning.data.decisions import NEW, Decisions, choices_of
from incoref.model.transitions import EFFECTS, Action, derivable, oracle


@st.composite
def decisions(draw: st.DrawFn) -> Decisions:
    """Of sentences with random mentions, each linked by a random distribution."""
    lengths = draw(st.lists(st.integers(1, 5), max_size=5))
    steps, actions, entity_of, rows = [], list[Action](), list[int](), list[np.ndarray]()
    for length in lengths:
        places = st.tuples(st.integers(0, length - 1), st.integers(0, length - 1))
        spans = {(min(pair), max(pair)) for pair in draw(st.lists(places, max_size=3))}
        found = oracle(derivable(spans, length).kept, length)
        steps.append(len(found))
        actions += found
        for _ in range(sum(EFFECTS[action].emits for action in found)):
            founded = len(set(entity_of))
            row = np.array(draw(st.lists(st.integers(1, 9), min_size=founded + 1, max_size=founded + 1)), float)
            rows.append(row / row.sum())
            entity_of.append(draw(st.integers(0, founded)))
    counts, entities, shares = choices_of(rows, 0.0)
    probabilities = np.zeros((len(actions), 4), np.float32)
    probabilities[np.arange(len(actions)), actions] = 1
    names = ("person", "place", None)
    return Decisions(
        scheme="ontonotes",
        lengths=np.array(lengths, np.int64),
        steps=np.array(steps, np.int64),
        actions=np.array(actions, np.int64),
        probabilities=probabilities,
        entity_of=np.array(entity_of, np.int64),
        types=tuple(names[entity % 3] for entity in entity_of),
        choices=counts,
        entities=entities,
        shares=shares,
    )


def same(one: Decisions, other: Decisions, within: float = 1e-6) -> None:
    for field in fields(Decisions):
        found, expected = getattr(one, field.name), getattr(other, field.name)
        if isinstance(expected, np.ndarray):
            np.testing.assert_allclose(found, expected, atol=within, err_msg=field.name)
        else:
            assert found == expected


def distributions(found: Decisions) -> list[dict[int, float]]:
    """The choices of each mention."""
    ends = np.cumsum(found.choices)
    return [
        dict(zip(found.entities[end - count : end].tolist(), found.shares[end - count : end].tolist(), strict=True))
        for end, count in zip(ends, found.choices, strict=True)
    ]


@given(decisions())
def test_what_is_stored_comes_back(given: Decisions) -> None:
    same(Decisions.from_attribute(given.to_attribute()), given, within=1 / 50)


@given(decisions(), st.data())
def test_a_cut_knows_nothing_of_what_came_before(given: Decisions, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(given.lengths)))
    end = data.draw(st.integers(start, len(given.lengths)))
    cut = given.between(start, end)
    assert cut.lengths.tolist() == given.lengths[start:end].tolist()
    assert cut.actions.tolist() == given.actions[sum(given.steps[:start]) : sum(given.steps[:end])].tolist()
    emits = np.array([EFFECTS[Action(action)].emits for action in given.actions], bool)
    first = int(emits[: given.steps[:start].sum()].sum())
    seen: dict[int, int] = {}
    for number, shares in enumerate(distributions(cut), first):
        whole = distributions(given)[number]
        expected = {new: whole[old] for old, new in seen.items() if old in whole}
        expected[NEW] = 1 - sum(expected.values())
        assert shares == pytest.approx({entity: share for entity, share in expected.items() if entity in shares})
        assert set(shares) == {entity for entity, share in expected.items() if share > 1e-6}
        entity = int(given.entity_of[number])
        assert cut.entity_of[number - first] == seen.setdefault(entity, len(seen))
        assert cut.types[number - first] == given.types[number]
    same(given.between(0, len(given.lengths)), given)


def test_unlikely_choices_are_left_out() -> None:
    counts, entities, shares = choices_of([np.array([0.001, 0.6, 0.399]), np.array([0.004, 0.004])], 0.01)
    assert counts.tolist() == [2, 2]
    assert entities.tolist() == [1, NEW, 0, NEW]
    np.testing.assert_allclose(shares, [0.6 / 0.999, 0.399 / 0.999, 0.5, 0.5])


@given(decisions(), st.data())
def test_broken_ones_are_refused(given: Decisions, data: st.DataObject) -> None:
    stored = json.loads(given.to_attribute())
    name = data.draw(st.sampled_from(sorted(stored)))
    del stored[name]
    with pytest.raises(ValueError, match="not a model's decisions"):
        Decisions.from_attribute(json.dumps(stored))


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"types": 3}'])
def test_something_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a model's decisions|Expecting value"):
        Decisions.from_attribute(text)
