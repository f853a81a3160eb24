"""Learning on the model's own mentions and clusters: what counts as right, and where the decisions come from."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from incoref.learning.data.examples import Clustering, Ints, annotate, numbered, read
from incoref.learning.data.pairs import pairs_of
from incoref.learning.nets.clusterer import clustering_loss
from incoref.learning.nets.on_policy import OwnDecisions, own_clustering_loss, right_choices
from incoref.learning.train.prediction import predict
from incoref.model.step import Heads
from tiny_models import SIZES, TinyModels, random_document

entities = st.lists(st.integers(0, 4), max_size=12).map(numbered)


def clustering_of(entity_of: Ints, gold_of: Ints) -> Clustering:
    place = np.arange(len(entity_of))
    nothing = np.zeros((0, 0), np.int8)
    return Clustering(place, place, entity_of, gold_of, place, pairs_of(entity_of), nothing)


@given(st.data())
def test_right_is_any_cluster_that_is_mostly_of_the_entity(data: st.DataObject) -> None:
    own = data.draw(entities)
    gold = numbered(data.draw(st.lists(st.integers(0, 4), min_size=len(own), max_size=len(own))))
    count = int(own.max(initial=-1)) + 1
    found = right_choices(clustering_of(own, gold), count)
    assert found.shape == (len(own), count + 1)
    for mention in range(len(own)):
        mostly = set()
        for cluster in range(count):
            inside = gold[:mention][own[:mention] == cluster].tolist()
            most = max(map(inside.count, inside), default=0)
            reached = [inside[: place + 1].count(entity) for place, entity in enumerate(inside)]
            if inside and inside[reached.index(most)] == gold[mention]:
                mostly.add(cluster)
        assert set(np.flatnonzero(found[mention]).tolist()) == (mostly or {count})


def test_who_was_put_into_anothers_cluster_should_leave_it() -> None:
    own, gold = numbered("aaaaa"), numbered("eettt")
    found = right_choices(clustering_of(own, gold), 1)
    assert found.argmax(axis=1).tolist() == [1, 0, 1, 1, 1]


@given(entities, st.integers(0, 99))
def test_on_gold_clusters_the_loss_is_the_usual_one(gold: Ints, seed: int) -> None:
    torch.manual_seed(seed)
    clustering = clustering_of(gold, gold.copy())
    scores = torch.randn(len(clustering.pairs.mention), requires_grad=True)
    new = torch.randn(len(gold), requires_grad=True)
    usual = clustering_loss(scores, new, clustering.pairs, gold)
    found = own_clustering_loss(scores, new, clustering)
    torch.testing.assert_close(found, usual)
    if len(gold):
        for one, other in zip(
            torch.autograd.grad(found.sum(), [scores, new]),
            torch.autograd.grad(usual.sum(), [scores, new]),
            strict=True,
        ):
            torch.testing.assert_close(one, other)


@pytest.mark.parametrize("seed", range(3))
def test_own_mentions_and_clusters_are_those_of_prediction(tiny: TinyModels, seed: int) -> None:
    document = random_document(12, seed)
    reading = read(document, tiny.tokenizer, SIZES)
    annotation = annotate(document, reading, "ontonotes", {"person": 0})
    heads = Heads.from_weights(tiny.torch.head_weights(), tiny.torch.names)
    with torch.inference_mode():
        vectors = tiny.torch.word_vectors(reading)
    own = OwnDecisions(heads, reading, genre=0, mentions=True, clusters=True)(annotation, vectors)
    [predicted] = predict(tiny.torch, [document], tiny.tokenizer, SIZES, "ontonotes")
    found: dict[int, list[tuple[int, int]]] = {}
    for first, last, entity in zip(own.first.tolist(), own.last.tolist(), own.entity_of.tolist(), strict=True):
        found.setdefault(entity, []).append((first, last + 1))
    assert list(found.values()) == predicted
    assert not own.teacher_forced
    check_gold(own, annotation.gold)


@pytest.mark.parametrize("seed", range(3))
def test_own_mentions_in_gold_clusters(tiny: TinyModels, seed: int) -> None:
    document = random_document(12, seed)
    reading = read(document, tiny.tokenizer, SIZES)
    annotation = annotate(document, reading, "ontonotes", {"person": 0})
    heads = Heads.from_weights(tiny.torch.head_weights(), tiny.torch.names)
    with torch.inference_mode():
        vectors = tiny.torch.word_vectors(reading)
    own = OwnDecisions(heads, reading, genre=0, mentions=True, clusters=False)(annotation, vectors)
    assert own.teacher_forced
    check_gold(own, annotation.gold)
    clusters = OwnDecisions(heads, reading, genre=0, mentions=False, clusters=True)(annotation, vectors)
    assert clusters.first.tolist() == annotation.gold.first.tolist()
    assert clusters.gold_of.tolist() == annotation.gold.entity_of.tolist()


def check_gold(own: Clustering, gold: Clustering) -> None:
    """Mentions that are gold have their entities and types; the others are alone and have none."""
    place = {span: i for i, span in enumerate(zip(gold.first.tolist(), gold.last.tolist(), strict=True))}
    by_gold: dict[int, int] = {}
    for i, span in enumerate(zip(own.first.tolist(), own.last.tolist(), strict=True)):
        number = int(own.gold_of[i])
        if span in place:
            assert by_gold.setdefault(int(gold.entity_of[place[span]]), number) == number
            assert own.types[i] == gold.types[place[span]]
        else:
            assert own.gold_of.tolist().count(number) == 1
            assert own.types[i] < 0
