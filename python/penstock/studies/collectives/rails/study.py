"""An all-reduce of 256 GPUs on rails and on DCN+: sizes, ECMP hashes, a slow link, spraying."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from matplotlib.figure import Figure

from penstock.plots.style import style
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

SERVERS, RAILS = 32, 8
REPORTED = {
    "rails": {16: 33.1, 32: 38.6, 64: 42.0, 128: 44.0, 256: 45.1, 512: 45.65},
    "DCN+": {16: 23.3, 32: 25.8, 64: 23.7, 128: 35.2, 256: 36.2, 512: 36.2},
}
"""Published bus bandwidth in GB/s, by size in MB."""
LINE_GBPS, SLOW_GBPS = 400, 100
COMPARED_MB = 128
FILES = {"rails": "rails", "DCN+": "dcn-plus"}
COLORS = {"rails": "#0072B2", "DCN+": "#E69F00"}

Curve = dict[int, list[float]]
"""Bus bandwidths in GB/s, one for each hash seed, by size in MB."""


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    hashes = range(1, 4 if context.quick else 11)
    sizes = [mb for mb in REPORTED["rails"] if mb <= (64 if context.quick else 512)]
    curves: dict[str, Curve] = {"rails": {}, "DCN+": {}}
    for mb in sizes:
        context.say(f"{mb} MB")
        curves["rails"][mb] = [bus(fabric(context, "rails", mb))]
        if mb <= COMPARED_MB:
            curves["DCN+"][mb] = [bus(fabric(context, "DCN+", mb, seed)) for seed in hashes]
    compared = min(COMPARED_MB, max(sizes))
    table(context, curves)
    cover = context.save_figure(picture(curves), "curves", cover=True)
    on_rails, without = fmean(curves["rails"][compared]), curves["DCN+"][compared]
    off = {mb: fmean(curves["rails"][mb]) / REPORTED["rails"][mb] - 1 for mb in sizes}
    ratio = on_rails / fmean(without)
    return [
        context.judge(
            "C-1",
            {"deviation": max(map(abs, off.values()))},
            measured=", ".join(f"{mb} MB {share:+.1%}" for mb, share in off.items()),
            pictures=[cover],
        ),
        context.judge(
            "C-2",
            {"rails_to_dcn_plus": ratio},
            measured=f"{ratio:.2f} ({on_rails:.1f} over {fmean(without):.1f} GB/s; {min(without):.1f} to "
            f"{max(without):.1f} over {len(without)} hashes of {compared} MB)",
        ),
        one_rail(context),
        slow_link(context),
        sprayed(context, compared, on_rails),
    ]


def fabric(context: Context, name: str, mb: int, seed: int | None = None) -> Scenario:
    """An all-reduce of `mb` megabytes on a fabric; `seed` sets the hash functions of all switches."""
    scenario = context.scenario(FILES[name])
    (job,) = scenario.to_dict()["jobs"]
    job["workload"]["bytes"] = f"{mb} MB"
    if name == "DCN+":
        job["ranks"] = [f"h{RAILS * server + rail}" for rail in range(RAILS) for server in range(SERVERS)]
    scenario = scenario.with_value("jobs", [job])
    return scenario if seed is None else scenario.with_value("simulation.path_seed", seed)


def bus(scenario: Scenario) -> float:
    """Bus bandwidth of the only job, in GB/s."""
    (row,) = scenario.run().rows("jobs")
    return float(row["bus_bps"]) / 8e9


def one_rail(context: Context) -> Outcome:
    """An all-reduce among the NICs of one rail."""
    scenario = fabric(context, "rails", 16)
    (job,) = scenario.to_dict()["jobs"]
    result = scenario.with_value("jobs", [{**job, "ranks": "h*.0"}]).run()
    over_spines = sum(row["frames_sent"] for row in result.rows("ports") if "spine" in row["port"])
    sent = sum(row["frames_sent"] for row in result.rows("ports"))
    figures = {"frames_over_spines": over_spines, "frames": sent}
    return context.judge("C-3", figures, measured=f"{over_spines} of {sent:,} frames sent")


def slow_link(context: Context) -> Outcome:
    """One NIC whose link runs at a quarter of its rate."""
    fault = {"link": ["h0.0", "leaf0.0"], "rate": f"{SLOW_GBPS} Gb/s", "at": "0 s"}
    reached = bus(fabric(context, "rails", COMPARED_MB).with_value("faults", [fault]))
    measured = f"{reached:.2f} of {SLOW_GBPS / 8:.2f} GB/s"
    return context.judge("C-4", {"bus_gb_s": reached}, measured=measured)


def sprayed(context: Context, mb: int, on_rails: float) -> Outcome:
    """DCN+ with packet spraying."""
    scenario = fabric(context, "DCN+", mb).with_value("switch.path_choice", "spray")
    (job,) = scenario.to_dict()["jobs"]
    over: dict[str, Any] = {"rdma": {**job["over"]["rdma"], "recovery": "reordering"}}
    reached = bus(scenario.with_value("jobs", [{**job, "over": over}]))
    share = reached / on_rails
    return context.judge("C-5", {"share_of_rails": share}, measured=f"{reached:.1f} GB/s, {share:.2f}")


def table(context: Context, curves: dict[str, Curve]) -> None:
    """Bus bandwidth by fabric and size."""
    rows = [
        (
            name,
            str(mb),
            f"{REPORTED[name][mb]}",
            f"{fmean(found):.1f}",
            f"{min(found):.1f}",
            f"{max(found):.1f}",
        )
        for name, curve in curves.items()
        for mb, found in curve.items()
    ]
    columns = ("fabric", "MB", "SimAI", "mean", "min", "max")
    context.save_table(
        "bandwidths",
        "Bus bandwidth in GB/s",
        columns,
        rows,
        note="DCN+: over hash seeds. Rails: one run, because no two flows share a link for any hash.",
    )


def picture(curves: dict[str, Curve]) -> Figure:
    """Bus bandwidth by size on both fabrics, measured and published by SimAI."""
    with style():
        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        axes = figure.subplots()
        for name, curve in curves.items():
            reported = REPORTED[name]
            axes.plot(
                list(reported), list(reported.values()), "--", color=COLORS[name], label=f"{name}, SimAI"
            )
            means = [fmean(found) for found in curve.values()]
            axes.plot(list(curve), means, "o-", color=COLORS[name], label=name)
            low, high = ([pick(found) for found in curve.values()] for pick in (min, max))
            axes.fill_between(list(curve), low, high, color=COLORS[name], alpha=0.2, lw=0)
        axes.axhline(LINE_GBPS / 8, color="#777777", lw=0.8)
        axes.annotate(
            "NIC line rate",
            (1, LINE_GBPS / 8),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="bottom",
            fontsize=8,
        )
        axes.set_xscale("log", base=2)
        sizes = list(REPORTED["rails"])
        axes.set_xticks(sizes, [str(mb) for mb in sizes])
        axes.minorticks_off()
        axes.set_xlabel("all-reduce size (MB)")
        axes.set_ylabel("bus bandwidth (GB/s)")
        axes.set_ylim(0, 55)
        axes.legend(ncols=2, loc="lower right")
    return figure
