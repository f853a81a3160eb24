"""Fit temperatures: scores are divided by them, so that a probability of 0.8 is right four times out of five.

They are fitted along gold derivations, where the right choice is known at every step, on the same scores that are
divided at run time: those of legal actions, and those of mention–entity pairs including the features' priors. No
decision changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import minimize_scalar

from incoref.learning.data.examples import Annotation, annotate, tokenise
from incoref.learning.nets.clusterer import choices
from incoref.learning.nets.layers import beside
from incoref.learning.nets.streaming import Scores, StreamingModel
from incoref.model.features import pair_priors
from incoref.model.step import Temperatures
from incoref.model.subwords import SubwordTokenizer
from incoref.model.windows import WindowSizes
from incoref.options import UNKNOWN_GENRE
from incoref.types import Document

_BINS = 15
_COLDEST, _WARMEST = 0.05, 20.0


@dataclass(frozen=True, slots=True)
class Choices:
    """Decisions with the scores of their options, and the index of the right option."""

    scores: npt.NDArray[np.floating]  # (decisions, options), minus infinity for options that don't exist
    right: npt.NDArray[np.int64]  # (decisions,)

    def probabilities(self, temperature: float) -> npt.NDArray[np.floating]:
        scaled = self.scores / temperature
        weights = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        probabilities: npt.NDArray[np.floating] = weights / weights.sum(axis=1, keepdims=True)
        return probabilities


@dataclass(frozen=True, slots=True)
class Fit:
    """A temperature, and the expected calibration error before and after applying it."""

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
    """Fit both temperatures on documents with gold entities including singletons, each corpus under its scheme."""
    actions: list[Choices] = []
    links: list[Choices] = []
    model.eval()
    for documents, scheme in corpora:
        for document in documents:
            reading = tokenise(document, tokenizer, sizes)
            annotation = annotate(document, reading, scheme, {})
            with torch.inference_mode():
                vectors = model.word_vectors(reading)
                scores = model.scores(vectors, annotation, model.names.genres.index(UNKNOWN_GENRE))
                actions.append(_actions(scores.legal_actions(annotation.derivation.legal).cpu().numpy(), annotation))
                if len(annotation.gold):
                    links.append(link_choices(scores, annotation))
    return Calibration(fit(actions), fit(links))


def _actions(scores: npt.NDArray[np.floating], annotation: Annotation) -> Choices:
    """Return the steps with more than one legal action."""
    free = annotation.derivation.legal.sum(axis=1) > 1
    return Choices(scores[free], annotation.derivation.action[free])


def link_choices(scores: Scores, annotation: Annotation) -> Choices:
    """Return the entity choices of each gold mention, scored as at run time."""
    gold = annotation.gold
    pairs = scores.pairs + beside(scores.pairs, pair_priors(gold.pair_classes))
    table, right = choices(pairs, scores.new, gold.pairs, gold.entity_of)
    return Choices(table.cpu().numpy(), right)


def fit(choices: Sequence[Choices]) -> Fit:
    """Fit the temperature under which the right choices are most probable; the loss has a single minimum."""
    bounds = (np.log(_COLDEST), np.log(_WARMEST))
    best = minimize_scalar(lambda log: loss(choices, float(np.exp(log))), bounds=bounds, method="bounded")
    temperature = round(float(np.exp(best.x)), 3)
    decisions = sum(len(some.right) for some in choices)
    return Fit(temperature, decisions, expected_error(choices, 1.0), expected_error(choices, temperature))


def loss(choices: Sequence[Choices], temperature: float) -> float:
    """Return the mean negative log-likelihood of the right choices."""
    total = 0.0
    for some in choices:
        of_right = some.probabilities(temperature)[np.arange(len(some.right)), some.right]
        total -= float(np.log(np.maximum(of_right, 1e-30)).sum())
    return total / max(1, sum(len(some.right) for some in choices))


def expected_error(choices: Sequence[Choices], temperature: float) -> float:
    """Return the expected calibration error: the mean gap between probabilities and how often decisions are right."""
    confidences, hits = [np.zeros(0)], [np.zeros(0, np.bool_)]
    for some in choices:
        probabilities = some.probabilities(temperature)
        chosen = probabilities.argmax(axis=1)
        confidences.append(probabilities.max(axis=1))
        hits.append(chosen == some.right)
    confidence, hit = np.concatenate(confidences), np.concatenate(hits)
    bins = np.minimum((confidence * _BINS).astype(np.int64), _BINS - 1)
    gaps = np.bincount(bins, confidence - hit, _BINS)
    return float(np.abs(gaps).sum() / max(1, len(confidence)))
