"""Every congestion control on the same six workloads: one table, one picture."""

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
"""Bytes on the wire of a message, a returned tag or a pause."""
WIRE = 1520 / 1500


@dataclass(frozen=True)
class Workload:
    """A scenario, and its bottlenecks.

    Attributes
    ----------
    title : str
        Title in the picture.
    ports : tuple of str
        Ports of the full links.
    changes_ms : float
        Time at which the last permanent flow has begun.
    """

    title: str
    ports: tuple[str, ...]
    changes_ms: float = 0


STAR = ("sw.0->h0",)
WORKLOADS = {
    "four": Workload("4 senders", STAR),
    "sixteen": Workload("16 senders", STAR),
    "joining": Workload("4 that join", STAR, 20),
    "bursts": Workload("2, and bursts of 14", STAR),
    "victim": Workload("2 and a victim", ("right.0->r0",)),
    "parking-lot": Workload("parking lot", ("s0.2->s1", "s1.2->s2")),
}


@dataclass(frozen=True)
class Run:
    """Measures of one run."""

    used: float
    """Utilization of the full links by frames."""
    jain: float
    """Jain's index of the permanent flows over the last 10 ms."""
    converged_ms: float
    """Time until their rates stay near those of the last 10 ms; infinite if they do not before then."""
    queue_mean: float
    """Mean queue in KiB at the fullest of the full links."""
    queue_max: float
    paused_ms: float
    """Paused time of all ports together."""
    lost: float
    overhead: float
    """Share of messages, tags and pauses in all bytes."""
    victim: float
    """Share of its offered load that the victim gets; NaN if there is none."""

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
        control += sum(row["tags_sent"] for row in limiters) * (CONTROL_BYTES if _asks(result) else 12)
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


def _asks(result: Result) -> bool:
    """Returns true if tags are separate frames."""
    return any(row["control"] == "prc" for row in result.rows("rate_limiters"))


def settled(times: np.ndarray, rates: np.ndarray, aims: np.ndarray, changes_ms: float) -> float:
    """Time after the last change until all rates stay within a quarter of a fair share of their final means.

    Means over 2 ms are compared, since faster variations are bursts and single frames.
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
    return [
        lossless(context, runs, [cover]),
        victims(context, runs),
        shares(context, runs),
        queues(context, runs),
        joins(context, runs),
        costs(context, runs),
        unfair(context),
    ]


def arranged(context: Context, workload: str, scheme: Scheme) -> Scenario:
    """A workload under a scheme."""
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
    "queue (KiB)",
    "longest (KiB)",
    "paused (ms)",
    "lost",
    "overhead (%)",
)
NOTE = (
    "Link: busy share of the full links. Jain: of the flows that go on, over the last 10 ms. Settled: until "
    "their rates, over 2 ms, stay within a quarter of a share of where they end; no: not within 30 ms, as "
    "where a burst at 30 ms moves them. Queue: time mean and worst at the full link. Paused: all ports "
    "together. Overhead: messages, tags and pauses, of all bytes delivered."
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
    """The time in milliseconds, or "no"."""
    return f"{one.converged_ms:.1f}" if math.isfinite(one.converged_ms) else "no"


Runs = Mapping[str, Mapping[str, Run]]


def lossless(context: Context, runs: Runs, pictures: list[str]) -> Outcome:
    """C-1."""
    return context.outcome(
        "C-1",
        measured=f"lost with 16 senders: {listed(runs, 'sixteen', lambda one: f'{one.lost:,.0f}')}",
        passed=not any(one.lost for name in LOSSLESS for one in runs[name].values())
        and all(runs["none"][workload].lost for workload in WORKLOADS),
        pictures=pictures,
    )


def victims(context: Context, runs: Runs) -> Outcome:
    """C-2."""
    got = {name: of["victim"].victim for name, of in runs.items()}
    return context.outcome(
        "C-2",
        measured=listed(runs, "victim", lambda one: f"{one.victim:.0%}"),
        passed=max(got[name] for name in ("PAUSE", "PFC")) <= 0.75
        and min(got[name] for name in NOTIFIED) >= 0.98,
    )


def shares(context: Context, runs: Runs) -> Outcome:
    """C-3."""
    return context.outcome(
        "C-3",
        measured=f"with 4: {listed(runs, 'four', lambda one: f'{one.jain:.3f}')}; "
        f"with 16: {listed(runs, 'sixteen', lambda one: f'{one.jain:.3f}')}",
        passed=all(runs[name][of].jain >= 0.98 for name in ("FECN", "PRC") for of in ("four", "sixteen")),
    )


def queues(context: Context, runs: Runs) -> Outcome:
    """C-4."""
    length = {name: of["four"].queue_mean for name, of in runs.items()}
    return context.outcome(
        "C-4",
        measured=listed(runs, "four", lambda one: f"{one.queue_mean:.1f} KiB"),
        passed=all(length[name] <= 0.5 * length["none"] for name in NOTIFIED) and length["PRC"] <= 20,
    )


def joins(context: Context, runs: Runs) -> Outcome:
    """C-5."""
    times = {name: runs[name]["joining"].converged_ms for name in ("FECN", "PRC")}
    return context.outcome(
        "C-5",
        measured=f"in ms: {listed(runs, 'joining', settled_in)}",
        passed=max(times.values()) <= 15,
    )


def costs(context: Context, runs: Runs) -> Outcome:
    """C-6."""
    most = {name: max(one.overhead for one in of.values()) for name, of in runs.items()}
    return context.outcome(
        "C-6",
        measured=", ".join(f"{name} {share:.2%}" for name, share in most.items()),
        passed=max(most[name] for name in NOTIFIED) <= 0.03,
        note=context.study.experiment("C-6").not_met,
    )


def unfair(context: Context) -> Outcome:
    """C-7."""
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
        "Jain's index of BCN, of the simulator and of a model apart from it",
        ("senders", "severe messages stop", "simulator", "model"),
        rows,
        note="A sender that was stopped begins anew at a hundredth of the link, and hears that it may send "
        "more when one of its own frames is sampled: the slower, the later. Meanwhile others fill the queue.",
    )
    text = ", ".join(f"{senders} {stops} {ours} ({model})" for senders, stops, ours, model in rows)
    return context.outcome("C-7", measured=f"senders, stops, index (model): {text}", passed=off <= 0.1)


BCN_SEEDS = (1, 2, 3)


def mean_queue(one: Run) -> float:
    """Mean queue in KiB."""
    return one.queue_mean


def picture(runs: Runs) -> Figure:
    """A column per workload, a line per scheme: link, Jain's index, and mean and longest queue."""
    panels: tuple[tuple[str, Callable[[Run], float]], ...] = (
        ("link used (%)", lambda one: 100 * one.used),
        ("Jain's index", lambda one: one.jain),
        ("queue, mean (dot) to longest (KiB)", mean_queue),
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
        figure.suptitle("Six workloads, a full link, twelve controls")
    return figure
