"""All schedulers compared: shares of greedy classes, delays of conforming classes, and guarantees."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import penstock as ps
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

from . import mix, picture

COMMON_BPS = 250e6
"""Rate of MPI with the same traffic for all schedulers: below the guaranteed rate of each."""
BY_BYTES = ("drr", "ets", "dtable", "wfq", "wf2q_plus", "scfq", "scfq_ca", "min_bw")
BY_FRAMES = {"wrr": (1, 1, 1), "wrr interleaved": (1, 1, 1), "vc_table": (22, 21, 21)}
"""Schedulers that count frames, and the entries of each class."""
ORDER = (("strict_priority", "wf2q_plus"), ("wf2q_plus", "drr"), ("wfq", "drr"), ("drr", "wrr"))
"""Pairs of schedulers, the one with the shorter wait first."""


@dataclass(frozen=True)
class Checked:
    """Longest wait of a class at its guaranteed rate, and its bound."""

    traffic_class: int
    frames: int
    disturbed: int
    """Number of lost frames and received pauses; the bound assumes none of either."""
    wait_ns: float
    bound_ns: float

    @property
    def used(self) -> float:
        """Longest wait as a share of the bound."""
        return self.wait_ns / self.bound_ns


@dataclass(frozen=True)
class Measured:
    """Measures of one scheduler."""

    name: str
    payload_bps: tuple[float, ...]
    accounted: tuple[float, ...]
    frames: tuple[float, ...]
    mpi: Mapping[str, float]
    mpi_bound_ns: float | None
    checked: tuple[Checked, ...]

    @property
    def jain(self) -> float:
        """Jain's index of the payloads."""
        return ps.jain(self.payload_bps)

    @property
    def used(self) -> float | None:
        """Largest share of its bound that the longest wait of a class reaches."""
        return max((one.used for one in self.checked), default=None)


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    scenario = context.scenario("mixed")
    duration = "20 ms" if context.quick else "100 ms"
    measured: dict[str, Measured] = {}
    for entry in mix.ENTRIES:
        context.say(entry.name)
        measured[entry.name] = measure(scenario, entry, duration)
    costs = json.loads((context.study.folder / "cost.json").read_text("utf-8"))
    table(context, measured, costs)
    bounds(context, measured)
    cover = context.save_figure(picture.side_by_side(list(measured.values())), "side-by-side", cover=True)
    return [
        by_bytes(context, measured, cover),
        by_frames(context, measured),
        small_frames(context, measured),
        published(context, measured),
        delay_bounds(context, measured),
        order(context, measured),
    ]


def measure(scenario: Scenario, entry: mix.Entry, duration: str) -> Measured:
    """All runs of one scheduler."""
    greedy = mix.placed(scenario, entry).run()
    flows = greedy.rows("flows")
    conforming = mix.conforming(scenario, entry, mix.MPI, COMMON_BPS, duration).run()
    own = mix.guarantee(scenario, entry, mix.MPI)
    bound = None if own is None else mix.longest_wait_ns(own, mix.MPI, COMMON_BPS)
    checked = [check(scenario, entry, traffic_class, duration) for traffic_class in range(len(mix.CLASSES))]
    return Measured(
        entry.name,
        tuple(row["goodput_bps"] for row in flows),
        tuple(accounted_bps(row, entry) for row in flows),
        tuple(float(row["frames_delivered"]) for row in flows),
        mix.waits(conforming, entry, mix.MPI),
        bound,
        tuple(one for one in checked if one is not None),
    )


def accounted_bps(row: Mapping[str, Any], entry: mix.Entry) -> float:
    """Accounted bits per second of a flow; padding to cells is computed from the source's frame sizes."""
    sizes = mix.PARTS[row["flow"]]
    mean = sum(size * share for size, share in sizes)
    rounding: float = sum((mix.accounted(entry, size) - size - mix.OVERHEAD) * share for size, share in sizes)
    overhead: float = mix.OVERHEAD * row["frames_delivered"] / max(row["bytes_delivered"], 1)
    return float(row["throughput_bps"]) * (1 + overhead + rounding / mean)


