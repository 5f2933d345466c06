"""How much longer transfers took than alone, over their size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from penstock.analysis.transfers import SizeBin, size_bins, totals
from penstock.units import count

from .style import FAINT, INK, Label, Margins, colours, label_right, stack, style

if TYPE_CHECKING:
    from penstock.measurements import Measurements

MAX_PANELS = 6
"""Entries with a panel of their own."""
_LINES = (("p50", "median", "-"), ("p95", "95th", "-"), ("p99", "99th", "-"), ("mean", "mean", ":"))
_AROUND = Margins(left=0.7, right=0.75, top=0.4, between=0.75, bottom=0.55)


def transfers(result: Measurements) -> Figure:
    """A panel for each entry of the scenario: slowdown over size, by bins of a twentieth of the transfers."""
    with style():
        shown = [entry for entry in totals(result) if entry.complete][:MAX_PANELS]
        if not shown:
            figure, (axes,) = stack(4.0, [1.0], _AROUND)
            axes.set_axis_off()
            axes.annotate(
                "no transfer is complete", (0.5, 0.5), xycoords="axes fraction", ha="center", color=INK
            )
            return figure
        figure, panels = stack(6.4, [2.6] * len(shown), _AROUND)
        for axes, entry in zip(panels, shown, strict=True):
            _draw(axes, size_bins(result, name=entry.name))
            axes.set_title(entry.name, loc="left")
            missing = entry.begun - entry.complete
            told = f"{count(entry.complete)} transfers" + (
                f", {count(missing)} not complete" if missing else ""
            )
            axes.set_title(told, loc="right", fontsize=8, fontweight="normal", color=FAINT)
        panels[-1].set_xlabel("size, each point a twentieth of the transfers at its largest")
        return figure


def _draw(axes: Axes, bins: list[SizeBin]) -> None:
    sizes = [one.bytes_max for one in bins]
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(visible=True, which="major")
    for (key, _, dashes), colour in zip(_LINES, colours(), strict=False):
        values = [getattr(one, key) for one in bins]
        axes.plot(sizes, values, dashes, color=colour, marker="o", markersize=2.5, linewidth=1.2)
    if len(sizes) == 1:
        axes.set_xlim(sizes[0] / 3, sizes[0] * 3)
    axes.set_ylim(bottom=1.0, top=max(2.0, 1.15 * max(max(one.p99, one.mean) for one in bins)))
    axes.set_ylabel("slowdown")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _size(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    _label(axes, bins[-1])


def _label(axes: Axes, last: SizeBin) -> None:
    """Names the lines at their ends: in axes of logarithms labels are placed by their heights on the page."""
    low, high = axes.get_ylim()
    to_page, to_data = axes.transData, axes.transAxes.inverted()
    _, bottom = to_data.transform(to_page.transform((last.bytes_max, low)))
    labels = []
    for (key, text, _), colour in zip(_LINES, colours(), strict=False):
        _, height = to_data.transform(to_page.transform((last.bytes_max, max(getattr(last, key), low))))
        labels.append(Label(low + (height - bottom) * (high - low), text, colour))
    label_right(axes, labels)


def _size(size: float) -> str:
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size:g} B"
