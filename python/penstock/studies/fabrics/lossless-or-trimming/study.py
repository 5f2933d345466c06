"""Lossless or trimming: seven fabrics with the same leaf-spine topology and the same messages."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from penstock.plots.style import style
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.comparing import draw_dots, draw_legend, factor, listed, measure_all, percentile
from penstock.studies.reproduce import Context, Outcome

from .fabrics import FABRICS, KINDS, Fabric

WORKLOADS = {
    "permutation": "permutation",
    "slow-uplink": "permutation, slow uplink",
    "incast": "incast 16:1 and victims",
    "web-search": "web search, load 0.5",
}
SHORT_BYTES = 30_000
SPRAYED = ("DCQCN, PFC, sprayed", "NSCC, sprayed", "RCCC, sprayed")
TRIMMING = ("MRC", "NSCC, sprayed", "RCCC, sprayed")
PFC = ("DCQCN, PFC", "DCQCN, PFC, sprayed", "DCQCN, PFC, adaptive")


@dataclass(frozen=True)
class Run:
    """Measures of one run; NaN where the workload has no such measure."""

    last: float
    """Slowdown of the slowest transfer outside the incast; infinite if a transfer does not complete."""
    incast: float
    """Slowdown of the slowest transfer of the incast."""
    short: float
    """99th percentile of the slowdown of messages of at most 30 kB."""
    long: float
    """99th percentile of the slowdown of longer messages."""
    lost: float
    trimmed: float
    paused_ms: float
    """Sum of the paused times of all ports."""

    @classmethod
    def of(cls, result: Result, workload: str) -> Run:
        """Reads a result."""
        moved = list(result.rows("transfers"))
        own = [row for row in moved if row["name"] != "incast"]
        searches = workload == "web-search"
        return cls(
            last=math.nan if searches else percentile(own, 100),
            incast=percentile([row for row in moved if row["name"] == "incast"], 100),
            short=percentile(own if searches else [], 99, largest=SHORT_BYTES),
            long=percentile(own if searches else [], 99, least=SHORT_BYTES + 1),
            lost=sum(row["frames"] for row in result.rows("drops")),
            trimmed=sum(row["frames_trimmed"] for row in result.rows("flows")),
            paused_ms=sum(row["paused_s"] for row in result.rows("ports")) * 1e3,
        )


Runs = Mapping[str, Mapping[str, Run]]


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    seeds = (1,) if context.quick else (1, 2, 3)
    runs = measure_all(
        context,
        FABRICS,
        WORKLOADS,
        seeds,
        lambda name, workload, seed: Run.of(
            arranged(context, workload, FABRICS[name]).run(seed=seed), workload
        ),
    )
    context.save_table("compare", "All fabrics on all workloads", COLUMNS, list(rows(runs)), note=NOTE)
    cover = context.save_figure(picture(runs), "compare", cover=True)
    return compared(context, runs, cover)


def arranged(context: Context, workload: str, fabric: Fabric) -> Scenario:
    """The scenario of a workload on a fabric."""
    scenario = context.scenario(workload)
    for key, value in fabric.changes.items():
        scenario = scenario.with_value(key, value)
    for entry in scenario.to_dict()["transfers"]:
        scenario = scenario.with_value(f"transfers.{entry['name']}.over", dict(fabric.over))
    return scenario


COLUMNS = (
    "workload",
    "fabric",
    "slowest",
    "incast",
    "short, p99",
    "long, p99",
    "lost",
    "trimmed",
    "paused (ms)",
)
NOTE = (
    "Slowdown: completion time over that of the same message in an idle fabric, mean over seeds. Slowest: "
    "slowest message of the permutation, or of the victims of the incast. Incast: slowest message of the "
    "incast. Short: at most 30 kB. Lost, trimmed: frames. Paused: sum over all ports."
)


def rows(runs: Runs) -> list[tuple[str, ...]]:
    """One row per workload and fabric."""
    return [
        (
            title,
            name,
            factor(one.last),
            factor(one.incast),
            factor(one.short),
            factor(one.long),
            f"{one.lost:,.0f}",
            f"{one.trimmed:,.0f}",
            f"{one.paused_ms:.2f}",
        )
        for workload, title in WORKLOADS.items()
        for name, of in runs.items()
        for one in (of[workload],)
    ]


def compared(context: Context, runs: Runs, cover: str) -> list[Outcome]:
    """All experiments, from the runs of all fabrics."""
    lost = {name: sum(one.lost for one in of.values()) for name, of in runs.items()}
    last = {workload: {name: of[workload].last for name, of in runs.items()} for workload in WORKLOADS}
    even, uneven, incast = last["permutation"], last["slow-uplink"], last["incast"]
    sprayed = max(even[name] for name in (*SPRAYED, "MRC", "DCQCN, PFC, adaptive"))
    adaptive = max(uneven["MRC"], uneven["DCQCN, PFC, adaptive"])
    trimmed = max(incast[name] for name in TRIMMING)
    short = {name: of["web-search"].short for name, of in runs.items()}
    long = {name: of["web-search"].long for name, of in runs.items()}
    searches = ", ".join(f"{name} {factor(short[name])} and {factor(long[name])}" for name in runs)

    def slowest(workload: str) -> str:
        return listed(runs, workload, lambda one: factor(one.last))

    return [
        context.judge(
            "F-1",
            {"lost": sum(lost[name] for name in (*PFC, *TRIMMING))},
            measured="lost: " + ", ".join(f"{name} {count:,.0f}" for name, count in lost.items()),
            pictures=[cover],
        ),
        context.judge(
            "F-2",
            {
                "sprayed": sprayed,
                "hashed_to_sprayed": min(even["DCQCN, PFC"], even["DCQCN, drops"]) / sprayed,
            },
            measured=slowest("permutation"),
        ),
        context.judge(
            "F-3",
            {
                "adaptive": adaptive,
                "oblivious_to_adaptive": min(uneven[name] for name in SPRAYED) / adaptive,
            },
            measured=slowest("slow-uplink"),
        ),
        context.judge(
            "F-4",
            {"trimming": trimmed, "pfc_to_trimming": min(incast[name] for name in PFC) / trimmed},
            measured=slowest("incast"),
        ),
        context.judge(
            "F-5",
            {
                "short_to_pfc": max(short[name] for name in TRIMMING) / short["DCQCN, PFC"],
                "long_to_pfc": max(long[name] for name in TRIMMING) / long["DCQCN, PFC"],
            },
            measured=f"short and long: {searches}",
        ),
    ]


def picture(runs: Runs) -> Figure:
    """Dot plot with a line for each fabric and a column for each measure."""
    columns: tuple[tuple[str, Callable[[Mapping[str, Run]], float]], ...] = (
        ("permutation:\nslowest message", lambda of: of["permutation"].last),
        ("slow uplink:\nslowest message", lambda of: of["slow-uplink"].last),
        ("incast 16:1:\nslowest victim", lambda of: of["incast"].last),
        ("incast 16:1:\nslowest message", lambda of: of["incast"].incast),
        ("web search 0.5:\n≤ 30 kB, p99", lambda of: of["web-search"].short),
        ("web search 0.5:\n> 30 kB, p99", lambda of: of["web-search"].long),
    )
    places = np.arange(len(runs))[::-1]
    colors = [FABRICS[name].color for name in runs]
    with style():
        figure = Figure(figsize=(11, 3.6), layout="constrained")
        axes = figure.subplots(1, len(columns), sharey=True)
        for panel, (label, value) in zip(axes, columns, strict=True):
            values = np.array([value(of) for of in runs.values()])
            panel.set_xscale("log")
            panel.axvline(1, color="#BBBBBB", linewidth=0.8, zorder=0)
            finite = draw_dots(panel, values, places, colors, 24)
            top = max(2.0, 1.6 * float(values[finite].max(initial=1)))
            panel.set_xlim(0.9, top)
            for at, place in zip(values, places, strict=True):
                text, x = (f" {at:.1f}", at) if math.isfinite(at) else ("incomplete", 1.0)
                panel.annotate(text, (x, place), fontsize=7, va="bottom", ha="left")
            panel.set_xticks([])
            panel.set_xticks([], minor=True)
            panel.set_yticks(places, list(runs))
            panel.set_ylim(-0.5, len(runs) - 0.3)
            panel.set_title(label, fontsize=8)
        draw_legend(figure, KINDS, "if a queue is full")
        figure.suptitle("Slowdown of messages on a leaf-spine fabric of 32 hosts")
    return figure
