"""Changes between two sets of replications: mean paired differences with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.analysis.pairs import Difference

from .style import FAINT, QUIET_COLOR, colors, style
from .sweeps import scale_of

MAX_ROWS = 12
"""Maximum number of rows per measure: those with the largest changes."""
UNITS = ("ns", "bps")
"""Suffixes of measures that are units."""


def differences(found: Sequence[Difference]) -> Figure:
    """Draws a panel for each measure that differs, with a row for each flow or entry of transfers.

    Parameters
    ----------
    found : sequence of Difference
        Result of `penstock.analysis.pairs.differences`. Differences with an unknown change or interval are
        omitted.

    Raises
    ------
    ValueError
        If there is no difference with an interval.
    """
    known = [one for one in found if one.change.n > 1]
    changed = dict.fromkeys(one.metric for one in known if one.change.mean or one.change.half_width)
    panels = {metric: [one for one in known if one.metric == metric] for metric in changed}
    if not panels:
        raise ValueError("expected a measure that differs in at least two pairs")
    with style():
        rows = [min(len(panel), MAX_ROWS) for panel in panels.values()]
        figure = Figure(figsize=(6.8, 0.24 * sum(rows) + 0.72 * len(rows) + 0.1))
        ratios = [0.24 * row + 0.2 for row in rows]
        places = figure.subplots(len(rows), squeeze=False, height_ratios=ratios)[:, 0]
        for axes, (metric, panel) in zip(places, panels.items(), strict=True):
            _draw(axes, metric, panel)
        return figure


def _draw(axes: Axes, metric: str, panel: Sequence[Difference]) -> None:
    """Draws significant changes in color, others in grey."""
    names = {one.name: at for at, one in enumerate(panel)}
    largest = sorted(panel, key=lambda one: abs(one.change.mean), reverse=True)[:MAX_ROWS]
    shown = sorted(largest, key=lambda one: names[one.name])
    ends = [end for one in shown for end in (one.change.low, one.change.high)]
    unit = metric.rpartition("_")[2]
    scale = scale_of(unit if unit in UNITS else "", ends)
    for group, color in ((True, colors()[0]), (False, QUIET_COLOR)):
        own = [(row, one.change) for row, one in enumerate(shown) if one.is_certain is group]
        axes.errorbar(
            [change.mean / scale.size for _, change in own],
            [row for row, _ in own],
            xerr=np.array([change.half_width / scale.size for _, change in own]),
            fmt="o",
            markersize=4,
            capsize=2.5,
            color=color,
        )
    axes.axvline(0.0, color=FAINT, linewidth=0.8, zorder=0)
    axes.set_yticks(range(len(shown)), [one.name for one in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    more = f" ({len(shown)} of {len(panel)}, largest changes)" if len(panel) > len(shown) else ""
    axes.set_title(f"Change of {metric}{more}")
    axes.set_xlabel(scale.unit)
