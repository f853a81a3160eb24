"""The one-to-one alignment of clusters that CEAF needs: the best total weight of a sparse bipartite graph.

A cluster of the key shares mentions with few clusters of the response, so the graph falls apart into small
connected components, which are aligned one by one: by SciPy, where it is installed and is the quicker one, else by
our own solver in :mod:`incoref.evaluation.assignment`.

This module knows weights only, not what they measure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from incoref.evaluation.assignment import Cells, has_many_weights, solve

_LARGE = 500
"""Rows of a component from which on importing SciPy and copying the cells for it pays, if few weights are different:
where many are, our own solver is quicker."""


def best_total(weights: Mapping[tuple[int, int], float]) -> float:
    """The highest sum of weights over all sets of cells (row, column) that share no row and no column.

    Weights are positive; absent cells weigh 0.
    """
    # Rows that must stay alone cost the longest searches: let the side with fewer clusters be the rows.
    transposed = len({row for row, _ in weights}) > len({column for _, column in weights})
    cells: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for (row, column), weight in weights.items():
        if transposed:
            cells[column].append((row, weight))
        else:
            cells[row].append((column, weight))
    total = 0.0
    for rows in _components(cells):
        if len(rows) == 1:
            total += max(weight for _, weight in cells[rows[0]])
        else:
            for_scipy = len(rows) >= _LARGE and not has_many_weights(rows, cells)
            total += (solve_with_scipy if for_scipy else solve)(rows, cells)
    return total


def _components(cells: Cells) -> list[list[int]]:
    """The rows, grouped by whether a chain of shared columns leads from one to the other."""
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


def solve_with_scipy(rows: list[int], cells: Cells) -> float:
    """The same by SciPy, or by our own solver where SciPy is not installed."""
    try:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import min_weight_full_bipartite_matching
    except ImportError:
        return solve(rows, cells)
    # SciPy wants every row matched and no weight of 0: each row gets a column of its own that stands for staying
    # alone, and all weights are shifted by the same amount.
    number: dict[int, int] = {}
    for row in rows:
        for column, _ in cells[row]:
            number.setdefault(column, len(number))
    shifted: list[float] = []
    columns: list[int] = []
    starts = [0]
    for alone, row in enumerate(rows, start=len(number)):
        for column, weight in cells[row]:
            columns.append(number[column])
            shifted.append(1 + weight)
        columns.append(alone)
        shifted.append(1)
        starts.append(len(columns))
    matrix = csr_array((shifted, columns, starts), shape=(len(rows), len(number) + len(rows)))
    chosen_rows, chosen_columns = min_weight_full_bipartite_matching(matrix, maximize=True)
    return float(matrix[chosen_rows, chosen_columns].sum()) - len(rows)
