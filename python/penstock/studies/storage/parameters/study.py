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
CONVERSATION = "flows.iscsi.source.conversation"
KIB = 1024
DISTANCES_KM = (1, 10, 30, 100)
WINDOWS_KIB = (64, 256, 1024, 4096)
BLOCKS_KIB = (4, 64, 1024)
TIMEOUTS = ("1 ms", "10 ms", "200 ms")
DATA, PAYLOAD, WIRE = 1460, 1504, 1542
"""Bytes of a full frame: data of TCP, payload of Ethernet, and all with preamble and gap."""
GOODPUT_BPS = 10e9 * PAYLOAD / WIRE
"""Payload of Ethernet at 10 Gb/s, which the column `goodput_bps` counts."""
FIRST_BURST, MOST_BURST = 64 * KIB, 256 * KIB
"""Unsolicited data of a write, and data that the target requests at once (RFC 7143)."""
LOSS = 1e-4


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    pair, shared = context.scenario("pair"), context.scenario("shared")
    context.say("windows and blocks by distance")
    windows, blocks = by_window(pair), by_block(pair)
    context.say("losses by distance")
    lossy = context.over_seeds(lambda seed: losses(pair, seed), "SP-3")
    context.say("the initial window, timeouts")
    first = initial_windows(pair)
    waits = context.over_seeds(lambda seed: timeouts(shared, seed), "SP-5")
    cover = context.save_figure(picture(windows, lossy), "distance", cover=True)
    tables(context, windows, blocks, waits)
    off = max(abs(got / expected(km, kib) - 1) for (km, kib), got in windows.items())
    slow = max(abs(took / shortest(km, kib) - 1) for (km, kib), took in blocks.items())
    return [
        context.judge("SP-1", [{"off": off}], pictures=[cover]),
        context.judge("SP-2", [{"off": slow}]),
        context.judge("SP-3", lossy),
        context.judge("SP-4", [first]),
        context.judge("SP-5", waits),
    ]


def at(pair: Scenario, km: float, **keys: Any) -> Scenario:
    """The pair at this distance, with changed keys of the conversation; ``_`` stands for a dot."""
    scenario = pair.with_value("topology.explicit.links.1.length", f"{km} km")
    for key, value in keys.items():
        scenario = scenario.with_value(f"{CONVERSATION}.{key.replace('__', '.')}", value)
    return scenario


def goodput(result: Result) -> float:
    """Goodput of all flows together, in b/s."""
    return float(sum(row["goodput_bps"] for row in result.rows("flows")))


def round_trip_s(km: float) -> float:
    """Round trip of light in fibre; the switch forwards a frame of 1.2 us when it has arrived."""
    return 2 * km * 5e-6 + 1.5e-6


def expected(km: float, kib: float) -> float:
    """The link, or a window each round trip."""
    return min(GOODPUT_BPS, kib * KIB * 8 / round_trip_s(km) * PAYLOAD / DATA)


def shortest(km: float, kib: float) -> float:
    """Time of one write alone: a round trip for command and status, one for each request of data."""
    requests = -(-max(0, kib * KIB - FIRST_BURST) // MOST_BURST)
    return (1 + requests) * round_trip_s(km) + kib * KIB * 8 / (10e9 * DATA / WIRE)


def by_window(pair: Scenario) -> dict[tuple[int, int], float]:
    """Goodput by distance and receive window."""
    return {
        (km, kib): goodput(at(pair, km, tcp__receive_window=f"{kib} KiB").run())
        for km, kib in product(DISTANCES_KM, WINDOWS_KIB)
    }


def by_block(pair: Scenario) -> dict[tuple[int, int], float]:
    """Mean time of a write in seconds, one at a time, by distance and block; windows are open."""
    found = {}
    for km, kib in product(DISTANCES_KM, BLOCKS_KIB):
        write = {"iscsi_write": {"block": f"{kib} KiB"}}
        scenario = at(pair, km, outstanding=1, messages=write, tcp__initial_window="1 MiB")
        [row] = scenario.run().rows("connections")
        found[km, kib] = row["exchange_mean_ns"] / 1e9
    return found


def losses(pair: Scenario, seed: int) -> Figures:
    """Goodput with losses by that without, by distance."""
    lossy = pair.with_value("flow_control", None).with_value(
        "faults", [{"link": ["sw", "target"], "frame_loss": LOSS}]
    )
    share = {km: goodput(at(lossy, km).run(seed=seed)) / GOODPUT_BPS for km in DISTANCES_KM}
    return {
        **{f"share_{km}": value for km, value in share.items()},
        "near": share[DISTANCES_KM[0]],
        "far": share[DISTANCES_KM[-1]],
        "steps": min(one - other for one, other in pairwise(share.values())),
    }


def initial_windows(pair: Scenario) -> Figures:
    """A write of 256 KiB after a pause, at 100 km, with the usual first window and with one of the block."""
    took = {}
    for window in ("10 frames", "256 KiB"):
        rested = at(pair, 100, outstanding=1, think="30 ms", tcp__initial_window=window)
        [row] = rested.with_value("simulation.duration", "500 ms").run().rows("connections")
        took[window] = row["exchange_mean_ns"] / 1e9
    trips = {window: time / round_trip_s(100) for window, time in took.items()}
    return {"usual": trips["10 frames"], "open": trips["256 KiB"], "by": shortest(100, 256) / took["256 KiB"]}


def timeouts(shared: Scenario, seed: int) -> Figures:
    """The longest write of sixteen initiators in milliseconds, by timeout, with PFC and without."""
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
        "lossless_ms": max(lossless),
        "lossless_spread": max(lossless) - min(lossless),
        "lost_ms": min(found[f"plain_{timeout}"] for timeout in TIMEOUTS),
        "usual_ms": found[f"plain_{TIMEOUTS[-1]}"],
    }


