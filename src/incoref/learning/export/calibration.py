"""Temperatures: what scores are divided by, so that a probability of 0.8 is right four times out of five.

Fitted along gold derivations, where the right choice is known at every step: the temperature under which the right
choices are most probable. Changes no decision.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from incoref.learning.data.examples import Annotation, annotate, read
from incoref.learning.nets.clusterer import choices
from incoref.learning.nets.streaming import StreamingModel
from incoref.model.step import Temperatures
from incoref.model.subwords import SubwordTokenizer
from incoref.model.windows import WindowSizes
from incoref.options import UNKNOWN_GENRE
from incoref.types import Document

_BINS = 15
_COLDEST, _WARMEST = 0.05, 20.0
_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, slots=True)
class Choices:
    """Decisions with their scores, and what would have been right."""

    scores: npt.NDArray[np.floating]  # (decisions, options), minus infinity where an option is none
    right: npt.NDArray[np.int64]  # (decisions,)

    def probabilities(self, temperature: float) -> npt.NDArray[np.floating]:
        scaled = self.scores / temperature
        weights = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        found: npt.NDArray[np.floating] = weights / weights.sum(axis=1, keepdims=True)
        return found


@dataclass(frozen=True, slots=True)
class Fit:
    """A temperature, and the expected calibration error without and with it."""

    temperature: float
    decisions: int
    error_before: float
    error_after: float


@dataclass(frozen=True, slots=True)
class Calibration:
    mention: Fit
    link: Fit

    @property
    def temperatures(self) -> Temperatures:
        return Temperatures(self.mention.temperature, self.link.temperature)


def calibrate(
    model: StreamingModel,
    corpora: Iterable[tuple[Sequence[Document], str]],
    tokenizer: SubwordTokenizer,
    sizes: WindowSizes,
) -> Calibration:
    """Fit both temperatures on documents with gold entities, singletons included, each corpus under its scheme."""
    actions: list[Choices] = []
    links: list[Choices] = []
    model.eval()
    for documents, scheme in corpora:
        for document in documents:
            reading = read(document, tokenizer, sizes)
            annotation = annotate(document, reading, scheme, {})
            with torch.inference_mode():
                vectors = model.word_vectors(reading)
                scores = model.scores(vectors, annotation, model.names.genres.index(UNKNOWN_GENRE))
                actions.append(_actions(scores.legal_actions(annotation.derivation.legal).cpu().numpy(), annotation))
                if len(annotation.gold):
                    table, right = choices(scores.pairs, scores.new, annotation.gold.pairs, annotation.entity_of)
                    links.append(Choices(table.cpu().numpy(), right))
    return Calibration(fit(actions), fit(links))


def _actions(scores: npt.NDArray[np.floating], annotation: Annotation) -> Choices:
    """The steps at which there is a choice."""
    free = annotation.derivation.legal.sum(axis=1) > 1
    return Choices(scores[free], annotation.derivation.action[free])


def fit(found: Sequence[Choices]) -> Fit:
    """The temperature under which what is right is most probable: the loss has one minimum, for golden section."""
    low, high = np.log(_COLDEST), np.log(_WARMEST)
    inner = [high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)]
    losses = [loss(found, float(np.exp(place))) for place in inner]
    while high - low > 1e-3:
        if losses[0] < losses[1]:
            high, inner[1], losses[1] = inner[1], inner[0], losses[0]
            inner[0] = high - _GOLDEN * (high - low)
            losses[0] = loss(found, float(np.exp(inner[0])))
        else:
            low, inner[0], losses[0] = inner[0], inner[1], losses[1]
            inner[1] = low + _GOLDEN * (high - low)
            losses[1] = loss(found, float(np.exp(inner[1])))
    temperature = round(float(np.exp((low + high) / 2)), 3)
    decisions = sum(len(some.right) for some in found)
    return Fit(temperature, decisions, expected_error(found, 1.0), expected_error(found, temperature))


def loss(found: Sequence[Choices], temperature: float) -> float:
    """Mean of minus the logarithm of the probability of what is right."""
    total = 0.0
    for some in found:
        of_right = some.probabilities(temperature)[np.arange(len(some.right)), some.right]
        total -= float(np.log(np.maximum(of_right, 1e-30)).sum())
    return total / max(1, sum(len(some.right) for some in found))


def expected_error(found: Sequence[Choices], temperature: float) -> float:
    """How far the probabilities of decisions are, on average, from how often such decisions are right."""
    confidences, hits = [np.zeros(0)], [np.zeros(0, np.bool_)]
    for some in found:
        probabilities = some.probabilities(temperature)
        chosen = probabilities.argmax(axis=1)
        confidences.append(probabilities.max(axis=1))
        hits.append(chosen == some.right)
    confidence, hit = np.concatenate(confidences), np.concatenate(hits)
    bins = np.minimum((confidence * _BINS).astype(np.int64), _BINS - 1)
    gaps = np.bincount(bins, confidence - hit, _BINS)
    return float(np.abs(gaps).sum() / max(1, len(confidence)))
