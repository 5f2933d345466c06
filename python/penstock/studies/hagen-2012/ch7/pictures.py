"""The figures of the chapter in its layout, and one picture of its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from penstock.plots import style
from penstock.plots.style import INK, Label, label_right

from .measure import AGGRESSION_NS, Run, Series

VICTIM_1, VICTIM_2, AGGRESSOR = "#0072B2", "#56B4E9", "#D55E00"
OURS = "#009E73"
STREAMS = (("v1", "victim 1", VICTIM_1), ("v2", "victim 2", VICTIM_2), ("a", "aggressor", AGGRESSOR))
LINE_GBPS = 10.0
DRAWN_BINS = 4
"""Recorded bins per drawn bin: with few whole frames per bin, a rate looks ragged."""


@dataclass(frozen=True)
class Column:
    """One mode in the combined picture."""

    run: Run
    heading: str
    effect: str
    figure: str


def outbound(runs: Mapping[str, Run], port: str) -> Figure:
    """Figure 7-7: departures from the switch, in three modes."""
    with style():
        figure = Figure(figsize=(7.0, 3.4))
        axes = figure.subplots()
        axes.set_title("Without XON a lossless queue leaves its link idle")
        labels = []
        for (name, run), color in zip(runs.items(), (INK, AGGRESSOR, VICTIM_1), strict=True):
            x, y = _drawn(*run.output(port), 5 * DRAWN_BINS)
            axes.plot(x, y, color=color, drawstyle="steps-post", linewidth=1.2)
            labels.append(Label(float(y[-len(y) // 3 :].mean()), name, color))
        axes.set_xlabel("time (ms)")
        axes.set_ylabel("outbound throughput (Gb/s)")
        axes.set_xlim(0, 10)
        axes.set_ylim(0, LINE_GBPS + 0.5)
        label_right(axes, labels, spacing=0.09)
    return figure


def inputs(run: Run, title: str) -> Figure:
    """Figures 7-8, 7-9 and 7-10: arrivals of each stream, and its pauses."""
    with style():
        figure = Figure(figsize=(7.0, 4.6))
        *lines, bars = figure.subplots(4, 1, sharex=True, height_ratios=(2, 2, 2, 1.1))
        for axes, (host, name, color) in zip(lines, STREAMS, strict=True):
            _line(axes, run, host, color)
            label_right(axes, [Label(5.0, name, color)])
        lines[1].set_ylabel("input throughput (Gb/s)")
        _bars(bars, [run.spans(host) for host, _, _ in STREAMS], [color for _, _, color in STREAMS])
        bars.set_yticks([])
        label_right(bars, [Label(1.0, "paused", INK)])
        bars.set_xlabel("time (ms)")
        bars.set_xlim(0, 10)
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
    return figure


def headline(columns: Sequence[Column], title: str, subtitle: str) -> Figure:
    """All modes side by side: throughput of each input, and its pauses."""
    start, end = 3.6, 5.6
    with style():
        layout = ConstrainedLayoutEngine(rect=(0, 0, 1, 0.9), wspace=0.03)
        figure = Figure(figsize=(11.0, 6.0), layout=layout)
        grid = figure.subplots(
            4, len(columns), sharex=True, sharey="row", height_ratios=(2, 2, 2, 1.3), squeeze=False
        )
        for place, column in enumerate(columns):
            for row, (host, name, color) in enumerate(STREAMS):
                axes = grid[row, place]
                _line(axes, column.run, host, color)
                if place == 0:
                    axes.set_ylabel(f"{name}\n(Gb/s)", color=color, fontweight="bold")
            top, bars = grid[0, place], grid[3, place]
            top.set_title(f"{column.heading}\n", fontsize=11)
            top.text(
                0, 1.05, column.effect, transform=top.transAxes, fontsize=9.5, color=INK, in_layout=False
            )
            top.text(
                0.99,
                0.99,
                column.figure,
                transform=top.transAxes,
                fontsize=8.5,
                color=VICTIM_1,
                ha="right",
                va="top",
                in_layout=False,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.5},
            )
            _bars(bars, [column.run.spans(host) for host, _, _ in STREAMS], [c for _, _, c in STREAMS])
            bars.set_yticks([])
            if place == 0:
                bars.set_ylabel("paused", fontweight="bold")
            bars.set_xlabel("time (ms)")
            bars.set_xlim(start, end)
        figure.text(0.008, 0.992, title, ha="left", va="top", fontsize=15, fontweight="bold")
        figure.text(0.008, 0.945, subtitle, ha="left", va="top", fontsize=9.5, color=INK)
    return figure


def deviations(paper: Sequence[float], measured: Sequence[Sequence[float]], names: Sequence[str]) -> Figure:
    """Table 7.1 as bars: the source's figures, and the median, quartiles and extremes of ours (Gb/s)."""
    with style():
        figure = Figure(figsize=(7.0, 3.3))
        axes = figure.subplots()
        axes.set_title("Victim 1: better targeting gives steadier throughput (Table 7.1)")
        places = np.arange(len(names), dtype=float)
        axes.bar(places - 0.18, paper, 0.32, color="#B8B8B8")
        medians = [float(np.median(values)) for values in measured]
        axes.bar(places + 0.18, medians, 0.32, color=VICTIM_1)
        for place, middle, values, reported in zip(places, medians, measured, paper, strict=True):
            low, high = min(values), max(values)
            axes.errorbar(
                place + 0.18, middle, [[middle - low], [high - middle]], color=INK, capsize=4, linewidth=1.1
            )
            axes.annotate(f"{reported:.1f}", (place - 0.18, reported), ha="center", va="bottom", fontsize=9)
            axes.annotate(
                f"{middle:.2f}",
                (place + 0.18, high),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=9,
                color=VICTIM_1,
                fontweight="bold",
            )
        axes.set_xticks(places, names)
        axes.set_ylabel("standard deviation (Gb/s)")
        axes.set_ylim(0, 4.3)
        axes.grid(axis="x", visible=False)
        axes.text(
            0.995,
            0.97,
            "reported",
            transform=axes.transAxes,
            ha="right",
            va="top",
            color="#777777",
            fontsize=9,
        )
        axes.text(
            0.995,
            0.89,
            f"measured: median of {len(measured[0])} seeds, bar from minimum to maximum",
            transform=axes.transAxes,
            ha="right",
            va="top",
            color=VICTIM_1,
            fontsize=9,
        )
    return figure


