"""Distance, windows, blocks and timeouts of iSCSI over TCP, with and without losses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise, product
from statistics import fmean
from typing import Any

from matplotlib.figure import Figure

from penstock.plots.style import style
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

Figures = dict[str, float]
Rule = Callable[[int, int], float]
CONVERSATION = "flows.iscsi.source.conversation"
KIB = 1024
DISTANCES_KM = (1, 10, 30, 100)
WINDOWS_KIB = (64, 256, 1024, 4096)
BLOCKS_KIB = (4, 64, 1024)
TIMEOUTS = ("1 ms", "10 ms", "200 ms")
DATA, PAYLOAD, WIRE = 1460, 1504, 1542
"""Bytes of a full frame: TCP data, Ethernet payload, and all with preamble and inter-frame gap."""
GOODPUT_BPS = 10e9 * PAYLOAD / WIRE
"""Ethernet payload at 10 Gb/s, which the column `goodput_bps` counts."""
FIRST_BURST, MOST_BURST = 64 * KIB, 256 * KIB
"""Unsolicited data of a write, and largest amount that the target requests at a time (RFC 7143)."""
LOSS = 1e-4


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    pair, shared = context.scenario("pair"), context.scenario("shared")
    context.say("windows and blocks by distance")
    windows, blocks = by_window(pair), by_block(pair)
    context.say("losses by distance")
    lossy = context.over_seeds(lambda seed: losses(pair, seed), "SP-3")
    context.say("timeouts")
    waits = context.over_seeds(lambda seed: timeouts(shared, seed), "SP-5")
    cover = context.save_figure(picture(windows, lossy), "distance", cover=True)
    tables(context, windows, blocks, waits)
    return [
        context.judge("SP-1", largest_deviation(windows, expected_bps), pictures=[cover]),
        context.judge("SP-2", largest_deviation(blocks, expected_s)),
        context.judge("SP-3", lossy),
        context.judge("SP-4", initial_windows(pair)),
        context.judge("SP-5", waits),
    ]


def largest_deviation(found: Mapping[tuple[int, int], float], rule: Rule) -> Figures:
    """Largest relative deviation from a rule."""
    return {"deviation_max": max(abs(value / rule(*key) - 1) for key, value in found.items())}


def at(pair: Scenario, km: float, **keys: Any) -> Scenario:
    """The pair at this distance, with changed keys of the conversation; ``__`` stands for a dot."""
    scenario = pair.with_value("topology.explicit.links.1.length", f"{km} km")
    for key, value in keys.items():
        scenario = scenario.with_value(f"{CONVERSATION}.{key.replace('__', '.')}", value)
    return scenario


def goodput(result: Result) -> float:
    """Sum of the goodput of all flows in b/s."""
    return float(sum(row["goodput_bps"] for row in result.rows("flows")))


def round_trip_s(km: float) -> float:
    """Round trip in fibre in seconds, with store-and-forward of a frame of 1.2 us."""
    return 2 * km * 5e-6 + 1.5e-6


def expected_bps(km: float, kib: float) -> float:
    """Goodput in b/s: the link, or a window per round trip."""
    return min(GOODPUT_BPS, kib * KIB * 8 / round_trip_s(km) * PAYLOAD / DATA)


def expected_s(km: float, kib: float) -> float:
    """Time of one write: a round trip for command and status, one for each R2T, and the block."""
    requests = -(-max(0, kib * KIB - FIRST_BURST) // MOST_BURST)
    return (1 + requests) * round_trip_s(km) + kib * KIB * 8 / (10e9 * DATA / WIRE)


def by_window(pair: Scenario) -> dict[tuple[int, int], float]:
    """Goodput by distance and receive window."""
    return {
        (km, kib): goodput(at(pair, km, tcp__receive_window=f"{kib} KiB").run())
        for km, kib in product(DISTANCES_KM, WINDOWS_KIB)
    }


def by_block(pair: Scenario) -> dict[tuple[int, int], float]:
    """Mean time of a write in seconds, one at a time, by distance and block; windows do not limit it."""
    found = {}
    for km, kib in product(DISTANCES_KM, BLOCKS_KIB):
        write = {"iscsi_write": {"block": f"{kib} KiB"}}
        scenario = at(pair, km, outstanding=1, messages=write, tcp__initial_window="1 MiB")
        [row] = scenario.run().rows("connections")
        found[km, kib] = row["exchange_mean_ns"] / 1e9
    return found


def losses(pair: Scenario, seed: int) -> Figures:
    """Goodput with losses as a share of the link, by distance."""
    lossy = pair.with_value("flow_control", None).with_value(
        "faults", [{"link": ["sw", "target"], "frame_loss": LOSS}]
    )
    share = {km: goodput(at(lossy, km).run(seed=seed)) / GOODPUT_BPS for km in DISTANCES_KM}
    return {
        **{f"share_{km}": value for km, value in share.items()},
        "step_min": min(one - other for one, other in pairwise(share.values())),
    }


def initial_windows(pair: Scenario) -> Figures:
    """Round trips of a write of 256 KiB after idle time, at 100 km, by initial window."""
    found = {}
    for name, window in (("usual", "10 frames"), ("block", "256 KiB")):
        rested = at(pair, 100, outstanding=1, think="30 ms", tcp__initial_window=window)
        [row] = rested.with_value("simulation.duration", "500 ms").run().rows("connections")
        found[f"round_trips_{name}"] = row["exchange_mean_ns"] / 1e9 / round_trip_s(100)
    by_rule = expected_s(100, 256) / round_trip_s(100)
    return {**found, "rule_over_measured": by_rule / found["round_trips_block"]}


def timeouts(shared: Scenario, seed: int) -> Figures:
    """Longest write of sixteen initiators in ms, by minimum timeout, with and without PFC."""
    plain = shared.with_value("flow_control", None).with_value("switch.buffer", {"queue": "32 KiB"})
    found = {}
    for name, scenario in (("pfc", shared), ("plain", plain)):
        for timeout in TIMEOUTS:
            keys = {"min_timeout": timeout, "initial_timeout": timeout}
            for key, value in keys.items():
                scenario = scenario.with_value(f"{CONVERSATION}.tcp.{key}", value)
            rows = scenario.run(seed=seed).rows("connections")
            found[f"{name}_{timeout}"] = max(row["exchange_max_ns"] for row in rows) / 1e6
    lossless = [found[f"pfc_{timeout}"] for timeout in TIMEOUTS]
    return {
        **found,
        "pfc_max_ms": max(lossless),
        "pfc_spread_ms": max(lossless) - min(lossless),
        "plain_best_ms": min(found[f"plain_{timeout}"] for timeout in TIMEOUTS),
        "plain_usual_ms": found[f"plain_{TIMEOUTS[-1]}"],
    }


def tables(
    context: Context,
    windows: Mapping[tuple[int, int], float],
    blocks: Mapping[tuple[int, int], float],
    waits: list[Figures],
) -> None:
    """Tables of windows and blocks by distance, and of timeouts."""
    by_distance(context, "windows", "Goodput (Gb/s) by window", windows, expected_bps, 1e-9)
    by_distance(context, "blocks", "Time of one write (us) by block", blocks, expected_s, 1e6)
    context.save_table(
        "timeouts",
        "Longest write of sixteen initiators (ms)",
        ("minimum timeout", "PFC", "no PFC, 32 KiB per queue"),
        [
            (one, *(f"{fmean(of[f'{name}_{one}'] for of in waits):,.1f}" for name in ("pfc", "plain")))
            for one in TIMEOUTS
        ],
        note=f"Means over {len(waits)} seeds.",
    )


def by_distance(
    context: Context,
    name: str,
    title: str,
    found: Mapping[tuple[int, int], float],
    rule: Rule,
    unit: float,
) -> None:
    """Table by size and distance: measured, and by the rule."""
    rows = [
        (
            f"{kib} KiB",
            *(f"{found[km, kib] * unit:,.4g}, {rule(km, kib) * unit:,.4g}" for km in DISTANCES_KM),
        )
        for kib in sorted({kib for _, kib in found})
    ]
    columns = (name.removesuffix("s"), *(f"{km} km" for km in DISTANCES_KM))
    context.save_table(name, f"{title}: measured, and by the rule", columns, rows)


def picture(windows: Mapping[tuple[int, int], float], lossy: list[Figures]) -> Figure:
    """Goodput by distance: by window without loss, and with losses."""
    with style():
        figure = Figure(figsize=(9.6, 4.2), layout="constrained")
        axes = figure.subplots(1, 2, sharey=True)
        for kib in WINDOWS_KIB:
            label = f"{kib} KiB" if kib < KIB else f"{kib // KIB} MiB"
            axes[0].plot(
                DISTANCES_KM, [windows[km, kib] / 1e9 for km in DISTANCES_KM], marker="o", label=label
            )
        axes[0].set_title("no loss")
        axes[0].set_ylabel("goodput (Gb/s)")
        axes[0].legend(title="receive window")
        shares = [fmean(of[f"share_{km}"] for of in lossy) * GOODPUT_BPS / 1e9 for km in DISTANCES_KM]
        axes[1].plot(DISTANCES_KM, shares, marker="o", color="#D55E00")
        axes[1].set_title(f"one frame in {1 / LOSS:,.0f} lost, large window")
        for panel in axes:
            panel.set_xscale("log")
            panel.set_xticks(DISTANCES_KM, [str(km) for km in DISTANCES_KM])
            panel.minorticks_off()
            panel.set_xlabel("length of the link (km)")
            panel.set_ylim(bottom=0)
        figure.suptitle("iSCSI over TCP: without loss only the window limits goodput")
    return figure
