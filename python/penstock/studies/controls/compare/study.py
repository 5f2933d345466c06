"""Layer-2 and RDMA congestion controls on the same six workloads."""

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
    "joining": ("4, joining", STAR),
    "victim": ("2 + victim", ("right.0->r0",)),
    "parking-lot": ("parking lot", ("s0.2->s1", "s1.2->s2")),
    "bursts": ("2 + bursts of 14", STAR),
    "web-search": ("web search, load 0.5", ()),
}
"""Title and bottleneck ports by workload."""
JOINED_MS = 6.0
SHORT_BYTES, LONG_BYTES = 30_000, 5_000_000


@dataclass(frozen=True)
class Run:
    """Measures of one run; NaN where the workload has no such measure."""

    used: float
    """Mean utilization of the bottleneck links."""
    jain: float
    """Jain's index of the long-lived writers over the last fifth of the run."""
    settled_ms: float
    """Time from the last join until all rates stay near their final values; infinite if they do not."""
    queue_mean: float
    """Largest mean queue of the bottleneck links in KiB."""
    queue_max: float
    paused_ms: float
    """Sum of the paused times of all ports."""
    lost: float
    victim: float
    """Throughput of the victim as a share of its link rate."""
    far: float
    """Rate of the writer over two bottlenecks, relative to the mean of the writers over one."""
    burst: float
    """99th percentile of the slowdown of burst messages."""
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
    """Time in ms from the last join until all rates, as means over 0.2 ms, stay within 25 % of a share."""
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
    return compared(context, runs, cover)


def arranged(context: Context, workload: str, control: Control) -> Scenario:
    """The scenario of a workload with a congestion control."""
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
    "mean queue (KiB)",
    "max. queue (KiB)",
    "paused (ms)",
    "specific measure",
)
NOTE = (
    "Link: utilization of the bottleneck links. Jain: Jain's index of the long-lived writers over the last "
    "fifth of the run. Queue: time average and maximum at the bottleneck. Paused: sum over all ports. "
    "Specific measure: time from the last join until all rates stay within 25 % of a fair share of their "
    "final values; throughput of the victim as a share of its link; rate of the writer over both bottlenecks "
    "relative to the writers over one; 99th percentile of the slowdown of bursts; 95th percentile of the "
    "slowdown of messages of at most 30 kB (short) and of at least 5 MB (long)."
)


def settled_in(one: Run) -> str:
    """The settling time in ms, or "no"."""
    return f"{one.settled_ms:.1f}" if math.isfinite(one.settled_ms) else "no"


def specific(workload: str, one: Run) -> str:
    """The measure that only this workload has."""
    settled = settled_in(one)
    record = {
        "joining": "does not settle" if settled == "no" else f"settles in {settled} ms",
        "victim": f"victim {one.victim:.0%}",
        "parking-lot": f"over both {one.far:.0%}",
        "bursts": f"bursts {factor(one.burst)}",
        "web-search": f"short {factor(one.short)}, long {factor(one.long)}",
    }
    return record.get(workload, "")


def known(value: float, text: str) -> str:
    """The text, or a dash if the value is NaN."""
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
            specific(workload, one),
        )
        for workload, (title, _) in WORKLOADS.items()
        for name, of in runs.items()
        for one in (of[workload],)
    ]


