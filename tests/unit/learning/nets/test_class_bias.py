"""Class bias: what the class of a pair feature adds to the score, whatever the vectors say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from incoref.errors import IncorefError
from incoref.learning.data.examples import annotate, tokenise
from incoref.learning.nets.streaming import HeadSizes, StreamingModel
from incoref.learning.train.warm_start import EarlierModel, take_over
from incoref.model.features import REGISTRY
from incoref.model.subwords import SubwordTokenizer
from tiny_models import NAMES, SIZES, random_document, tokenizer
from tiny_networks import HEADS, random_model

TEXT = random_document(10, seed=5)


def test_biases_are_added_to_every_pair() -> None:
    model = random_model()
    assert model.clusterer.class_bias is not None
    reading = tokenise(TEXT, SubwordTokenizer(tokenizer()), SIZES)
    annotation = annotate(TEXT, reading, NAMES.schemes[0], {})
    with torch.no_grad():
        vectors = model.word_vectors(reading)
        plain = model.scores(vectors, annotation, 0).pairs
        classes = annotation.gold.pair_classes[list(REGISTRY).index("match")]
        model.clusterer.class_bias.tables["match"][int(classes[0])] += 2.5
        changed = model.scores(vectors, annotation, 0).pairs
    np.testing.assert_allclose((changed - plain).numpy(), np.where(classes == classes[0], 2.5, 0), atol=1e-5)


def test_a_model_can_do_without_a_feature() -> None:
    with_all = random_model()
    sizes = HeadSizes(**HEADS.model_copy(update={"without": ("speaker",)}).model_dump())
    model = StreamingModel(with_all.encoder, NAMES, sizes).eval()
    earlier = EarlierModel(NAMES, with_all.pair_features, with_all.state_dict())
    take_over(model, earlier, Path("earlier"))
    assert not [name for name in model.state_dict() if "speaker" in name]
    assert model.heads().clusters.features == tuple(name for name in REGISTRY if name != "speaker")
    reading = tokenise(TEXT, SubwordTokenizer(tokenizer()), SIZES)
    annotation = annotate(TEXT, reading, NAMES.schemes[0], {})
    hidden = with_all.clusterer.hidden.linear.weight
    size, at = HEADS.feature, list(REGISTRY).index("speaker")
    with torch.no_grad():
        start = hidden.shape[1] - size * (len(REGISTRY) + 2) + size * at
        hidden[:, start : start + size] = 0  # as if its embeddings said nothing
        vectors = model.word_vectors(reading)
        expected, found = (m.scores(vectors, annotation, 0).pairs for m in (with_all, model))
    assert with_all.clusterer.class_bias is not None
    bias = with_all.clusterer.class_bias.tables["speaker"].detach().numpy()
    of_speaker = bias[annotation.gold.pair_classes[at]]
    np.testing.assert_allclose((expected - found).numpy(), of_speaker, atol=1e-5)


def test_an_unknown_feature_to_leave_out_is_named() -> None:
    sizes = HeadSizes(**HEADS.model_copy(update={"without": ("spekaer",)}).model_dump())
    with pytest.raises(IncorefError, match=r"heads\.without: there is no pair feature 'spekaer'; the"):
        StreamingModel(random_model().encoder, NAMES, sizes)
