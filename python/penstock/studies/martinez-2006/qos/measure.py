"""Measures that the experiments extract: classes, aggregated as in the paper, and turns of a table."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from penstock.analysis.statistics import Interval, student_t_interval
from penstock.result import Result

CONFIDENCE = 0.90
LETTERS = 2
"""Letters at the beginning of a flow's name that are its class."""
MTU = 34
"""Credits of a frame of maximum length."""


@dataclass(frozen=True)
class Measured:
    """Measures of a class in one run.

    Attributes
    ----------
    offered, throughput : float
        Sums over flows, as shares of the links of all hosts.
    mean_us : float
        Mean over connections of their mean latency; for classes without connections, mean over flows.
    worst_us : float
        The longest latency of any of them.
    """

    offered: float
    throughput: float
    mean_us: float
    worst_us: float


Point = Mapping[str, Sequence[Measured]]
"""Measures by class, one per replication."""


def per_class(result: Result, capacity_bps: float) -> dict[str, Measured]:
    """Measures of the classes in a run; `capacity_bps` is the total rate of the links of all hosts."""
    by_class = defaultdict[str, list[dict[str, float]]](list)
    for row in result.rows("flows"):
        by_class[row["flow"][:LETTERS]].append(row)
    latencies = {**by_source(result.table("flows")), **by_source(result.table("streams"))}
    found = {}
    for name, rows in by_class.items():
        mean_ns, worst_ns = latencies.get(name, (math.nan, math.nan))
        found[name] = Measured(
            math.fsum(row["offered_bps"] for row in rows) / capacity_bps,
            math.fsum(row["throughput_bps"] for row in rows) / capacity_bps,
            mean_ns / 1e3,
            worst_ns / 1e3,
        )
    return found


def by_source(table: pa.Table) -> dict[str, tuple[float, float]]:
    """Mean over flows or connections of their mean latency, and the longest latency, by class."""
    delivered = table.filter(pc.greater(table["frames_delivered"], 0))
    columns = [pc.utf8_slice_codeunits(delivered["flow"].cast(pa.string()), 0, LETTERS)]
    columns += [delivered["latency_mean_ns"], delivered["latency_max_ns"]]
    grouped = pa.table(columns, names=["class", "mean", "max"]).group_by("class")
    found = grouped.aggregate([("mean", "mean"), ("max", "max")]).to_pylist()
    return {row["class"]: (row["mean_mean"], row["max_max"]) for row in found}


def interval(point: Point, name: str, value: str) -> Interval:
    """Mean of a value of a class over replications, with its 90 % interval."""
    return student_t_interval([getattr(one, value) for one in point[name]], CONFIDENCE)


def mean(point: Point, name: str, value: str) -> float:
    """Mean of a value of a class over replications."""
    return interval(point, name, value).mean


def improvement(ours: Point, theirs: Point, name: str, value: str) -> float:
    """Relative reduction of a value from `theirs` to `ours`."""
    return 1 - mean(ours, name, value) / mean(theirs, name, value)


@dataclass(frozen=True)
class Turns:
    """The turns of a deficit table, read from the frames on a link with backlogged classes.

    Attributes
    ----------
    turns : int
        Number of turns.
    longest : int
        Largest number of credits in a turn.
    deficit : int
        Largest deficit that a turn certainly left.
    broken : int
        Turns that do not match any deficit: they sent too much, or ended although the next frame would have
        fitted.
    wrong : int
        Turns of a class other than that of the next entry.
    """

    turns: int
    longest: int
    deficit: int
    broken: int
    wrong: int


def turns(frames: Sequence[tuple[int, int]], table: Sequence[int]) -> Turns:
    """Reads turns from the frames of a link, each as class and bytes, after the rules of section 4.

    Each class has one entry in the repeating part of the table. The initial deficits are unknown: for each
    class, the possible deficits after all turns so far are tracked. The first and last turns are left out.
    """
    sizes = [-(-size // 64) for _, size in frames]
    classes = [key for key, _ in frames]
    following = _next_of_class(classes, sizes)
    possible = {key: range(MTU) for key in table}
    starts = [at for at in range(1, len(frames)) if classes[at] != classes[at - 1]]
    longest = most = broken = wrong = 0
    entry = table.index(classes[starts[0]])
    for start, end in pairwise(starts):
        key, sent, head = classes[start], sum(sizes[start:end]), following[end - 1]
        wrong += key != table[entry % len(table)]
        entry += 1
        gained = MTU - sent
        low, high = possible[key][0] + gained, possible[key][-1] + gained
        left = range(max(low, 0), min(high + 1, MTU if head is None else head))
        broken += not left
        possible[key] = left or range(MTU)
        longest, most = max(longest, sent), max(most, left[0] if left else 0)
    return Turns(len(starts) - 1, longest, most, broken, wrong)


def _next_of_class(classes: Sequence[int], sizes: Sequence[int]) -> list[int | None]:
    """For each frame, the credits of the next frame of its class."""
    coming: dict[int, int] = {}
    found: list[int | None] = []
    for key, own in zip(reversed(classes), reversed(sizes), strict=True):
        found.append(coming.get(key))
        coming[key] = own
    return found[::-1]
