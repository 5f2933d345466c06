"""Cases of the study, and measures of one run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context

from .combinations import STORAGE

WIRE = 1520 / 1500
LINE_BPS = 1e10
LAN_MS, LAN_BPS = (10.0, 20.0), 3.6e9
"""Interval in which the LAN sends, and its rate."""
START_MS = 2.0
"""Start of the measurement of shares and utilization."""
STORAGE_BPS = 6e9
"""ETS share of storage."""


@dataclass(frozen=True)
class Case:
    """A fabric with its traffic.

    Attributes
    ----------
    title : str
        Title in tables and pictures.
    file : str
        Scenario of the case.
    ports : tuple of str
        Bottleneck links.
    senders : int
        Number of greedy senders; 0 for the number in the scenario.
    """

    title: str
    file: str
    ports: tuple[str, ...]
    senders: int = 0

    def scenario(self, context: Context) -> Scenario:
        """The scenario with its number of senders; the victim offers half of a fair share."""
        scenario = context.scenario(self.file)
        if not self.senders:
            return scenario
        light = STORAGE_BPS / (self.senders + 1) / 2
        return (
            scenario.with_value("topology.star.hosts", self.senders + 3)
            .with_value("flows.long.from", f"h3..h{self.senders + 2}")
            .with_value("flows.victim.source", {"constant": {"rate": f"{light / 1e3:.0f} kb/s"}})
        )


STAR = ("sw.0->h0",)
CASES = (
    Case("2 senders", "bottleneck", STAR, 2),
    Case("8 senders", "bottleneck", STAR, 8),
    Case("64 senders", "bottleneck", STAR, 64),
    Case("bursts", "bursts", STAR),
    Case("parking lot", "parking-lot", ("s0.3->s1", "s1.3->s2")),
    Case("chain of three", "chain", ("s2.3->sink",)),
    Case("leaf-spine", "leaf-spine", ("leaf0.0->h0",)),
)


@dataclass(frozen=True)
class Run:
    """Measures of one run."""

    victim: float
    """Throughput of the slowest victim as a share of its offered load."""
    lan: float
    """Throughput of the LAN while it sends, as a share of its offered load."""
    lost: float
    """Lost storage frames."""
    paused_ms: float
    """Sum of the paused times of all ports."""
    jain: float
    """Jain's index of the greedy flows, before the LAN starts."""
    settled_ms: float
    """Time until Jain's index over 2 ms stays at 0.9 or above; infinite if not before the LAN starts."""
    shared: float
    """Lowest utilization of the bottleneck links while the LAN sends."""
    after: float
    """Utilization of the bottleneck links after the LAN has stopped."""
    queue_mean: float
    """Largest mean storage queue of the bottleneck links in KiB."""
    queue_max: float
    cuts: float
    """Number of rate cuts by QCN."""
    elsewhere: float
    """Share of the cuts that queues of links other than the bottlenecks cause."""
    victims_cut: float
    """Number of those cuts that affect a victim."""

    @classmethod
    def of(cls, result: Result, case: Case) -> Run:
        """Reads a result."""
        queues = [
            row for row in result.rows("queues") if row["port"] in case.ports and row["class"] == STORAGE
        ]
        cuts = result.rows("slowdowns") if "slowdowns" in result.table_names else []
        others = [row for row in cuts if row["port"] not in case.ports]
        flows = result.all_series("flow_throughput_bps")
        times = next(iter(flows.values()))[0] / 1e6
        greedy = np.array([rates for name, (_, rates) in flows.items() if name.startswith("long")])
        lan = flows["lan"][1]
        links = [(result.series("port_tx_bps", port)[1] * WIRE / LINE_BPS) for port in case.ports]
        return cls(
            victim=_victims(result),
            lan=float(lan[_between(times, *LAN_MS)].mean() / LAN_BPS),
            lost=sum(row["frames"] for row in result.rows("drops") if row["class"] == STORAGE),
            paused_ms=sum(row["paused_s"] for row in result.rows("ports")) * 1e3,
            jain=_jain(greedy[:, _between(times, START_MS, LAN_MS[0])].mean(axis=1)),
            settled_ms=_settled(times, greedy),
            shared=min(float(link[_between(times, *LAN_MS)].mean()) for link in links),
            after=min(float(link[_between(times, LAN_MS[1], math.inf)].mean()) for link in links),
            queue_mean=max(row["queue_bytes_mean"] for row in queues) / 1024,
            queue_max=max(row["queue_bytes_max"] for row in queues) / 1024,
            cuts=sum(row["times"] for row in cuts),
            elsewhere=sum(row["times"] for row in others) / max(1, sum(row["times"] for row in cuts)),
            victims_cut=sum(row["times"] for row in others if row["limiter"].startswith("victim")),
        )

    @classmethod
    def mean(cls, runs: Sequence[Run]) -> Run:
        """Means over several seeds; a mean is infinite if a run does not settle."""
        return cls(**{name: fmean(getattr(run, name) for run in runs) for name in cls.__dataclass_fields__})


def _victims(result: Result) -> float:
    """Throughput of the slowest victim as a share of its offered load."""
    got = {row["flow"]: row["throughput_bps"] for row in result.rows("flows")}
    offered = [row for row in result.rows("demands") if row["flow"].startswith("victim")]
    return min(float(got[row["flow"]]) / float(row["rate_bps"]) for row in offered)


def _between(times: np.ndarray, start: float, end: float) -> np.ndarray:
    """Mask of the bins between two times in ms."""
    return (times >= start) & (times < end)


def _jain(rates: np.ndarray) -> float:
    return float(rates.sum() ** 2 / (len(rates) * (rates**2).sum()))


def _settled(times: np.ndarray, greedy: np.ndarray) -> float:
    window = 4
    before = np.flatnonzero(times < LAN_MS[0])
    indices = [_jain(greedy[:, last - window : last].mean(axis=1)) for last in before[window:]]
    off = [at for at, index in zip(before[window:], indices, strict=True) if index < 0.9]
    if not off:
        return float(times[window])
    return math.inf if off[-1] == before[-1] else float(times[off[-1] + 1])
