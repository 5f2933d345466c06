"""TPFC combined with congestion notification (section 7.6): number of XOFFs over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from penstock.result import Result
from penstock.studies.reproduce import Context, Outcome

from . import pictures
from .measure import AGGRESSION_NS, Run, Series

END_MS, BIN_MS, LAST_BINS = 64, 2, 5
"""End of a run, 60 ms after the aggressor starts, bin width, and number of last bins that are compared."""
FAIR, SAMPLING = "fair bandwidth", "random sampling"
FILES = {FAIR: "aggressor-fair-bandwidth", SAMPLING: "aggressor-random-sampling"}
ALONE, OWN, SHARED = "TPFC alone", "QCN at 17 frames", "QCN at TW"
SET_POINTS: Mapping[str, str | None] = {ALONE: None, OWN: "26000 B", SHARED: "83710 B"}
"""Set points: the default of the standard, and the 55 frames of TW."""

Counts = Mapping[str, Mapping[str, Sequence[Series]]]
"""XOFFs per bin from the start of the aggressor, one series per seed, by method and set point."""


def run(context: Context) -> list[Outcome]:
    """H7-12 and H7-12-shared."""
    counts = {
        method: {
            name: [paused(result) for result in results(context, file, set_point)]
            for name, set_point in SET_POINTS.items()
        }
        for method, file in FILES.items()
    }
    means = {
        method: {name: np.mean(runs, axis=0) / BIN_MS for name, runs in of.items()}
        for method, of in counts.items()
    }
    drawn = [context.save_figure(pictures.interworking(means, BIN_MS), "section-7-6")]
    return [
        outcome(context, "H7-12", counts[FAIR], OWN, drawn),
        outcome(context, "H7-12-shared", counts[SAMPLING], SHARED, []),
    ]


def results(context: Context, file: str, set_point: str | None) -> Sequence[Result]:
    """Results of the scenario with more time, and with QCN if a set point is given."""
    scenario = context.scenario(file).with_value("simulation.duration", f"{END_MS} ms").probes(bin="off")
    if set_point is not None:
        scenario = scenario.with_value("switch.queue_managers", [{"qcn": {"set_point": set_point}}])
        scenario = scenario.with_value("host.rate_limiters", {"qcn": {}})
    return context.replicate(scenario, full=20, quick=3).results


def paused(result: Result) -> Series:
    """XOFFs per bin from the start of the aggressor."""
    starts = [start for host in Run(result).stopped() for start, _ in Run(result).spans(host)]
    bins = np.arange(AGGRESSION_NS / 1e6, END_MS + BIN_MS / 2, BIN_MS)
    return np.histogram(np.array(starts) / 1e6, bins)[0].astype(float)


def outcome(
    context: Context, id: str, counts: Mapping[str, Sequence[Series]], name: str, drawn: list[str]
) -> Outcome:
    """XOFFs of the last bins, compared with those without QCN."""
    last = {name: [float(of[-LAST_BINS:].sum()) for of in runs] for name, runs in counts.items()}
    found = [{"more": beside - alone} for alone, beside in zip(last[ALONE], last[name], strict=True)]
    alone, beside = sum(last[ALONE]), sum(last[name])
    seeds = len(found)
    return context.judge(
        id,
        found,
        also=f"{beside / seeds:.1f} from 54 to 64 ms with {name}, {alone / seeds:.1f} with {ALONE} "
        f"({beside / alone:.0%})",
        pictures=drawn,
    )
