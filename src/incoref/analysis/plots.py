"""Draw plots as PNG and SVG: one figure per analysis, one panel per plot. Imports matplotlib only when drawing.

Quoted series are thin and dashed (bars: hatched), measured ones solid; lines differ in marker as well as colour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from incoref.analysis.findings import Plot, Series
from incoref.errors import IncorefError, MissingExtra

_COLOURS = ("#1f5fa8", "#c4501b", "#2c7d4f", "#8a3f93", "#8c6d1f", "#3a3f47", "#c2336b")
_MARKS = "osD^vP*"
_STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e3e5e8",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "svg.hashsalt": "incoref",
}


_FEW = 8
"""Up to this many positions on the x axis, each gets a tick."""


def draw(plots: Sequence[Plot], png: Path, svg: Path) -> None:
    """Draw the figure of an analysis and write it to both files."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtra("matplotlib", "eval", "Drawing plots") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot

    columns = min(2, len(plots))
    rows = math.ceil(len(plots) / columns)
    with matplotlib.rc_context(_STYLE):
        figure, panels = pyplot.subplots(
            rows, columns, figsize=(_width(plots) * columns, 4.0 * rows), squeeze=False, layout="constrained"
        )
        for plot, panel in zip(plots, panels.flat, strict=False):
            _panel(plot, panel)
        for unused in list(panels.flat)[len(plots) :]:
            unused.set_visible(False)
        try:
            figure.savefig(png, dpi=144)
            figure.savefig(svg, metadata={"Date": None})
        except OSError as error:
            raise IncorefError(f"{png.parent}: the plot can't be written: {error.strerror or error}") from error
        finally:
            pyplot.close(figure)


def _width(plots: Sequence[Plot]) -> float:
    """Return the width of a panel in inches, with room for a legend if there is one."""
    labels = [len(one.label) for plot in plots if len(plot.series) > 1 for one in plot.series]
    return 6.0 + 0.075 * max(labels, default=0)


def _panel(plot: Plot, panel: Any) -> None:
    panel.set_title(plot.title, loc="left")
    panel.set_xlabel(plot.x_label)
    panel.set_ylabel(plot.y_label)
    if plot.log:
        panel.set_xscale("log")
        panel.set_yscale("log")
        for axis in (panel.xaxis, panel.yaxis):
            _plain_numbers(axis)
    colours = _colours(plot.series)
    if plot.kind == "lines":
        for number, one in enumerate(plot.series):
            _line(one, colours[number], _MARKS[number % len(_MARKS)], panel)
        measured_at = sorted({x for one in plot.series for x in one.x})
        if len(measured_at) <= _FEW and not plot.log:
            panel.set_xticks(measured_at)
    elif plot.kind == "bars":
        _bars(plot, colours, panel)
    else:
        _intervals(plot, colours, panel)
    if len(plot.series) > 1:
        panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)


def _plain_numbers(axis: Any) -> None:
    """Label a logarithmic axis 1, 2, 5, 10 … in plain decimal notation."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def _colours(all_series: Sequence[Series]) -> list[str]:
    """Assign colours; series with the same label after the last ``: `` (measured and quoted) share a colour."""
    own: dict[str, str] = {}
    colours = []
    for one in all_series:
        key = one.label.rsplit(": ", 1)[-1]
        own.setdefault(key, _COLOURS[len(own) % len(_COLOURS)])
        colours.append(own[key])
    return colours


def _line(one: Series, colour: str, mark: str, panel: Any) -> None:
    if one.points:
        panel.plot(one.x, one.y, linestyle="", marker="o", markersize=4, color=colour, alpha=0.6, label=one.label)
        return
    looks = {"linestyle": "--", "linewidth": 1.1, "alpha": 0.75} if one.quoted else {"linewidth": 1.9}
    marks = {"marker": mark, "markersize": 4.5} if len(one.x) <= 30 else {}
    panel.plot(one.x, one.y, color=colour, label=one.label, **looks, **marks)
    if one.low:
        panel.fill_between(one.x, one.low, one.high, color=colour, alpha=0.15, linewidth=0)


def _bars(plot: Plot, colours: Sequence[str], panel: Any) -> None:
    width = 0.8 / len(plot.series)
    for number, one in enumerate(plot.series):
        places = [x + (number - (len(plot.series) - 1) / 2) * width for x in one.x]
        errors = None
        if one.low:
            errors = [
                [max(0.0, y - low) for y, low in zip(one.y, one.low, strict=True)],
                [max(0.0, high - y) for y, high in zip(one.y, one.high, strict=True)],
            ]
        hatch = "///" if one.quoted else None
        looks = {"color": colours[number], "alpha": 0.55 if one.quoted else 0.9, "hatch": hatch}
        drawn = panel.bar(places, one.y, width * 0.92, yerr=errors, label=one.label, capsize=3, **looks)
        if len(plot.series) * len(one.x) <= 16:
            panel.bar_label(drawn, fmt="%.1f", fontsize=7.5, padding=2)
    panel.set_xticks(range(len(plot.categories)), plot.categories)
    if max(map(len, plot.categories), default=0) * len(plot.categories) > 64:
        panel.tick_params(axis="x", labelrotation=30)
        for label in panel.get_xticklabels():
            label.set_horizontalalignment("right")
    panel.grid(visible=False, axis="x")


def _intervals(plot: Plot, colours: Sequence[str], panel: Any) -> None:
    """Draw points with horizontal intervals, one per row, and a line at zero."""
    for number, one in enumerate(plot.series):
        errors = [
            [y - low for y, low in zip(one.y, one.low, strict=True)],
            [high - y for y, high in zip(one.y, one.high, strict=True)],
        ]
        panel.errorbar(
            one.y, one.x, xerr=errors, fmt="o", color=colours[number], capsize=4, markersize=5, label=one.label
        )
    panel.axvline(0, color="#3a3f47", linewidth=1)
    panel.set_yticks(range(len(plot.categories)), plot.categories)
    panel.set_ylim(len(plot.categories) - 0.5, -0.5)
    panel.grid(visible=False, axis="y")
