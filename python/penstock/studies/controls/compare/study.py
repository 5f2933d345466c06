"""Congestion controls of layer 2 and of RDMA on the same six workloads: one table, one picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from matplotlib.figure import Figure

from penstock.plots.style import style
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.comparing import draw_dots, draw_legend, factor, listed, measure_all, percentile
from penstock.studies.reproduce import Context, Outcome

from .controls import CONTROLS, SIGNALS, TELEMETRY, Control

STAR = ("sw.0->h0",)
WORKLOADS: dict[str, tuple[str, tuple[str, ...]]] = {
    "sixteen": ("16 writers", STAR),
    "joining": ("4 that join", STAR),
    "victim": ("2 and a victim", ("right.0->r0",)),
    "parking-lot": ("parking lot", ("s0.2->s1", "s1.2->s2")),
    "bursts": ("2, and bursts of 14", STAR),
    "web-search": ("web search, load 0.5", ()),
}
"""The title of each workload, and its full links."""
JOINED_MS = 6.0
SHORT_BYTES, LONG_BYTES = 30_000, 5_000_000


@dataclass(frozen=True)
class Run:
    """Measures of one run; NaN for those that do not apply to the workload."""

    used: float
    """Utilization of the full links."""
    jain: float
    """Jain's index of the permanent writers, over the last fifth."""
    settled_ms: float
    """Time after the last join until all rates stay near the final ones; infinite if they do not."""
    queue_mean: float
    """Mean queue in KiB at the fullest of the full links."""
    queue_max: float
    paused_ms: float
    """Paused time of all ports together."""
    lost: float
    victim: float
    """Share of a link that the victim gets."""
    far: float
    """Rate of the writer over two full links, relative to the two beside it."""
    burst: float
    """99th percentile of the slowdown of the bursts."""
    short: float
    """95th percentile of the slowdown of messages of at most 30 kB."""
    long: float
    """95th percentile of the slowdown of messages of at least 5 MB."""

    @classmethod
    def of(cls, result: Result, workload: str) -> Run:
        """Reads a result."""
        full = WORKLOADS[workload][1]
        ports = [row for row in result.rows("ports") if row["port"] in full]
        queues = [row for row in result.rows("queues") if row["port"] in full]
        flows = result.all_series("flow_throughput_bps")
        stay = {name: series for name, series in flows.items() if name.startswith("long")}
        last = {}
        for name, (times, rates) in stay.items():
            last[name] = float(rates[times >= 0.8 * times[-1]].mean())
        ends = np.array(list(last.values()))
        rates_of = {row["flow"]: row["throughput_bps"] for row in result.rows("flows")}
        beside = [last[name] for name in ("long-first", "long-second") if name in last]
        moved = list(result.rows("transfers")) if workload in ("bursts", "web-search") else []
        return cls(
            used=fmean(row["utilisation"] for row in ports) if ports else math.nan,
            jain=float(ends.sum() ** 2 / (len(ends) * (ends**2).sum())) if len(ends) else math.nan,
            settled_ms=settled(stay, ends) if workload == "joining" else math.nan,
            queue_mean=max((row["queue_bytes_mean"] for row in queues), default=math.nan) / 1024,
            queue_max=max((row["queue_bytes_max"] for row in queues), default=math.nan) / 1024,
            paused_ms=sum(row["paused_s"] for row in result.rows("ports")) * 1e3,
            lost=sum(row["frames"] for row in result.rows("drops")),
            victim=rates_of["victim"] / 100e9 if "victim" in rates_of else math.nan,
            far=last["long-both"] / fmean(beside) if beside else math.nan,
            burst=percentile(moved if workload == "bursts" else [], 99),
            short=percentile(moved if workload == "web-search" else [], 95, largest=SHORT_BYTES),
            long=percentile(moved if workload == "web-search" else [], 95, least=LONG_BYTES),
        )


def settled(stay: Mapping[str, tuple[np.ndarray, np.ndarray]], ends: np.ndarray) -> float:
    """Milliseconds after the last join until means over 0.2 ms stay within a quarter of a share."""
    times = next(iter(stay.values()))[0] / 1e6
    window = np.ones(4) / 4
    means = np.array([np.convolve(rates, window, mode="same") for _, rates in stay.values()])
    near = (np.abs(means - ends[:, None]) <= 0.25 * ends.mean()).all(axis=0)
    off = times[(times > JOINED_MS + 0.1) & (times < times[-1] - 0.2) & ~near]
    if not len(off):
        return 0.0
    return float(off[-1] - JOINED_MS) if off[-1] < 0.8 * times[-1] else math.inf


