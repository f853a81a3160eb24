"""Plain tables for terminals and pipes: the first column left, figures right, no line broken or cut."""

from __future__ import annotations

from collections.abc import Sequence


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows of equal length, of which the first is the heading."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        gaps = [" " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        figures = (gap + cell for gap, cell in zip(gaps[1:], row[1:], strict=True))
        print("  ".join((row[0] + gaps[0], *figures)).rstrip())
