"""Votes: what a class of a pair's feature says about its score, whatever the vectors say."""

from __future__ import annotations

import numpy as np
import torch

from incoref.features import PAIR_FEATURES
from incoref.learning.preparation import annotate, read
from incoref.subwords import SubwordTokenizer
from tiny_models import NAMES, SIZES, random_document, random_model, tokenizer

TEXT = random_document(10, seed=5)


def test_votes_are_added_to_every_pair() -> None:
    model = random_model()
    assert model.clusterer.votes is not None
    reading = read(TEXT, SubwordTokenizer(tokenizer()), SIZES)
    annotation = annotate(TEXT, reading, NAMES.schemes[0], {})
    with torch.no_grad():
        vectors = model.word_vectors(reading)
        plain = model.scores(vectors, annotation, 0).pairs
        classes = annotation.gold.pair_classes[list(PAIR_FEATURES).index("match")]
        model.clusterer.votes.tables["match"][int(classes[0])] += 2.5
        changed = model.scores(vectors, annotation, 0).pairs
    np.testing.assert_allclose((changed - plain).numpy(), np.where(classes == classes[0], 2.5, 0), atol=1e-5)


def test_pairs_of_a_blind_mention_differ_by_votes_alone() -> None:
    model = random_model().train()
    votes = model.clusterer.votes
    assert votes is not None
    model.blind = 1.0
    reading = read(TEXT, SubwordTokenizer(tokenizer()), SIZES)
    annotation = annotate(TEXT, reading, NAMES.schemes[0], {})
    classes = dict(zip(PAIR_FEATURES, torch.from_numpy(annotation.gold.pair_classes.astype(np.int64)), strict=True))
    with torch.no_grad():
        vectors = model.word_vectors(reading)
        expected = votes(classes) + model.clusterer.output.bias
        torch.testing.assert_close(model.scores(vectors, annotation, 0).pairs, expected)
        model.eval()
        assert not torch.allclose(model.scores(vectors, annotation, 0).pairs, expected)