def check(scenario: Scenario, entry: mix.Entry, traffic_class: int, duration: str) -> Checked | None:
    """A class at its guaranteed rate against the others; ``None`` without a guarantee."""
    own = mix.guarantee(scenario, entry, traffic_class)
    if own is None or own.rate_bps is None:
        return None
    result = mix.conforming(scenario, entry, traffic_class, own.rate_bps, duration).run()
    row = mix.waits(result, entry, traffic_class)
    return Checked(
        traffic_class,
        int(row["frames"]),
        disturbances(result, traffic_class),
        row["wait_max_ns"],
        mix.longest_wait_ns(own, traffic_class, own.rate_bps),
    )


def disturbances(result: Result, traffic_class: int) -> int:
    """Frames of a class that were dropped, and pauses of its host."""
    flow = mix.CLASSES[traffic_class]
    lost = sum(int(row["frames"]) for row in result.rows("drops") if row["flow"] == flow)
    host = f"h{traffic_class}"
    return lost + sum(int(row["pauses_received"]) for row in result.rows("ports") if row["node"] == host)


def deviation(shares: Sequence[float], wanted: Sequence[float]) -> float:
    """The largest relative deviation of shares from their nominal values."""
    return max(
        abs(share / sum(shares) / (want / sum(wanted)) - 1)
        for share, want in zip(shares, wanted, strict=True)
    )


def by_bytes(context: Context, measured: Mapping[str, Measured], cover: str) -> Outcome:
    """LF-1."""
    weights = {entry.name: entry.weights for entry in mix.ENTRIES}
    off = {name: deviation(measured[name].accounted, weights[name] or (1, 1, 1)) for name in BY_BYTES}
    return context.judge(
        "LF-1",
        {"deviation_max": max(off.values())},
        measured="largest deviation: " + ", ".join(f"{name} {value:.2%}" for name, value in off.items()),
        pictures=[cover],
    )


def by_frames(context: Context, measured: Mapping[str, Measured]) -> Outcome:
    """LF-2."""
    off = {name: deviation(measured[name].frames, entries) for name, entries in BY_FRAMES.items()}
    ratio = {name: max(measured[name].accounted) / min(measured[name].accounted) for name in BY_FRAMES}
    return context.judge(
        "LF-2",
        {"deviation_max": max(off.values()), "byte_ratio_min": min(ratio.values())},
        measured="; ".join(
            f"{name}: deviation of frames {value:.2%}, bytes {ratio[name]:.1f} to 1"
            for name, value in off.items()
        ),
    )


def small_frames(context: Context, measured: Mapping[str, Measured]) -> Outcome:
    """LF-3."""
    drr, learned = measured["drr"], measured["drr_awc learned"]
    loss = 1 - drr.payload_bps[mix.MPI] / drr.payload_bps[0]
    return context.judge(
        "LF-3",
        {"mpi_loss": loss, "learned": learned.jain, "learned_gain": learned.jain - drr.jain},
        measured=f"MPI gets {loss:.1%} less payload than storage under drr; Jain {drr.jain:.4f}, "
        f"with learned weights {learned.jain:.4f}",
    )


def published(context: Context, measured: Mapping[str, Measured]) -> Outcome:
    """LF-6."""
    drr, paper = measured["drr"], measured["drr_awc published"]
    rates = ", ".join(
        f"{name} {bps / 1e9:.2f} Gb/s" for name, bps in zip(mix.CLASSES, paper.payload_bps, strict=True)
    )
    return context.judge(
        "LF-6",
        {"published_gain": paper.jain - drr.jain},
        measured=f"Jain {paper.jain:.4f} with the published weights, {drr.jain:.4f} without; {rates}",
    )


