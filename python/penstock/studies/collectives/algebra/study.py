"""What collectives take on a switch that never blocks, beside their formulas."""

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
"""Time in seconds by ranks, latency of a message, and seconds that all S bytes take at a NIC."""

LEAST: Mapping[tuple[str, str], Formula] = {
    ("all_reduce", "ring"): lambda n, a, s: 2 * (n - 1) * (a + s / n),
    ("all_reduce", "halving_doubling"): lambda n, a, s: 2 * math.log2(n) * a + 2 * (n - 1) / n * s,
    ("reduce_scatter", "ring"): lambda n, a, s: (n - 1) * (a + s / n),
    ("reduce_scatter", "halving_doubling"): lambda n, a, s: math.log2(n) * a + (n - 1) / n * s,
    ("all_gather", "ring"): lambda n, a, s: (n - 1) * (a + s / n),
    ("all_gather", "halving_doubling"): lambda n, a, s: math.log2(n) * a + (n - 1) / n * s,
    ("all_to_all", "shifted"): lambda n, a, s: (n - 1) * (a + s / n),
}
FEW: Mapping[tuple[str, str], Formula] = {
    ("all_reduce", "recursive_doubling"): lambda n, a, s: math.log2(n) * (a + s),
    ("all_to_all", "bruck"): lambda n, a, s: math.log2(n) * (a + s / 2),
    ("broadcast", "binomial"): lambda n, a, s: math.log2(n) * (a + s),
}


@dataclass(frozen=True)
class Point:
    """A collective among some ranks: its time, that of the formula, and the share of transmission."""

    name: str
    ranks: int
    measured_s: float
    expected_s: float
    transmission: float

    @property
    def off(self) -> float:
        """Deviation from the formula, as a share."""
        return self.measured_s / self.expected_s - 1


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    base = context.scenario("star")
    latency = {n: barrier_s(base, n) / math.ceil(math.log2(n)) for n in RANKS}
    context.say(f"an empty message takes {latency[8] * 1e6:.3f} us")
    least, few = (
        [point(base, *key, n, latency[n], of[key]) for key in of for n in RANKS] for of in (LEAST, FEW)
    )
    table(context, least + few)
    trees = of(
        base, 8, {"collective": "all_reduce", "algorithm": "double_tree", "bytes": "8 MB", "chunks": 16}
    )
    cover = context.save_figure(rank_timeline(trees), "double-tree", cover=True)
    fixed = [cost(base, rate) for rate in (200, 400, 800)]
    rates = ", ".join(f"{value / 1e9:.3f} GB/s" for value in fixed)
    share = min(one.transmission for one in least)
    return [
        context.judge("A-1", [largest(least)], also=told(least), pictures=[cover]),
        context.judge("A-2", [largest(few)], also=told(few)),
        context.judge("A-3", [{"off": max(abs(value / 13.1072e9 - 1) for value in fixed)}], also=rates),
        context.judge("A-4", [{"transmission": share}]),
    ]


def largest(points: list[Point]) -> dict[str, float]:
    """The largest deviation from the formulas."""
    return {"off": max(abs(one.off) for one in points)}


def of(base: Scenario, hosts: int, workload: Mapping[str, Any], **keys: Any) -> Result:
    """A run of a workload among so many ranks."""
    job = {**base.to_dict()["jobs"][0], "workload": dict(workload), **keys}
    return base.with_value("topology.star.hosts", hosts).with_value("jobs", [job]).run()


def barrier_s(base: Scenario, hosts: int) -> float:
    """Time of a barrier in seconds: a latency for each of its steps."""
    (row,) = of(base, hosts, {"collective": "barrier"}).rows("collectives")
    return float(row["time_ns"]) / 1e9


def point(
    base: Scenario, collective: str, algorithm: str, hosts: int, latency: float, formula: Formula
) -> Point:
    """A collective beside its formula, in which the rate is less the headers that NICs have sent."""
    workload = {"collective": collective, "algorithm": algorithm, "bytes": f"{BYTES} B"}
    result = of(base, hosts, workload)
    (row,) = result.rows("collectives")
    nics = [port for port in result.rows("flows") if port["frames_sent"]]
    on_wire = sum(port["bytes_sent"] + LINE_BYTES * port["frames_sent"] for port in nics)
    (job,) = result.rows("jobs")
    whole = BYTES * 8 / RATE_BPS * on_wire / job["bytes_sent"]
    path = critical_path(result, "job")
    share = 0.0 if path is None else path.parts["transmission"] / path.length_ps
    expected = formula(hosts, latency, whole)
    return Point(f"{collective} {algorithm}", hosts, row["time_ns"] / 1e9, expected, share)


def cost(base: Scenario, gbps: int) -> float:
    """Bytes a second of messages of 128 KiB that cost 10 us each, at links of this rate."""
    workload = {"collective": "send_receive", "bytes": "64 MiB", "chunks": 512}
    fast = base.with_value("topology.star.rate", f"{gbps} Gb/s")
    (row,) = of(fast, 2, workload, overhead="10 us").rows("jobs")
    return float(row["algorithm_bps"]) / 8


def told(points: list[Point]) -> str:
    """The largest deviations in words."""
    low, high = (pick(points, key=lambda one: one.off) for pick in (min, max))
    return (
        f"{low.off:+.2%} ({low.name}, {low.ranks} ranks) to {high.off:+.2%} ({high.name}, {high.ranks} ranks)"
    )


def table(context: Context, points: list[Point]) -> None:
    """Times beside formulas."""
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
    columns = ("collective", "ranks", "time (us)", "formula (us)", "off", "transmission")
    context.save_table("times", "Times of 8 MB at 400 Gb/s", columns, rows)
