"""PFC, TPFC, ETS and QCN at once: intended operation, and conflicts between them."""

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
"""Settings of the full combination: thresholds of pauses, and cycles of QCN."""


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
        loss(context, runs, cover),
        shares(context, runs),
        spreading(context, runs),
        pauses(context, runs),
        told(context, runs),
        taken_back(context, runs),
        parking_lot(context, runs),
        many(context, settings),
        fitting(context, runs, settings),
    ]


def measured(context: Context, case: Case, combination: Combination) -> Run:
    """One case under one combination, mean over the seeds."""
    scenario = combination.over(case.scenario(context))
    seeds = range(1, 2 if context.quick else 4)
    return Run.mean([Run.of(scenario.run(seed=seed), case) for seed in seeds])


def each(runs: Mapping[str, Run], what: Callable[[Run], str], cases: tuple[str, ...] = ()) -> str:
    """A sentence with a figure of several cases."""
    return ", ".join(f"{case} {what(one)}" for case, one in runs.items() if not cases or case in cases)


def loss(context: Context, runs: Runs, cover: str) -> Outcome:
    """W-1."""
    paused = [one.lost for name, of in runs.items() if "PFC" in name for one in of.values()]
    alone = runs["QCN"]
    return context.outcome(
        "W-1",
        measured=f"with PFC or TPFC {sum(paused):,.0f}; QCN alone: "
        + each(alone, lambda one: f"{one.lost:,.0f}"),
        passed=not any(paused) and not alone["2 senders"].lost and alone["64 senders"].lost > 0,
        pictures=[cover],
    )


def shares(context: Context, runs: Runs) -> Outcome:
    """W-2."""
    least = min(one.lan for name, of in runs.items() if "ETS" in name for one in of.values())
    strict = max(one.lan for one in runs["PFC"].values())
    return context.outcome(
        "W-2",
        measured=f"with ETS at least {least:.1%}; with PFC and strict priority at most {strict:.1%}",
        passed=least >= 0.99 and strict <= 0.05,
    )


def spreading(context: Context, runs: Runs) -> Outcome:
    """W-3."""
    names = ("PFC", "PFC + ETS", "PFC + QCN", PFC.name, TPFC.name)
    text = "; ".join(f"{name}: {each(runs[name], lambda one: f'{one.victim:.0%}', SPREAD)}" for name in names)
    return context.outcome(
        "W-3",
        measured=text,
        passed=all(runs["PFC + ETS"][case].victim < runs["PFC"][case].victim < 0.85 for case in SPREAD)
        and all(runs[name][case].victim >= 0.85 for name in (PFC.name, TPFC.name) for case in SPREAD),
        note="how much victims get under PFC, ETS and QCN depends on the bursts: queues of paused links slow "
        "them down (W-5). With XOFF at 240 frames they get all (W-9).",
    )


def pauses(context: Context, runs: Runs) -> Outcome:
    """W-4."""
    left = {
        pause: {case: runs[f"{pause} + QCN"][case].paused_ms / one.paused_ms for case, one in of.items()}
        for pause, of in (("PFC", runs["PFC"]), ("TPFC", runs["TPFC"]))
    }
    text = "; ".join(
        f"{pause}: " + ", ".join(f"{case} {share:.0%}" for case, share in of.items())
        for pause, of in left.items()
    )
    return context.outcome(
        "W-4",
        measured=f"of the pause time remains: {text}",
        passed=all(share <= 0.2 for of in left.values() for share in of.values()),
        note=context.study.experiment("W-4").not_met,
    )


def told(context: Context, runs: Runs) -> Outcome:
    """W-5."""
    whole = runs[PFC.name]
    return context.outcome(
        "W-5",
        measured=f"{each(whole, lambda one: f'{one.elsewhere:.0%}')}; of {whole['leaf-spine'].cuts:.0f} cuts "
        f"in the leaf-spine fabric {whole['leaf-spine'].victims_cut:.0f} hit victims",
        passed=all(one.elsewhere <= 0.05 for one in whole.values()),
        note=context.study.experiment("W-5").not_met,
    )


def taken_back(context: Context, runs: Runs) -> Outcome:
    """W-6."""
    without, whole = runs["PFC + ETS"], runs[PFC.name]
    return context.outcome(
        "W-6",
        measured=f"with QCN {each(whole, lambda one: f'{one.after:.1%}')}; without at least "
        f"{min(one.after for one in without.values()):.1%}",
        passed=all(one.after >= 0.95 for one in whole.values()),
        note=context.study.experiment("W-6").not_met,
    )


