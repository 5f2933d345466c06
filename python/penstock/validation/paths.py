"""Per-frame path selection in switches: balance of loads, and frame order."""

from __future__ import annotations

import math
from collections.abc import Iterator

from penstock.result import Result

from .bench import Bench, fill, flow_text, summaries
from .registry import Row, case, exact, random

_SPRAY = (
    summaries("$duration us")
    + """\
[topology.leaf_spine]
leaves = 2
spines = 8
hosts_per_leaf = 4
rate = "10 Gb/s"
phy = "none"

[switch]
path_choice = "$choice"

$flows
"""
)
_PATHS = 8


def _across(frames: int) -> str:
    """`frames` frames from each host of one leaf to a host of the other."""
    return "\n".join(
        f'[[flows]]\nname = "f{n}"\nfrom = "h{n}"\nto = "h{n + 4}"\nframe = "1000 B"\n'
        f'limit = "{frames * 1_000} B"\nsource = "greedy"\n'
        for n in range(4)
    )


def _loads(result: Result) -> list[int]:
    """Number of frames that the first leaf sent to each spine."""
    uplinks = (row for row in result.rows("ports") if row["port"].startswith("leaf0."))
    return [row["frames_sent"] for row in uplinks if "->spine" in row["port"]]


def _evenness(result: Result) -> dict[str, float]:
    loads = _loads(result)
    mean = sum(loads) / _PATHS
    return {
        "chi_square": math.fsum((load - mean) ** 2 / mean for load in loads),
        "first": loads[0] / sum(loads),
        "difference": max(loads) - min(loads),
        "frames": sum(loads),
    }


@case(
    "spraying",
    "Spraying over eight paths",
    compared="Four hosts of one leaf send at line rate to four hosts of another, over eight spines. Each "
    "frame takes a random spine, or the next one in turn. Each value is the mean of several "
    "runs; one row uses runs that are a hundred times as long.",
    formula="Random: the loads of eight paths are multinomial, so χ² = Σ (load − n/8)² / (n/8) has a "
    "mean of 7 for any number of frames n. Loads differ by √n, shares by 1/√n (the law of large "
    "numbers). In turn: loads are equal if n is a multiple of eight.",
    sources=(
        "Dixit et al., On the impact of packet spraying in data center networks, 2013",
        "Feller, An Introduction to Probability Theory and Its Applications I, 1968, chapter VI",
    ),
    scenario=fill(_SPRAY, duration=2_000, choice="spray", flows=_across(1_000)),
    ends=("All links of a leaf have the same rate; paths of unequal rate are not covered.",),
)
def spraying(bench: Bench) -> Iterator[Row]:
    """Compares few and many frames, then round robin."""
    for each, draws in ((40, bench.choose(200, 20)), (4_000, bench.choose(20, 4))):
        measured = bench.repeat(
            bench.replications * draws,
            _SPRAY,
            _evenness,
            choice="spray",
            duration=each + 50,
            flows=_across(each),
        )
        name = f"random, {4 * each:,} frames: "
        yield exact(
            name + "frames sent in all runs",
            "frames",
            4 * each * len(measured["frames"]),
            sum(measured["frames"]),
        )
        for key, what, theory in (
            ("chi_square", "χ² of the loads", 7.0),
            ("first", "share of the first path", 1 / 8),
        ):
            values = measured[key]
            means = [math.fsum(values[i : i + draws]) / draws for i in range(0, len(values), draws)]
            precision = 0.15 if key == "chi_square" else 0.03
            yield random(name + what, "", theory, means, precision=bench.precision(precision))
    for each in (40, 4_000):
        found = bench.once(_SPRAY, choice="round_robin", duration=each + 50, flows=_across(each))
        name = f"in turn, {4 * each:,} frames: largest load minus smallest load"
        yield exact(name, "frames", 0, _evenness(found)["difference"])


_UNEQUAL = (
    summaries("$duration ps")
    + """\
$topology

[switch]
path_choice = $choice
"""
    + flow_text("steady", "a", "b", 'frame = "1000 B"', "source = { $source }")
)
_DELAYS_NS = (100, 1_100, 2_100, 3_100)
"""Delay of both links of each path."""
_SPREAD = 2 * (_DELAYS_NS[-1] - _DELAYS_NS[0]) * 1_000


def _topology() -> str:
    spines = [f"spine{n}" for n in range(len(_DELAYS_NS))]
    switches = ", ".join(f'"{name}"' for name in ("left", "right", *spines))
    links = [("a", "left", 100), ("right", "b", 100)]
    for spine, delay in zip(spines, _DELAYS_NS, strict=True):
        links += [("left", spine, delay), (spine, "right", delay)]
    blocks = [
        f'[[topology.explicit.links]]\nbetween = ["{x}", "{y}"]\nrate = "10 Gb/s"\n'
        f'delay = "{delay} ns"\nphy = "none"'
        for x, y, delay in links
    ]
    return "\n".join([f'[topology.explicit]\nhosts = ["a", "b"]\nswitches = [{switches}]', *blocks])


