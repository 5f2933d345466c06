"""Path selections on a leaf-spine that is healthy, has a slow spine or loses a link: a table, a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from penstock.plots.style import style
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.comparing import factor
from penstock.studies.reproduce import Context, Outcome

FAILED_US, REPAIRED_US, DETECTED_US = 500, 1000, 250
"""When the link fails and is repaired, and how long after the failure the goodput during it is measured."""
PORTS_OF_LEAF = 8


@dataclass(frozen=True)
class Selection:
    """How packets find their paths: at the sender, or at switches."""

    color: str
    paths: Any = "fixed"
    choice: Any = "hash"
    transport: str = "uet"


SENDERS, SWITCHES, NOBODY = "#0072B2", "#E69F00", "#777777"
SELECTIONS = {
    "hash (ECMP)": Selection(NOBODY),
    "PLB": Selection(SENDERS, "plb"),
    "random spray": Selection(SENDERS, "random_spray"),
    "oblivious": Selection(SENDERS, "oblivious"),
    "bitmap": Selection(SENDERS, "bitmap"),
    "REPS": Selection(SENDERS, "reps"),
    "mixed": Selection(SENDERS, "mixed"),
    "MRC": Selection(SENDERS, {"mrc": {"probe_interval": "100 us"}}, transport="mrc"),
    "switch spray": Selection(SWITCHES, choice="spray"),
    "switch adaptive": Selection(SWITCHES, choice={"adaptive": {}}),
}
OBLIVIOUS = ("random spray", "oblivious", "switch spray")
INFORMED = ("bitmap", "REPS", "mixed", "MRC", "switch adaptive")


@dataclass(frozen=True)
class Run:
    """What a selection came to."""

    healthy: float
    """Slowdown of the slowest message; infinite if one is missing."""
    slow: float
    """Slowdown of the slowest message with a slow spine."""
    before: float
    """Goodput to the leaf behind the link that fails, as a share of its hosts' links."""
    during: float
    after: float


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    seeds = (1,) if context.quick else (1, 2, 3)
    runs: dict[str, Run] = {}
    for name, selection in SELECTIONS.items():
        context.say(name)
        runs[name] = mean([one(context, selection, seed) for seed in seeds])
    context.save_table("degraded", "All selections", COLUMNS, list(rows(runs)), note=NOTE)
    cover = context.save_figure(picture(runs), "degraded", cover=True)
    return [healthy(context, runs, [cover]), slow(context, runs), order(context, runs), failed(context, runs)]


def one(context: Context, selection: Selection, seed: int) -> Run:
    """A selection with one seed."""
    results = {
        name: arranged(context, name, selection).run(seed=seed) for name in ("healthy", "slow", "failed")
    }
    shares = goodput(results["failed"])
    return Run(slowest(results["healthy"]), slowest(results["slow"]), *shares)


def arranged(context: Context, name: str, selection: Selection) -> Scenario:
    """A scenario with a selection."""
    scenario = context.scenario(name).with_value("switch.path_choice", selection.choice)
    keys = {"trimming": True, "ack_every": "1 B", "paths": selection.paths}
    return scenario.with_value("transfers.shift.over", {selection.transport: keys})


def slowest(result: Result) -> float:
    """Of all messages."""
    slow = [row["slowdown"] for row in result.rows("transfers")]
    return math.inf if None in slow else max(slow)


def goodput(result: Result) -> tuple[float, float, float]:
    """To the leaf of the failed link: before, during and after, as a share of the links of its hosts."""
    flows = result.all_series("flow_throughput_bps")
    to_leaf = {f"shift[h{n}]" for n in range(PORTS_OF_LEAF)}
    sums = sum(rates for name, (_, rates) in flows.items() if name in to_leaf)
    times = next(iter(flows.values()))[0] / 1e3
    spans = (
        (200, FAILED_US),
        (FAILED_US + DETECTED_US, REPAIRED_US),
        (REPAIRED_US + DETECTED_US, REPAIRED_US + 2 * DETECTED_US),
    )
    shares = [np.mean(sums[(times >= begin) & (times < end)]) for begin, end in spans]
    return tuple(float(share) / (PORTS_OF_LEAF * 100e9) for share in shares)  # type: ignore[return-value]


