"""The model's step-by-step definition gives what the fast code gives, at run time and in training."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from incoref.learning.data import examples
from incoref.learning.data.examples import annotate
from incoref.learning.nets.clusterer import choices
from incoref.learning.nets.streaming import StreamingModel
from incoref.model.definition import Definition, Gold
from incoref.model.transitions import Action
from incoref.types import Document
from tiny_models import NAMES, SIZES, TinyModels, random_document

GENRE, SCHEME = NAMES.genres.index("news"), NAMES.schemes.index("ontonotes")


class Read:
    """A document's blocks, and the vectors that the encoder gives their words."""

    def __init__(self, tiny: TinyModels, model: StreamingModel, text: Document) -> None:
        self.reading = examples.tokenise(text, tiny.tokenizer, SIZES)
        with torch.inference_mode():
            self.vectors = model.word_vectors(self.reading)
        ends = np.cumsum(self.reading.chunks)[:-1]
        self.by_block = np.split(self.vectors.numpy(), ends)


@pytest.mark.parametrize("seed", range(3))
def test_scores_along_a_gold_derivation_are_those_of_training(tiny: TinyModels, seed: int) -> None:
    text, model = random_document(20, seed), tiny.torch
    read = Read(tiny, model, text)
    annotation = annotate(text, read.reading, "ontonotes", {})
    gold = Gold(map(Action, annotation.derivation.action.tolist()), iter(annotation.entity_of.tolist()))
    trace = Definition(model.head_weights(), model.pair_features).run(
        read.reading.utterances, read.by_block, GENRE, SCHEME, gold
    )
    with torch.inference_mode():
        scores = model.scores(read.vectors, annotation, GENRE)
        actions = scores.legal_actions(annotation.derivation.legal).numpy()
        table, _ = choices(scores.pairs, scores.new, annotation.gold.pairs, annotation.entity_of)
    np.testing.assert_allclose(np.array(trace.action_scores), actions, atol=1e-4)
    assert trace.mentions == annotation.derivation.spans
    assert len(trace.mentions) > 20
    for ours, row in zip(trace.entity_scores, table.numpy(), strict=True):
        np.testing.assert_allclose(ours, np.append(row[: len(ours) - 1], row[-1]), atol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_free_decisions_are_those_of_the_running_side(tiny: TinyModels, seed: int) -> None:
    text, model = random_document(30, seed), tiny.torch
    read = Read(tiny, model, text)
    heads = model.heads()
    trace = Definition(model.head_weights(), model.pair_features).run(
        read.reading.utterances, read.by_block, GENRE, SCHEME
    )
    state, classes = heads.start(), heads.classes("ontonotes", "news")
    actions, mentions, entities = [], [], []
    for block, vectors in zip(read.reading.utterances, read.by_block, strict=True):
        state, result = heads.step(block, vectors, state, classes)
        actions += [step.action for step in result.steps]
        mentions += [(mention.first, mention.last) for mention in result.mentions]
        entities += [mention.entity for mention in result.mentions]
    assert trace.actions == actions
    assert trace.mentions == mentions
    assert trace.entities == entities
    assert 5 < len(set(entities)) < len(entities)