def overtaken(interval: int) -> float:
    """Share of frames overtaken by a later one if each frame draws its path; times in picoseconds."""
    delays = [2_000 * delay for delay in _DELAYS_NS]
    stays = 0.0
    for own in delays:
        later = range(interval, own + interval, interval)
        stays += math.prod(sum(delay + behind > own for delay in delays) / len(delays) for behind in later)
    return 1 - stays / len(delays)


def _reordered(result: Result) -> dict[str, float]:
    summary = {row["name"]: row["value"] for row in result.rows("summary")}
    ports = (row for row in result.rows("ports") if row["port"].startswith("left."))
    loads = [row["frames_sent"] for row in ports if "->spine" in row["port"]]
    return {
        "reordered": summary["frames_reordered"],
        "share": summary["frames_reordered"] / summary["frames_delivered"],
        "first": loads[0] / sum(loads),
        "used": sum(load > 0 for load in loads),
    }


def _flowlet(gap: int) -> str:
    return f'{{ flowlet = {{ gap = "{gap} ps" }} }}'


def _constant(interval: int) -> str:
    return f'constant = {{ rate = "{round(8_000 * 10**12 / interval)} b/s", random_phase = false }}'


@case(
    "flowlets",
    "Flowlets and frame order",
    compared="Frames cross four paths whose delays differ by up to 6 us. First they are sent at even "
    "intervals, sprayed and as flowlets with a gap below and above the interval. Then they form "
    "a Poisson process, with a gap slightly above 6 us.",
    formula="A frame with delay d is overtaken unless every later frame, k steps behind, has a delay "
    "above d − k·s. The share of overtaken frames is 1 − E[Π_k P(D + k·s > d)]. A flow without "
    "gaps stays on one path. If the gap exceeds the spread of delays, no frame is overtaken, "
    "and each path carries a quarter.",
    sources=(
        "RFC 4737, section 3.3 (reordered frames)",
        "Sinha, Kandula and Katabi, Harnessing TCP's burstiness with flowlet switching, 2004",
    ),
    scenario=fill(
        _UNEQUAL,
        duration=10_000_000_000,
        topology=_topology(),
        choice=_flowlet(_SPREAD + 1_000),
        source='poisson = { rate = "1 Gb/s" }',
    ),
    ends=(
        "One flow; flows that share an entry of the table share their flowlets.",
        "Path delays differ by cable length; if queues make them differ, the spread has no bound.",
    ),
)
def flowlets(bench: Bench) -> Iterator[Row]:
    """Compares spraying, gaps that are too short, and gaps that are long enough."""
    frames, topology = bench.choose(20_000, 2_000), _topology()

    def run(choice: str, interval: int) -> dict[str, list[float]]:
        return bench.replicate(
            _UNEQUAL,
            _reordered,
            duration=frames * interval,
            topology=topology,
            choice=choice,
            source=_constant(interval),
        )

    for interval in (1_700_000, 3_100_000, 5_900_000):
        share = overtaken(interval)
        name = f"one frame per {interval / 1e6:g} us, "
        sprayed = run('"spray"', interval)["share"]
        yield random(name + "sprayed: overtaken", "", share, sprayed, precision=bench.precision(0.05))
        if interval == 5_900_000:
            cut = run(_flowlet(interval - 100_000), interval)["share"]
            yield random(name + "gap shorter: overtaken", "", share, cut, precision=bench.precision(0.05))
        kept = run(_flowlet(interval + 100_000), interval)
        yield exact(name + "gap longer: overtaken", "frames", 0, sum(kept["reordered"]))
        yield exact(name + "gap longer: paths used", "paths", 1, max(kept["used"]))
    apart = _SPREAD + 100_000
    kept = run(_flowlet(apart - 50_000), apart)
    yield exact("one frame per 6.1 us, gap of 6.05 us: overtaken", "frames", 0, sum(kept["reordered"]))
    yield exact("one frame per 6.1 us, gap of 6.05 us: paths used", "paths", 4, min(kept["used"]))
    yield from _at_random(bench, frames, topology)


def _at_random(bench: Bench, frames: int, topology: str) -> Iterator[Row]:
    measured = bench.replicate(
        _UNEQUAL,
        _reordered,
        duration=frames * 8_000_000,
        topology=topology,
        choice=_flowlet(_SPREAD + 1_000),
        source='poisson = { rate = "1 Gb/s" }',
    )
    name = "Poisson, gap of 6.001 us: "
    yield exact(name + "overtaken", "frames", 0, sum(measured["reordered"]))
    yield random(
        name + "share of the first path", "", 1 / 4, measured["first"], precision=bench.precision(0.06)
    )
