"""PFC, TPFC, ETS and QCN together: intended operation, and conflicts between the mechanisms."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from penstock.plots.style import INK, PAUSE_COLOR, style
from penstock.studies.reproduce import Context, Outcome

from .combinations import ALL, Combination
from .measure import CASES, Case, Run

Runs = Mapping[str, Mapping[str, Run]]
"""Runs by combination and case."""
PFC, TPFC = Combination("PFC", ets=True, qcn=True), Combination("TPFC", ets=True, qcn=True)
SPREAD = ("chain of three", "leaf-spine")
"""Cases whose victims do not cross a bottleneck link."""
SETTINGS: Mapping[str, Combination] = {
    "XOFF 20 frames": replace(PFC, xoff="20 frames", xon="7 frames"),
    "XOFF 60 frames": PFC,
    "XOFF 240 frames": replace(PFC, xoff="240 frames", xon="80 frames"),
    "XOFF 240 frames, standard cycles": replace(PFC, xoff="240 frames", xon="80 frames", reaction={}),
    "TPFC, watermark 40 frames": TPFC,
    "TPFC, watermark 160 frames": replace(TPFC, watermark="160 frames", xoff="240 frames", xon="80 frames"),
}
"""Variants of the full combination: PFC thresholds and QCN cycles."""


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    runs: dict[str, dict[str, Run]] = {}
    for combination in ALL:
        context.say(combination.name)
        runs[combination.name] = {case.title: measured(context, case, combination) for case in CASES}
    context.say("settings")
    settings = {
        name: {case.title: measured(context, case, combination) for case in CASES}
        for name, combination in SETTINGS.items()
    }
    tables(context, runs, settings)
    cover = context.save_figure(picture(runs), "together", cover=True)
    return [
        *operation(context, runs, cover),
        *conflicts(context, runs),
        cycles(context, settings),
        fitting(context, runs["PFC + ETS"], settings),
    ]


def measured(context: Context, case: Case, combination: Combination) -> Run:
    """Measures of a case with a combination, as means over the seeds."""
    scenario = combination.over(case.scenario(context))
    seeds = range(1, 2 if context.quick else 4)
    return Run.mean([Run.of(scenario.run(seed=seed), case) for seed in seeds])


def each(runs: Mapping[str, Run], what: Callable[[Run], str], cases: tuple[str, ...] = ()) -> str:
    """A figure of several cases, as text."""
    return ", ".join(f"{case} {what(one)}" for case, one in runs.items() if not cases or case in cases)


def operation(context: Context, runs: Runs, cover: str) -> list[Outcome]:
    """W-1 to W-4, intended operation."""
    paused = [one.lost for name, of in runs.items() if "PFC" in name for one in of.values()]
    alone, pfc, with_ets = runs["QCN"], runs["PFC"], runs["PFC + ETS"]
    full = [runs[name][case].victim for name in (PFC.name, TPFC.name) for case in SPREAD]
    victims = "; ".join(
        f"{name}: {each(runs[name], lambda one: f'{one.victim:.0%}', SPREAD)}"
        for name in ("PFC", "PFC + ETS", "PFC + QCN", PFC.name, TPFC.name)
    )
    left = {
        pause: {
            case: runs[f"{pause} + QCN"][case].paused_ms / one.paused_ms for case, one in runs[pause].items()
        }
        for pause in ("PFC", "TPFC")
    }
    shares = "; ".join(
        f"{pause}: " + ", ".join(f"{case} {share:.0%}" for case, share in of.items())
        for pause, of in left.items()
    )
    return [
        context.judge(
            "W-1",
            {
                "lost_with_pfc": sum(paused),
                "lost_qcn_2": alone["2 senders"].lost,
                "lost_qcn_64": alone["64 senders"].lost,
            },
            measured=f"with PFC or TPFC {sum(paused):,.0f}; QCN alone: "
            + each(alone, lambda one: f"{one.lost:,.0f}"),
            pictures=[cover],
        ),
        context.judge(
            "W-2",
            {
                "lan_ets": min(one.lan for name, of in runs.items() if "ETS" in name for one in of.values()),
                "lan_strict": max(one.lan for one in pfc.values()),
            },
        ),
        context.judge(
            "W-3",
            {
                "victim_pfc": max(pfc[case].victim for case in SPREAD),
                "ets_to_pfc": max(with_ets[case].victim / pfc[case].victim for case in SPREAD),
                "victim_qcn": min(full),
            },
            measured=victims,
            note="With PFC, ETS and QCN the throughput of victims depends on the bursts: congestion points "
            "of paused links cut the rates of victims (W-5). With XOFF at 240 frames victims get their "
            "full offered load (W-9).",
        ),
        context.judge(
            "W-4",
            {"paused_left": max(share for of in left.values() for share in of.values())},
            measured=f"remaining pause time: {shares}",
        ),
    ]


def conflicts(context: Context, runs: Runs) -> list[Outcome]:
    """W-5 to W-7, conflicts between the mechanisms."""
    whole, fabric, without = runs[PFC.name], runs[PFC.name]["leaf-spine"], runs["PFC + ETS"]
    used = {name: runs[name]["parking lot"].shared for name in ("PFC + ETS", "TPFC + ETS", PFC.name)}
    return [
        context.judge(
            "W-5",
            {"cuts_elsewhere": max(one.elsewhere for one in whole.values())},
            measured=f"{each(whole, lambda one: f'{one.elsewhere:.0%}')}; in the leaf-spine fabric "
            f"{fabric.victims_cut:.0f} of {fabric.cuts:.0f} cuts affect victims",
        ),
        context.judge(
            "W-6",
            {"used_after": min(one.after for one in whole.values())},
            measured=f"with QCN {each(whole, lambda one: f'{one.after:.1%}')}; without at least "
            f"{min(one.after for one in without.values()):.1%}",
        ),
        context.judge(
            "W-7",
            {"used_pfc_ets": used["PFC + ETS"], "used_with_qcn": used[PFC.name]},
            measured=", ".join(f"{name} {share:.1%}" for name, share in used.items()),
        ),
    ]


def cycles(context: Context, settings: Runs) -> Outcome:
    """W-8, cycles of QCN."""
    short, standard = (settings[f"XOFF 240 frames{more}"] for more in ("", ", standard cycles"))
    queues = [of["64 senders"].queue_mean for of in (short, standard)]
    figures = {
        "queue_standard_to_short": queues[1] / queues[0],
        "used_short": short["8 senders"].after,
        "used_standard": standard["8 senders"].after,
    }
    also = f"mean queue of 64 senders {queues[0]:,.0f} KiB (short cycles) and {queues[1]:,.0f} KiB (standard)"
    return context.judge("W-8", figures, also=also)


def fitting(context: Context, before: Mapping[str, Run], settings: Runs) -> Outcome:
    """W-9, settings that fit."""
    fit = {
        case.title: settings["XOFF 240 frames" + (", standard cycles" if case.senders > 8 else "")][
            case.title
        ]
        for case in CASES
    }
    figures = {
        "lost": sum(one.lost for one in fit.values()),
        "victim": min(one.victim for one in fit.values()),
        "lan": min(one.lan for one in fit.values()),
        "paused_left": max(one.paused_ms / before[case].paused_ms for case, one in fit.items()),
        "cuts_elsewhere": max(one.elsewhere for one in fit.values()),
    }
    return context.judge("W-9", figures)


COLUMNS = (
    "case",
    "mechanisms",
    "victim (%)",
    "LAN (%)",
    "lost",
    "paused (ms)",
    "Jain",
    "settled (ms)",
    "link with LAN (%)",
    "link after LAN (%)",
    "mean queue (KiB)",
    "max. queue (KiB)",
    "cuts",
    "elsewhere (%)",
)
NOTE = (
    "Victim: throughput of the slowest victim as a share of its offered load. LAN: the same for the LAN "
    "while it sends. Lost: storage frames. Paused: sum over all ports. Jain: index of the greedy flows "
    "before the LAN starts. Settled: time until Jain's index, over 2 ms, stays at 0.9 or above. Link: "
    "utilization of the bottleneck links while the LAN sends, and afterwards. Queue: storage queue at the "
    "bottleneck. Cuts: rate cuts by QCN. Elsewhere: share of the cuts that queues of other links cause."
)


def tables(context: Context, runs: Runs, settings: Runs) -> None:
    """Tables of all runs, and of the settings of the full combination."""
    context.save_table("together", "All combinations", COLUMNS, rows(runs), note=NOTE)
    context.save_table(
        "settings",
        "Settings of PFC or TPFC with ETS and QCN",
        ("case", "setting", *COLUMNS[2:]),
        rows(settings),
        note=NOTE,
    )


def rows(runs: Runs) -> list[tuple[str, ...]]:
    """One row per case and combination."""
    return [
        (
            case.title,
            name,
            f"{100 * one.victim:.1f}",
            f"{100 * one.lan:.1f}",
            f"{one.lost:,.0f}",
            f"{one.paused_ms:,.1f}",
            f"{one.jain:.3f}",
            f"{one.settled_ms:.1f}" if math.isfinite(one.settled_ms) else "no",
            f"{100 * one.shared:.1f}",
            f"{100 * one.after:.1f}",
            f"{one.queue_mean:,.0f}",
            f"{one.queue_max:,.0f}",
            f"{one.cuts:,.0f}",
            f"{100 * one.elsewhere:.0f}",
        )
        for case in CASES
        for name, of in runs.items()
        for one in (of[case.title],)
    ]


PANELS: tuple[tuple[str, Callable[[Run], float], Callable[[float], float]], ...] = (
    ("throughput of victims (% of offered)", lambda one: 100 * one.victim, lambda value: 1 - value / 100),
    ("paused time, all ports (ms)", lambda one: one.paused_ms, lambda value: math.log10(1 + value) / 3.5),
    (
        "link utilization after the LAN stops (%)",
        lambda one: 100 * one.after,
        lambda value: (100 - value) / 20,
    ),
    ("rate cuts by queues of other links (%)", lambda one: 100 * one.elsewhere, lambda value: value / 100),
)
"""Measures to draw, with a function that maps a value to a shade from 0 to 1 (worst)."""


def picture(runs: Runs) -> Figure:
    """A matrix for each measure: rows are combinations, columns cases; darker is worse."""
    bad = LinearSegmentedColormap.from_list("bad", ["#FFFFFF", PAUSE_COLOR])
    with style():
        figure = Figure(figsize=(11.0, 8.6), layout="constrained")
        for axes, (title, value, badness) in zip(
            figure.subplots(2, 2, sharex=True, sharey=True).flat, PANELS, strict=True
        ):
            values = np.array([[value(of[case.title]) for case in CASES] for of in runs.values()])
            shades = np.vectorize(badness)(values)
            axes.imshow(shades, cmap=bad, vmin=0, vmax=1, aspect="auto")
            for (row, column), shown in np.ndenumerate(values):
                text = f"{shown:,.0f}" if shown >= 10 or shown == 0 else f"{shown:.1f}"
                axes.text(column, row, text, ha="center", va="center", fontsize=7, color=INK)
            axes.set_title(title, fontsize=9)
            axes.set_yticks(range(len(runs)), list(runs))
            axes.set_xticks(range(len(CASES)), [case.title for case in CASES], rotation=30, ha="right")
            axes.tick_params(length=0)
            axes.grid(False)
            axes.spines[:].set_visible(False)
        figure.suptitle("PFC, TPFC, ETS and QCN, alone and together")
    return figure
