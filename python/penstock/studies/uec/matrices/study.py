"""Connection matrices of uet-htsim: completion of the slowest flow beside what it prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from penstock.plots.style import style
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

from .matrices import CONTROLS, LOAD_BALANCING, ROWS, Flow, Printed, Row, control_keys, permutation, within

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
FAIR = 0.93
"""Least share of the tail that the fastest flow of an incast takes, with credits."""
BALANCED = within(0.06)


@dataclass(frozen=True)
class Run:
    """Completion times of one run, and what was sent again."""

    tail_us: float
    fastest_us: float
    retransmitted: float

    @classmethod
    def of(cls, result: Result) -> Run:
        """Reads a result; a flow that did not end takes for ever."""
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
        """The mean of several."""
        return cls(
            float(np.mean([run.tail_us for run in runs])),
            float(np.mean([run.fastest_us for run in runs])),
            float(np.mean([run.retransmitted for run in runs])),
        )


Runs = Mapping[tuple[Row, str], Run]


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    runs: dict[tuple[Row, str], Run] = {}
    for row in ROWS:
        if context.quick and not row.quick:
            continue
        for control in CONTROLS:
            context.say(f"{row.matrix}, {control}")
            draws = [arranged(context, row, control, draw) for draw in range(row.draws)]
            runs[row, control] = Run.mean([Run.of(scenario.run(seed=13)) for scenario in draws])
    balanced = {} if context.quick else load_balancing(context)
    context.save_table("matrices", "All matrices", COLUMNS, list(lines(runs)), note=NOTE)
    if balanced:
        context.save_table("paths", "Path selection", PATH_COLUMNS, list(path_lines(balanced)))
    cover = context.save_figure(picture(runs), "matrices", cover=True)
    return judged(context, runs, balanced, [cover])


def arranged(context: Context, row: Row, control: str, draw: int) -> Scenario:
    """The scenario of a matrix."""
    scenario = context.scenario("tree" if row.k else "leaf-spine")
    if row.k:
        scenario = scenario.with_value("topology.fat_tree.k", row.k)
    else:
        scenario = scenario.with_value("topology.leaf_spine.spines", row.spines)
    if control != "NSCC":
        # Credits rule the last link, and uet-htsim does not mark there.
        [marks] = scenario.to_dict()["switch"]["queue_managers"]
        scenario = scenario.with_value("switch.queue_managers", [{**marks, "ports": "switches"}])
    paths: Any = {"mixed": {"entropies": row.entropies}} if row.entropies else "fixed"
    over = {"control": control_keys(control, row), "paths": paths}
    return slow(with_flows(scenario, row.flows(draw), over), row.slowed)


def with_flows(scenario: Scenario, flows: Sequence[Flow], over: Mapping[str, Any]) -> Scenario:
    """The scenario with these flows, and these keys of UET."""
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
    """The scenario with so many core links at a quarter of their rate down to aggregation switch 0."""
    if not links:
        return scenario
    faults = [
        {"link": ["agg0.0", f"core{number}"], "towards": "agg0.0", "rate": "25 Gb/s", "at": "0 s"}
        for number in range(links)
    ]
    return scenario.with_value("faults", faults)


Balanced = Mapping[tuple[str, bool], tuple[Run, Run]]


def load_balancing(context: Context) -> Balanced:
    """The permutation of 1,024 with NSCC and each path selection, healthy and with 8 core links slowed."""
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


def meets(run: Run, reference: Printed, band: tuple[float, float]) -> bool:
    """Returns true if a tail is within a band around the printed one."""
    return band[0] <= run.tail_us / reference.tail_us <= band[1]


def judged(context: Context, runs: Runs, balanced: Balanced, pictures: Sequence[str]) -> list[Outcome]:
    """Each row beside its band, then shares and orders."""
    outcomes = []
    for experiment in dict.fromkeys(row.experiment for row in ROWS):
        rows = [row for row in ROWS if row.experiment == experiment]
        pairs = [
            (runs[row, control], row.printed[at], row.band)
            for row in rows
            for at, control in enumerate(CONTROLS)
            if (row, control) in runs
        ]
        measured = ", ".join(
            f"{run.tail_us:,.1f} ({100 * (run.tail_us / reference.tail_us - 1):+.1f} %)"
            for run, reference, _ in pairs
        )
        outcomes.append(
            context.outcome(
                experiment,
                measured=f"{measured} us" if pairs else "not run",
                passed=all(meets(*one) for one in pairs),
                pictures=pictures if experiment == "UM-1" else (),
                decided=bool(pairs),
            )
        )
    outcomes += [fairness(context, runs), retransmissions(context, runs)]
    return [*outcomes, *orders(context, balanced)]


def of_matrix(runs: Runs, experiment: str) -> dict[str, Run]:
    """The runs of a matrix, by control."""
    return {control: run for (row, control), run in runs.items() if row.experiment == experiment}


def fairness(context: Context, runs: Runs) -> Outcome:
    """With credits the flows of an incast end together."""
    shares = {
        f"{many}:1, {control}": of_matrix(runs, experiment)[control]
        for experiment, many in (("UM-4", 15), ("UM-5", 127))
        for control in ("RCCC", "both")
    }
    found = {name: run.fastest_us / run.tail_us for name, run in shares.items()}
    measured = ", ".join(f"{share:.3f} ({name})" for name, share in found.items())
    return context.outcome("UM-17", measured=measured, passed=min(found.values()) >= FAIR)


def retransmissions(context: Context, runs: Runs) -> Outcome:
    """A window at the sender loses far more to an incast than credits."""
    incast = of_matrix(runs, "UM-5")
    ratio = incast["NSCC"].retransmitted / max(1.0, incast["RCCC"].retransmitted)
    measured = (
        f"{incast['NSCC'].retransmitted:,.0f} and {incast['RCCC'].retransmitted:,.0f}: {ratio:.1f} times"
    )
    return context.outcome("UM-18", measured=measured, passed=5 <= ratio <= 15)


def orders(context: Context, balanced: Balanced) -> list[Outcome]:
    """Order and figures of path selections."""
    if not balanced:
        return [
            context.outcome(experiment, measured="not run", passed=False, decided=False)
            for experiment in ("UM-19", "UM-20", "UM-21")
        ]
    tails = {key: (healthy.tail_us, slowed.tail_us) for key, (healthy, slowed) in balanced.items()}
    order = [("mixed", True), ("bitmap", False), ("oblivious", False)]
    is_ordered = all(
        tails[first][at] <= tails[second][at] for at in (0, 1) for first, second in pairwise(order)
    )
    is_ordered &= all(tails["reps", True][at] <= tails["bitmap", False][at] for at in (0, 1))
    said = [
        ", ".join(f"{name} {tails[name, each][at]:.1f}" for name, each in [("reps", True), *order])
        for at in (0, 1)
    ]
    outcomes = [
        context.outcome("UM-19", measured=f"{said[0]}; slowed: {said[1]} us", passed=is_ordered),
    ]
    for at, experiment in enumerate(("UM-20", "UM-21")):
        found = {key: tail[at] / LOAD_BALANCING[key][at] for key, tail in tails.items()}
        measured = ", ".join(
            f"{name}{' per packet' if each else ''} {100 * (ratio - 1):+.1f} %"
            for (name, each), ratio in found.items()
        )
        passed = all(BALANCED[0] <= ratio <= BALANCED[1] for ratio in found.values())
        outcomes.append(context.outcome(experiment, measured=measured, passed=passed))
    return outcomes


NOTE = "Figures of uet-htsim 40ccb05 (validate_outputs); the mean of four permutations of 16."
PATH_COLUMNS = (
    "path selection",
    "acknowledged",
    "healthy, us",
    "uet-htsim",
    "8 links slowed, us",
    "uet-htsim",
)


def shown(value: float | None) -> str:
    """A figure of a table; a dash if there is none."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 or float(value).is_integer() else f"{value:,.1f}"