def parking_lot(context: Context, runs: Runs) -> Outcome:
    """W-7."""
    used = {name: runs[name]["parking lot"].shared for name in ("PFC + ETS", "TPFC + ETS", PFC.name)}
    return context.outcome(
        "W-7",
        measured=", ".join(f"{name} {share:.1%}" for name, share in used.items()),
        passed=used["PFC + ETS"] <= 0.8 and used[PFC.name] >= 0.98,
    )


def many(context: Context, settings: Runs) -> Outcome:
    """W-8."""
    short, long = (settings[f"XOFF 240 frames{more}"] for more in ("", ", standard cycles"))
    few = {name: of["8 senders"].after for name, of in (("short", short), ("standard", long))}
    queues = {name: of["64 senders"].queue_mean for name, of in (("short", short), ("standard", long))}
    return context.outcome(
        "W-8",
        measured=f"mean queue of 64 senders: {queues['short']:,.0f} KiB with short cycles, "
        f"{queues['standard']:,.0f} KiB with those of the standard; link of 8 senders after the LAN has "
        f"left: {few['short']:.1%} and {few['standard']:.1%}",
        passed=queues["standard"] <= 0.5 * queues["short"] and few["short"] >= 0.95 > few["standard"],
    )


def fitting(context: Context, runs: Runs, settings: Runs) -> Outcome:
    """W-9."""
    before = runs["PFC + ETS"]
    fit = {
        case.title: settings["XOFF 240 frames" + (", standard cycles" if case.senders > 8 else "")][
            case.title
        ]
        for case in CASES
    }
    left = {case: one.paused_ms / before[case].paused_ms for case, one in fit.items()}
    return context.outcome(
        "W-9",
        measured=f"victims at least {min(one.victim for one in fit.values()):.1%}, LAN at least "
        f"{min(one.lan for one in fit.values()):.1%}, of the pauses at most {max(left.values()):.1%}, "
        f"of the cuts elsewhere at most {max(one.elsewhere for one in fit.values()):.1%}, "
        f"lost {sum(one.lost for one in fit.values()):.0f}",
        passed=all(one.victim >= 0.95 and one.lan >= 0.99 and not one.lost for one in fit.values())
        and all(share <= 0.2 for share in left.values())
        and all(one.elsewhere <= 0.05 for one in fit.values()),
    )


COLUMNS = (
    "case",
    "on",
    "victim (%)",
    "LAN (%)",
    "lost",
    "paused (ms)",
    "Jain",
    "settled (ms)",
    "link with LAN (%)",
    "link after (%)",
    "queue (KiB)",
    "longest (KiB)",
    "cuts",
    "elsewhere (%)",
)
NOTE = (
    "Victim: what the worst gets of its offer. LAN: the same while it sends. Lost: frames of storage. "
    "Paused: all ports together. Jain: of the flows that never stop, before the LAN comes. Settled: until "
    "Jain's index, over 2 ms, stays at 0.9. Link: what the short links carry while the LAN sends, and after. "
    "Queue: of storage at the short link. Cuts: of rates, and the share of them by queues of other links."
)


def tables(context: Context, runs: Runs, settings: Runs) -> None:
    """Tables of all runs, and of the settings of the full combination."""
    context.save_table("together", "All combinations", COLUMNS, rows(runs), note=NOTE)
    context.save_table(
        "settings",
        "Settings of PFC or TPFC with ETS and QCN",
        ("case", "set", *COLUMNS[2:]),
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
    ("victims get (%)", lambda one: 100 * one.victim, lambda value: 1 - value / 100),
    ("paused, all ports (ms)", lambda one: one.paused_ms, lambda value: math.log10(1 + value) / 3.5),
    ("carried after the LAN has left (%)", lambda one: 100 * one.after, lambda value: (100 - value) / 20),
    ("rates cut by other links' queues (%)", lambda one: 100 * one.elsewhere, lambda value: value / 100),
)
"""Measures that are drawn, with a function of their badness from 0 to 1."""


def picture(runs: Runs) -> Figure:
    """A matrix per measure, a row per combination, a column per case; darker is worse."""
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
