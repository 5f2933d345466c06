"""Picture of shares, fairness and delays of all schedulers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from penstock.plots.style import INK, style

from . import mix

if TYPE_CHECKING:
    from .study import Measured

COLORS = ("#0072B2", "#E69F00", "#D55E00")
NAMES = ("storage 1522 B", "web IMIX", "MPI 68-256 B")


def side_by_side(measured: Sequence[Measured]) -> Figure:
    """Shares of greedy classes on the left, waits of a conforming class on the right."""
    with style():
        figure = Figure(figsize=(9.6, 5.4))
        shares, delays = figure.subplots(1, 2, sharey=True, width_ratios=(1, 1.15))
        for row, it in enumerate(measured):
            total, left = sum(it.payload_bps), 0.0
            for bps, color in zip(it.payload_bps, COLORS, strict=True):
                shares.barh(row, 100 * bps / total, left=left, color=color, height=0.72)
                left += 100 * bps / total
            shares.text(102, row, f"{it.jain:.3f}", va="center", fontsize=8, color=INK)
            waits = [it.mpi[f"wait_{part}_ns"] / 1e3 for part in ("p50", "p99", "max")]
            delays.plot([waits[0], waits[2]], [row, row], color=COLORS[mix.MPI], linewidth=1.4)
            delays.plot(waits[0], row, "o", color=COLORS[mix.MPI], markersize=5)
            delays.plot(waits[1], row, "|", color=COLORS[mix.MPI], markersize=10, markeredgewidth=1.8)
            delays.plot(waits[2], row, ">", color=COLORS[mix.MPI], markersize=5)
            if it.mpi_bound_ns is not None:
                delays.plot(it.mpi_bound_ns / 1e3, row, "|", color=INK, markersize=14, markeredgewidth=2.4)
        shares.set_yticks(range(len(measured)), [it.name for it in measured])
        shares.invert_yaxis()
        shares.set_xlim(0, 114)
        shares.set_xticks([0, 33.3, 66.7, 100], ["0", "33", "67", "100 %"])
        shares.axvline(100 / 3, color="white", linewidth=0.8, linestyle=":")
        shares.axvline(200 / 3, color="white", linewidth=0.8, linestyle=":")
        shares.set_title("Payload of greedy classes, and Jain's index", fontsize=9)
        shares.grid(False)
        shares.legend(
            [Line2D([], [], color=color, linewidth=6) for color in COLORS],
            NAMES,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.06),
            ncols=3,
            fontsize=8,
            frameon=False,
            columnspacing=1.0,
            handlelength=1.0,
        )
        delays.set_xscale("log")
        delays.xaxis.set_major_formatter(lambda value, _: f"{value:g} µs")
        delays.set_title("Queueing delay of MPI at 250 Mb/s, others greedy", fontsize=9)
        delays.legend(
            [
                Line2D([], [], color=COLORS[mix.MPI], marker=marker, linestyle="", markersize=size)
                for marker, size in (("o", 5), ("|", 10), (">", 5))
            ]
            + [Line2D([], [], color=INK, marker="|", linestyle="", markersize=12, markeredgewidth=2.4)],
            ("median", "99 %", "longest", "bound"),
            loc="upper center",
            bbox_to_anchor=(0.5, -0.09),
            ncols=4,
            fontsize=8,
            frameon=False,
            columnspacing=1.0,
            handlelength=1.0,
        )
        figure.suptitle(
            "Equal weights do not give equal payload, and equal shares do not give equal delay", fontsize=11
        )
    return figure
