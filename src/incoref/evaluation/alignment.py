"""One-to-one alignment of clusters for CEAF: maximum-weight matching in a sparse bipartite graph.

A key cluster shares mentions with few response clusters, so the graph splits into small connected components. These
are aligned one by one, by SciPy if installed, and otherwise, up to a certain size, by the Hungarian algorithm in
NumPy. Both are exact.

This module only handles weights, whatever they measure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from incoref.errors import MissingExtra

Matrix = npt.NDArray[np.float64]
Cells = Mapping[int, list[tuple[int, float]]]
"""Maps each row of a sparse matrix to its columns and their positive weights."""

MAX_WITHOUT_SCIPY = 500
"""Maximum number of clusters on the smaller side of a component that is aligned without SciPy."""


def best_total(weights: Mapping[tuple[int, int], float]) -> float:
    """Return the highest total weight of cells (row, column), no two of them in the same row or column.

    Weights are positive; absent cells have weight 0.
    """
    cells: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for (row, column), weight in weights.items():
        cells[row].append((column, weight))
    components = _components(cells)
    of_single_rows = sum(max(weight for _, weight in cells[rows[0]]) for rows in components if len(rows) == 1)
    matrices = [_matrix(rows, cells) for rows in components if len(rows) > 1]
    if not matrices:
        return of_single_rows
    solve = _solver()
    return of_single_rows + sum(map(solve, matrices))


def _components(cells: Cells) -> list[list[int]]:
    """Return the rows of each connected component, linked by chains of shared columns."""
    rows_of: dict[int, list[int]] = defaultdict(list)
    for row, of_row in cells.items():
        for column, _ in of_row:
            rows_of[column].append(row)
    components: list[list[int]] = []
    seen: set[int] = set()
    for first in cells:
        if first in seen:
            continue
        seen.add(first)
        component = [first]
        for row in component:
            for column, _ in cells[row]:
                for other in rows_of.pop(column, ()):
                    if other not in seen:
                        seen.add(other)
                        component.append(other)
        components.append(component)
    return components


def _matrix(rows: list[int], cells: Cells) -> Matrix:
    """Return the weights of a component, transposed if necessary to have no more rows than columns."""
    number: dict[int, int] = {}
    for row in rows:
        for column, _ in cells[row]:
            number.setdefault(column, len(number))
    matrix = np.zeros((len(rows), len(number)))
    for place, row in enumerate(rows):
        for column, weight in cells[row]:
            matrix[place, number[column]] = weight
    return matrix if len(rows) <= len(number) else matrix.T


def _solver() -> Callable[[Matrix], float]:
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError:
        return hungarian

    def solve(weights: Matrix) -> float:
        return float(weights[linear_sum_assignment(weights, maximize=True)].sum())

    return solve


def hungarian(weights: Matrix) -> float:
    """Return the best total of a matrix with no more rows than columns: the Kuhn–Munkres algorithm with potentials.

    For each row, it finds the cheapest augmenting path to a free column and applies it.
    """
    rows, columns = weights.shape
    if rows > MAX_WITHOUT_SCIPY:
        raise MissingExtra("scipy", "eval", f"CEAF with {rows} clusters in one connected component")
    # An extra last column represents the start of the row's path.
    row_price, column_price = np.zeros(rows), np.zeros(columns + 1)
    holder = np.full(columns + 1, -1)  # the row matched with each column
    for row in range(rows):
        holder[columns] = row
        length, before = np.full(columns, np.inf), np.full(columns, columns)
        reached = np.zeros(columns + 1, np.bool_)
        column = columns
        while holder[column] >= 0:
            reached[column] = True
            current = holder[column]
            free = ~reached[:columns]
            reduced = row_price[current] - weights[current] - column_price[:columns]
            shorter = free & (reduced < length)
            length[shorter], before[shorter] = reduced[shorter], column
            column = int(np.where(free, length, np.inf).argmin())
            step = length[column]
            row_price[holder[reached]] -= step
            column_price[reached] -= step
            length[free] -= step
        while column != columns:
            holder[column] = holder[before[column]]
            column = int(before[column])
    taken = np.flatnonzero(holder[:columns] >= 0)
    return float(weights[holder[taken], taken].sum())
