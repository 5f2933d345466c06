"""Table 7.1: variation of the throughput of the victims.

A trace has whole frames, and each counts in the bin in which it is sent. This determines the standard
deviation of a steady stream of 2.5 Gb/s: a bin of 12 us contains two or three of its frames. The source
does not state its bin width; a table shows the effect of each width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

from . import pictures
from .measure import AGGRESSION_NS, median

END_NS = 10e6
WIDTHS_US = (5, 9, 10, 12, 20, 100)
WIDTH_US = 9
"""Bin width at which most values of the table are reproduced: a fit."""
REPORTED_GBPS = {"HW-LW": 3.4, "random sampling": 0.9, "fair bandwidth": 0.5}
IDS = {"HW-LW": "T7-1-hw-lw", "random sampling": "T7-1-sampling", "fair bandwidth": "T7-1-fair"}
"""Experiments by mode, in descending order of the deviation."""
VICTIMS = ("v1", "v2")

Deviations = Mapping[str, Mapping[str, Mapping[int, Sequence[float]]]]
"""Gb/s by mode, victim and bin width in us; one value per seed."""


def measure(context: Context, scenarios: Mapping[str, Scenario]) -> Deviations:
    """Deviations of 20 seeds, or of 5 in a quick study."""
    logged = [{"what": "frames", "which": [f"{victim}.0->sw" for victim in VICTIMS]}]
    found: dict[str, dict[str, dict[int, list[float]]]] = {}
    for mode, scenario in scenarios.items():
        results = context.replicate(scenario.with_value("probes", logged), full=20, quick=5).results
        found[mode] = {
            victim: {width: [deviation(result, victim, width) for result in results] for width in WIDTHS_US}
            for victim in VICTIMS
        }
    return found


def deviation(result: Result, host: str, width_us: int) -> float:
    """Standard deviation over bins of a host's sent rate after the aggression began, in Gb/s."""
    frames = result.table("frames")
    sent = [
        (time / 1e3, size)
        for time, port, event, size in zip(
            *(frames[name].to_pylist() for name in ("time_ps", "port", "event", "bytes")), strict=True
        )
        if event == "sent" and port == f"{host}.0->sw"
    ]
    times, sizes = np.array(sent, dtype=float).T
    edges = np.arange(AGGRESSION_NS, END_NS + 1.0, width_us * 1e3)
    counted, _ = np.histogram(times, bins=edges, weights=8.0 * sizes)
    return float((counted / (width_us * 1e3)).std())


def judge(context: Context, found: Deviations) -> list[Outcome]:
    """T7-1 and its three figures."""
    of = {mode: {victim: found[mode][victim][WIDTH_US] for victim in VICTIMS} for mode in found}
    medians = {mode: {victim: median(of[mode][victim]) for victim in VICTIMS} for mode in of}
    seeds = len(of["HW-LW"]["v1"])
    save(context, found, seeds)
    figure = pictures.deviations(
        list(REPORTED_GBPS.values()), [list(of[mode]["v1"]) for mode in REPORTED_GBPS], list(REPORTED_GBPS)
    )
    drawn = [context.save_figure(figure, "table-7-1")]
    steps = [
        min(
            of[before][victim][nth] - of[after][victim][nth]
            for before, after in pairwise(IDS)
            for victim in VICTIMS
        )
        for nth in range(seeds)
    ]
    outcomes = [
        context.judge(
            "T7-1",
            [{"step_gbps": step} for step in steps],
            also="medians: "
            + "; ".join(
                f"{mode} {medians[mode]['v1']:.2f}, victim 2 {medians[mode]['v2']:.2f} Gb/s" for mode in IDS
            ),
            pictures=drawn,
        )
    ]
    for mode, name in IDS.items():
        wider = (f"of {width} us {median(found[mode]['v1'][width]):.2f}" for width in (12, 10))
        figures = [{"deviation_gbps": value} for value in of[mode]["v1"]]
        outcomes.append(context.judge(name, figures, also=f"bins {', '.join(wider)} Gb/s"))
    return outcomes


def save(context: Context, found: Deviations, seeds: int) -> None:
    """Table 7.1 with all widths."""
    context.save_table(
        "table-7-1",
        "Table 7.1 by bin width: standard deviation of victim 1 (Gb/s)",
        ("mode", "the source", *(f"{width} us" for width in WIDTHS_US)),
        [
            (
                mode,
                f"{REPORTED_GBPS[mode]:.1f}" if mode in REPORTED_GBPS else "",
                *(
                    f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"
                    for values in (found[mode]["v1"][width] for width in WIDTHS_US)
                ),
            )
            for mode in found
        ],
        note=f"Median (minimum to maximum) of {seeds} seeds. Whole frames count, each in the bin in which "
        "it is sent. An undisturbed stream of 2.5 Gb/s has a frame every 4.93 us: two or three in a bin of "
        "12 us, a deviation of 0.5 Gb/s, and almost always two in a bin of 10 us, 0.2 Gb/s.",
    )
