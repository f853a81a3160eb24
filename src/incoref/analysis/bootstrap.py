"""Paired bootstrap over documents: how certain the difference between two systems is.

Documents are drawn with replacement, the same ones for both systems, and each sample is scored as a corpus (counts
are summed before ratios are taken). The interval covers the middle 95% of the differences. p is twice the share of
samples in which the difference is zero or has the opposite sign, counting the data itself as one more sample. Results
are deterministic given the seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incoref.analysis.systems import Clusters
from incoref.evaluation.metrics import Scorer, token_clusters
from incoref.types import Document

Counts = npt.NDArray[np.float64]
METRICS = ("muc", "b3", "ceafe", "lea", "mentions")
CONLL = "conll"
"""The mean F1 of the first three metrics."""
_SAMPLES_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference in F1 between two systems, with its 95% interval and p-value."""

    value: float
    low: float
    high: float
    p: float


def counts_of(documents: Sequence[Document], predictions: Sequence[Clusters], drop_singletons: bool) -> Counts:
    """Return the counts behind the metrics of each document, (documents, metrics, 4)."""
    rows = []
    for document, clusters in zip(documents, predictions, strict=True):
        scorer = Scorer(drop_singletons=drop_singletons)
        scorer.add(token_clusters(document), clusters)
        rows.append([scorer.counts[metric] for metric in METRICS])
    return np.array(rows, np.float64).reshape(-1, len(METRICS), 4)


def f1_of(sums: Counts) -> dict[str, npt.NDArray[np.float64]]:
    """Return F1 in percent by metric from summed counts (…, metrics, 4)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        recall = np.where(sums[..., 1] > 0, sums[..., 0] / sums[..., 1], 0.0)
        precision = np.where(sums[..., 3] > 0, sums[..., 2] / sums[..., 3], 0.0)
        f1 = np.where(recall + precision > 0, 200 * recall * precision / (recall + precision), 0.0)
    return {CONLL: f1[..., :3].mean(axis=-1), **{metric: f1[..., i] for i, metric in enumerate(METRICS)}}


def differences(one: Counts, other: Counts, samples: int, seed: int) -> dict[str, Difference]:
    """Return ``other`` minus ``one`` by metric."""
    rng = np.random.default_rng(seed)
    documents = len(one)
    drawn: dict[str, list[npt.NDArray[np.float64]]] = {metric: [] for metric in (CONLL, *METRICS)}
    for start in range(0, samples, _SAMPLES_AT_ONCE):
        size = min(_SAMPLES_AT_ONCE, samples - start)
        times = rng.multinomial(documents, np.full(documents, 1 / documents), size)
        sums = [f1_of(np.tensordot(times, counts, axes=1)) for counts in (one, other)]
        for metric, samples_of_metric in drawn.items():
            samples_of_metric.append(sums[1][metric] - sums[0][metric])
    whole = [f1_of(counts.sum(axis=0)) for counts in (one, other)]
    return {
        metric: _difference(float(whole[1][metric] - whole[0][metric]), np.concatenate(samples_of_metric))
        for metric, samples_of_metric in drawn.items()
    }


def _difference(value: float, drawn: npt.NDArray[np.float64]) -> Difference:
    low, high = np.percentile(drawn, (2.5, 97.5))
    against = min(int((drawn <= 0).sum()), int((drawn >= 0).sum()))
    return Difference(value, float(low), float(high), min(1.0, 2 * (against + 1) / (len(drawn) + 1)))
