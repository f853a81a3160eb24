"""Sentence-incremental by construction: what was read decides, and nothing that comes later changes it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incoref.model.folder import Model, ModelState
from incoref.model.step import BlockResult
from incoref.model.subwords import Utterance
from incoref.resolver import Resolver
from rule_model import RuleModel
from tiny_models import TinyModels, document, random_utterances, utterances


def read(
    model: Model, texts: list[Utterance], state: ModelState | None = None
) -> tuple[ModelState, list[BlockResult]]:
    state = model.start() if state is None else state
    classes = model.classes()
    results = []
    for block in model.blocks(texts, speaker=state.reading.speaker):
        state, result = model.step(block, state, classes)
        results.append(result)
    return state, results


def assert_same(found: list[BlockResult], expected: list[BlockResult]) -> None:
    """Every field of every decision, to the last bit."""
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.steps == theirs.steps
        assert [replace(m, decision=None) for m in ours.mentions] == [
            replace(m, decision=None) for m in theirs.mentions
        ]
        for one, other in zip(ours.mentions, theirs.mentions, strict=True):
            assert (one.decision.entity, one.decision.new) == (other.decision.entity, other.decision.new)
            np.testing.assert_array_equal(one.decision.probabilities, other.decision.probabilities)


@pytest.fixture(scope="module", params=["fp32", "int8", "rules"])
def model(tiny: TinyModels, request: pytest.FixtureRequest) -> Model:
    """Two models with weights, and one that decides by rules."""
    if request.param == "rules":
        return RuleModel.like(tiny.model)
    return tiny.model if request.param == "fp32" else Model.load(tiny.int8)


@settings(max_examples=25)
@given(utterances, st.data())
def test_a_prefix_is_read_as_it_is_in_the_whole(model: Model, texts: list[Utterance], data: st.DataObject) -> None:
    end = data.draw(st.integers(0, len(texts)))
    _, whole = read(model, texts)
    _, part = read(model, texts[:end])
    assert_same(part, whole[: len(part)])


@settings(max_examples=12)
@given(utterances, utterances, utterances)
def test_a_state_gone_on_from_twice_goes_on_the_same(
    model: Model, before: list[Utterance], ours: list[Utterance], others: list[Utterance]
) -> None:
    state, _ = read(model, before)
    _, first = read(model, ours, state)
    read(model, others, state)
    _, second = read(model, ours, state)
    assert_same(second, first)
    _, whole = read(model, before + ours)
    assert_same(first, whole[len(whole) - len(first) :])


def test_across_many_windows(model: Model) -> None:
    texts = random_utterances(80, seed=9)
    _, whole = read(model, texts)
    for end in (1, 17, 40, 79):
        _, part = read(model, texts[:end])
        assert_same(part, whole[: len(part)])
    assert any(not mention.new for result in whole for mention in result.mentions)


def test_documents_too(model: Model) -> None:
    texts = random_utterances(40, seed=11)
    resolver = Resolver(model)
    whole = resolver.resolve(document(texts), singletons=True)
    for end in (5, 22):
        part = resolver.resolve(document(texts[:end]), singletons=True)
        length = len(part.tokens)
        for ours, theirs in zip(part.entities, whole.entities, strict=False):
            assert ours.id == theirs.id
            before = [mention for mention in theirs.mentions if mention.tokens[1] <= length]
            assert [replace(m, type=None) for m in ours.mentions] == [replace(m, type=None) for m in before]
        later = whole.entities[len(part.entities) :]
        assert all(mention.tokens[0] >= length for entity in later for mention in entity.mentions)
