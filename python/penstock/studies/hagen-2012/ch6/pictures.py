"""The figures of the chapter, and one picture of its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from penstock.analysis.statistics import jain
from penstock.plots.style import INK, Label, label_right, style

from .billing import (
    BINS,
    LARGE_BYTES,
    PIVOT_BYTES,
    REPORTED,
    REPORTED_MIX,
    WIRE,
    Billing,
    Metric,
    formula,
)
from .search import Found

PAYLOAD, FRAME, SOURCE, CELLS = "#0072B2", "#56B4E9", "#D55E00", "#009E73"
PALE = "#9a9a9a"
CURVE = np.unique(np.round(np.geomspace(64, 1522, 600)).astype(int))
RULES = {"published": SOURCE, "analytic": PAYLOAD, "learned": CELLS}
NAMES: dict[Metric, str] = {"payload": "payload (L - 18)", "frame": "frames (L)"}
COLORS: dict[Metric, str] = {"payload": PAYLOAD, "frame": FRAME}

Weights = Mapping[tuple[Metric, int], Found]
Accounted = Mapping[tuple[Billing, Metric, int], Found]
Adapted = Mapping[tuple[str, Billing, int], Mapping[Metric, float]]


def lost(ratios: Mapping[int, Mapping[Metric, float]]) -> Figure:
    """Figure 6-1: throughput of small frames with equal weights."""
    with style():
        figure = Figure(figsize=(7.2, 3.6))
        axes = figure.subplots()
        axes.set_title("Equal weights: small frames get less throughput (Figure 6-1)")
        labels = []
        for metric, color in COLORS.items():
            axes.plot(
                CURVE, [1 / WIRE.weight(metric, int(size)) for size in CURVE], color=color, linewidth=1.2
            )
            axes.plot(
                list(ratios), [ratio[metric] for ratio in ratios.values()], "o", color=color, markersize=5
            )
            labels.append(
                Label({"payload": 0.7, "frame": 0.92}[metric], f"counted in\n{NAMES[metric]}", color)
            )
        axes.plot([68], [0.75], "D", color=SOURCE, markersize=9, markerfacecolor="none", markeredgewidth=1.6)
        axes.annotate(
            'reported: "almost 25 % less"',
            (71, 0.747),
            xytext=(190, 0.65),
            color=SOURCE,
            fontsize=9,
            va="center",
            arrowprops={"arrowstyle": "-", "color": SOURCE, "linewidth": 0.8},
        )
        axes.axhline(1, color=INK, linewidth=0.8)
        _sizes(axes, "size of the small frames (B)")
        axes.set_ylabel("throughput over that of 1522 B")
        axes.set_ylim(0.5, 1.03)
        label_right(axes, labels)
    return figure


def fair(beside: Mapping[int, Weights]) -> Figure:
    """Figures 6-3, 6-4 and 6-5: the fair weight beside three sizes of large frames."""
    with style():
        figure = Figure(figsize=(10.5, 4.0))
        panels = figure.subplots(1, len(beside), sharey=True, squeeze=False)[0]
        for axes, (large, found) in zip(panels, beside.items(), strict=True):
            axes.set_title(f"beside {large} B", fontweight="normal", fontsize=10)
            for metric, color in COLORS.items():
                sizes = [size for of, size in found if of == metric]
                if sizes:
                    curve = [WIRE.weight(metric, int(size), large) for size in CURVE]
                    axes.plot(CURVE, curve, color=color, linewidth=1.1)
                    axes.plot(
                        sizes, [found[metric, size].weight for size in sizes], "o", color=color, markersize=5
                    )
            if large == LARGE_BYTES:
                _published(axes)
                _say(axes, 0.97, 0.62, "found by bisection, equal payload", PAYLOAD)
                _say(axes, 0.97, 0.55, "found by bisection, equal frames", FRAME)
                _say(axes, 0.97, 0.48, "printed in the source", SOURCE)
                _say(axes, 0.97, 0.41, "formulas 6.1 and 6.2 (its fit)", SOURCE)
            else:
                _say(axes, 0.97, 0.62, 'reported: "almost double"\nfor the smallest frames', SOURCE)
            _sizes(axes, "size of the small frames (B)")
        panels[0].set_ylabel("fair weight")
        panels[0].set_ylim(0.95, 1.9)
        figure.suptitle(
            "Fair weights (Figures 6-3, 6-4, 6-5); lines: closed form, L + 20 B accounted",
            x=0.01,
            ha="left",
            fontsize=11,
            fontweight="bold",
        )
    return figure


def pairs(found: Mapping[tuple[int, int], Sequence[float]], beside: Weights) -> Figure:
    """Figures 6-6 and 6-7: two queues of small frames at once."""
    with style():
        figure = Figure(figsize=(7.2, 3.6))
        axes = figure.subplots()
        axes.set_title("Two queues of small frames: the same weights as alone (Figures 6-6, 6-7)")
        axes.plot(CURVE, [WIRE.weight("payload", int(size)) for size in CURVE], color=PALE, linewidth=1.0)
        by_size: dict[int, list[float]] = {}
        for pair, weights in found.items():
            for size, weight in zip(pair, weights, strict=True):
                by_size.setdefault(size, []).append(weight)
        for size, own in by_size.items():
            if ("payload", size) in beside:
                alone = beside["payload", size].weight
                axes.plot([size / 1.09, size * 1.09], [alone, alone], color=PAYLOAD, linewidth=2.2)
            apart = [size * 1.035 ** (number - (len(own) - 1) / 2) for number in range(len(own))]
            axes.plot(apart, own, "o", color=CELLS, markersize=4.5)
        _numbers(axes)
        _say(axes, 0.97, 0.9, "━ found alone (experiment 1)", PAYLOAD)
        _say(axes, 0.97, 0.82, f"● found in {len(found)} pairs, side by side", CELLS)
        _say(axes, 0.97, 0.74, "◇ printed for experiment 1", SOURCE)
        _sizes(axes, "size of the frames of the queue (B)")
        axes.set_ylabel("fair weight")
        axes.set_ylim(0.95, 1.9)
    return figure


def mixes(found: Mapping[tuple[int, int, bool], Found]) -> Figure:
    """Figure 6-8: two sizes in one queue."""
    with style():
        figure = Figure(figsize=(7.2, 3.8))
        axes = figure.subplots()
        axes.set_title("Two sizes in one queue (Figure 6-8)")
        axes.plot(CURVE, [WIRE.weight("payload", int(size)) for size in CURVE], color=PALE, linewidth=1.2)
        labels = []
        for one, color in ((68, PAYLOAD), (128, CELLS)):
            others = sorted({other for first, other, _ in found if first == one})
            if not others:
                continue
            loads = [found[one, other, True].weight for other in others]
            counts = [found[one, other, False].weight for other in others]
            axes.plot(others, loads, "o-", color=color, markersize=5, linewidth=1.1)
            axes.plot(
                others, counts, "o--", color=color, markersize=5, linewidth=0.9, markerfacecolor="white"
            )
            labels.append(Label(loads[-1], f"{one} B, half of\nthe bytes", color))
            labels.append(Label(counts[-1], f"{one} B, half of\nthe frames", color))
        axes.plot(
            [256],
            [REPORTED_MIX],
            "D",
            color=SOURCE,
            markersize=9,
            markerfacecolor="none",
            markeredgewidth=1.6,
        )
        axes.annotate(
            "printed: 1.39",
            (256, REPORTED_MIX),
            xytext=(8, 4),
            textcoords="offset points",
            color=SOURCE,
            fontsize=9,
        )
        axes.annotate(
            "one size alone",
            (100, WIRE.weight("payload", 100)),
            xytext=(6, 6),
            textcoords="offset points",
            color="#777777",
            fontsize=9,
        )
        _sizes(axes, "the other size in the queue (B)")
        axes.set_ylabel("fair weight, equal payload")
        axes.set_ylim(0.95, 1.9)
        label_right(axes, labels, spacing=0.11)
    return figure


def billings(found: Accounted) -> Figure:
    """The accounting rules, and the resulting weights."""
    with style():
        figure = Figure(figsize=(7.6, 4.4))
        axes = figure.subplots()
        axes.set_title("Fair weights by accounting rule, and in the source")
        _billings(axes, found)
        axes.set_ylim(0.95, 2.0)
    return figure


def jain_index(ratios: Mapping[int, Mapping[Metric, float]], adapted: Adapted) -> Figure:
    """Figure 6-10: Jain's index with and without weight control."""
    with style():
        figure = Figure(figsize=(7.6, 3.9))
        axes = figure.subplots()
        axes.set_title("Jain's index of a small and a large stream (Figure 6-10)")
        _jain(axes, ratios, adapted)
    return figure