def compared(context: Context, runs: Runs, cover: str) -> list[Outcome]:
    """All experiments, from the runs of all controls."""
    lost = {name: sum(one.lost for one in of.values()) for name, of in runs.items()}
    victims = {name: of["victim"].victim for name, of in runs.items()}
    queues = {name: of["sixteen"].queue_mean for name, of in runs.items()}
    jain = {name: of["sixteen"].jain for name, of in runs.items()}
    slow = {name: of["bursts"].burst for name, of in runs.items()}
    short = {name: of["web-search"].short for name, of in runs.items()}
    paused = {name: sum(one.paused_ms for one in runs[name].values()) for name in ("DCQCN", "DCQCN + window")}
    searches = listed(runs, "web-search", lambda one: f"{factor(one.short)} and {factor(one.long)}")
    return [
        context.judge(
            "M-1",
            {"lost": sum(lost.values())},
            measured="lost on all workloads: "
            + ", ".join(f"{name} {count:,.0f}" for name, count in lost.items()),
            pictures=[cover],
        ),
        context.judge(
            "M-2",
            {"victim_pfc": victims["PFC alone"], "victim_dcqcn": victims["DCQCN"]},
            measured=listed(runs, "victim", lambda one: f"{one.victim:.0%}"),
        ),
        context.judge(
            "M-3",
            {"queue_to_dcqcn": max(queues["HPCC"], queues["PowerTCP"]) / queues["DCQCN"]},
            measured=listed(runs, "sixteen", lambda one: f"{one.queue_mean:.0f} KiB"),
        ),
        context.judge(
            "M-4",
            {"jain": min(jain[name] for name in ("DCQCN", "HPCC", "Swift", "PowerTCP"))},
            measured=listed(runs, "sixteen", lambda one: f"{one.jain:.3f}"),
        ),
        context.judge(
            "M-5",
            {"settled_ms": runs["HPCC"]["joining"].settled_ms},
            measured=listed(runs, "joining", settled_in),
        ),
        context.judge(
            "M-6",
            {"p99_to_dcqcn": max(slow[name] for name in TELEMETRY) / slow["DCQCN"]},
            measured=listed(runs, "bursts", lambda one: factor(one.burst)),
        ),
        context.judge(
            "M-7",
            {
                "hpcc_to_dctcp": short["HPCC"] / short["DCTCP"],
                "dctcp_to_slower": short["DCTCP"] / max(short["DCQCN + window"], short["TIMELY, patched"]),
            },
            measured=f"short and long: {searches}",
        ),
        context.judge(
            "M-8",
            {"paused_to_no_window": paused["DCQCN + window"] / paused["DCQCN"]},
            measured=", ".join(f"{name} {time:.2f} ms" for name, time in paused.items()),
        ),
    ]


def picture(runs: Runs) -> Figure:
    """Dot plot with a line for each control and a column for each measure."""
    columns: tuple[tuple[str, str, Callable[[Mapping[str, Run]], float], bool], ...] = (
        ("16 writers:\nutilization (%)", "", lambda of: 100 * of["sixteen"].used, False),
        ("16 writers:\nqueue (KiB),\nmean to max.", "queue", lambda of: of["sixteen"].queue_mean, True),
        ("16 writers:\nJain's index", "", lambda of: of["sixteen"].jain, False),
        ("joining:\nsettling (ms)", "", lambda of: of["joining"].settled_ms, False),
        ("victim:\nof its link (%)", "", lambda of: 100 * of["victim"].victim, False),
        ("2 bottlenecks:\nshare (%)", "", lambda of: 100 * of["parking-lot"].far, False),
        ("bursts:\nslowdown, p99", "", lambda of: of["bursts"].burst, False),
        ("web search 0.5:\nslowdown, p95\n≤ 30 kB", "", lambda of: of["web-search"].short, False),
        ("web search 0.5:\nslowdown, p95\n≥ 5 MB", "", lambda of: of["web-search"].long, False),
        ("all six:\npaused (ms)", "", lambda of: sum(one.paused_ms for one in of.values()), False),
    )
    places = np.arange(len(runs))[::-1]
    colors = [CONTROLS[name].color for name in runs]
    with style():
        figure = Figure(figsize=(14, 5.2), layout="constrained")
        axes = figure.subplots(1, len(columns), sharey=True)
        for panel, (label, kind, value, logarithmic) in zip(axes, columns, strict=True):
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
        draw_legend(figure, SIGNALS, "congestion signal")
        figure.suptitle("Thirteen congestion controls over PFC on six workloads at 100 Gb/s")
    return figure
