"""Throughput ratios under equal DRR quanta: formula and simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from matplotlib.figure import Figure

import penstock as ps
from penstock.plots.style import colors, style
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

SIZES = (64, 68, 128, 256, 512, 1024, 1522)
LARGE = 1522
HEADER, OVERHEAD = 18, 20
Count = Callable[[int], float]

ACCOUNTED: dict[str, tuple[Mapping[str, str], Count]] = {
    "wire (L + 20)": ({"accounted_length": "wire"}, lambda size: size + OVERHEAD),
    "frame (L)": ({"accounted_length": "frame"}, lambda size: size),
    "payload (L - 18)": ({"accounted_length": "payload"}, lambda size: size - HEADER),
    "cells of 256 B": ({"accounted_length": "frame", "cell": "256 B"}, lambda size: -(-size // 256) * 256),
}
COUNTS: dict[str, Count] = {
    "link time": lambda size: size + OVERHEAD,
    "frame bytes": lambda size: size,
    "payload": lambda size: size - HEADER,
}


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    scenario = context.scenario("pair")
    found: dict[tuple[str, int], Result] = {}
    for rule in ACCOUNTED:
        context.say(f"{rule} is accounted")
        found |= {(rule, size): pair(scenario, rule, size).run() for size in SIZES}
    cover = context.save_figure(picture(found), "ratios", cover=True)
    table(context, found)
    return [formula(context, found, cover), frames(context, found), weight(context, scenario)]


def pair(scenario: Scenario, rule: str, size: int) -> Scenario:
    """The scenario with this accounting rule and small frame size."""
    changed = scenario.with_value("flows.small.frame", f"{size} B")
    return changed.with_value("switch.scheduler.drr", dict(ACCOUNTED[rule][0]))


def derived(rule: str, count: str, size: int) -> float:
    """Ratio of small to large throughput by formula, in the unit `count`."""
    accounted, counted = ACCOUNTED[rule][1], COUNTS[count]
    return counted(size) / accounted(size) / (counted(LARGE) / accounted(LARGE))


def measured(result: Result, count: str, size: int) -> float:
    """Ratio of small to large throughput, from delivered frames."""
    small, large = (row["frames_delivered"] for row in result.rows("flows"))
    return float(small * COUNTS[count](size) / (large * COUNTS[count](LARGE)))


def formula(context: Context, found: Mapping[tuple[str, int], Result], cover: str) -> Outcome:
    """B-1."""
    off = {
        (rule, count, size): abs(measured(result, count, size) / derived(rule, count, size) - 1)
        for (rule, size), result in found.items()
        for count in COUNTS
    }
    worst = max(off, key=lambda one: off[one])
    return context.judge(
        "B-1",
        {"deviation_max": off[worst]},
        measured=f"{len(off)} ratios; largest deviation {off[worst]:.3%} (accounted: {worst[0]}, "
        f"counted: {worst[1]}, {worst[2]} B)",
        pictures=[cover],
    )


def frames(context: Context, found: Mapping[tuple[str, int], Result]) -> Outcome:
    """B-2."""
    result = found["wire (L + 20)", 68]
    small, large = (row["frames_delivered"] / 20e-3 for row in result.rows("flows"))
    ratios = {count.replace(" ", "_"): measured(result, count, 68) for count in ("frame bytes", "payload")}
    return context.judge("B-2", {"small_per_s": small, "large_per_s": large, **ratios})


def weight(context: Context, scenario: Scenario) -> Outcome:
    """B-3."""
    jain, weights = {}, {}
    for size in SIZES:
        weights[size] = 1 / derived("wire (L + 20)", "payload", size)
        quanta = [f"{round(40_000 * weights[size])} B", "40000 B"]
        changed = pair(scenario, "wire (L + 20)", size).with_value("switch.scheduler.drr", {"quanta": quanta})
        jain[size] = ps.jain([row["goodput_bps"] for row in changed.run().rows("flows")])
    lowest = min(jain.values())
    return context.judge(
        "B-3",
        {"jain_min": lowest, "weight_deviation": abs(weights[68] / 1.72 - 1)},
        measured="weights "
        + ", ".join(f"{size} B: {weights[size]:.3f}" for size in SIZES)
        + f"; lowest Jain's index {lowest:.6f}",
    )


def table(context: Context, found: Mapping[tuple[str, int], Result]) -> None:
    """Throughput ratios, measured and by formula."""
    rows = [
        (
            rule,
            str(size),
            *(
                f"{measured(found[rule, size], count, size):.4f} / {derived(rule, count, size):.4f}"
                for count in COUNTS
            ),
        )
        for rule in ACCOUNTED
        for size in SIZES
    ]
    context.save_table(
        "ratios",
        "Throughput of the small class over that of the large class: measured / formula",
        ("accounted", "size (B)", *(f"counted: {count}" for count in COUNTS)),
        rows,
    )


def picture(found: Mapping[tuple[str, int], Result]) -> Figure:
    """Payload of the small class by size and rule: formula as lines, measurements as points."""
    with style():
        figure = Figure(figsize=(7.2, 4.2))
        axes = figure.subplots()
        fine = range(64, LARGE + 1)
        for color, rule in zip(colors(), ACCOUNTED, strict=False):
            axes.plot(fine, [derived(rule, "payload", size) for size in fine], color=color, label=rule)
            points = [measured(found[rule, size], "payload", size) for size in SIZES]
            axes.plot(SIZES, points, "o", color=color, markersize=5)
        axes.set_xscale("log", base=2)
        axes.set_xticks(SIZES, ["64", "", *map(str, SIZES[2:])], fontsize=8)
        axes.minorticks_off()
        axes.set_ylim(0, 1.15)
        axes.set_xlabel("small frames (B)")
        axes.set_ylabel("payload relative to 1522 B frames")
        axes.legend(title="accounted", frameon=False, loc="lower right", fontsize=9)
        axes.set_title("Equal quanta give equal payload only if payload is accounted", fontsize=11)
    return figure