def mean(runs: Sequence[Run]) -> Run:
    """Of runs with several seeds; one that is infinite makes the mean so."""
    return Run(**{name: fmean(getattr(one, name) for one in runs) for name in Run.__dataclass_fields__})


Runs = Mapping[str, Run]
COLUMNS = ("selection", "healthy", "slow spine", "before (%)", "link down (%)", "after (%)")
NOTE = (
    "Healthy and slow spine: slowdown of the slowest of 32 messages of 4 MB. Before, while the link is down, "
    "and after: goodput to the leaf behind it, as a share of the links of its hosts; from 250 us after each "
    "change on."
)


def rows(runs: Runs) -> list[tuple[str, ...]]:
    """One row a selection."""
    return [
        (
            name,
            factor(one.healthy),
            factor(one.slow),
            *(f"{100 * share:.1f}" for share in (one.before, one.during, one.after)),
        )
        for name, one in runs.items()
    ]


def healthy(context: Context, runs: Runs, pictures: list[str]) -> Outcome:
    """S-1."""
    sprayed = max(runs[name].healthy for name in (*OBLIVIOUS, *INFORMED))
    return context.outcome(
        "S-1",
        measured=", ".join(f"{name} {factor(one.healthy)}" for name, one in runs.items()),
        passed=sprayed <= 1.3 and runs["hash (ECMP)"].healthy >= 1.5 * sprayed,
        pictures=pictures,
    )


def slow(context: Context, runs: Runs) -> Outcome:
    """S-2."""
    informed = max(runs[name].slow for name in INFORMED)
    return context.outcome(
        "S-2",
        measured=", ".join(f"{name} {factor(one.slow)}" for name, one in runs.items()),
        passed=informed < min(runs[name].slow for name in OBLIVIOUS),
    )


def order(context: Context, runs: Runs) -> Outcome:
    """S-3."""
    names = ("REPS", "bitmap", "oblivious")
    best, middle, worst = (runs[name].slow for name in names)
    return context.outcome(
        "S-3",
        measured=", ".join(f"{name} {factor(runs[name].slow)}" for name in names),
        passed=best < middle < worst,
    )


def failed(context: Context, runs: Runs) -> Outcome:
    """S-4."""

    def kept(name: str) -> float:
        return runs[name].during / runs[name].before

    return context.outcome(
        "S-4",
        measured=", ".join(
            f"{name} {100 * one.during:.0f} % and {100 * one.after:.0f} %" for name, one in runs.items()
        ),
        passed=min(kept(name) for name in ("bitmap", "REPS", "mixed", "MRC")) > max(map(kept, OBLIVIOUS))
        and all(one.after >= 0.97 * one.before for name, one in runs.items() if name in INFORMED),
    )


def picture(runs: Runs) -> Figure:
    """A line a selection, a column a question."""
    places = np.arange(len(runs))[::-1]
    with style():
        figure = Figure(figsize=(9, 3.8), layout="constrained")
        axes = figure.subplots(1, 3, sharey=True)
        columns = (
            ("healthy:\nslowest message", "healthy"),
            ("one of four spines slow:\nslowest message", "slow"),
        )
        for panel, (title, field) in zip(axes, columns, strict=False):
            for place, (name, one) in zip(places, runs.items(), strict=True):
                value = getattr(one, field)
                if math.isfinite(value):
                    panel.barh(place, value, color=SELECTIONS[name].color, height=0.6)
                    panel.text(value, place, f" {value:.2f}", va="center", fontsize=7)
                else:
                    panel.text(0, place, " not all done", va="center", fontsize=7)
            panel.set_title(title, fontsize=8)
            panel.set_xlabel("slowdown")
            panel.margins(x=0.15)
            panel.set_yticks(places, list(runs))
        last = axes[2]
        for place, (name, one) in zip(places, runs.items(), strict=True):
            color = SELECTIONS[name].color
            shares = [100 * share for share in (one.before, one.during, one.after)]
            last.plot(shares, [place + 0.2, place, place - 0.2], color=color, marker="o", markersize=3)
        last.set_title("a link fails: goodput behind it\nbefore, meanwhile, after (downwards)", fontsize=8)
        last.set_xlabel("% of the links of hosts")
        last.set_xlim(left=0)
    return figure