def hops(
    run: Run, rows: Sequence[tuple[str, str, str]], queues: Sequence[tuple[str, str, str]], title: str
) -> Figure:
    """Figure 7-11: pauses of each node over time, and the two queues that caused them.

    Parameters
    ----------
    rows : sequence of tuple
        Node, name and color of each row of bars.
    queues : sequence of tuple
        Queue, name and color.
    """
    with style():
        figure = Figure(figsize=(7.0, 4.2))
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1.6))
        labels = []
        for queue, name, color in queues:
            times, values = run.result.series("queue_frames", queue)
            top.plot(times / 1e6, values, color=color, linewidth=1.1, drawstyle="steps-post")
            labels.append((name, color))
        top.set_ylabel("queue (frames)")
        top.set_ylim(0, 70)
        top.axhline(66, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
        top.axhline(44, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
        levels = [Label(66, "HW", INK), Label(44, "TW", INK)]
        label_right(top, levels + [Label(10 + 14 * i, name, color) for i, (name, color) in enumerate(labels)])
        _bars(bottom, [run.spans(node) for node, _, _ in rows], [color for _, _, color in rows])
        bottom.set_yticks(range(len(rows)), [name for _, name, _ in rows])
        bottom.set_xlabel("time (ms)")
        bottom.set_xlim(3.8, 5.6)
        bottom.set_title("paused")
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
    return figure


def interworking(runs: Mapping[str, Mapping[str, Series]], bin_ms: float) -> Figure:
    """Section 7.6: XOFFs per ms over time, a panel per method, a line per set point of QCN."""
    most = max(float(values.max()) for lines in runs.values() for values in lines.values())
    with style():
        figure = Figure(figsize=(8.6, 3.4), layout="constrained")
        panels = figure.subplots(1, len(runs), sharey=True)
        for axes, (method, lines) in zip(panels, runs.items(), strict=True):
            axes.set_title(f"TPFC by {method}")
            axes.set_ylim(0, 1.05 * most)
            labels = []
            for (name, values), color in zip(lines.items(), (AGGRESSOR, VICTIM_1, OURS), strict=True):
                edges = AGGRESSION_NS / 1e6 + bin_ms * np.arange(len(values) + 1)
                axes.stairs(values, edges, baseline=None, color=color, linewidth=1.3)
                labels.append(Label(float(values[-5:].mean()), name, color))
            label_right(axes, labels, spacing=0.09)
            axes.set_xlabel("time (ms)")
            axes.set_xlim(0, AGGRESSION_NS / 1e6 + bin_ms * len(values))
        panels[0].set_ylabel("XOFFs per millisecond")
    return figure


def further(
    groups: Sequence[tuple[str, Sequence[tuple[str, Mapping[str, float]]]]],
    colors: Mapping[str, str],
    title: str,
) -> Figure:
    """Beyond the chapter: share of the time in which light partners are paused; a row per case.

    Parameters
    ----------
    groups : sequence of tuple
        Question, and its cases with a share for each mode, drawn as dots.
    colors : mapping
        Color of each drawn mode, in order.
    """
    rows = [(case, shares) for _, cases in groups for case, shares in cases]
    with style():
        figure = Figure(figsize=(7.6, 0.31 * (len(rows) + len(groups)) + 1.2))
        axes = figure.subplots()
        height, ticks = 0.0, []
        for question, cases in groups:
            axes.text(
                0,
                height,
                question,
                transform=axes.get_yaxis_transform(),
                fontsize=8.5,
                fontweight="bold",
                color=INK,
                va="center",
            )
            height += 1
            for case, shares in cases:
                drawn = [100 * shares[mode] for mode in colors]
                axes.plot([min(drawn), max(drawn)], [height, height], color="#dddddd", linewidth=2, zorder=1)
                for mode, value in zip(colors, drawn, strict=True):
                    axes.scatter(
                        value, height, s=42, color=colors[mode], zorder=3, clip_on=False, linewidth=0
                    )
                ticks.append((height, case))
                height += 1
            height += 0.25
        axes.set_yticks([tick for tick, _ in ticks], [case for _, case in ticks])
        axes.set_ylim(height - 0.5, -0.8)
        axes.set_xlim(0, 100)
        axes.set_xlabel("time in which light partners are paused (%)")
        axes.grid(axis="y", visible=False)
        axes.set_title(title, pad=22, loc="left")
        for place, (mode, color) in enumerate(colors.items()):
            axes.text(
                place / len(colors),
                1.005,
                f"● {mode}",
                transform=axes.transAxes,
                color=color,
                fontsize=9,
                va="bottom",
            )
    return figure


def _line(axes: Axes, run: Run, host: str, color: str) -> None:
    x, y = _drawn(*run.input(host), DRAWN_BINS)
    axes.fill_between(x, y, step="post", color=color, alpha=0.18, linewidth=0)
    axes.plot(x, y, color=color, drawstyle="steps-post", linewidth=0.9)
    axes.set_ylim(0, 1.25 * LINE_GBPS)
    axes.set_yticks([0, 5, 10])


def _drawn(times: Series, values: Series, bins: int) -> tuple[Series, Series]:
    """Milliseconds and Gb/s, averaged over groups of `bins` bins."""
    whole = len(times) // bins * bins
    return times[:whole:bins] / 1e6, values[:whole].reshape(-1, bins).mean(axis=1) / 1e9


def _bars(axes: Axes, spans: Sequence[Sequence[tuple[float, float]]], colors: Sequence[str]) -> None:
    for height, (own, color) in enumerate(zip(spans, colors, strict=True)):
        axes.broken_barh(
            [(start / 1e6, (end - start) / 1e6) for start, end in own],
            (height - 0.36, 0.72),
            facecolor=color,
        )
    axes.set_ylim(len(spans) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
