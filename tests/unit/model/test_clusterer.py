"""The entity memory: running means, scores by the plain definition, decisions, values that go their own way."""

from __future__ import annotations

import numpy as np
import pytest

from incoref.model.clusterer import ClusterScorer, EntityMemory, Floats, SpanVector
from incoref.model.features import REGISTRY, MentionFacts, facts_of
from tiny_models import NAMES, TinyModels

SPAN = 16
"""The size of the small model's span vectors."""
WORDS = ("Anna", "Carl", "she", "the old man", "the man", "it", "Hong Kong", "a dog")


@pytest.fixture(scope="module")
def scorer(tiny: TinyModels) -> ClusterScorer:
    return tiny.model.heads.clusters


def mention(number: int) -> MentionFacts:
    return facts_of(WORDS[number % len(WORDS)].split(), number * 3, number // 2, 1, None)


def spans(count: int) -> Floats:
    return np.random.default_rng(0).standard_normal((count, SPAN), np.float32)


def drawn(scorer: ClusterScorer, count: int) -> list[SpanVector]:
    return scorer.span_vectors(spans(count))


def filled(scorer: ClusterScorer, entities: list[int]) -> EntityMemory:
    memory = scorer.empty()
    for number, (entity, span) in enumerate(zip(entities, drawn(scorer, len(entities)), strict=True)):
        scorer.add(memory, span, mention(number), entity)
    return memory


def test_an_entitys_vector_is_the_mean_of_its_mentions(scorer: ClusterScorer) -> None:
    entities = [0, 1, 0, 2, 0, 1]
    memory = filled(scorer, entities)
    vectors = spans(len(entities))
    assert len(memory) == 3
    assert memory.counts.tolist() == [3, 2, 1]
    for entity in range(3):
        mean = vectors[[e == entity for e in entities]].mean(axis=0)
        np.testing.assert_allclose(memory.means[entity], mean, atol=1e-6)
        np.testing.assert_allclose(memory.entity_hidden[entity], mean @ scorer.entity, atol=1e-5)


@pytest.mark.learning
def test_scores_are_those_of_the_plain_definition() -> None:
    """One row for each pair, every part of it concatenated: what the factored layer must give."""
    from tiny_networks import random_model

    model = random_model(7)
    weights = model.head_weights()
    own = {name.removeprefix("clusterer."): value for name, value in weights.items() if name.startswith("clusterer.")}
    scorer = ClusterScorer(own, tuple(REGISTRY))
    memory = filled(scorer, [0, 1, 0, 2, 3, 3, 1])
    span, facts = spans(9)[-1], mention(9)
    classes = memory.states.classes(facts)
    found = scorer.scores(
        memory, scorer.span_vectors(span[None])[0], classes, scorer.constant({"genre": 2, "scheme": 1})
    )

    def table(name: str) -> Floats:
        return own[f"pair_features.tables.{name}.weight"]

    for entity, mean in enumerate(memory.means):
        features = [table(name)[classes[row, entity]] for row, name in enumerate(REGISTRY)]
        row = np.concatenate([span, mean, span * mean, *features, table("genre")[2], table("scheme")[1]])
        hidden = np.maximum(own["hidden.linear.weight"] @ row + own["hidden.linear.bias"], 0)
        biases = sum(own[f"class_bias.tables.{name}"][classes[row, entity]] for row, name in enumerate(REGISTRY))
        expected = own["output.weight"][0] @ hidden + own["output.bias"][0] + biases
        assert found[entity] == pytest.approx(expected, abs=1e-4)
    new = np.maximum(own["new_entity.0.weight"] @ span + own["new_entity.0.bias"], 0)
    assert found[-1] == pytest.approx(own["new_entity.2.weight"][0] @ new + own["new_entity.2.bias"][0], abs=1e-4)


def test_the_first_mention_founds_an_entity(scorer: ClusterScorer) -> None:
    memory = scorer.empty()
    decision = scorer.assign(memory, drawn(scorer, 1)[0], mention(0), scorer.constant({"genre": 0, "scheme": 0}))
    assert (decision.entity, decision.new) == (0, True)
    assert decision.probabilities.tolist() == [1]
    assert len(memory) == 1


def test_a_mention_goes_where_it_scores_highest(scorer: ClusterScorer) -> None:
    memory = scorer.empty()
    constant = scorer.constant({"genre": 0, "scheme": 0})
    linked = 0
    for number, span in enumerate(drawn(scorer, 40)):
        scores = scorer.scores(memory, span, memory.states.classes(mention(number)), constant)
        before = len(memory)
        decision = scorer.assign(memory, span, mention(number), constant, temperature=2.0)
        assert decision.entity == scores.argmax()
        assert decision.new == (decision.entity == before)
        assert len(memory) == before + decision.new
        expected = np.exp(scores / 2) / np.exp(scores / 2).sum()
        np.testing.assert_allclose(decision.probabilities, expected, rtol=1e-4)
        linked += not decision.new
    assert 0 < linked < 39


def test_a_known_participant_is_their_own_i(scorer: ClusterScorer) -> None:
    memory = filled(scorer, [0, 1, 2])
    memory.participants["Anna"] = 1
    said = facts_of(["I"], 90, 9, 1, "Anna")
    decision = scorer.assign(memory, drawn(scorer, 9)[-1], said, scorer.constant({"genre": 0, "scheme": 0}))
    assert decision.entity == 1
    assert decision.probabilities.tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize("room", [0, 1, 50])
def test_a_copy_goes_its_own_way(scorer: ClusterScorer, room: int) -> None:
    memory = filled(scorer, [0, 1, 0, 2])
    means, hidden = memory.means.copy(), memory.entity_hidden.copy()
    twin = memory.copy(room)
    for number, entity in enumerate([0, 3, 4, 1, 5, 5]):
        scorer.add(twin, drawn(scorer, 20)[10 + number], mention(number), entity)
    assert len(twin) == 6
    assert len(memory) == 3
    assert memory.counts.tolist() == [2, 1, 1]
    np.testing.assert_array_equal(memory.means, means)
    np.testing.assert_array_equal(memory.entity_hidden, hidden)
    whole = filled(scorer, [0, 1, 0, 2])
    for number, entity in enumerate([0, 3, 4, 1, 5, 5]):
        scorer.add(whole, drawn(scorer, 20)[10 + number], mention(number), entity)
    np.testing.assert_array_equal(twin.means, whole.means)
    np.testing.assert_array_equal(twin.type_scores, whole.type_scores)


def test_spans_are_the_same_alone_and_together(scorer: ClusterScorer) -> None:
    vectors = np.random.default_rng(1).standard_normal((12, 32), np.float32)
    places = [(0, 0), (3, 7), (0, 11), (5, 5)]
    together = scorer.spans(vectors, places)
    for span, place in zip(together, places, strict=True):
        assert span.vector.shape == (SPAN,)
        for alone, row in zip(scorer.spans(vectors, [place])[0], span, strict=True):
            np.testing.assert_allclose(alone, row, atol=1e-5)


@pytest.mark.learning
def test_a_model_without_types_has_none() -> None:
    from tiny_networks import random_model

    weights = random_model(names=type(NAMES)(NAMES.genres, NAMES.schemes)).head_weights()
    own = {name.removeprefix("clusterer."): value for name, value in weights.items() if name.startswith("clusterer.")}
    memory = filled(ClusterScorer(own, tuple(REGISTRY)), [0, 1, 0])
    assert memory.type_scores.shape == (2, 0)


def test_a_participant_is_nobody_elses_i(scorer: ClusterScorer) -> None:
    constant = scorer.constant({"genre": 0, "scheme": 0})
    for seed in range(8):
        memory = filled(scorer, [0, 1, 2])
        memory.participants.update({"Anna": 1, "Carl": 2})
        facts = facts_of(["my"], 9, 9, 9, "Berta")
        decision = scorer.assign(memory, drawn(scorer, 9 + seed)[-1], facts, constant)
        assert decision.entity in (0, 3)
        assert not decision.probabilities[[1, 2]].any()
        assert decision.probabilities.sum() == pytest.approx(1)


@pytest.mark.parametrize("speaker, lowered", [("Bob", 6.0), ("Ann", 0.0)])
def test_two_speakers_i_are_two_persons(scorer: ClusterScorer, speaker: str, lowered: float) -> None:
    """Whatever the weights say of the pair: by how much its log-odds are lowered."""
    memory, constant = scorer.empty(), scorer.constant({"genre": 0, "scheme": 0})
    scorer.add(memory, drawn(scorer, 2)[0], facts_of(["I"], 0, 0, 1, "Ann"), 0)
    facts = facts_of(["I"], 4, 1, 2, speaker)
    scores = scorer.scores(memory, drawn(scorer, 2)[1], memory.states.classes(facts), constant)
    joined, new = scorer.assign(memory, drawn(scorer, 2)[1], facts, constant).probabilities
    assert np.log(joined / new) == pytest.approx(scores[0] - scores[1] - lowered, abs=1e-4)