def tables(
    context: Context,
    windows: Mapping[tuple[int, int], float],
    blocks: Mapping[tuple[int, int], float],
    waits: list[Figures],
) -> None:
    """Windows and blocks by distance, and timeouts."""
    by_distance(context, "windows", "Goodput (Gb/s) by window", windows, expected, 1e-9)
    by_distance(context, "blocks", "Time of one write (us) by block", blocks, shortest, 1e6)
    context.save_table(
        "timeouts",
        "The longest write of sixteen initiators (ms)",
        ("shortest timeout", "PFC", "no PFC, 32 KiB a queue"),
        [
            (one, *(f"{fmean(of[f'{name}_{one}'] for of in waits):,.1f}" for name in ("pfc", "plain")))
            for one in TIMEOUTS
        ],
        note=f"Means of {len(waits)} seeds.",
    )


def by_distance(
    context: Context,
    name: str,
    title: str,
    found: Mapping[tuple[int, int], float],
    rule: Callable[[int, int], float],
    unit: float,
) -> None:
    """A table by size and distance: measured, and by the rule."""
    rows = [
        (
            f"{kib} KiB",
            *(f"{found[km, kib] * unit:,.4g}, {rule(km, kib) * unit:,.4g}" for km in DISTANCES_KM),
        )
        for kib in sorted({kib for _, kib in found})
    ]
    columns = (name.removesuffix("s"), *(f"{km} km" for km in DISTANCES_KM))
    context.save_table(name, f"{title}: measured, by the rule", columns, rows)


def picture(windows: Mapping[tuple[int, int], float], lossy: list[Figures]) -> Figure:
    """Goodput by distance: windows without loss, and an open window with losses."""
    with style():
        figure = Figure(figsize=(9.6, 4.2), layout="constrained")
        axes = figure.subplots(1, 2, sharey=True)
        for kib in WINDOWS_KIB:
            label = f"{kib} KiB" if kib < KIB else f"{kib // KIB} MiB"
            axes[0].plot(
                DISTANCES_KM, [windows[km, kib] / 1e9 for km in DISTANCES_KM], marker="o", label=label
            )
        axes[0].set_title("nothing is lost")
        axes[0].set_ylabel("goodput (Gb/s)")
        axes[0].legend(title="receive window")
        shares = [fmean(of[f"share_{km}"] for of in lossy) * GOODPUT_BPS / 1e9 for km in DISTANCES_KM]
        axes[1].plot(DISTANCES_KM, shares, marker="o", color="#D55E00")
        axes[1].set_title(f"one frame in {1 / LOSS:,.0f} is lost, the window is open")
        for panel in axes:
            panel.set_xscale("log")
            panel.set_xticks(DISTANCES_KM, [str(km) for km in DISTANCES_KM])
            panel.minorticks_off()
            panel.set_xlabel("length of the link (km)")
            panel.set_ylim(bottom=0)
        figure.suptitle("iSCSI over TCP: a lossless fabric leaves the window as the only limit")
    return figure
