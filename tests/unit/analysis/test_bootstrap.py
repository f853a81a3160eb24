"""The paired bootstrap: figures of the scorer, no chance but the seed's, sure of what is sure."""

from __future__ import annotations

import numpy as np
import pytest

from incoref.analysis.bootstrap import CONLL, METRICS, counts_of, differences, f1_of
from incoref.analysis.scores import score
from incoref.evaluation.metrics import token_clusters
from tiny_models import random_document

DOCUMENTS = [random_document(6, seed, f"d{seed}") for seed in range(8)]
RIGHT = [token_clusters(document) for document in DOCUMENTS]
HALF = [clusters[::2] for clusters in RIGHT]


@pytest.mark.parametrize("drop", [True, False])
def test_sums_of_counts_score_as_the_scorer_does(drop: bool) -> None:
    result = score(DOCUMENTS, HALF, drop)
    found = f1_of(counts_of(DOCUMENTS, HALF, drop).sum(axis=0))
    assert found[CONLL] == pytest.approx(result.conll_f1)
    for metric in METRICS:
        assert found[metric] == pytest.approx(getattr(result, metric).f1)


def test_a_clear_difference_is_sure_and_none_is_not() -> None:
    half, right = (counts_of(DOCUMENTS, clusters, False) for clusters in (HALF, RIGHT))
    found = differences(half, right, 2500, seed=3)[CONLL]
    assert found.value > 0 and found.p < 0.01
    assert 0 < found.low <= found.value <= found.high
    assert differences(right, half, 2500, seed=3)[CONLL].value == pytest.approx(-found.value)
    none = differences(right, right, 500, seed=3)[CONLL]
    assert (none.value, none.low, none.high, none.p) == (0, 0, 0, 1)


def test_the_seed_decides() -> None:
    counts = [counts_of(DOCUMENTS, clusters, False) for clusters in (HALF, RIGHT)]
    assert differences(*counts, 300, seed=1) == differences(*counts, 300, seed=1)
    assert differences(*counts, 300, seed=1) != differences(*counts, 300, seed=2)


def test_documents_without_anything_count_as_nothing() -> None:
    empty = np.zeros((3, len(METRICS), 4))
    assert differences(empty, empty, 100, seed=1)[CONLL].value == 0
