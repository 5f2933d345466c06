"""All layer-2 congestion controls on the same six workloads."""

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
from penstock.studies.comparing import listed, measure_all
from penstock.studies.reproduce import Context, Outcome

from . import bcn_model
from .schemes import LOSSLESS, NOTIFIED, SCHEMES, Scheme

CONTROL_BYTES = 84
"""Size on the wire of a congestion message, a returned tag or a pause frame."""
WIRE = 1520 / 1500
BCN_SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Workload:
    """A scenario and its bottleneck links.

    Attributes
    ----------
    title : str
        Title in the picture.
    ports : tuple of str
        Ports of the bottleneck links.
    changes_ms : float
        Start of the last long-lived flow.
    """

    title: str
    ports: tuple[str, ...]
    changes_ms: float = 0


STAR = ("sw.0->h0",)
WORKLOADS = {
    "four": Workload("4 senders", STAR),
    "sixteen": Workload("16 senders", STAR),
    "joining": Workload("4, joining", STAR, 20),
    "bursts": Workload("2 + bursts of 14", STAR),
    "victim": Workload("2 + victim", ("right.0->r0",)),
    "parking-lot": Workload("parking lot", ("s0.2->s1", "s1.2->s2")),
}


@dataclass(frozen=True)
class Run:
    """Measures of one run."""

    used: float
    """Mean utilization of the bottleneck links."""
    jain: float
    """Jain's index of the long-lived flows over the last 10 ms."""
    converged_ms: float
    """Time until their rates stay near their means of the last 10 ms; infinite if later than at 30 ms."""
    queue_mean: float
    """Largest mean queue of the bottleneck links in KiB."""
    queue_max: float
    paused_ms: float
    """Sum of the paused times of all ports."""
    lost: float
    overhead: float
    """Bytes of messages, tags and pause frames, as a share of the bytes delivered."""
    victim: float
    """Throughput of the victim as a share of its offered load; NaN if there is no victim."""

    @classmethod
    def of(cls, result: Result, workload: Workload) -> Run:
        """Reads a result."""
        flows = result.all_series("flow_throughput_bps")
        stay = [series for name, series in flows.items() if name.startswith("long")]
        times = stay[0][0] / 1e6
        rates = np.array([values for _, values in stay]) * WIRE / 1e9
        last = rates[:, times >= 30].mean(axis=1)
        ports = [row for row in result.rows("ports") if row["port"] in workload.ports]
        queues = [row for row in result.rows("queues") if row["port"] in workload.ports]
        limiters = result.rows("rate_limiters")
        control = sum(row["messages"] + row["tags_returned"] for row in limiters) * CONTROL_BYTES
        control += sum(row["pauses_received"] for row in result.rows("ports")) * CONTROL_BYTES
        tags_in_frames = all(row["control"] != "prc" for row in limiters)
        control += sum(row["tags_sent"] for row in limiters) * (12 if tags_in_frames else CONTROL_BYTES)
        sent = sum(row["bytes_delivered"] for row in result.rows("flows"))
        victim = [row["throughput_bps"] / 8e9 for row in result.rows("flows") if row["flow"] == "victim"]
        return cls(
            used=fmean(row["utilisation"] for row in ports),
            jain=float(last.sum() ** 2 / (len(last) * (last**2).sum())),
            converged_ms=settled(times, rates, last, workload.changes_ms),
            queue_mean=max((row["queue_bytes_mean"] for row in queues), default=0) / 1024,
            queue_max=max((row["queue_bytes_max"] for row in queues), default=0) / 1024,
            paused_ms=sum(row["paused_s"] for row in result.rows("ports")) * 1e3,
            lost=sum(row["frames"] for row in result.rows("drops")),
            overhead=control / sent,
            victim=victim[0] if victim else math.nan,
        )


