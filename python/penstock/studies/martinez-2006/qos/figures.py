"""Figures of one seed, for the bounds of ``study.toml``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from .classes import BEST_EFFORT, QOS, SCHEDULERS
from .measure import Measured

Figures = dict[str, float]
Points = Mapping[str, Mapping[float, Mapping[str, Measured]]]
"""Measures of one seed by scheduler, load and class."""

SATURATED = 0.99
"""Share of its offered load below which best effort is saturated."""
RISEN = 2.0
"""Mean latency relative to the smallest load from which on the load delays a class of best effort."""
HIGH, TOP = 0.85, 0.95
"""Smallest loads of the averages over loads: for control and QoS classes, and for best effort."""


def overview(points: Points) -> Figures:
    """R2, R2-voice and R2-background: both schedulers, all loads."""
    every = [of for loads in points.values() for of in loads.values()]
    last = [loads[max(loads)] for loads in points.values()]
    begins = {f"saturates_{name}": saturates(points[name]) for name in SCHEDULERS}
    return {
        "qos_gets": min(of[name].throughput / of[name].offered for of in every for name in QOS),
        **begins,
        "ee_by_be": min(of["EE"].throughput / of["BE"].throughput for of in last),
        "be_by_bk": min(of["BE"].throughput / of["BK"].throughput for of in last),
        **{f"longest_{name}": max(of[name].worst_us for of in every) / 1e3 for name in ("VO", "VI")},
        "nc_by_vo": min(of["NC"].mean_us / of["VO"].mean_us for of in every),
        "vi_by_cl": min(of["VI"].mean_us / of["CL"].mean_us for of in every),
        "vo_by_cl": max(of["VO"].mean_us / of["CL"].mean_us for of in every),
        "bk_by_others": min(of["BK"].mean_us / max(of["BE"].mean_us, of["EE"].mean_us) for of in last),
        "bk_rises_first": min(first_rise(loads) for loads in points.values()),
    }


def saturates(loads: Mapping[float, Mapping[str, Measured]]) -> float:
    """Smallest load at which the throughput of best effort is below its offered load; infinite if none is."""
    for load in sorted(loads):
        gets, offers = (
            sum(getattr(loads[load][name], key) for name in BEST_EFFORT) for key in ("throughput", "offered")
        )
        if gets < SATURATED * offers:
            return load
    return math.inf


def first_rise(loads: Mapping[float, Mapping[str, Measured]]) -> float:
    """Increase of the mean latency of BK relative to EE or BE, at the first load with an increase of a class.

    Increases are relative to the smallest load. 0 if there is none.
    """
    least = loads[min(loads)]
    for load in sorted(loads):
        rises = {name: loads[load][name].mean_us / least[name].mean_us for name in BEST_EFFORT}
        if max(rises.values()) >= RISEN:
            return rises["BK"] / max(rises["EE"], rises["BE"])
    return 0.0


def better(points: Points, load: float, name: str, value: str) -> float:
    """Relative reduction of a latency by MinBW."""
    ours, theirs = (getattr(points[scheduler][load][name], value) for scheduler in SCHEDULERS)
    return float(1 - ours / theirs)


def compared(points: Points, bars: Sequence[float]) -> Figures:
    """R3 to R5: MinBW compared with DTable; `bars` are the loads of Figure 5."""

    def average(least: float, name: str, value: str) -> float:
        loads = [load for load in points[SCHEDULERS[0]] if load >= least]
        return sum(better(points, load, name, value) for load in loads) / len(loads)

    every, last = (*QOS, *BEST_EFFORT), max(bars)
    mean = {load: {name: better(points, load, name, "mean_us") for name in every} for load in bars}
    return {
        **{f"mean_{name}": average(HIGH, name, "mean_us") for name in QOS},
        **{f"worst_{name}": average(HIGH, name, "worst_us") for name in QOS},
        **{f"mean_{name}": average(TOP, name, "mean_us") for name in BEST_EFFORT},
        **{f"last_{name}": mean[last][name] for name in ("CL", *BEST_EFFORT)},
        "nc_least": min(of["NC"] for of in mean.values()),
        "nc_ahead": min(of["NC"] - max(of[name] for name in every if name != "NC") for of in mean.values()),
        "nc_mean_ahead": min(of["NC"] - better(points, load, "NC", "worst_us") for load, of in mean.items()),
    }
