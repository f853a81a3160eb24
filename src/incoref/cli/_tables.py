"""Plain tables for terminals and pipes: first column left-aligned, figures right-aligned, nothing wrapped or cut."""

from __future__ import annotations

from collections.abc import Sequence

_GAP = "  "


def width(rows: Sequence[Sequence[str]]) -> int:
    """The width of the printed rows in terminal cells."""
    widths = _widths(rows)
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows of equal length; the first is the heading."""
    from rich.cells import cell_len

    widths = _widths(rows)
    for row in rows:
        gaps = [" " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        figures = (gap + cell for gap, cell in zip(gaps[1:], row[1:], strict=True))
        print(_GAP.join((row[0] + gaps[0], *figures)).rstrip())


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """The width of each column's widest cell."""
    from rich.cells import cell_len

    return [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
