"""The best one-to-one alignment, by our own solver and by SciPy."""

from __future__ import annotations

import random
import sys
from collections import defaultdict
from itertools import permutations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from incoref.evaluation import assignment
from incoref.evaluation.alignment import best_total, solve_with_scipy
from incoref.evaluation.assignment import Cells, solve

Weights = dict[tuple[int, int], float]

small = st.dictionaries(
    st.tuples(st.integers(0, 4), st.integers(0, 4)),
    st.one_of(st.integers(1, 3).map(float), st.floats(0.01, 1)),
    min_size=1,
)


def by_trying_all(weights: Weights) -> float:
    return max(
        sum(weights.get((row, column), 0.0) for row, column in enumerate(chosen)) for chosen in permutations(range(5))
    )


def as_rows(weights: Weights) -> tuple[list[int], Cells]:
    cells = defaultdict(list)
    for (row, column), weight in weights.items():
        cells[row].append((column, weight))
    return list(cells), cells


def one_piece(clusters: int, mentions: int, seed: int) -> Weights:
    """What clusters drawn at random share: for enough mentions, one component with many ties."""
    draw = random.Random(seed)
    weights: Weights = defaultdict(float)
    for _ in range(mentions):
        weights[draw.randrange(clusters), draw.randrange(clusters)] += 1
    return dict(weights)


def test_nothing_to_align() -> None:
    assert best_total({}) == 0


def test_a_row_gives_up_its_best_column_for_the_good_of_all() -> None:
    assert best_total({(0, 0): 5, (0, 1): 4, (1, 0): 4}) == 8


def test_a_row_stays_alone_if_that_is_better() -> None:
    assert best_total({(0, 0): 5, (1, 0): 1}) == 5


@given(small)
def test_agrees_with_trying_all_alignments(weights: Weights) -> None:
    assert best_total(weights) == pytest.approx(by_trying_all(weights))


@given(small)
def test_our_solver_needs_no_connected_rows(weights: Weights) -> None:
    assert solve(*as_rows(weights)) == pytest.approx(by_trying_all(weights))


@given(small)
def test_scipy_agrees(weights: Weights) -> None:
    pytest.importorskip("scipy")
    assert solve_with_scipy(*as_rows(weights)) == pytest.approx(by_trying_all(weights))


@pytest.mark.parametrize("mentions", [600, 1200, 3000])
@pytest.mark.parametrize("kind", ["whole", "fraction"])
def test_our_solver_agrees_with_scipy_on_a_large_component(mentions: int, kind: str) -> None:
    pytest.importorskip("scipy")
    weights = one_piece(600, mentions, seed=mentions)
    if kind == "fraction":
        weights = {cell: weight / (1 + sum(cell) % 7) for cell, weight in weights.items()}
    rows, cells = as_rows(weights)
    assert solve(rows, cells) == pytest.approx(solve_with_scipy(rows, cells))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first search already gives way to an auction."""
    monkeypatch.setattr(assignment, "_PATIENCE", 0)
    monkeypatch.setattr(assignment, "_FEW_WEIGHTS", 0)


@pytest.mark.usefixtures("impatient")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(small)
def test_an_auction_agrees_with_trying_all_alignments(weights: Weights) -> None:
    assert solve(*as_rows(weights)) == pytest.approx(by_trying_all(weights))


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("seed", range(4))
def test_an_auction_of_a_large_component_agrees_with_scipy(seed: int) -> None:
    pytest.importorskip("scipy")
    draw = random.Random(seed)
    weights = {cell: weight / draw.randrange(2, 20) for cell, weight in one_piece(300, 2000, seed).items()}
    rows, cells = as_rows(weights)
    assert solve(rows, cells) == pytest.approx(solve_with_scipy(rows, cells))


def test_a_large_component_is_aligned_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = one_piece(600, 1800, seed=1)
    with_what_is_installed = best_total(weights)
    for module in ("scipy", "scipy.sparse", "scipy.sparse.csgraph"):
        monkeypatch.setitem(sys.modules, module, None)
    assert best_total(weights) == pytest.approx(with_what_is_installed)
