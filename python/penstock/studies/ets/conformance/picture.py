"""Picture of configured and measured percentages: eight classes at once, and over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from penstock.plots.style import INK, style
from penstock.result import Result

if TYPE_CHECKING:
    from .study import Shares

KINDS = ("1522", "64", "imix", "128", "64/1522", "512", "64-1522", "1522")
SIZES = (1522, 64, 256, 128, 1024, 512, 1522, 1522)
"""Frame size in bytes by class, for changing loads."""


def parts(result: Result) -> dict[int, NDArray[np.float64]]:
    """Share of link time by class and bin."""
    series = result.all_series("flow_throughput_bps")
    wire = {c: series[f"p{c}"][1] * (SIZES[c] + 20) / SIZES[c] for c in range(8)}
    total = sum(wire.values())
    return {c: values / total for c, values in wire.items()}


def kept(mixed: Shares, changed: Result, percentages: Sequence[int]) -> Figure:
    """Bar chart with the 10 % tolerance on the left, shares over time on the right."""
    with style():
        figure = Figure(figsize=(9.6, 4.2))
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.5))
        colors = [colormaps["cividis"](0.05 + 0.13 * c) for c in range(8)]
        for c, got in sorted(mixed.got.items()):
            want = mixed.wanted[c]
            left.barh(c, 100 * got, color=colors[c], height=0.62)
            left.plot([90 * want, 90 * want], [c - 0.42, c + 0.42], color=INK, linewidth=1)
            left.plot([110 * want, 110 * want], [c - 0.42, c + 0.42], color=INK, linewidth=1)
            left.text(112 * want + 0.6, c, f"{100 * got:.2f} % of {100 * want:g} %", va="center", fontsize=8)
        left.set_yticks(range(8), [f"class {c}, {kind} B" for c, kind in enumerate(KINDS)])
        left.set_xlim(0, 46)
        left.set_xlabel("share of link time (%); lines: ±10 %")
        left.set_title("Eight classes at line rate", fontsize=9)
        left.grid(False)
        steps(right, changed, percentages, colors)
        right.set_title("Classes start and stop every millisecond", fontsize=9)
        figure.suptitle(
            "ETS keeps its percentages for any set of active classes and any frame sizes", fontsize=11
        )
    return figure


def steps(
    axes: Axes, changed: Result, percentages: Sequence[int], colors: Sequence[tuple[float, ...]]
) -> None:
    """Stacked shares over time, with the configured boundaries."""
    from .study import STEPS, active_in

    found = parts(changed)
    edges = np.arange(len(found[0]) + 1) * 0.25
    below = np.zeros(len(found[0]))
    for c, values in found.items():
        axes.stairs(100 * (below + values), edges, baseline=100 * below, fill=True, color=colors[c])
        below = below + values
    for step in range(STEPS):
        active = [c for c, on in enumerate(active_in(step)) if on]
        total, level = sum(percentages[c] for c in active), 0.0
        for c in active:
            middle = 100 * (level + percentages[c] / 2) / total
            level += percentages[c]
            axes.plot(
                [step, step + 1], [100 * level / total] * 2, color="white", linewidth=0.9, linestyle="--"
            )
            ink = "white" if c < 5 else INK
            axes.text(step + 0.5, middle, str(c), ha="center", va="center", fontsize=8, color=ink)
    axes.set_xlim(0, STEPS)
    axes.set_ylim(0, 100)
    axes.set_xlabel("time (ms); dashed: boundaries by the percentages of the active classes")
    axes.set_ylabel("share of link time (%)")
    axes.grid(False)
