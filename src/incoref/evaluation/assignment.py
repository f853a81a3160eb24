"""The assignment problem on a sparse graph, exactly: which rows take which columns for the highest total weight.

A row may stay alone, and so may a column. Prices prove an assignment the best: a row's and a column's price are never
below 0, nor together below the weight of their cell; they equal it where the cell is chosen, and are 0 for who stays
alone. Bids find most of them, searches for the cheapest exchange the rest (Jonker and Volgenant's way). Where
searches go far, because the graph is large and its weights are many, an auction with ever smaller steps finds prices
that are almost right first (Bertsekas's way, rows and columns bidding in turn), and short searches make them so.

Rows and columns play the same parts in turn; who bids or searches is a *bidder*, what it wants is a *good*. This
module knows numbers only, not what they measure.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from itertools import repeat

Cells = Mapping[int, list[tuple[int, float]]]
"""For each row of a sparse matrix its columns and their positive weights."""

_BIDS_PER_ROW = 10
_PATIENCE = 2
"""How many rows, for each row of the matrix, searches may visit before an auction is tried."""
_FEW_WEIGHTS = 10
"""Up to so many different weights, searches stay short, while an auction would be held up by ties."""

_FIRST_STEP = 0.01
_FINER = 0.2
_STEPS = 4
"""Steps of an auction: the first as a part of the mean weight, each as a part of the one before, and how many."""

_NOBODY = -1


class _Side:
    """The rows or the columns: whom each could get, what it costs, and whom it has."""

    def __init__(self, cells: list[list[tuple[int, float]]]) -> None:
        self.cells = cells
        self.price = [0.0] * len(cells)
        self.partner = [_NOBODY] * len(cells)

    def wanting(self) -> list[int]:
        """Those that are alone although that is not what their price says."""
        alone = (number for number, partner in enumerate(self.partner) if partner == _NOBODY)
        return [number for number in alone if self.price[number] > 0]


def has_many_weights(rows: list[int], cells: Cells) -> bool:
    """Whether more than a few of these rows' weights are different."""
    return len({weight for row in rows for _, weight in cells[row]}) > _FEW_WEIGHTS


def solve(rows: list[int], cells: Cells) -> float:
    """The highest total weight for these rows."""
    number: dict[int, int] = {}
    of_rows = [[(number.setdefault(column, len(number)), weight) for column, weight in cells[row]] for row in rows]
    of_columns: list[list[tuple[int, float]]] = [[] for _ in number]
    for row, of_row in enumerate(of_rows):
        for column, weight in of_row:
            of_columns[column].append((row, weight))
    left, right = _Side(of_rows), _Side(of_columns)
    waiting = _bid(left, right, [*range(len(rows))], 0.0, _BIDS_PER_ROW * len(rows))
    patience = _PATIENCE * len(rows) if has_many_weights(rows, cells) else float("inf")
    if not _search_all(left, right, waiting, patience):
        _auction(left, right)
        _search_all(left, right, left.wanting())
        _search_all(right, left, right.wanting())
    return sum(
        weight
        for of_row, partner in zip(of_rows, left.partner, strict=True)
        for column, weight in of_row
        if column == partner
    )


def _bid(bidders: _Side, goods: _Side, waiting: list[int], step: float, limit: int) -> list[int]:
    """Let bidders take goods, and return those that got none and would not do without.

    Each takes the good of most gain over its price, and raises that price until the second best would do as well, and
    by a step more. Who loses a good bids again. Without a step, ties end it; the limit ends it in any case.
    """
    cells, price, partner = bidders.cells, bidders.price, bidders.partner
    good_price, holder = goods.price, goods.partner
    tied = []
    for _ in repeat(None, limit):
        if not waiting:
            break
        bidder = waiting.pop()
        best, second, wanted, worth = 0.0, 0.0, _NOBODY, 0.0
        for good, weight in cells[bidder]:
            gain = weight - good_price[good]
            if gain > best:
                best, second, wanted, worth = gain, best, good, weight
            elif gain > second:
                second = gain
        price[bidder] = kept = second - step if second > step else 0.0
        if wanted == _NOBODY:
            continue
        loser = holder[wanted]
        if loser != _NOBODY:
            if best == kept:
                tied.append(bidder)
                continue
            partner[loser] = _NOBODY
            if price[loser] > 0 or not step:
                waiting.append(loser)
        good_price[wanted] = worth - kept
        holder[wanted], partner[bidder] = bidder, wanted
    return tied + waiting


