"""The best one-to-one alignment, with SciPy and without."""

from __future__ import annotations

import random
import sys
from collections import defaultdict
from itertools import permutations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from incoref.errors import MissingExtra
from incoref.evaluation.alignment import MAX_WITHOUT_SCIPY, best_total

Weights = dict[tuple[int, int], float]

small = st.dictionaries(
    st.tuples(st.integers(0, 4), st.integers(0, 4)),
    st.one_of(st.integers(1, 3).map(float), st.floats(0.01, 1)),
    min_size=1,
)


@pytest.fixture(params=["with SciPy", "without"])
def solver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "without":
        without_scipy(monkeypatch)
    else:
        pytest.importorskip("scipy")


def without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("scipy", "scipy.optimize"):
        monkeypatch.setitem(sys.modules, module, None)


def brute_force(weights: Weights) -> float:
    return max(
        sum(weights.get((row, column), 0.0) for row, column in enumerate(chosen)) for chosen in permutations(range(5))
    )


def one_component(clusters: int, mentions: int, seed: int, *, fractions: bool = False) -> Weights:
    """The overlap of random clusters: with enough mentions, one component with many ties."""
    draw = random.Random(seed)
    weights: Weights = defaultdict(float)
    for _ in range(mentions):
        weights[draw.randrange(clusters), draw.randrange(clusters)] += 1
    return {cell: weight / (draw.randrange(2, 20) if fractions else 1) for cell, weight in weights.items()}


@pytest.mark.usefixtures("solver")
class TestEitherSolver:
    def test_nothing_to_align(self) -> None:
        assert best_total({}) == 0

    def test_a_row_gives_up_its_best_column_for_a_better_total(self) -> None:
        assert best_total({(0, 0): 5, (0, 1): 4, (1, 0): 4}) == 8

    def test_a_row_stays_unmatched_if_that_is_better(self) -> None:
        assert best_total({(0, 0): 5, (1, 0): 1}) == 5
        assert best_total({(0, 0): 5, (1, 0): 1, (2, 0): 2, (2, 1): 1}) == 6

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(small)
    def test_agrees_with_brute_force(self, weights: Weights) -> None:
        assert best_total(weights) == pytest.approx(brute_force(weights))


@pytest.mark.parametrize("fractions", [False, True])
@pytest.mark.parametrize("mentions", [150, 300, 1500])
def test_both_solvers_agree_on_large_components(
    mentions: int, fractions: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("scipy")
    weights = one_component(150, mentions, seed=mentions, fractions=fractions)
    by_scipy = best_total(weights)
    without_scipy(monkeypatch)
    assert best_total(weights) == pytest.approx(by_scipy, rel=1e-12)


def test_large_components_need_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    size = MAX_WITHOUT_SCIPY + 1
    chain: Weights = {(row, column): 1.0 for row in range(size) for column in (row, (row + 1) % size)}
    without_scipy(monkeypatch)
    with pytest.raises(MissingExtra, match=r"incoref\[eval\]"):
        best_total(chain)
    separate = {(row, column): 1.0 for row, column in chain if row // 2 == column // 2}
    assert best_total(separate) == np.ceil(size / 2) + size // 2
