"""The figures of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from penstock.plots.style import style

from .classes import BEST_EFFORT, QOS, SCHEDULERS
from .measure import Point, improvement, interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Curves = Mapping[str, Mapping[float, Point]]
"""Points by scheduler and load."""
MARKS = {"NC": "o", "VO": "s", "VI": "^", "CL": "v", "EE": "D", "BE": "P", "BK": "X"}
VALUES = {
    "throughput": "throughput (share of a link)",
    "mean_us": "mean latency (us)",
    "worst_us": "longest latency (us)",
}


def sizes(shares: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]]) -> Figure:
    """Figure 1: throughput of each of four flows relative to its offered load, by scheduler and flow."""
    with style():
        figure = Figure(figsize=(9.6, 3.8), layout="constrained")
        axes = figure.subplots(1, 2, sharey=True)
        for panel, (name, curves) in zip(axes, shares.items(), strict=True):
            for flow, points in curves.items():
                panel.plot(*zip(*points, strict=True), marker="o", label=flow)
            panel.set_title(name)
            panel.set_xlabel("offered load of each flow (share of the link)")
        axes[0].set_ylabel("throughput (share of the link)")
        axes[0].legend(title="frame size")
        figure.suptitle("Four flows with equal numbers of table entries")
    return figure


def overview(curves: Curves) -> Figure:
    """Figure 2: throughput, mean and longest latency of all classes under both schedulers."""
    with style():
        figure = Figure(figsize=(9.6, 9.6), layout="constrained")
        axes = figure.subplots(3, 2, sharex=True, sharey="row")
        for column, scheduler in enumerate(SCHEDULERS):
            for row, (value, label) in enumerate(VALUES.items()):
                panel = axes[row, column]
                for name in (*QOS, *BEST_EFFORT):
                    _curve(panel, curves[scheduler], name, value, label=name, marker=MARKS[name])
                if value != "throughput":
                    panel.set_yscale("log")
                if column == 0:
                    panel.set_ylabel(label)
            axes[0, column].set_title(scheduler)
            axes[2, column].set_xlabel("load")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=7)
        figure.suptitle("Throughput and latency of seven classes, with 90 % intervals")
    return figure


def comparison(curves: Curves, classes: Sequence[str], title: str) -> Figure:
    """Figures 3 and 4: both schedulers in one panel for each class, mean latency above and longest below."""
    with style():
        figure = Figure(figsize=(3.1 * len(classes), 5.4), layout="constrained")
        axes = figure.subplots(2, len(classes), sharex=True)
        for column, name in enumerate(classes):
            for row, value in enumerate(("mean_us", "worst_us")):
                panel = axes[row, column]
                for scheduler, marker in zip(SCHEDULERS, "os", strict=True):
                    _curve(panel, curves[scheduler], name, value, label=scheduler, marker=marker)
                panel.set_ylim(bottom=0)
                if column == 0:
                    panel.set_ylabel(VALUES[value])
            axes[0, column].set_title(name)
            axes[1, column].set_xlabel("load")
        axes[0, 0].legend()
        figure.suptitle(title)
    return figure


def improvements(curves: Curves, loads: Sequence[float]) -> Figure:
    """Figure 5: latency reduction by MinBW, in percent."""
    names = (*QOS, *BEST_EFFORT)
    with style():
        figure = Figure(figsize=(9.6, 4.2), layout="constrained")
        axes = figure.subplots(1, 2, sharey=True)
        places, width = np.arange(len(names)), 0.8 / len(loads)
        for panel, value in zip(axes, ("mean_us", "worst_us"), strict=True):
            for nth, load in enumerate(loads):
                heights = [
                    100 * improvement(curves["MinBW"][load], curves["DTable"][load], name, value)
                    for name in names
                ]
                panel.bar(
                    places + (nth - (len(loads) - 1) / 2) * width, heights, width, label=f"load {load:g}"
                )
            panel.axhline(0, color="black", linewidth=0.8)
            panel.set_xticks(places, names)
            panel.set_title(VALUES[value].removesuffix(" (us)"))
        axes[0].set_ylabel("lower under MinBW by (%)")
        axes[0].legend()
        figure.suptitle("MinBW over DTable")
    return figure


def _curve(panel: Axes, points: Mapping[float, Point], name: str, value: str, **look: Any) -> None:
    """One class against the load, with intervals if there are replications."""
    found = [interval(point, name, value) for point in points.values()]
    half = [0.0 if np.isnan(one.half_width) else one.half_width for one in found]
    panel.errorbar(list(points), [one.mean for one in found], half, markersize=4, capsize=2, **look)
