"""Votes: what a class of a pair's feature says about its score, whatever the vectors say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from incoref.errors import IncorefError
from incoref.learning.data.examples import annotate, read
from incoref.learning.nets.streaming import HeadSizes, StreamingModel
from incoref.learning.train.warm_start import take_over
from incoref.model.features import PAIR_FEATURES
from incoref.model.subwords import SubwordTokenizer
from tiny_models import HEADS, NAMES, SIZES, random_document, random_model, tokenizer

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


def test_a_feature_that_is_left_out_says_nothing_and_learns_nothing() -> None:
    with_all = random_model()
    sizes = HeadSizes(**HEADS.model_copy(update={"without": ("speaker", "width")}).model_dump())
    model = StreamingModel(with_all.encoder, NAMES, sizes)
    take_over(model, with_all.state_dict(), Path("earlier"))
    silent = [name for name, value in model.named_parameters() if not value.requires_grad]
    assert silent == [
        "detector.features.tables.width.weight",
        "clusterer.span_features.tables.width.weight",
        "clusterer.pair_features.tables.speaker.weight",
        "clusterer.votes.tables.speaker",
    ]
    assert not any(model.state_dict()[name].any() for name in silent)


def test_an_unknown_feature_to_leave_out_is_named() -> None:
    sizes = HeadSizes(**HEADS.model_copy(update={"without": ("spekaer",)}).model_dump())
    with pytest.raises(IncorefError, match=r"heads\.without: there is no feature 'spekaer', but agreement, count"):
        StreamingModel(random_model().encoder, NAMES, sizes)