def settled(times: np.ndarray, rates: np.ndarray, aims: np.ndarray, changes_ms: float) -> float:
    """Time after the last start until all rates stay within 25 % of a fair share of their final means.

    Rates are means over 2 ms, because faster variations come from bursts and single frames.
    """
    window = 4
    means = np.array([np.convolve(flow, np.ones(window) / window, mode="same") for flow in rates])
    near = (np.abs(means - aims[:, None]) <= 0.25 * aims.mean()).all(axis=0)
    inside = (times > changes_ms + 1) & (times < 39)
    off = times[inside & ~near]
    if not len(off):
        return 0.0
    return float(off[-1] - changes_ms) if off[-1] < 30 else math.inf


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    seeds = range(1, 2 if context.quick else 4)
    runs = measure_all(
        context,
        SCHEMES,
        WORKLOADS,
        seeds,
        lambda name, workload, seed: Run.of(
            arranged(context, workload, SCHEMES[name]).run(seed=seed), WORKLOADS[workload]
        ),
    )
    context.save_table("compare", "All controls on all workloads", COLUMNS, list(rows(runs)), note=NOTE)
    cover = context.save_figure(picture(runs), "compare", cover=True)
    return [*compared(context, runs, cover), unfair(context)]


def arranged(context: Context, workload: str, scheme: Scheme) -> Scenario:
    """The scenario of a workload with a congestion control."""
    scenario = context.scenario(workload)
    for key, value in scheme.changes.items():
        scenario = scenario.with_value(key, value)
    if scheme.tcp:
        for flow in scenario.to_dict()["flows"]:
            if flow["source"] == "greedy":
                scenario = scenario.with_value(f"flows.{flow['name']}.source", {"tcp": dict(scheme.tcp)})
    return scenario


COLUMNS = (
    "workload",
    "control",
    "link (%)",
    "Jain",
    "settled (ms)",
    "mean queue (KiB)",
    "max. queue (KiB)",
    "paused (ms)",
    "lost",
    "overhead (%)",
)
NOTE = (
    "Link: utilization of the bottleneck links. Jain: Jain's index of the long-lived flows over the last "
    "10 ms. Settled: time until their rates (means over 2 ms) stay within 25 % of a fair share of their "
    "final means; no: later than at 30 ms, for example after the burst at 30 ms. Queue: time average and "
    "maximum at the bottleneck. Paused: sum over all ports. Overhead: messages, tags and pause frames, as a "
    "share of the bytes delivered."
)


def rows(runs: Mapping[str, Mapping[str, Run]]) -> list[tuple[str, ...]]:
    """One row per workload and scheme."""
    return [
        (
            WORKLOADS[workload].title,
            name,
            f"{one.used:.1%}".rstrip("%"),
            f"{one.jain:.3f}",
            settled_in(one),
            f"{one.queue_mean:.1f}",
            f"{one.queue_max:.1f}",
            f"{one.paused_ms:.2f}",
            f"{one.lost:,.0f}",
            f"{one.overhead:.2%}".rstrip("%"),
        )
        for workload in WORKLOADS
        for name, of in runs.items()
        for one in (of[workload],)
    ]


def settled_in(one: Run) -> str:
    """The settling time in ms, or "no"."""
    return f"{one.converged_ms:.1f}" if math.isfinite(one.converged_ms) else "no"


Runs = Mapping[str, Mapping[str, Run]]


def compared(context: Context, runs: Runs, cover: str) -> list[Outcome]:
    """C-1 to C-6, from the runs of all controls."""
    victims = {name: of["victim"].victim for name, of in runs.items()}
    jain = {name: min(of["four"].jain, of["sixteen"].jain) for name, of in runs.items()}
    lengths = {name: of["four"].queue_mean for name, of in runs.items()}
    joining = {name: of["joining"].converged_ms for name, of in runs.items()}
    overhead = {name: max(one.overhead for one in of.values()) for name, of in runs.items()}
    fair = ("FECN", "PRC")
    return [
        context.judge(
            "C-1",
            {
                "lost_with_flow_control": sum(one.lost for name in LOSSLESS for one in runs[name].values()),
                "least_lost_without": min(one.lost for one in runs["none"].values()),
            },
            measured=f"lost with 16 senders: {listed(runs, 'sixteen', lambda one: f'{one.lost:,.0f}')}",
            pictures=[cover],
        ),
        context.judge(
            "C-2",
            {
                "victim_paused": max(victims[name] for name in ("PAUSE", "PFC")),
                "victim_notified": min(victims[name] for name in NOTIFIED),
            },
            measured=listed(runs, "victim", lambda one: f"{one.victim:.0%}"),
        ),
        context.judge(
            "C-3",
            {"jain": min(jain[name] for name in fair)},
            measured=f"with 4: {listed(runs, 'four', lambda one: f'{one.jain:.3f}')}; "
            f"with 16: {listed(runs, 'sixteen', lambda one: f'{one.jain:.3f}')}",
        ),
        context.judge(
            "C-4",
            {
                "queue_to_none": max(lengths[name] / lengths["none"] for name in NOTIFIED),
                "queue_prc_kib": lengths["PRC"],
            },
            measured=listed(runs, "four", lambda one: f"{one.queue_mean:.1f} KiB"),
        ),
        context.judge(
            "C-5",
            {"settled_ms": max(joining[name] for name in fair)},
            measured=f"in ms: {listed(runs, 'joining', settled_in)}",
        ),
        context.judge(
            "C-6",
            {"overhead": max(overhead[name] for name in NOTIFIED)},
            measured=", ".join(f"{name} {share:.2%}" for name, share in overhead.items()),
        ),
    ]


