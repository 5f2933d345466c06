"""Completion times of collectives on a non-blocking switch, compared with their formulas."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.analysis.critical_path import critical_path
from penstock.plots import rank_timeline
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

RANKS = (4, 8, 16)
BYTES = 8_000_000
RATE_BPS = 400e9
LINE_BYTES = 20
Formula = Callable[[int, float, float], float]
"""Time in seconds, by number of ranks, latency of a message, and transmission time of S bytes."""

MIN_BYTES: Mapping[tuple[str, str], Formula] = {
    ("all_reduce", "ring"): lambda n, a, s: 2 * (n - 1) * (a + s / n),
    ("all_reduce", "halving_doubling"): lambda n, a, s: 2 * math.log2(n) * a + 2 * (n - 1) / n * s,
    ("reduce_scatter", "ring"): lambda n, a, s: (n - 1) * (a + s / n),
    ("reduce_scatter", "halving_doubling"): lambda n, a, s: math.log2(n) * a + (n - 1) / n * s,
    ("all_gather", "ring"): lambda n, a, s: (n - 1) * (a + s / n),
    ("all_gather", "halving_doubling"): lambda n, a, s: math.log2(n) * a + (n - 1) / n * s,
    ("all_to_all", "shifted"): lambda n, a, s: (n - 1) * (a + s / n),
}
FEW_STEPS: Mapping[tuple[str, str], Formula] = {
    ("all_reduce", "recursive_doubling"): lambda n, a, s: math.log2(n) * (a + s),
    ("all_to_all", "bruck"): lambda n, a, s: math.log2(n) * (a + s / 2),
    ("broadcast", "binomial"): lambda n, a, s: math.log2(n) * (a + s),
}


@dataclass(frozen=True)
class Point:
    """A collective: measured time, time of the formula, and share of transmission in the critical path."""

    name: str
    ranks: int
    measured_s: float
    expected_s: float
    transmission: float

    @property
    def off(self) -> float:
        """Relative deviation from the formula."""
        return self.measured_s / self.expected_s - 1


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    base = context.scenario("star")
    latency = {n: barrier_s(base, n) / math.ceil(math.log2(n)) for n in RANKS}
    context.say(f"an empty message takes {latency[8] * 1e6:.3f} us")
    min_bytes, few_steps = (
        [point(base, *key, n, latency[n], formulas[key]) for key in formulas for n in RANKS]
        for formulas in (MIN_BYTES, FEW_STEPS)
    )
    table(context, min_bytes + few_steps)
    trees = {"collective": "all_reduce", "algorithm": "double_tree", "bytes": "8 MB", "chunks": 16}
    cover = context.save_figure(rank_timeline(result_of(base, 8, trees)), "double-tree", cover=True)
    reached = [bytes_per_second(base, rate) for rate in (200, 400, 800)]
    rates = ", ".join(f"{value / 1e9:.3f} GB/s" for value in reached)
    return [
        context.judge("A-1", deviation(min_bytes), also=extremes(min_bytes), pictures=[cover]),
        context.judge("A-2", deviation(few_steps), also=extremes(few_steps)),
        context.judge("A-3", {"off": max(abs(value / 13.1072e9 - 1) for value in reached)}, also=rates),
        context.judge("A-4", {"transmission": min(one.transmission for one in min_bytes)}),
    ]


def deviation(points: list[Point]) -> dict[str, float]:
    """The largest deviation from the formulas."""
    return {"off": max(abs(one.off) for one in points)}


def result_of(base: Scenario, hosts: int, workload: Mapping[str, Any], **keys: Any) -> Result:
    """Result of a workload on this number of ranks."""
    job = {**base.to_dict()["jobs"][0], "workload": dict(workload), **keys}
    return base.with_value("topology.star.hosts", hosts).with_value("jobs", [job]).run()


def barrier_s(base: Scenario, hosts: int) -> float:
    """Time of a barrier in seconds, which is one message latency for each of its steps."""
    (row,) = result_of(base, hosts, {"collective": "barrier"}).rows("collectives")
    return float(row["time_ns"]) / 1e9


def point(
    base: Scenario, collective: str, algorithm: str, hosts: int, latency: float, formula: Formula
) -> Point:
    """A collective and its formula, with the rate reduced by the headers that the NICs sent."""
    workload = {"collective": collective, "algorithm": algorithm, "bytes": f"{BYTES} B"}
    result = result_of(base, hosts, workload)
    (row,) = result.rows("collectives")
    nics = [port for port in result.rows("flows") if port["frames_sent"]]
    on_wire = sum(port["bytes_sent"] + LINE_BYTES * port["frames_sent"] for port in nics)
    (job,) = result.rows("jobs")
    whole = BYTES * 8 / RATE_BPS * on_wire / job["bytes_sent"]
    path = critical_path(result, "job")
    share = 0.0 if path is None else path.parts["transmission"] / path.length_ps
    expected = formula(hosts, latency, whole)
    return Point(f"{collective} {algorithm}", hosts, row["time_ns"] / 1e9, expected, share)


def bytes_per_second(base: Scenario, gbps: int) -> float:
    """Throughput of 128 KiB messages with an overhead of 10 us each, on links of this rate."""
    workload = {"collective": "send_receive", "bytes": "64 MiB", "chunks": 512}
    fast = base.with_value("topology.star.rate", f"{gbps} Gb/s")
    (row,) = result_of(fast, 2, workload, overhead="10 us").rows("jobs")
    return float(row["algorithm_bps"]) / 8


def extremes(points: list[Point]) -> str:
    """The smallest and the largest deviation, as text."""
    low, high = (pick(points, key=lambda one: one.off) for pick in (min, max))
    return (
        f"{low.off:+.2%} ({low.name}, {low.ranks} ranks) to {high.off:+.2%} ({high.name}, {high.ranks} ranks)"
    )


def table(context: Context, points: list[Point]) -> None:
    """Table of measured times and formulas."""
    rows = [
        (
            one.name,
            str(one.ranks),
            f"{one.measured_s * 1e6:.2f}",
            f"{one.expected_s * 1e6:.2f}",
            f"{one.off:+.2%}",
            f"{one.transmission:.2%}",
        )
        for one in points
    ]
    columns = ("collective", "ranks", "time (us)", "formula (us)", "deviation", "transmission")
    context.save_table("times", "Completion times of 8 MB at 400 Gb/s", columns, rows)