def cover(beside: Weights, ratios: Mapping[int, Mapping[Metric, float]], adapted: Adapted) -> Figure:
    """The chapter in one picture."""
    with style():
        layout = ConstrainedLayoutEngine(rect=(0, 0, 1, 0.87), wspace=0.06)
        figure = Figure(figsize=(11.0, 5.2), layout=layout)
        left, right = figure.subplots(1, 2)
        left.set_title("Small frames need more weight if the gap is accounted", fontsize=10.5)
        metric: Metric
        for metric, color in COLORS.items():
            left.plot(CURVE, [WIRE.weight(metric, int(size)) for size in CURVE], color=color, linewidth=1.2)
            sizes = [size for of, size in beside if of == metric]
            left.plot(sizes, [beside[metric, size].weight for size in sizes], "o", color=color, markersize=5)
        _published(left)
        _say(left, 0.97, 0.93, "equal payload, found by bisection", PAYLOAD)
        _say(left, 0.97, 0.865, "equal frames, found by bisection", FRAME)
        _say(left, 0.97, 0.80, "Hagen 2012: printed numbers and fitted lines", SOURCE)
        _sizes(left, "size of the small frames (B)")
        left.set_ylabel("weight for equal throughput")
        left.set_ylim(0.95, 1.9)
        right.set_title("Automatic weight control restores fairness", fontsize=10.5)
        _jain(right, ratios, adapted)
        figure.text(
            0.008,
            0.99,
            "Deficit round robin is fair in accounted bytes",
            ha="left",
            va="top",
            fontsize=15,
            fontweight="bold",
        )
        figure.text(
            0.008,
            0.927,
            "Small frames and frames of 1522 B at line rate share a port of 10 Gb/s. The switch accounts "
            "preamble and gap (20 B per frame); users count payload.",
            ha="left",
            va="top",
            fontsize=9.5,
            color=INK,
        )
    return figure


