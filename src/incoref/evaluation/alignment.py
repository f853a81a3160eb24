"""The one-to-one alignment of clusters that CEAF needs: the best total weight of a sparse bipartite graph.

A cluster of the key shares mentions with few clusters of the response, so the graph falls apart into small
connected components, which are aligned one by one. Our own solver (Jonker and Volgenant's: bids first, then
shortest augmenting paths) works on the cells that exist, so that even a graph in one piece needs no dense matrix.
SciPy, where it is installed, takes the components that are large.

This module knows weights only, not what they measure.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Mapping

Cells = Mapping[int, list[tuple[int, float]]]
"""For each row of a sparse matrix its columns and their weights."""

_LARGE = 500
"""Rows of a component from which on importing SciPy and copying the cells for it pays."""

_BIDS_PER_ROW = 10


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
            total += (solve if len(rows) < _LARGE else solve_with_scipy)(rows, cells)
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


def solve(rows: list[int], cells: Cells) -> float:
    """The best total of one component."""
    alignment = _Alignment(cells)
    for row in alignment.bid(rows):
        alignment.augment(row)
    return sum(weight for row in rows for column, weight in cells[row] if alignment.column_of.get(row) == column)


class _Alignment:
    """A choice of cells together with prices that prove it the best for the rows which have been added.

    A row's and a column's price are never below 0, nor together below the weight of their cell; they equal it where
    the cell is chosen, and are 0 for rows and columns that stay alone.
    """

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.row_price: dict[int, float] = {}
        self.column_price: dict[int, float] = defaultdict(float)
        self.row_of: dict[int, int] = {}
        self.column_of: dict[int, int] = {}

    def bid(self, rows: list[int]) -> list[int]:
        """Add rows the quick way, and return those that need a search.

        Each row takes the column of most gain over its price and raises that price until the second best would
        do as well. Who loses a column bids again, until ties or the limit end it.
        """
        waiting = rows[::-1]
        left = []
        for _ in range(_BIDS_PER_ROW * len(rows)):
            if not waiting:
                break
            row = waiting.pop()
            best, second, wanted = 0.0, 0.0, -1
            for column, weight in self.cells[row]:
                gain = weight - self.column_price[column]
                if gain > best:
                    best, second, wanted = gain, best, column
                elif gain > second:
                    second = gain
            self.row_price[row] = second
            if wanted < 0:
                continue
            if wanted in self.row_of:
                if best == second:
                    left.append(row)
                    continue
                loser = self.row_of[wanted]
                del self.column_of[loser]
                waiting.append(loser)
            self.column_price[wanted] += best - second
            self.row_of[wanted], self.column_of[row] = row, wanted
        return left + waiting

    def augment(self, source: int) -> None:
        """Add a row along the cheapest path of taken columns and their rows, found by Dijkstra's algorithm.

        The path ends in a free column, or in a row that gives its column away and stays alone, which costs that row's
        price. Among equals the newest is tried first: that goes deep instead of wide.
        """
        cells, row_price, column_price, row_of = self.cells, self.row_price, self.column_price, self.row_of
        row_price[source] = max(0.0, *(weight - column_price[column] for column, weight in cells[source]))
        row, travelled = source, 0.0
        best, end_row, end_column = row_price[source], source, -1
        distance: dict[int, float] = {}
        parent: dict[int, int] = {}
        settled: dict[int, float] = {}
        reached = [(source, 0.0)]
        queue: list[tuple[float, int, int]] = []
        newest = 0
        while True:
            so_far = travelled + row_price[row]
            for column, weight in cells[row]:
                length = so_far + column_price[column] - weight
                if length < best and column not in settled and length < distance.get(column, best):
                    distance[column] = length
                    parent[column] = row
                    if column in row_of:
                        newest -= 1
                        heapq.heappush(queue, (length, newest, column))
                    else:
                        best, end_column = length, column
            while queue and queue[0][2] in settled:
                heapq.heappop(queue)
            if not queue or queue[0][0] >= best:
                break
            travelled, _, column = heapq.heappop(queue)
            settled[column] = travelled
            row = row_of[column]
            reached.append((row, travelled))
            if travelled + row_price[row] < best:
                best, end_row, end_column = travelled + row_price[row], row, -1
        for row, length in reached:
            row_price[row] -= best - length
        for column, length in settled.items():
            column_price[column] += best - length
        if end_column >= 0:
            self._pass_on(end_column, parent, source)
        elif end_row != source:
            self._pass_on(self.column_of.pop(end_row), parent, source)

    def _pass_on(self, column: int, parent: dict[int, int], source: int) -> None:
        """Give a column to the row before it on the path, that row's column to the one before, back to the source."""
        while True:
            row = parent[column]
            given_up = self.column_of.get(row, -1)
            self.row_of[column], self.column_of[row] = row, column
            if row == source:
                return
            column = given_up


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