def delay_bounds(context: Context, measured: Mapping[str, Measured]) -> Outcome:
    """LF-4."""
    checked = [(name, one) for name, it in measured.items() for one in it.checked]
    broken = [
        f"{name} {mix.CLASSES[one.traffic_class]} waits {one.wait_ns:.0f} ns, bound {one.bound_ns:.0f} ns, "
        f"{one.disturbed} losses and pauses"
        for name, one in checked
        if one.wait_ns > one.bound_ns or one.disturbed
    ]
    name, worst = max(checked, key=lambda pair: pair[1].used)
    frames = sum(one.frames for _, one in checked)
    return context.judge(
        "LF-4",
        {"broken": len(broken), "pairs": len(checked)},
        measured=f"{len(checked)} pairs of scheduler and class, {frames:,} frames, {len(broken)} bounds "
        f"exceeded; closest: {name}, {mix.CLASSES[worst.traffic_class]}, {worst.used:.0%} of its bound"
        + "".join(f"; {text}" for text in broken),
    )


def order(context: Context, measured: Mapping[str, Measured]) -> Outcome:
    """LF-5."""
    p99 = {name: it.mpi["wait_p99_ns"] for name, it in measured.items()}
    p50 = {name: it.mpi["wait_p50_ns"] for name, it in measured.items()}
    longest = max(p50, key=lambda name: p50[name])
    shown = ("strict_priority", "wfq", "wf2q_plus", "drr", "wrr", "fifo")
    return context.judge(
        "LF-5",
        {f"{first}_over_{then}": p99[first] / p99[then] for first, then in ORDER}
        | {"median_above_fifo": sum(value > p50["fifo"] for value in p50.values())},
        measured=", ".join(f"{name} {p99[name] / 1e3:.2f} us" for name in shown)
        + f"; longest median: {longest}",
    )


def table(context: Context, measured: Mapping[str, Measured], costs: Mapping[str, Any]) -> None:
    """Table of all schedulers: shares, fairness, waits, bounds and costs."""
    rows = []
    for name, it in measured.items():
        cost = costs["costs"].get(name.removesuffix(" published"), {})
        at = cost.get("8") or cost.get("1")
        total = sum(it.payload_bps)
        rows.append(
            (
                name,
                " / ".join(f"{100 * bps / total:.1f}" for bps in it.payload_bps),
                f"{it.jain:.4f}",
                *(f"{it.mpi[f'wait_{part}_ns'] / 1e3:.2f}" for part in ("p50", "p99", "max")),
                f"{it.mpi_bound_ns / 1e3:.2f}" if it.mpi_bound_ns is not None else "none",
                f"{it.used:.0%}" if it.used is not None else "-",
                f"{at['instructions']} ({at['ns']:.0f})" if at else "-",
            )
        )
    context.save_table(
        "schedulers",
        "All schedulers on the same traffic",
        (
            "scheduler",
            "payload of storage / web / MPI (%), all greedy",
            "Jain",
            "wait of MPI at 250 Mb/s: median (us)",
            "99 % (us)",
            "longest (us)",
            "bound (us)",
            "largest share of a bound reached",
            "instructions per decision, 8 queues (ns)",
        ),
        rows,
        note="Costs are from cost.json, which `python benches/schedulers.py --write FILE` writes. The number "
        "of instructions is the same on every run; the time depends on the machine. The costs of "
        "interleaved wrr and of learned weights are not measured.",
    )


def bounds(context: Context, measured: Mapping[str, Measured]) -> None:
    """Table of longest waits and bounds of all classes."""
    rows = [
        (
            name,
            mix.CLASSES[one.traffic_class],
            f"{one.frames:,}",
            f"{one.wait_ns / 1e3:.2f}",
            f"{one.bound_ns / 1e3:.2f}",
            f"{one.used:.0%}",
        )
        for name, it in measured.items()
        for one in it.checked
    ]
    context.save_table(
        "bounds",
        "Longest wait of each class at its guaranteed rate, with the other classes greedy",
        ("scheduler", "class", "frames", "longest wait (us)", "bound (us)", "used"),
        rows,
        note="fifo, shaper and learned weights guarantee no rate; strict priority guarantees one only to the "
        "highest class.",
    )
