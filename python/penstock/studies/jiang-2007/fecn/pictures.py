"""The slides' pictures: rates of the sources, utilization of the link, and queue length."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from penstock.plots.style import INK, Label, label_right, style

from .measure import Array

BLUE, ORANGE, GREEN, LIGHT = "#0072B2", "#D55E00", "#009E73", "#56B4E9"
Series = tuple[Array, Array]


def three(
    title: str, flows: Mapping[str, Series], link: Series, queue: Series, fair: float, capacity: float = 10.0
) -> Figure:
    """Source throughput, link utilization and queue length, stacked as on three slides."""
    with style():
        figure = Figure(figsize=(7.0, 6.0))
        rates, used, length = figure.subplots(3, 1, sharex=True)
        values = np.array([values for _, values in flows.values()])
        times = next(iter(flows.values()))[0]
        for one in values:
            rates.plot(times, one, color=BLUE, linewidth=0.6, alpha=max(0.15, 1 / len(values)) ** 0.5)
        rates.axhline(fair, color=INK, linewidth=0.6, linestyle=":")
        label_right(rates, [Label(fair, f"{len(values)} flows", BLUE)])
        rates.set_ylabel("throughput (Gb/s)")
        rates.set_ylim(0)
        used.plot(link[0], 100 * link[1] / capacity, color=GREEN, linewidth=1.0)
        used.set_ylabel("utilisation (%)")
        used.set_ylim(0, 105)
        length.plot(*queue, color=ORANGE, linewidth=0.8)
        length.axhline(16, color=INK, linewidth=0.6, linestyle=":")
        label_right(length, [Label(16, "set point", INK)])
        length.set_ylabel("queue (packets)")
        length.set_xlabel("time (ms)")
        length.set_ylim(0)
        length.set_xlim(0, float(times[-1]))
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
    return figure


def hot_spot(
    title: str, free: Series, congested: Series, flows: Mapping[str, Series], queue: Series
) -> Figure:
    """The four pictures of the hot spot: ST2 to CS, CS to ST0, the nine flows to ST0, and its queue."""
    with style():
        figure = Figure(figsize=(7.0, 7.0))
        up, down, nine, length = figure.subplots(4, 1, sharex=True)
        up.plot(*free, color=GREEN, linewidth=1.0)
        up.set_ylabel("ST2 to CS (Gb/s)")
        down.plot(*congested, color=ORANGE, linewidth=1.0)
        down.set_ylabel("CS to ST0 (Gb/s)")
        for series in flows.values():
            nine.plot(*series, color=BLUE, linewidth=0.6, alpha=0.6)
        nine.set_ylabel("flows to ST0 (Gb/s)")
        length.plot(*queue, color=ORANGE, linewidth=0.8)
        length.set_ylabel("queue (packets)")
        length.set_xlabel("time (ms)")
        for axes in (up, down, nine, length):
            axes.set_ylim(0)
        length.set_xlim(0, float(free[0][-1]))
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
    return figure


def sensitivity(rising: Mapping[int, Series], times: Mapping[int, float]) -> Figure:
    """Rates for several N0, and their convergence times."""
    with style():
        figure = Figure(figsize=(7.0, 3.4))
        left, right = figure.subplots(1, 2, width_ratios=(2, 1))
        colors = dict(zip(sorted(rising), (BLUE, LIGHT, GREEN, ORANGE), strict=True))
        for first, series in rising.items():
            left.plot(*series, color=colors[first], linewidth=1.0, label=f"N0 = {first}")
        left.set_xlabel("time (ms)")
        left.set_ylabel("rate of one of four sources (Gb/s)")
        left.set_xlim(0, 30)
        left.set_ylim(0)
        left.legend(frameon=False, loc="lower right")
        right.plot(list(times), list(times.values()), color=INK, marker="o", linewidth=1.0)
        right.set_xscale("log", base=2)
        right.set_xticks(list(times), [str(first) for first in times])
        right.set_xlabel("N0")
        right.set_ylabel("time to 95 % (ms)")
        right.set_ylim(0)
        figure.suptitle(
            "Convergence time grows with the logarithm of N0",
            x=0.01,
            ha="left",
            fontsize=10,
            fontweight="bold",
        )
    return figure
