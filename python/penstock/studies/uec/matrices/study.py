"""Connection matrices of uet-htsim: completion of the slowest flow compared with its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from penstock.plots.style import style
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

from .matrices import CONTROLS, LOAD_BALANCING, ROWS, Flow, Reference, Row, control_keys, permutation

COLORS = {"NSCC": "#1f77b4", "RCCC": "#d95f02", "both": "#7570b3"}
COLUMNS = (
    "matrix",
    "control",
    "tail, us",
    "uet-htsim",
    "difference",
    "fastest flow, us",
    "uet-htsim",
    "retransmitted",
    "uet-htsim",
)
ORDERED = (("reps", True), ("mixed", True), ("bitmap", False), ("oblivious", False))
"""Path selections whose order is compared, and whether each packet is acknowledged."""


@dataclass(frozen=True)
class Run:
    """Completion times and retransmitted packets of one run."""

    tail_us: float
    fastest_us: float
    retransmitted: float

    @classmethod
    def of(cls, result: Result) -> Run:
        """Reads a result; the completion time of an unfinished flow is infinite."""
        times = [
            (row["start_ns"] / 1e3, (row["acknowledged_ns"] or np.inf) / 1e3)
            for row in result.rows("transfers")
        ]
        again = sum(row["packets_retransmitted"] for row in result.rows("delivery_contexts"))
        return cls(
            float(max(start + time for start, time in times)),
            float(min(time for _, time in times)),
            float(again),
        )

    @classmethod
    def mean(cls, runs: Sequence[Run]) -> Run:
        """Means over several runs."""
        figures = np.mean([(run.tail_us, run.fastest_us, run.retransmitted) for run in runs], axis=0)
        return cls(*figures.tolist())


Runs = Mapping[tuple[Row, str], Run]


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    runs: dict[tuple[Row, str], Run] = {}
    for row in ROWS:
        if not context.measures(row.experiment):
            continue
        for control in CONTROLS:
            context.say(f"{row.matrix}, {control}")
            draws = [arranged(context, row, control, draw) for draw in range(row.draws)]
            runs[row, control] = Run.mean([Run.of(scenario.run(seed=13)) for scenario in draws])
    balanced = load_balancing(context) if context.measures("UM-19", "UM-20", "UM-21") else {}
    context.save_table(
        "matrices",
        "Completion times and retransmissions of all matrices",
        COLUMNS,
        list(lines(runs)),
        note=NOTE,
    )
    if balanced:
        context.save_table("paths", "Path selection", PATH_COLUMNS, list(path_lines(balanced)))
    cover = context.save_figure(picture(context, runs), "matrices", cover=True)
    return judged(context, runs, balanced, [cover])


def arranged(context: Context, row: Row, control: str, draw: int) -> Scenario:
    """The scenario of a matrix with this control."""
    scenario = context.scenario("tree" if row.k else "leaf-spine")
    if row.k:
        scenario = scenario.with_value("topology.fat_tree.k", row.k)
    else:
        scenario = scenario.with_value("topology.leaf_spine.spines", row.spines)
    if control != "NSCC":
        # uet-htsim does not mark on the last link if credits control it.
        [marks] = scenario.to_dict()["switch"]["queue_managers"]
        scenario = scenario.with_value("switch.queue_managers", [{**marks, "ports": "switches"}])
    paths: Any = {"mixed": {"entropies": row.entropies}} if row.entropies else "fixed"
    over = {"control": control_keys(control, row), "paths": paths}
    return slow(with_flows(scenario, row.flows(draw), over), row.slowed)


def with_flows(scenario: Scenario, flows: Sequence[Flow], over: Mapping[str, Any]) -> Scenario:
    """The scenario with these flows and keys of UET."""
    usual = scenario.to_dict()["transfers"][0]
    keys = {**usual["over"]["uet"], **over}
    transfers = [
        {
            **usual,
            "name": f"f{number}",
            "from": f"h{sender}",
            "to": f"h{to}",
            "sizes": f"{size} B",
            "start": f"{start} us",
            "over": {"uet": keys},
        }
        for number, (sender, to, size, start) in enumerate(flows)
    ]
    return scenario.with_value("transfers", transfers)


def slow(scenario: Scenario, links: int) -> Scenario:
    """The scenario with this number of core links to aggregation switch 0 at a quarter of their rate."""
    if not links:
        return scenario
    faults = [
        {"link": ["agg0.0", f"core{number}"], "towards": "agg0.0", "rate": "25 Gb/s", "at": "0 s"}
        for number in range(links)
    ]
    return scenario.with_value("faults", faults)


Balanced = Mapping[tuple[str, bool], tuple[Run, Run]]


def load_balancing(context: Context) -> Balanced:
    """The permutation of 1,024 with NSCC and each path selection, without and with 8 slow core links."""
    found: dict[tuple[str, bool], tuple[Run, Run]] = {}
    base = context.scenario("tree").with_value("topology.fat_tree.k", 16)
    for name, each in LOAD_BALANCING:
        context.say(f"{name}, {'each packet' if each else '16 KiB'}")
        over: dict[str, Any] = {"paths": {name: {"entropies": 128}}}
        if each:
            over["ack_every"] = "4000 B"
        scenario = with_flows(base, permutation(1024)(0), over)
        healthy, slowed = (Run.of(slow(scenario, links).run(seed=13)) for links in (0, 8))
        found[name, each] = (healthy, slowed)
    return found


def judged(context: Context, runs: Runs, balanced: Balanced, pictures: Sequence[str]) -> list[Outcome]:
    """All experiments that this run measures."""
    by_experiment: dict[str, list[tuple[Run, Reference]]] = {}
    for (row, control), run in runs.items():
        pair = run, row.references[CONTROLS.index(control)]
        by_experiment.setdefault(row.experiment, []).append(pair)
    outcomes = []
    for experiment, pairs in by_experiment.items():
        deviations = [run.tail_us / reference.tail_us - 1 for run, reference in pairs]
        times = ", ".join(
            f"{run.tail_us:,.1f} ({100 * deviation:+.1f} %)"
            for (run, _), deviation in zip(pairs, deviations, strict=True)
        )
        shown = pictures if experiment == "UM-1" else ()
        found = extremes(deviations)
        outcomes.append(context.judge(experiment, found, measured=f"{times} us", pictures=shown))
    outcomes += [fairness(context, runs), retransmissions(context, runs)]
    return [*outcomes, *path_selections(context, balanced)] if balanced else outcomes


def extremes(deviations: Sequence[float]) -> dict[str, float]:
    """Smallest and largest deviation from the figures of uet-htsim."""
    return {"deviation_min": min(deviations), "deviation_max": max(deviations)}


def of_matrix(runs: Runs, experiment: str) -> dict[str, Run]:
    """Runs of a matrix by control."""
    return {control: run for (row, control), run in runs.items() if row.experiment == experiment}


def fairness(context: Context, runs: Runs) -> Outcome:
    """UM-17: completion time of the fastest flow of an incast over that of the slowest."""
    shares = {}
    for experiment, many in (("UM-4", 15), ("UM-5", 127)):
        for control in ("RCCC", "both"):
            run = of_matrix(runs, experiment)[control]
            shares[f"{many}:1, {control}"] = run.fastest_us / run.tail_us
    measured = ", ".join(f"{share:.3f} ({name})" for name, share in shares.items())
    return context.judge("UM-17", {"share_min": min(shares.values())}, measured=measured)


def retransmissions(context: Context, runs: Runs) -> Outcome:
    """UM-18: retransmissions of an incast with NSCC over those with RCCC."""
    sender, receiver = (of_matrix(runs, "UM-5")[name].retransmitted for name in ("NSCC", "RCCC"))
    ratio = sender / max(1.0, receiver)
    return context.judge(
        "UM-18", {"ratio": ratio}, measured=f"{sender:,.0f} and {receiver:,.0f}: {ratio:.1f} times"
    )


def path_selections(context: Context, balanced: Balanced) -> list[Outcome]:
    """UM-19 to UM-21."""
    tails = {key: np.array([run.tail_us for run in runs]) for key, runs in balanced.items()}
    reps, mixed, bitmap, oblivious = (tails[key] for key in ORDERED)
    order = {
        "informed_over_bitmap_max": np.max([reps / bitmap, mixed / bitmap]),
        "bitmap_over_oblivious_max": np.max(bitmap / oblivious),
    }
    healthy, slowed = (", ".join(f"{key[0]} {tails[key][at]:.1f}" for key in ORDERED) for at in (0, 1))
    outcomes = [context.judge("UM-19", order, measured=f"{healthy}; slowed: {slowed} us")]
    for at, experiment in enumerate(("UM-20", "UM-21")):
        found = {key: tail[at] / LOAD_BALANCING[key][at] - 1 for key, tail in tails.items()}
        measured = ", ".join(
            f"{name}{' per packet' if each else ''} {100 * deviation:+.1f} %"
            for (name, each), deviation in found.items()
        )
        outcomes.append(context.judge(experiment, extremes(list(found.values())), measured=measured))
    return outcomes


NOTE = "uet-htsim 40ccb05 (validate_outputs). Rows of permutations of 16 are means over four."
PATH_COLUMNS = (
    "path selection",
    "acknowledged",
    "healthy, us",
    "uet-htsim",
    "8 slow links, us",
    "uet-htsim",
)


def shown(value: float | None) -> str:
    """A number as text; a dash if there is none."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 or float(value).is_integer() else f"{value:,.1f}"