def lines(runs: Runs) -> list[list[str]]:
    """A row for each matrix and control."""
    table = []
    for (row, control), run in runs.items():
        reference = row.printed[CONTROLS.index(control)]
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
    """A row for each path selection."""
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


def picture(runs: Runs) -> Figure:
    """Each tail as a share of the printed one."""
    rows = list(dict.fromkeys(row for row, _ in runs))
    with style():
        figure = Figure(figsize=(7.2, 0.32 * len(rows) + 1.4), layout="constrained")
        axes = figure.subplots()
        for shift, control in zip((-0.22, 0.0, 0.22), CONTROLS, strict=True):
            ratios = [
                runs[row, control].tail_us / row.printed[CONTROLS.index(control)].tail_us for row in rows
            ]
            places = [place + shift for place in range(len(rows))]
            axes.scatter(ratios, places, s=22, color=COLORS[control], label=control, zorder=3)
        for place, row in enumerate(rows):
            axes.plot(row.band, [place, place], color="#c8ccd0", linewidth=6, zorder=1, solid_capstyle="butt")
        axes.axvline(1.0, color="#5f6368", linewidth=0.8, zorder=2)
        axes.set_yticks(range(len(rows)), [row.matrix for row in rows], fontsize=7)
        axes.invert_yaxis()
        axes.set_xlabel("completion of the slowest flow, as a share of that of uet-htsim")
        axes.legend(loc="lower right", fontsize=7)
    return figure
