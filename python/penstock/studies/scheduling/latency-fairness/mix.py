"""The schedulers of the study, and the scenario with each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import penstock as ps
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.scenario.keys import ShapedKeys, TokenBucketKeys

PORT = "sw.3->h3"
CLASSES = ("storage", "web", "mpi")
"""Names of the traffic classes."""
SMALLEST = (1522, 64, 68)
LARGEST = (1522, 1518, 256)
PARTS: dict[str, list[tuple[int, float]]] = {
    "storage": [(1522, 1.0)],
    "web": [(64, 7 / 12), (594, 4 / 12), (1518, 1 / 12)],
    "mpi": [(size, 1 / 189) for size in range(68, 257)],
}
"""Frame sizes and their probabilities."""
BUCKETS = (6144, 6144, 2048)
"""Token bucket depth of a conforming class in bytes; at least the longest accounted frame."""
OVERHEAD = 20
LINK_BPS = 10e9
MPI = 2
THIRD = {"share": 0.333333}
TABLE = [entry % 3 for entry in range(64)]


@dataclass(frozen=True)
class Entry:
    """A scheduler with its parameters."""

    name: str
    scheduler: Any
    weights: tuple[float, float, float] | None = (1, 1, 1)
    """Shares of the accounted bytes, if the scheduler guarantees them."""
    cell: int = 1
    bounded: bool = True
    """True if each queue holds a single class, as guarantees assume."""


WIRE = {"accounted_length": "wire"}
BUCKET = {"token_bucket": {"rate": THIRD, "depth": "4352 B"}}
ENTRIES = (
    Entry("fifo", "fifo", None, bounded=False),
    Entry("strict_priority", "strict_priority", None),
    Entry("wrr", "wrr", None),
    Entry("wrr interleaved", {"wrr": {"interleaved": True}}, None),
    Entry("vc_table", {"vc_table": {"entries": TABLE}}, None),
    Entry("drr", {"drr": WIRE}),
    Entry("drr_awc published", {"drr_awc": WIRE}, None),
    Entry("drr_awc learned", {"drr_awc": {"formula": "learned", **WIRE}}, None),
    Entry(
        "ets",
        {"ets": {"classes": [{"queues": [q], "percent": p} for q, p in enumerate((34, 33, 33))]}},
        (34, 33, 33),
    ),
    Entry("dtable", {"dtable": {"entries": TABLE, **WIRE}}, (22, 21, 21), cell=64),
    Entry("min_bw", {"min_bw": {"management": MPI, "weights": [1, 1, 0], "rate": THIRD, **WIRE}}),
    Entry("scfq", {"scfq": WIRE}),
    Entry("scfq_ca", {"scfq_ca": WIRE}),
    Entry("wfq", {"wfq": WIRE}),
    Entry("wf2q_plus", {"wf2q_plus": WIRE}),
    Entry("shaper", {"shaper": {"classes": [{"class": 1, **BUCKET}, {"class": 2, **BUCKET}]}}, None),
)


def placed(scenario: Scenario, entry: Entry) -> Scenario:
    """The scenario with this scheduler at the switch."""
    if entry.scheduler == "fifo":
        return scenario.switch(scheduler="fifo", queues="shared")
    return scenario.switch(scheduler=entry.scheduler)


def accounted(entry: Entry, size: int) -> int:
    """Accounted bytes of a frame, with line overhead and rounded up to whole cells."""
    return -(-(size + OVERHEAD) // entry.cell) * entry.cell


def guarantee(scenario: Scenario, entry: Entry, traffic_class: int) -> ps.Guarantee | None:
    """Guarantee of the scheduler for a class at the port; ``None`` if there is none."""
    if not entry.bounded:
        return None
    queues = ps.guarantees(placed(scenario, entry))
    own = next(one for one in queues if (one.port, one.traffic_class) == (PORT, traffic_class))
    return own if own.rate_bps is not None else None


def conforming(
    scenario: Scenario, entry: Entry, traffic_class: int, rate_bps: float, duration: str
) -> Scenario:
    """One class sends bursts through a token bucket; the other classes are greedy."""
    changed = placed(scenario, entry).with_value("simulation.duration", duration)
    on_s = 2e-6
    off_s = on_s * (LINK_BPS / (0.6 * rate_bps) - 1)
    source = {
        "on_off": {
            "peak": "9.5 Gb/s",
            "on": {"exponential": f"{on_s * 1e6:g} us"},
            "off": {"exponential": f"{off_s * 1e9:.0f} ns"},
        }
    }
    bucket: TokenBucketKeys = {"rate": f"{rate_bps:.0f} b/s", "depth": f"{BUCKETS[traffic_class]} B"}
    shaper: ShapedKeys = {
        "port": {"token_bucket": bucket},
        "accounted_length": "wire",
        "cell": f"{entry.cell} B",
    }
    return changed.with_value(f"flows.{CLASSES[traffic_class]}.source", source).host(
        f"h{traffic_class}", scheduler={"shaper": shaper}
    )


def longest_wait_ns(own: ps.Guarantee, traffic_class: int, rate_bps: float) -> float:
    """Bound on the queueing delay of a frame of a shaped class, without its own transmission time.

    Frames count as arrived when their last bit has arrived. A short frame behind a long one therefore
    arrives closer to it than it was released, by the difference of their transmission times. The burst can
    be larger by that amount.
    """
    smallest, largest = SMALLEST[traffic_class], LARGEST[traffic_class]
    closer = (largest - smallest) * 8 / LINK_BPS * rate_bps / 8
    delay = own.delay_ns(BUCKETS[traffic_class] + closer)
    return (delay or 0.0) - (smallest + OVERHEAD) * 8e9 / LINK_BPS


def waits(result: Result, entry: Entry, traffic_class: int) -> dict[str, float]:
    """The row of the class in ``queues``; under FIFO all classes share one queue."""
    queue = 0 if entry.scheduler == "fifo" else traffic_class
    rows = result.rows("queues")
    return next(row for row in rows if row["port"] == PORT and row["class"] == queue)
