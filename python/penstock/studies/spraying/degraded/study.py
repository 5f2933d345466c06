"""Path selections on a leaf-spine fabric: healthy, with a slow spine, and with a failed link."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from penstock.plots.style import style
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.comparing import factor, mean
from penstock.studies.reproduce import Context, Outcome

FAILED_US, REPAIRED_US, DETECTED_US = 500, 1000, 250
"""Times of the failure and the repair of the link, and delay after each before goodput is measured."""
PORTS_OF_LEAF = 8


@dataclass(frozen=True)
class Selection:
    """Path selection by the sender (`paths`), by switches (`choice`), or both."""

    color: str
    paths: Any = "fixed"
    choice: Any = "hash"
    transport: str = "uet"


SENDERS, SWITCHES, FLOWS = "#0072B2", "#E69F00", "#777777"
SELECTIONS = {
    "hash (ECMP)": Selection(FLOWS),
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
    """Slowdowns and goodput with one selection."""

    healthy: float
    """Slowdown of the slowest message; infinite if one does not finish."""
    slow: float
    """Slowdown of the slowest message with a slow spine."""
    before: float
    """Goodput to the leaf with the failed link as a share of its host links, also `during` and `after`."""
    during: float
    after: float


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    seeds = (1,) if context.quick else (1, 2, 3)
    runs: dict[str, Run] = {}
    for name, selection in SELECTIONS.items():
        context.say(name)
        runs[name] = mean([one(context, selection, seed) for seed in seeds])
    context.save_table(
        "degraded", "Slowdown and goodput by path selection", COLUMNS, list(rows(runs)), note=NOTE
    )
    cover = context.save_figure(picture(runs), "degraded", cover=True)
    return [healthy(context, runs, [cover]), *slow(context, runs), failed(context, runs)]


def one(context: Context, selection: Selection, seed: int) -> Run:
    """Slowdowns and goodput of a selection with one seed."""
    results = {
        name: arranged(context, name, selection).run(seed=seed) for name in ("healthy", "slow", "failed")
    }
    shares = goodput(results["failed"])
    return Run(slowest(results["healthy"]), slowest(results["slow"]), *shares)


def arranged(context: Context, name: str, selection: Selection) -> Scenario:
    """A scenario with this selection."""
    scenario = context.scenario(name).with_value("switch.path_choice", selection.choice)
    keys = {"trimming": True, "ack_every": "1 B", "paths": selection.paths}
    return scenario.with_value("transfers.shift.over", {selection.transport: keys})


def slowest(result: Result) -> float:
    """Largest slowdown of a message; infinite if one does not finish."""
    slow = [row["slowdown"] for row in result.rows("transfers")]
    return math.inf if None in slow else max(slow)


def goodput(result: Result) -> tuple[float, float, float]:
    """Goodput to the leaf with the failed link: before, during and after, as a share of its host links."""
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


Runs = Mapping[str, Run]
COLUMNS = ("selection", "healthy", "slow spine", "before (%)", "link down (%)", "after (%)")
NOTE = (
    "Healthy and slow spine: slowdown of the slowest of 32 messages of 4 MB. Before, link down, after: "
    "goodput to the leaf with the failed link, as a share of its host links, from 250 us after each change."
)


def rows(runs: Runs) -> list[tuple[str, ...]]:
    """One row per selection."""
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
    return context.judge(
        "S-1",
        {"sprayed_max": sprayed, "hash_over_sprayed": runs["hash (ECMP)"].healthy / sprayed},
        measured=", ".join(f"{name} {factor(one.healthy)}" for name, one in runs.items()),
        pictures=pictures,
    )


def slow(context: Context, runs: Runs) -> list[Outcome]:
    """S-2 and S-3."""
    found = {name: one.slow for name, one in runs.items()}
    informed, oblivious = (max(found[name] for name in INFORMED), min(found[name] for name in OBLIVIOUS))
    bitmap = found["bitmap"]
    return [
        context.judge(
            "S-2",
            {"informed_over_oblivious": informed / oblivious},
            measured=", ".join(f"{name} {factor(value)}" for name, value in found.items()),
        ),
        context.judge(
            "S-3",
            {
                "reps_over_bitmap": found["REPS"] / bitmap,
                "bitmap_over_oblivious": bitmap / found["oblivious"],
            },
            measured=", ".join(f"{name} {factor(found[name])}" for name in ("REPS", "bitmap", "oblivious")),
        ),
    ]


def failed(context: Context, runs: Runs) -> Outcome:
    """S-4."""
    kept = {name: one.during / one.before for name, one in runs.items()}
    senders = min(kept[name] for name in INFORMED if name != "switch adaptive")
    return context.judge(
        "S-4",
        {
            "kept_gain": senders - max(kept[name] for name in OBLIVIOUS),
            "recovered_min": min(runs[name].after / runs[name].before for name in INFORMED),
        },
        measured=", ".join(
            f"{name} {100 * one.during:.0f} % and {100 * one.after:.0f} %" for name, one in runs.items()
        ),
    )


def picture(runs: Runs) -> Figure:
    """Slowdowns and goodput, a row for each selection."""
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
                    panel.text(0, place, " unfinished", va="center", fontsize=7)
            panel.set_title(title, fontsize=8)
            panel.set_xlabel("slowdown")
            panel.margins(x=0.15)
            panel.set_yticks(places, list(runs))
        last = axes[2]
        for place, (name, one) in zip(places, runs.items(), strict=True):
            color = SELECTIONS[name].color
            shares = [100 * share for share in (one.before, one.during, one.after)]
            last.plot(shares, [place + 0.2, place, place - 0.2], color=color, marker="o", markersize=3)
        last.set_title(
            "failed link: goodput to its leaf\nbefore, during and after (top to bottom)", fontsize=8
        )
        last.set_xlabel("% of host links")
        last.set_xlim(left=0)
    return figure