def _billings(axes: Axes, found: Accounted) -> None:
    shown: Sequence[tuple[Billing, Metric, str, str]] = (
        (WIRE, "payload", PAYLOAD, "L + 20, equal payload"),
        (WIRE, "frame", FRAME, "L + 20, equal frames"),
        (Billing("wire", 40), "frame", CELLS, "cells of 40 B, equal frames\n(chosen to fit)"),
    )
    labels = []
    for billing, metric, color, name in shown:
        curve = [billing.weight(metric, int(size)) for size in CURVE]
        axes.plot(CURVE, curve, color=color, linewidth=0.9 if billing.cell else 1.3)
        sizes = [size for of, counts, size in found if (of, counts) == (billing, metric)]
        weights = [found[billing, metric, size].weight for size in sizes]
        axes.plot(sizes, weights, "o", color=color, markersize=5)
        labels.append((name, color))
    _published(axes)
    for place, (name, color) in enumerate(labels):
        _say(axes, 0.98, 0.95 - 0.075 * place, name, color)
    _say(
        axes, 0.98, 0.95 - 0.075 * (len(labels) + 0.55), "printed numbers and formulas of the source", SOURCE
    )
    _sizes(axes, "size of the small frames (B)")
    axes.set_ylabel("fair weight beside 1522 B")


