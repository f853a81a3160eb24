"""The one-to-one alignment of clusters that CEAF needs: the best total weight of a sparse bipartite graph.

A cluster of the key shares mentions with few clusters of the response, so the graph falls apart into small
connected components, which are aligned one by one. A component is solved by successive shortest augmenting paths
over the cells that exist, so that even a graph in one piece needs no dense matrix. SciPy, where it is installed,
takes the components that are large.

This module knows weights only, not what they measure.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Mapping

Cells = Mapping[int, list[tuple[int, float]]]
"""For each row of a sparse matrix its columns and their weights."""

Solver = Callable[[list[int], Cells], float]


def best_total(weights: Mapping[tuple[int, int], float], *, large: Solver | None = None) -> float:
    """The highest sum of weights over all sets of cells (row, column) that share no row and no column.

    Weights are positive; absent cells weigh 0. ``large`` solves components of ``LARGE`` rows and more: by default
    SciPy's solver, or our own without it.
    """
    cells: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for (row, column), weight in weights.items():
        cells[row].append((column, weight))
    total = 0.0
    for rows in _components(cells):
        if len(rows) == 1:
            total += max(weight for _, weight in cells[rows[0]])
        elif len(rows) < LARGE:
            total += solve(rows, cells)
        else:
            total += (large or solve_with_scipy)(rows, cells)
    return total


LARGE = 500


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


def solve(rows: list[int], cells: Cells) -> float:
    """The best total of one component, adding one row after the other along the cheapest alternating path.

    Prices prove the result: a row's and a column's price together are never below the weight of their cell, equal it
    where the cell is chosen, and are 0 for rows and columns that stay alone. A path ends in a free column, or in
    a row that gives its column away and stays alone, which costs that row's price.
    """
    row_price = {row: max(weight for _, weight in cells[row]) for row in rows}
    column_price: dict[int, float] = defaultdict(float)
    row_of: dict[int, int] = {}
    column_of: dict[int, int] = {}
    for source in rows:
        distance: dict[int, float] = {}
        parent: dict[int, int] = {}
        settled: dict[int, float] = {}
        reached = [(source, 0.0)]
        queue: list[tuple[float, int]] = []
        row, travelled = source, 0.0
        best, end_row, end_column = row_price[source], source, -1
        while True:
            slack = travelled + row_price[row]
            for column, weight in cells[row]:
                length = slack + column_price[column] - weight
                if length < best and column not in settled and length < distance.get(column, best):
                    distance[column] = length
                    parent[column] = row
                    if column in row_of:
                        heapq.heappush(queue, (length, column))
                    else:
                        best, end_column = length, column
            while queue and queue[0][1] in settled:
                heapq.heappop(queue)
            if not queue or queue[0][0] >= best:
                break
            travelled, column = heapq.heappop(queue)
            settled[column] = travelled
            row = row_of[column]
            reached.append((row, travelled))
            if travelled + row_price[row] < best:
                best, end_row, end_column = travelled + row_price[row], row, -1
        for row, length in reached:
            row_price[row] -= best - length
        for column, length in settled.items():
            column_price[column] += best - length
        if end_column < 0:
            if end_row == source:
                continue
            end_column = column_of.pop(end_row)
        while True:
            row = parent[end_column]
            given_up = column_of.get(row, -1)
            row_of[end_column], column_of[row] = row, end_column
            if row == source:
                break
            end_column = given_up
    return sum(weight for row in rows for column, weight in cells[row] if column_of.get(row) == column)


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
