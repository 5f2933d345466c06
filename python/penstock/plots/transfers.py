"""Slowdown of transfers by size; for a single size, its distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from penstock.analysis.transfers import SizeBin, distribution, size_bins, totals
from penstock.measurements import of_result
from penstock.units import count, size

from .style import FAINT, INK, Label, Margins, colors, label_right, stack, style

if TYPE_CHECKING:
    from penstock.measurements import Measurements

MAX_PANELS = 6
"""Maximum number of entries with a panel."""
MAX_STEPS = 2_000
"""Maximum number of steps of a distribution; longer ones are thinned."""
_LINES = (("p50", "median", "-"), ("p95", "95th", "-"), ("p99", "99th", "-"), ("mean", "mean", ":"))
_AROUND = Margins(left=0.7, right=0.75, top=0.4, between=0.75, bottom=0.55)


@of_result
def transfers(result: Measurements) -> Figure:
    """Draws a panel per entry of the scenario: slowdown by size, in bins of a twentieth of the transfers.

    If all transfers of an entry have one size: the cumulative distribution of the slowdown.
    """
    with style():
        shown = [entry for entry in totals(result) if entry.complete][:MAX_PANELS]
        if not shown:
            figure, (axes,) = stack(4.0, [1.0], _AROUND)
            axes.set_axis_off()
            axes.annotate(
                "no complete transfer", (0.5, 0.5), xycoords="axes fraction", ha="center", color=INK
            )
            return figure
        figure, panels = stack(6.4, [2.6] * len(shown), _AROUND)
        for axes, entry in zip(panels, shown, strict=True):
            bins = size_bins(result, name=entry.name)
            if len(bins) == 1:
                _distribution(axes, result, entry.name, bins[0])
            else:
                _draw(axes, bins)
            axes.set_title(entry.name, loc="left")
            missing = entry.begun - entry.complete
            text = f"{count(entry.complete)} transfers" + (
                f", {count(missing)} not complete" if missing else ""
            )
            axes.set_title(text, loc="right", fontsize=8, fontweight="normal", color=FAINT)
        return figure


def _distribution(axes: Axes, result: Measurements, name: str, one: SizeBin) -> None:
    """Draws the distribution for transfers of one size, with percentiles as points."""
    values, parts = distribution(result, name, MAX_STEPS)
    axes.set_xscale("log")
    color = colors()[0]
    axes.step(np.append(values[0], values), np.append(0.0, parts), where="post", color=color)
    for text, value, part in (("median", one.p50, 0.5), ("95th", one.p95, 0.95), ("99th", one.p99, 0.99)):
        axes.plot([value], [part], "o", color=color, markersize=3.5)
        axes.annotate(
            f"{text} {value:.3g}",
            (value, part),
            xytext=(6, -7),
            textcoords="offset points",
            fontsize=7.5,
            color=INK,
        )
    # Not from 1: if all are slowed down alike, the differences matter.
    axes.set_xlim(0.97 * float(values[0]), max(1.06 * float(values[-1]), 1.2 * float(values[0])))
    axes.set_ylim(0.0, 1.03)
    _plain_ticks(axes, "x")
    axes.set_ylabel("cumulative share of transfers")
    axes.set_xlabel(f"slowdown (all transfers: {size(one.bytes_max)})")


def _plain_ticks(axes: Axes, which: str) -> None:
    """Uses plain numbers instead of powers of ten, with some in between."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _draw(axes: Axes, bins: list[SizeBin]) -> None:
    sizes = [one.bytes_max for one in bins]
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.grid(visible=True, which="major")
    for (key, _, dashes), color in zip(_LINES, colors(), strict=False):
        values = [getattr(one, key) for one in bins]
        axes.plot(sizes, values, dashes, color=color, marker="o", markersize=2.5, linewidth=1.2)
    axes.set_ylim(bottom=1.0, top=max(2.0, 1.15 * max(max(one.p99, one.mean) for one in bins)))
    axes.set_ylabel("slowdown")
    axes.set_xlabel("transfer size (maximum of each bin of a twentieth of the transfers)")
    _plain_ticks(axes, "y")
    axes.xaxis.set_major_locator(LogLocator(base=2, numticks=9))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: size(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    _label(axes, bins[-1])


def _label(axes: Axes, last: SizeBin) -> None:
    """Labels lines at their ends; on logarithmic axes labels are placed in page coordinates."""
    low, high = axes.get_ylim()
    to_page, to_data = axes.transData, axes.transAxes.inverted()
    _, bottom = to_data.transform(to_page.transform((last.bytes_max, low)))
    labels = []
    for (key, text, _), color in zip(_LINES, colors(), strict=False):
        _, height = to_data.transform(to_page.transform((last.bytes_max, max(getattr(last, key), low))))
        labels.append(Label(low + (height - bottom) * (high - low), text, color))
    label_right(axes, labels)
