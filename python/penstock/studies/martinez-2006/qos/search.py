"""The figures of one choice of the paper's open parameters, for both schedulers, with Table 2 as input.

Runs are those of the short form of the study: 16 hosts, 30 ms, one seed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context

from .classes import BEST_EFFORT, LINK_BPS, QOS, SCHEDULERS, Class, scenario, schedulers, table_2
from .measure import Measured, per_class
from .study import BOUNDS_US, QUICK, SATURATED

Values = Mapping[str, Any]
LOADS = (0.78, 0.85, 0.95, 1.0)
HIGH, TOP = (0.85, 0.95, 1.0), (0.95, 1.0)
MTU_BYTES, CREDIT_BYTES = 2176, 64
LINK = "s0.0.0->h0"
"""The link on which turns of the table are observed."""
SHORT = ("NC", "VO")


def measure(context: Context, values: Values) -> dict[str, float]:
    """Measures all figures that `search.toml` names."""
    base, classes = fabric(context.scenario("fabric"), values), changed(values)
    settings = schedulers(classes)
    settings["MinBW"]["min_bw"] |= {"rate": {"share": values["nc_share"]}, "depth": values["nc_depth"]}
    hosts = base.to_dict()["topology"]["n_tree"]["k"] ** QUICK.levels
    runs: dict[tuple[str, float], dict[str, Measured]] = {}
    turns: dict[str, float] = {}
    for name in SCHEDULERS:
        for load in LOADS:
            made = scenario(base, classes, settings[name], load, levels=QUICK.levels, times_ms=QUICK.times_ms)
            logged = (name, load) == ("DTable", LOADS[-1])
            result = (logging(made) if logged else made).with_value("simulation.seed", 1).run()
            runs[name, load] = per_class(result, hosts * LINK_BPS)
            if logged:
                turns = credits_a_turn(result, classes)
    return {**absolute(runs), **compared(runs), **turns}


def fabric(base: Scenario, values: Values) -> Scenario:
    """The fabric with other buffers, arbitration order and credit updates."""
    base = base.with_value("flow_control.credit.buffer", f"{values['input_frames'] * MTU_BYTES} B")
    base = base.with_value("flow_control.credit.update_after", f"{values['update_after']} B")
    if values["architecture"] == "output queues":
        base = base.with_value("switch.queueing", None)
    else:
        crossbar = {
            "arbitration": values["arbitration"],
            "speedup": values["speedup"],
            "room": values["room"],
            "output_buffer": f"{values['output_frames'] * MTU_BYTES} B",
        }
        base = base.with_value("switch.queueing", {"crossbar": crossbar})
    return base.with_value("switch.forwarding", values["forwarding"])


def changed(values: Values) -> dict[str, Class]:
    """Table 2 with other frame lengths, which it leaves open, and the changes of additional questions."""
    classes = table_2()
    for name in BEST_EFFORT:
        pareto = {"bounded_pareto": {"shape": values["shape"], "min": "64 B", "max": f"{MTU_BYTES} B"}}
        classes[name] = replace(classes[name], frame=pareto)
    classes["NC"] = replace(classes["NC"], frame=values["nc_frame"])
    if values["voice"] != "as in Table 2":
        classes["VO"] = replace(classes["VO"], frame=f"{MTU_BYTES} B", each="1088 kb/s")
    if values["video"] == "constant":
        classes["VI"] = replace(classes["VI"], source="streams")
    if values["voice_weight"] != "as in Table 2":
        classes["VO"] = replace(classes["VO"], weight=classes["VI"].weight)
    return classes


def logging(made: Scenario) -> Scenario:
    """The scenario with a log of the frames on the observed link."""
    return made.with_value(
        "probes", [{"what": "frames", "which": LINK, "start": "5 ms", "max_rows": 200_000}]
    )


def credits_a_turn(result: Result, classes: Mapping[str, Class]) -> dict[str, float]:
    """Credits of each class per turn: consecutive frames of one class."""
    names = {own.priority: name for name, own in classes.items()}
    turns: dict[str, list[int]] = defaultdict(list)
    before = ""
    for row in result.rows("frames"):
        if row["event"] != "sent":
            continue
        name = names[row["priority"]]
        needed = -(-row["bytes"] // CREDIT_BYTES)
        if name == before:
            turns[name][-1] += needed
        else:
            turns[name].append(needed)
        before = name
    return {f"turn_{name}": sum(turns[name]) / max(1, len(turns[name])) for name in classes}


def absolute(runs: Mapping[tuple[str, float], Mapping[str, Measured]]) -> dict[str, float]:
    """R2."""
    last = [runs[name, LOADS[-1]] for name in SCHEDULERS]

    def saturates(name: str) -> float:
        for load in LOADS:
            sums = [
                sum(getattr(runs[name, load][of], key) for of in BEST_EFFORT)
                for key in ("throughput", "offered")
            ]
            if sums[0] < SATURATED * sums[1]:
                return load
        return 2.0

    begins = [saturates(name) for name in SCHEDULERS]
    return {
        "qos_gets": min(run[of].throughput / run[of].offered for run in runs.values() for of in QOS),
        "saturates_least": min(begins),
        "saturates_most": max(begins),
        "by_priority": min(
            run[one].throughput - run[other].throughput
            for run in last
            for one, other in (("EE", "BE"), ("BE", "BK"))
        ),
        **{f"longest_{of}": max(run[of].worst_us for run in runs.values()) / 1e3 for of in BOUNDS_US},
        "nc_by_vo": min(run["NC"].mean_us / run["VO"].mean_us for run in runs.values()),
        "vi_by_cl": min(run["VI"].mean_us / run["CL"].mean_us for run in runs.values()),
    }


def compared(runs: Mapping[tuple[str, float], Mapping[str, Measured]]) -> dict[str, float]:
    """R3 to R5: reduction of mean and maximum latency under MinBW, averaged over loads."""

    def better(load: float, of: str, value: str) -> float:
        ours, theirs = (getattr(runs[name, load][of], value) for name in SCHEDULERS)
        return float(1 - ours / theirs)

    def average(loads: tuple[float, ...], of: str, value: str) -> float:
        return sum(better(load, of, value) for load in loads) / len(loads)

    every = (*QOS, *BEST_EFFORT)
    control = {load: better(load, "NC", "mean_us") for load in LOADS}
    return {
        **{f"mean_{of}": average(HIGH, of, "mean_us") for of in QOS},
        **{f"worst_{of}": average(HIGH, of, "worst_us") for of in QOS},
        **{f"mean_{of}": average(TOP, of, "mean_us") for of in BEST_EFFORT},
        **{f"last_{of}": better(LOADS[-1], of, "mean_us") for of in every},
        "nc_least": min(control.values()),
        "nc_ahead": min(
            control[load] - max(better(load, of, "mean_us") for of in every if of != "NC") for load in LOADS
        ),
        "nc_mean_ahead": min(control[load] - better(load, "NC", "worst_us") for load in LOADS),
    }
