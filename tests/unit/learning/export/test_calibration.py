"""Temperatures: found where they are known, and of use to the probabilities that a model gives."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from incoref.learning.data.examples import annotate, mention_facts, tokenise
from incoref.learning.export.calibration import Choices, calibrate, expected_error, fit, link_choices, loss
from incoref.model.features import pair_priors
from incoref.model.subwords import Utterance
from tiny_models import SIZES, SPEAKERS, TinyModels, document, random_document


def drawn(temperature: float, decisions: int = 4000, options: int = 4) -> Choices:
    """Decisions that are right as often as their scores, divided by this temperature, say."""
    rng = np.random.default_rng(1)
    scores = rng.normal(0, 2, (decisions, options))
    scores[: decisions // 2, -1] = -np.inf
    of_options = Choices(scores, np.zeros(decisions, np.int64)).probabilities(temperature)
    right = (rng.random((decisions, 1)) > of_options.cumsum(axis=1)).sum(axis=1)
    return Choices(scores, np.minimum(right, options - 1))


@pytest.mark.parametrize("temperature", [0.4, 1.0, 2.5])
def test_the_temperature_is_found(temperature: float) -> None:
    found = fit([drawn(temperature)])
    assert found.temperature == pytest.approx(temperature, rel=0.08)
    assert found.error_after < 0.03
    assert found.decisions == 4000
    if temperature != 1:
        assert found.error_after < found.error_before


def test_no_other_temperature_has_a_smaller_loss() -> None:
    some = [drawn(1.7, 300), drawn(0.8, 200, 9)]
    best = fit(some).temperature
    assert all(loss(some, best) <= loss(some, best * factor) + 1e-9 for factor in (0.5, 0.9, 1.1, 2))


def test_sure_and_always_right_is_no_error() -> None:
    scores = np.array([[50.0, 0.0], [0.0, 50.0]])
    assert expected_error([Choices(scores, np.array([0, 1]))], 1.0) == pytest.approx(0, abs=1e-9)
    assert expected_error([Choices(scores, np.array([1, 0]))], 1.0) == pytest.approx(1)
    assert expected_error([], 1.0) == 0


def test_a_model_is_calibrated_along_gold_derivations(tiny: TinyModels) -> None:
    corpora = [([random_document(12, seed) for seed in range(3)], "ontonotes"), ([random_document(8, 9)], "all")]
    found = calibrate(tiny.torch, corpora, tiny.tokenizer, SIZES)
    assert found.mention.error_after < found.mention.error_before  # its scores mean nothing, and it is sure of them
    assert found.link.error_after < found.link.error_before
    assert found.temperatures.mention == found.mention.temperature > 1
    assert found.mention.decisions > found.link.decisions > 0


def test_links_are_scored_as_at_run_time(tiny: TinyModels) -> None:
    """The probabilities that are calibrated are those of the running model, which has a prior for speakers."""
    words = "I saw the old man , you saw Anna .".split()
    spans_of_entities: list[list[tuple[int, int]]] = [[], [], []]
    for number in range(6):  # the speakers take turns
        start, turn = number * len(words), number % 2
        spans_of_entities[turn].append((start, start))
        spans_of_entities[2].append((start + 2, start + 4))
        spans_of_entities[1 - turn].append((start + 6, start + 6))
    text = document([Utterance(tuple(words), SPEAKERS[1 + n % 2]) for n in range(6)], spans_of_entities)
    reading = tokenise(text, tiny.tokenizer, SIZES)
    annotation = annotate(text, reading, "ontonotes", {})
    gold, genre = annotation.gold, tiny.torch.names.genres.index("news")
    assert pair_priors(gold.pair_classes).any()
    with torch.inference_mode():
        vectors = tiny.torch.word_vectors(reading)
        calibrated = link_choices(tiny.torch.scores(vectors, annotation, genre), annotation).probabilities(1.0)
    clusters = tiny.torch.heads().clusters
    memory = clusters.empty()
    constant = clusters.constant({"genre": genre, "scheme": 0})
    spans = list(zip(gold.first.tolist(), gold.last.tolist(), strict=True))
    for row, entity, span, facts in zip(
        calibrated, gold.entity_of, spans, mention_facts(reading, spans), strict=True
    ):
        vector = clusters.spans(vectors.numpy(), [span])[0]
        probabilities = clusters.assign(memory.copy(), vector, facts, constant).probabilities
        np.testing.assert_allclose(np.append(row[: len(memory)], row[-1]), probabilities, atol=1e-3)
        clusters.add(memory, vector, facts, int(entity))
