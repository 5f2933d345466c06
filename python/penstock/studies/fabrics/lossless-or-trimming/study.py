"""Lossless or trimming: the same leaf-spine and messages over seven fabrics; one table, one picture."""

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
    """Measures of one run; NaN for those that do not apply to the workload."""

    last: float
    """Slowdown of the slowest transfer, of an incast of those that pass by it; infinite if one is missing."""
    incast: float
    """Slowdown of the slowest transfer of the incast."""
    short: float
    """99th percentile of the slowdown of messages of at most 30 kB."""
    long: float
    """99th percentile of the slowdown of longer ones."""
    lost: float
    trimmed: float
    paused_ms: float
    """All ports together."""

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
    return [
        losses(context, runs, [cover]),
        even(context, runs),
        uneven(context, runs),
        victims(context, runs),
        searches(context, runs),
    ]


def arranged(context: Context, workload: str, fabric: Fabric) -> Scenario:
    """A workload over a fabric."""
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
    "Slowdowns against the same message alone, means over seeds. Slowest: of the permutation, or of the "
    "messages that pass by the incast. Short: at most 30 kB. Lost and trimmed: frames. Paused: all ports "
    "together."
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


def slowdowns(runs: Runs, workload: str, what: Callable[[Run], float]) -> str:
    """A slowdown of each fabric, as text."""
    return listed(runs, workload, lambda one: factor(what(one)))


def losses(context: Context, runs: Runs, pictures: list[str]) -> Outcome:
    """F-1."""
    lost = {name: sum(one.lost for one in of.values()) for name, of in runs.items()}
    return context.outcome(
        "F-1",
        measured="lost: " + ", ".join(f"{name} {count:,.0f}" for name, count in lost.items()),
        passed=not any(lost[name] for name in (*PFC, *TRIMMING)),
        pictures=pictures,
    )


def even(context: Context, runs: Runs) -> Outcome:
    """F-2."""
    last = {name: of["permutation"].last for name, of in runs.items()}
    best = max(last[name] for name in (*SPRAYED, "MRC", "DCQCN, PFC, adaptive"))
    return context.outcome(
        "F-2",
        measured=slowdowns(runs, "permutation", lambda one: one.last),
        passed=best <= 1.25 and min(last["DCQCN, PFC"], last["DCQCN, drops"]) >= 1.5 * best,
    )


def uneven(context: Context, runs: Runs) -> Outcome:
    """F-3."""
    last = {name: of["slow-uplink"].last for name, of in runs.items()}
    adaptive = max(last["MRC"], last["DCQCN, PFC, adaptive"])
    return context.outcome(
        "F-3",
        measured=slowdowns(runs, "slow-uplink", lambda one: one.last),
        passed=adaptive <= 2 and min(last[name] for name in SPRAYED) >= 2 * adaptive,
    )


def victims(context: Context, runs: Runs) -> Outcome:
    """F-4."""
    last = {name: of["incast"].last for name, of in runs.items()}
    spared = max(last[name] for name in TRIMMING)
    return context.outcome(
        "F-4",
        measured=slowdowns(runs, "incast", lambda one: one.last),
        passed=spared <= 1.25 and min(last[name] for name in PFC) >= 1.25 * spared,
    )


def searches(context: Context, runs: Runs) -> Outcome:
    """F-5."""
    short = {name: of["web-search"].short for name, of in runs.items()}
    long = {name: of["web-search"].long for name, of in runs.items()}
    measured = ", ".join(f"{name} {factor(short[name])} and {factor(long[name])}" for name in runs)
    return context.outcome(
        "F-5",
        measured=f"short and long: {measured}",
        passed=max(short[name] for name in TRIMMING) <= short["DCQCN, PFC"]
        and max(long[name] for name in TRIMMING) <= long["DCQCN, PFC"],
    )


def picture(runs: Runs) -> Figure:
    """A line per fabric, a column per measure."""
    asked: tuple[tuple[str, Callable[[Mapping[str, Run]], float]], ...] = (
        ("permutation:\nslowest message", lambda of: of["permutation"].last),
        ("one slow uplink:\nslowest message", lambda of: of["slow-uplink"].last),
        ("incast 16:1:\nslowest victim", lambda of: of["incast"].last),
        ("incast 16:1:\nslowest of it", lambda of: of["incast"].incast),
        ("web search 0.5:\n≤ 30 kB, p99", lambda of: of["web-search"].short),
        ("web search 0.5:\n> 30 kB, p99", lambda of: of["web-search"].long),
    )
    places = np.arange(len(runs))[::-1]
    colors = [FABRICS[name].color for name in runs]
    with style():
        figure = Figure(figsize=(11, 3.6), layout="constrained")
        axes = figure.subplots(1, len(asked), sharey=True)
        for panel, (label, value) in zip(axes, asked, strict=True):
            values = np.array([value(of) for of in runs.values()])
            panel.set_xscale("log")
            panel.axvline(1, color="#BBBBBB", linewidth=0.8, zorder=0)
            finite = draw_dots(panel, values, places, colors, 24)
            top = max(2.0, 1.6 * float(values[finite].max(initial=1)))
            panel.set_xlim(0.9, top)
            for at, place in zip(values, places, strict=True):
                text, x = (f" {at:.1f}", at) if math.isfinite(at) else ("not all done", 1.0)
                panel.annotate(text, (x, place), fontsize=7, va="bottom", ha="left")
            panel.set_xticks([])
            panel.set_xticks([], minor=True)
            panel.set_yticks(places, list(runs))
            panel.set_ylim(-0.5, len(runs) - 0.3)
            panel.set_title(label, fontsize=8)
        draw_legend(figure, KINDS, "at a full queue")
        figure.suptitle("Slowdown against the same message alone, over the same leaf-spine of 32 hosts")
    return figure