def lines(runs: Runs) -> list[list[str]]:
    """Rows of the table of matrices and controls."""
    table = []
    for (row, control), run in runs.items():
        reference = row.references[CONTROLS.index(control)]
        difference = 100 * (run.tail_us / reference.tail_us - 1)
        table.append(
            [
                row.matrix,
                control,
                f"{run.tail_us:,.1f}",
                f"{reference.tail_us:,.1f}",
                f"{difference:+.1f} %",
                f"{run.fastest_us:,.1f}",
                shown(reference.fastest_us),
                f"{run.retransmitted:,.0f}",
                shown(reference.retransmitted),
            ]
        )
    return table


def path_lines(balanced: Balanced) -> list[list[str]]:
    """Rows of the table of path selections."""
    return [
        [
            name,
            "each packet" if each else "16 KiB",
            f"{healthy.tail_us:.1f}",
            f"{LOAD_BALANCING[name, each][0]:.1f}",
            f"{slowed.tail_us:.1f}",
            f"{LOAD_BALANCING[name, each][1]:.1f}",
        ]
        for (name, each), (healthy, slowed) in balanced.items()
    ]


def picture(context: Context, runs: Runs) -> Figure:
    """Completion of the slowest flow over that of uet-htsim, with the bounds of the criteria."""
    rows = list(dict.fromkeys(row for row, _ in runs))
    with style():
        figure = Figure(figsize=(7.2, 0.32 * len(rows) + 1.4), layout="constrained")
        axes = figure.subplots()
        for shift, control in zip((-0.22, 0.0, 0.22), CONTROLS, strict=True):
            ratios = [
                runs[row, control].tail_us / row.references[CONTROLS.index(control)].tail_us for row in rows
            ]
            places = [place + shift for place in range(len(rows))]
            axes.scatter(ratios, places, s=22, color=COLORS[control], label=control, zorder=3)
        for place, row in enumerate(rows):
            low, high = context.study.experiment(row.experiment).bounds
            band = [1 + (low.at_least or 0.0), 1 + (high.at_most or 0.0)]
            axes.plot(band, [place, place], color="#c8ccd0", linewidth=6, zorder=1, solid_capstyle="butt")
        axes.axvline(1.0, color="#5f6368", linewidth=0.8, zorder=2)
        axes.set_yticks(range(len(rows)), [row.matrix for row in rows], fontsize=7)
        axes.invert_yaxis()
        axes.set_xlabel("completion time of the slowest flow relative to uet-htsim (grey: bounds)")
        axes.legend(loc="lower right", fontsize=7)
    return figure