def _auction(rows: _Side, columns: _Side) -> None:
    """Bring prices close to where they must be; chosen cells whose prices are not exactly right are given up."""
    count = len(rows.cells)
    weights = [weight for of_row in rows.cells for _, weight in of_row]
    step = _FIRST_STEP * sum(weights) / len(weights)
    for _ in range(_STEPS):
        rows.partner[:] = repeat(_NOBODY, count)
        columns.partner[:] = repeat(_NOBODY, len(columns.partner))
        _bid(rows, columns, [*range(count)], step, _BIDS_PER_ROW * count)
        _bid(columns, rows, columns.wanting(), step, _BIDS_PER_ROW * count)
        step *= _FINER
    for row, of_row in enumerate(rows.cells):
        column = rows.partner[row]
        gain_of = {good: weight - columns.price[good] for good, weight in of_row}
        rows.price[row] = best = max(0.0, *gain_of.values())
        if column != _NOBODY and gain_of[column] != best:
            rows.partner[row] = columns.partner[column] = _NOBODY


def _search_all(bidders: _Side, goods: _Side, waiting: list[int], patience: float = float("inf")) -> bool:
    """Search for each of the bidders; False if they visited more than one has patience for."""
    visited = 0
    for bidder in waiting:
        visited += _search(bidders, goods, bidder)
        if visited > patience:
            return False
    return True


def _search(bidders: _Side, goods: _Side, source: int) -> int:
    """Find a good for a bidder along the cheapest chain of exchanges; returns how many bidders were visited.

    Dijkstra's algorithm. The chain ends at a good that nobody has, or at a bidder that gives its good away and stays
    alone, which costs that bidder's price. Among equals the newest is tried first: that goes deep instead of wide.
    """
    cells, price, partner = bidders.cells, bidders.price, bidders.partner
    good_price, holder = goods.price, goods.partner
    price[source] = max(0.0, *(weight - good_price[good] for good, weight in cells[source]))
    bidder, travelled = source, 0.0
    best, end_bidder, end_good = price[source], source, _NOBODY
    distance: dict[int, float] = {}
    parent: dict[int, int] = {}
    settled: dict[int, float] = {}
    reached = [(source, 0.0)]
    queue: list[tuple[float, int, int]] = []
    newest = 0
    while True:
        so_far = travelled + price[bidder]
        for good, weight in cells[bidder]:
            length = so_far + good_price[good] - weight
            if length < best and good not in settled and length < distance.get(good, best):
                distance[good] = length
                parent[good] = bidder
                if holder[good] != _NOBODY:
                    newest -= 1
                    heapq.heappush(queue, (length, newest, good))
                else:
                    best, end_good = length, good
        while queue and queue[0][2] in settled:
            heapq.heappop(queue)
        if not queue or queue[0][0] >= best:
            break
        travelled, _, good = heapq.heappop(queue)
        settled[good] = travelled
        bidder = holder[good]
        reached.append((bidder, travelled))
        if travelled + price[bidder] < best:
            best, end_bidder, end_good = travelled + price[bidder], bidder, _NOBODY
    for bidder, length in reached:
        price[bidder] -= best - length
    for good, length in settled.items():
        good_price[good] += best - length
    if end_good == _NOBODY and end_bidder != source:
        end_good, partner[end_bidder] = partner[end_bidder], _NOBODY
    while end_good != _NOBODY:
        bidder = parent[end_good]
        given_up = partner[bidder]
        holder[end_good], partner[bidder] = bidder, end_good
        end_good = given_up if bidder != source else _NOBODY
    return len(reached)