def unfair(context: Context) -> Outcome:
    """C-7, BCN against a model."""
    rows, off = [], 0.0
    for workload, senders in (("four", 4), ("sixteen", 16)):
        for stops in (True, False):
            point = {} if stops else {"severe": "never"}
            changes = {**SCHEMES["BCN"].changes, "switch.queue_managers": [{"bcn": point}]}
            scenario = arranged(context, workload, Scheme("", changes))
            ours = fmean(Run.of(scenario.run(seed=seed), WORKLOADS[workload]).jain for seed in BCN_SEEDS)
            model = fmean(bcn_model.jain(senders, stops=stops, seed=seed) for seed in BCN_SEEDS)
            rows.append((str(senders), "yes" if stops else "no", f"{ours:.3f}", f"{model:.3f}"))
            off = max(off, abs(ours - model))
    context.save_table(
        "bcn",
        "Jain's index of BCN, by the simulator and by an independent model",
        ("senders", "severe messages stop senders", "simulator", "model"),
        rows,
        note="A stopped sender restarts at 1 % of the link rate. It gets positive feedback only when one of "
        "its own frames is sampled, so the slower it sends, the later it recovers. Meanwhile the other "
        "senders fill the queue.",
    )
    text = ", ".join(f"{senders} {stops} {ours} ({model})" for senders, stops, ours, model in rows)
    return context.judge("C-7", {"jain_off": off}, measured=f"senders, stops, index (model): {text}")


def mean_queue(one: Run) -> float:
    """Mean queue in KiB."""
    return one.queue_mean


def picture(runs: Runs) -> Figure:
    """Utilization, Jain's index and queue, with a column for each workload and a line for each control."""
    panels: tuple[tuple[str, Callable[[Run], float]], ...] = (
        ("link utilization (%)", lambda one: 100 * one.used),
        ("Jain's index", lambda one: one.jain),
        ("queue: mean (dot) to maximum (KiB)", mean_queue),
    )
    with style():
        figure = Figure(figsize=(10.5, 9.0), layout="constrained")
        grid = figure.add_gridspec(len(panels), 1)
        bands = [figure.add_subfigure(grid[row]) for row in range(len(panels))]
        places = np.arange(len(runs))[::-1]
        colors = [SCHEMES[name].color for name in runs]
        for band, (label, value) in zip(bands, panels, strict=True):
            axes = band.subplots(1, len(WORKLOADS), sharey=True, sharex=True)
            band.supxlabel(label)
            for panel, (workload, of) in zip(axes, WORKLOADS.items(), strict=True):
                values = [value(one[workload]) for one in runs.values()]
                ends = [0.0] * len(values)
                if value is mean_queue:
                    ends = [one[workload].queue_max for one in runs.values()]
                    panel.set_xscale("log")
                panel.hlines(places, values, ends, color=colors, linewidth=1.5)
                panel.scatter(values, places, color=colors, s=18, zorder=3)
                panel.set_yticks(places, list(runs))
                if value is not mean_queue:
                    panel.set_xlim(left=0)
                if band is bands[0]:
                    panel.set_title(of.title, fontsize=9)
        figure.suptitle("Twelve congestion controls on six workloads")
    return figure
