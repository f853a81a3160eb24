"""Results of an analysis as values: tables, plots and raw figures, with conversion to and from JSON.

Every row and series states whether its figures were measured or quoted. This module does no file I/O.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Cell = str | float | int | None


@dataclass(frozen=True, slots=True)
class Row:
    cells: tuple[Cell, ...]
    quoted: bool = False
    """Whether the figures are quoted from a publication."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; each row has one cell per column, and its first cell is the row's name."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    note: str = ""
    digits: int = 1
    """Decimal places of floating-point figures."""

    def texts(self) -> list[list[str]]:
        """Return the column names and all cells, formatted for display."""
        return [list(self.columns), *([shown(cell, self.digits) for cell in row.cells] for row in self.rows)]


@dataclass(frozen=True, slots=True)
class Series:
    """One line or set of points in a plot, or the bars of one colour."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    """Lower ends of the intervals around y, if any; ``high`` has the upper ends."""
    high: tuple[float, ...] = ()
    quoted: bool = False
    points: bool = False
    """Draw unconnected points instead of a line."""


@dataclass(frozen=True, slots=True)
class Plot:
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    kind: Literal["lines", "bars", "intervals"] = "lines"
    categories: tuple[str, ...] = ()
    """Labels for x = 0, 1, 2 … in bar and interval plots."""
    log: bool = False
    """Whether both axes are logarithmic."""


@dataclass(frozen=True, slots=True)
class Findings:
    analysis: str
    title: str
    tables: tuple[Table, ...]
    plots: tuple[Plot, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Inputs that the figures depend on: data, systems, options, seeds."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Figures for programs, which the tables omit or round."""
    pages: Mapping[str, str] = field(default_factory=dict)
    """Contents of further files by file-name suffix: HTML pages, sections of a model card."""

    def to_json(self) -> dict[str, Any]:
        as_json = asdict(self)
        del as_json["pages"]
        return as_json

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Findings:
        return cls(
            analysis=data["analysis"],
            title=data["title"],
            tables=tuple(_table(table) for table in data["tables"]),
            plots=tuple(_plot(plot) for plot in data["plots"]),
            settings=data["settings"],
            values=data["values"],
        )


def shown(cell: Cell, digits: int) -> str:
    """Format a cell for display."""
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return cell
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:,.{digits}f}"


def row(*cells: Cell, quoted: bool = False) -> Row:
    return Row(cells, quoted)


def series(label: str, x: Sequence[float], y: Sequence[float], **more: Any) -> Series:
    return Series(label, tuple(x), tuple(y), **more)


def _table(data: Mapping[str, Any]) -> Table:
    rows = tuple(Row(tuple(row["cells"]), row["quoted"]) for row in data["rows"])
    return Table(data["title"], tuple(data["columns"]), rows, data["note"], data["digits"])


def _plot(data: Mapping[str, Any]) -> Plot:
    lines = tuple(
        Series(
            each["label"],
            tuple(each["x"]),
            tuple(each["y"]),
            tuple(each["low"]),
            tuple(each["high"]),
            quoted=each["quoted"],
            points=each["points"],
        )
        for each in data["series"]
    )
    return Plot(**{**data, "series": lines, "categories": tuple(data["categories"])})