Runs = Mapping[str, Mapping[str, Run]]


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    seeds = (2,) if context.quick else (1, 2, 3)
    runs = measure_all(
        context,
        CONTROLS,
        WORKLOADS,
        seeds,
        lambda name, workload, seed: Run.of(
            arranged(context, workload, CONTROLS[name]).run(seed=seed), workload
        ),
    )
    context.save_table("compare", "All controls on all workloads", COLUMNS, list(rows(runs)), note=NOTE)
    cover = context.save_figure(picture(runs), "compare", cover=True)
    return [
        lossless(context, runs, [cover]),
        victims(context, runs),
        queues(context, runs),
        shares(context, runs),
        joins(context, runs),
        bursts(context, runs),
        searches(context, runs),
        windows(context, runs),
    ]


def arranged(context: Context, workload: str, control: Control) -> Scenario:
    """A workload under a control."""
    scenario = context.scenario(workload)
    written = scenario.to_dict()
    for key, value in control.changes.items():
        scenario = scenario.with_value(key, value)
    for flow in written.get("flows", []):
        scenario = scenario.with_value(f"flows.{flow['name']}.source", {"rdma": dict(control.rdma)})
    for entry in written.get("transfers", []):
        over = {"rdma": {"queue_pairs": "each", **control.rdma}}
        scenario = scenario.with_value(f"transfers.{entry['name']}.over", over)
    return scenario


COLUMNS = (
    "workload",
    "control",
    "link (%)",
    "Jain",
    "queue (KiB)",
    "longest (KiB)",
    "paused (ms)",
    "besides",
)
NOTE = (
    "Link: busy share of the full links. Jain: of the writers that go on, over the last fifth. Queue: time "
    "mean and worst at the full link. Paused: all ports together. Besides: after the last has joined, until "
    "all rates stay within a quarter of a share of where they end; what the victim gets of a link; what the "
    "writer over two full links gets of what those beside it get; the 99th percentile of slowdown of bursts, "
    "the 95th percentile of slowdowns of messages of at most 30 kB, and of at least 5 MB."
)


def besides(workload: str, one: Run) -> str:
    """The measure that is specific to this workload."""
    record = {
        "joining": f"settles in {one.settled_ms:.1f} ms"
        if math.isfinite(one.settled_ms)
        else "does not settle",
        "victim": f"victim {one.victim:.0%}",
        "parking-lot": f"over both {one.far:.0%}",
        "bursts": f"bursts {factor(one.burst)}",
        "web-search": f"short {factor(one.short)}, long {factor(one.long)}",
    }
    return record.get(workload, "")


def known(value: float, text: str) -> str:
    """The text, or a dash if the value is unknown."""
    return "-" if math.isnan(value) else text


def rows(runs: Runs) -> list[tuple[str, ...]]:
    """One row per workload and control."""
    return [
        (
            title,
            name,
            known(one.used, f"{100 * one.used:.1f}"),
            known(one.jain, f"{one.jain:.3f}"),
            known(one.queue_mean, f"{one.queue_mean:.1f}"),
            known(one.queue_max, f"{one.queue_max:.1f}"),
            f"{one.paused_ms:.2f}",
            besides(workload, one),
        )
        for workload, (title, _) in WORKLOADS.items()
        for name, of in runs.items()
        for one in (of[workload],)
    ]


def lossless(context: Context, runs: Runs, pictures: list[str]) -> Outcome:
    """M-1."""
    lost = {name: sum(one.lost for one in of.values()) for name, of in runs.items()}
    return context.outcome(
        "M-1",
        measured="lost on all workloads: "
        + ", ".join(f"{name} {count:,.0f}" for name, count in lost.items()),
        passed=not any(lost.values()),
        pictures=pictures,
    )


def victims(context: Context, runs: Runs) -> Outcome:
    """M-2."""
    got = {name: of["victim"].victim for name, of in runs.items()}
    return context.outcome(
        "M-2",
        measured=listed(runs, "victim", lambda one: f"{one.victim:.0%}"),
        passed=got["PFC alone"] <= 0.6 and got["DCQCN"] >= 0.9,
    )


def queues(context: Context, runs: Runs) -> Outcome:
    """M-3."""
    length = {name: of["sixteen"].queue_mean for name, of in runs.items()}
    return context.outcome(
        "M-3",
        measured=listed(runs, "sixteen", lambda one: f"{one.queue_mean:.0f} KiB"),
        passed=max(length["HPCC"], length["PowerTCP"]) <= 0.1 * length["DCQCN"],
    )


