"""Learning on the model's own mentions and clusters: what counts as right, and where the decisions come from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from incoref.learning.data.examples import NOT_ANNOTATED, Clustering, Ints, annotate, numbered, tokenise
from incoref.learning.data.pairs import pairs_of
from incoref.learning.nets.clusterer import clustering_loss
from incoref.learning.nets.on_policy import (
    OwnDecisions,
    own_clustering_loss,
    partial_loss,
    right_choices,
    right_for_pronouns,
)
from incoref.learning.train.prediction import predict
from tiny_models import SIZES, TinyModels, random_document

entities = st.lists(st.integers(0, 4), max_size=12).map(numbered)


def clustering_of(entity_of: Ints, gold_of: Ints) -> Clustering:
    place = np.arange(len(entity_of))
    nothing = np.zeros((0, 0), np.int8)
    return Clustering(place, place, entity_of, gold_of, place, place < 0, pairs_of(entity_of), nothing)


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
    reading = tokenise(document, tiny.tokenizer, SIZES)
    annotation = annotate(document, reading, "ontonotes", {"person": 0})
    heads = tiny.torch.heads()
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
    reading = tokenise(document, tiny.tokenizer, SIZES)
    annotation = annotate(document, reading, "ontonotes", {"person": 0})
    heads = tiny.torch.heads()
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


OPEN = NOT_ANNOTATED


def asked(entity_of: str, gold_of: list[int], pronouns: list[int]) -> list[list[int]]:
    """The right choices of each mention of a partial annotation; the last choice is a new entity."""
    own = numbered(entity_of)
    clustering = clustering_of(own, np.array(gold_of))
    clustering = replace(clustering, pronoun=np.isin(np.arange(len(own)), pronouns))
    found = right_for_pronouns(clustering, int(own.max()) + 1)
    return [np.flatnonzero(row).tolist() for row in found]


def test_a_partial_annotation_asks_only_its_pronouns() -> None:
    # "Anna … Ben … someone … she": the clusters of the names are a, b; c is not annotated
    assert asked("abcb", [0, 1, OPEN, 0], [3]) == [[], [], [], [0]]
    assert asked("abca", [0, 1, OPEN, 2], [3]) == [[], [], [], [2, 3]]
    assert asked("abca", [0, 1, OPEN, OPEN], [3]) == [[], [], [], []]


def test_a_name_that_comes_after_the_pronoun_counts_if_its_entity_is_known_before() -> None:
    assert asked("aba", [OPEN, 0, 0], [1]) == [[], [0], []]
    assert asked("abc", [OPEN, 0, 0], [1]) == [[], [], []]


def test_partial_annotations_are_completed_by_the_models_own_mentions(tiny: TinyModels) -> None:
    document = random_document(12, 1)
    reading = tokenise(document, tiny.tokenizer, SIZES)
    whole = annotate(document, reading, "ontonotes", {"person": 0})
    partial = annotate(document, reading, "ontonotes", {"person": 0}, partial=True)
    with torch.inference_mode():
        vectors = tiny.torch.word_vectors(reading)
    own = OwnDecisions(tiny.torch.heads(), reading, genre=0, mentions=True, clusters=True)
    found, completed = own(whole, vectors), own(partial, vectors)
    spans = set(zip(completed.first.tolist(), completed.last.tolist(), strict=True))
    assert spans >= set(zip(found.first.tolist(), found.last.tolist(), strict=True))
    assert set(completed.gold_of.tolist()) - {NOT_ANNOTATED} == set(whole.entity_of.tolist())
    assert (completed.types < 0).all()


def test_the_partial_loss_is_that_of_the_questions() -> None:
    own, gold = numbered("abcb"), np.array([0, 1, NOT_ANNOTATED, 0])
    clustering = replace(clustering_of(own, gold), pronoun=np.array([False, False, False, True]))
    scores, new = torch.randn(len(clustering.pairs.mention), dtype=torch.float64), torch.randn(4, dtype=torch.float64)
    [loss] = partial_loss(scores, new, clustering)
    last = torch.cat([scores[-3:], new[-1:]])
    torch.testing.assert_close(loss, -torch.log_softmax(last, 0)[0])