def _jain(axes: Axes, ratios: Mapping[int, Mapping[Metric, float]], adapted: Adapted) -> None:
    sizes = [size for size in BINS if size in ratios]
    places = np.arange(len(sizes), dtype=float)
    index = {metric: [jain([1.0, ratios[size][metric]]) for size in sizes] for metric in COLORS}
    axes.plot(places, index["payload"], "o-", color=INK, markersize=6, linewidth=1.2)
    axes.plot(places, index["frame"], "o--", color=PALE, markersize=5, linewidth=1.0, markerfacecolor="white")
    labels = []
    for number, (rule, color) in enumerate(RULES.items()):
        own = [
            (place, jain([1.0, adapted[rule, WIRE, size]["payload"]]))
            for place, size in zip(places, sizes, strict=True)
            if (rule, WIRE, size) in adapted
        ]
        shift = 0.12 * (number - 1)
        axes.plot(
            [place + shift for place, _ in own], [value for _, value in own], "s", color=color, markersize=5
        )
        labels.append((f"■ DRR-AWC, {rule} rule, payload", color))
    for value, name in ((0.985, "reported: less than 0.985 without"), (0.999, "reported: over 0.999 with")):
        axes.axhline(value, color=SOURCE, linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
        axes.annotate(
            name,
            (len(sizes) - 0.6, value),
            xytext=(0, -10),
            textcoords="offset points",
            ha="right",
            color=SOURCE,
            fontsize=8.5,
        )
    for name, value, below, color in (
        ("DRR, payload", index["payload"][0], -3, INK),
        ("DRR, frames", index["frame"][0], -12, "#777777"),
    ):
        axes.annotate(
            name,
            (0, value),
            xytext=(9, below),
            textcoords="offset points",
            color=color,
            fontsize=9,
        )
    axes.set_xticks(places, [f"{size} B" for size in sizes])
    axes.set_xlim(-0.5, len(sizes) - 0.5)
    axes.set_xlabel("size of the small frames")
    axes.set_ylabel("Jain's index")
    axes.set_ylim(0.925, 1.003)
    axes.grid(axis="x", visible=False)
    for number, (name, color) in enumerate(labels):
        _say(axes, 0.985, 0.40 - 0.075 * number, name, color)


def _published(axes: Axes) -> None:
    for part in (CURVE[CURVE <= PIVOT_BYTES], CURVE[CURVE > PIVOT_BYTES]):
        axes.plot(
            part, [formula(int(size)) for size in part], color=SOURCE, linewidth=1.0, linestyle=(0, (4, 3))
        )
    _numbers(axes)


def _numbers(axes: Axes) -> None:
    for size, weight in REPORTED.items():
        axes.plot(
            [size],
            [weight],
            "D",
            color=SOURCE,
            markersize=9,
            markerfacecolor="none",
            markeredgewidth=1.6,
            zorder=4,
        )
        axes.annotate(
            f"{weight:.2f}",
            (size, weight),
            xytext=(12, 7) if size < 100 else (0, -14),
            textcoords="offset points",
            ha="left" if size < 100 else "center",
            va="center",
            color=SOURCE,
            fontsize=9,
        )


def _sizes(axes: Axes, name: str) -> None:
    axes.set_xscale("log")
    axes.set_xlim(60, 1700)
    axes.set_xticks(BINS, [str(size) for size in BINS])
    axes.minorticks_off()
    axes.set_xlabel(name)


def _say(axes: Axes, x: float, y: float, text: str, color: str) -> None:
    axes.text(x, y, text, transform=axes.transAxes, ha="right", va="center", color=color, fontsize=9)