def shares(context: Context, runs: Runs) -> Outcome:
    """M-4."""
    jain = {name: of["sixteen"].jain for name, of in runs.items()}
    return context.outcome(
        "M-4",
        measured=listed(runs, "sixteen", lambda one: f"{one.jain:.3f}"),
        passed=min(jain[name] for name in ("DCQCN", "HPCC", "Swift", "PowerTCP")) >= 0.95,
    )


def joins(context: Context, runs: Runs) -> Outcome:
    """M-5."""
    times = {name: of["joining"].settled_ms for name, of in runs.items()}
    return context.outcome(
        "M-5",
        measured=listed(
            runs, "joining", lambda one: f"{one.settled_ms:.1f}" if math.isfinite(one.settled_ms) else "no"
        ),
        passed=times["HPCC"] <= 2,
    )


def bursts(context: Context, runs: Runs) -> Outcome:
    """M-6."""
    slow = {name: of["bursts"].burst for name, of in runs.items()}
    return context.outcome(
        "M-6",
        measured=listed(runs, "bursts", lambda one: factor(one.burst)),
        passed=max(slow[name] for name in TELEMETRY) < slow["DCQCN"],
    )


def searches(context: Context, runs: Runs) -> Outcome:
    """M-7."""
    short = {name: of["web-search"].short for name, of in runs.items()}
    measured = listed(runs, "web-search", lambda one: f"{factor(one.short)} and {factor(one.long)}")
    return context.outcome(
        "M-7",
        measured=f"short and long: {measured}",
        passed=short["HPCC"] < short["DCTCP"] < max(short["DCQCN + window"], short["TIMELY, patched"]),
    )


def windows(context: Context, runs: Runs) -> Outcome:
    """M-8."""
    paused = {name: sum(one.paused_ms for one in runs[name].values()) for name in ("DCQCN", "DCQCN + window")}
    return context.outcome(
        "M-8",
        measured=", ".join(f"{name} {time:.2f} ms" for name, time in paused.items()),
        passed=paused["DCQCN + window"] <= 0.5 * paused["DCQCN"],
    )


def picture(runs: Runs) -> Figure:
    """A line per control, a column per measure."""
    asked: tuple[tuple[str, str, Callable[[Mapping[str, Run]], float], bool], ...] = (
        ("16 writers:\nlink used (%)", "", lambda of: 100 * of["sixteen"].used, False),
        ("16 writers:\nqueue (KiB),\nmean to longest", "queue", lambda of: of["sixteen"].queue_mean, True),
        ("16 writers:\nJain's index", "", lambda of: of["sixteen"].jain, False),
        ("one joins:\nsettled (ms)", "", lambda of: of["joining"].settled_ms, False),
        ("victim of 2:\nits link (%)", "", lambda of: 100 * of["victim"].victim, False),
        ("over 2 full links:\nshare (%)", "", lambda of: 100 * of["parking-lot"].far, False),
        ("bursts:\nslowdown, p99", "", lambda of: of["bursts"].burst, False),
        ("web search 0.5:\nslowdown, p95\n≤ 30 kB", "", lambda of: of["web-search"].short, False),
        ("web search 0.5:\nslowdown, p95\n≥ 5 MB", "", lambda of: of["web-search"].long, False),
        ("all six:\npaused (ms)", "", lambda of: sum(one.paused_ms for one in of.values()), False),
    )
    places = np.arange(len(runs))[::-1]
    colors = [CONTROLS[name].color for name in runs]
    with style():
        figure = Figure(figsize=(14, 5.2), layout="constrained")
        axes = figure.subplots(1, len(asked), sharey=True)
        for panel, (label, kind, value, logarithmic) in zip(axes, asked, strict=True):
            values = np.array([value(of) for of in runs.values()])
            if logarithmic:
                panel.set_xscale("log")
            if kind == "queue":
                longest = [of["sixteen"].queue_max for of in runs.values()]
                panel.hlines(places, values, longest, color=colors, linewidth=1.5)
            finite = draw_dots(panel, values, places, colors, 22)
            for place in places[~finite]:
                panel.annotate(
                    "no", (0.97, place), xycoords=("axes fraction", "data"), ha="right", va="center"
                )
            panel.set_yticks(places, list(runs))
            panel.set_title(label, fontsize=8)
            if not logarithmic:
                panel.set_xlim(left=0)
        draw_legend(figure, SIGNALS, "hears of")
        figure.suptitle("Six workloads at 100 Gb/s over PFC, thirteen controls")
    return figure
